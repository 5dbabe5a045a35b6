/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/vectorfile.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (1024u * 1024u)

void vectorfile_open(const char *name, struct vectorfile *ret_file)
{
	const char *srcdir = getenv("top_srcdir");
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/vectors/%s", srcdir != NULL ? srcdir : ".", name);
	FILE *stream = fopen(path, "re");
	ck_assert_msg(stream != NULL, "%s: %s", path, strerror(errno));
	memset(ret_file, 0, sizeof(*ret_file));
	ret_file->text = calloc(1, FILE_BYTES_MAX + 1);
	ck_assert_ptr_nonnull(ret_file->text);
	size_t size = fread(ret_file->text, 1, FILE_BYTES_MAX, stream);
	ck_assert_msg(size > 0 && size < FILE_BYTES_MAX, "%s: %zu bytes", path, size);
	fclose(stream);
	ret_file->at = ret_file->text;
	ret_file->name = name;
}

void vectorfile_close(struct vectorfile *file)
{
	free(file->text);
	file->text = file->at = NULL;
}

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	ck_assert_msg(c >= 'a' && c <= 'f', "'%c' is no hexadecimal digit", c);
	return (unsigned)(c - 'a') + 10;
}

size_t vectorfile_hex(const char *text, uint8_t *ret_bytes, size_t capacity)
{
	size_t length = strlen(text);

	ck_assert_msg(length % 2 == 0 && length / 2 <= capacity, "%zu digits", length);
	for (size_t i = 0; i < length / 2; i++)
		ret_bytes[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	return length / 2;
}

static uint64_t number(const struct vectorfile *file, const char *text)
{
	char *end;

	errno = 0;
	uint64_t value =
	    text[0] == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 0);
	ck_assert_msg(errno == 0 && end != text && *end == '\0', "%s: '%s' is no number",
		      file->name, text);
	return value;
}

static void take_line(struct vectorfile *file, const char *key, const char *value)
{
	size_t left = sizeof(file->bytes) - file->size;

	if (strcmp(key, "bytes") == 0) {
		file->size += vectorfile_hex(value, file->bytes + file->size, left);
	} else if (strcmp(key, "zeros") == 0) {
		ck_assert_uint_le(number(file, value), left);
		memset(file->bytes + file->size, 0, number(file, value));
		file->size += number(file, value);
	} else {
		ck_assert_uint_lt(file->count, VECTORFILE_LINES_MAX);
		file->lines[file->count++] = (struct vectorfile_line){ key, value, false };
	}
}

/* Cuts the next line into key and value. */
static void next_line(struct vectorfile *file, const char **ret_key, const char **ret_value)
{
	char *line = strsep(&file->at, "\n");

	ck_assert_msg(file->at != NULL, "the last line is cut off: %s", line);
	*ret_key = strsep(&line, " ");
	*ret_value = line != NULL ? line : "";
}

/* Whether the next line that says anything begins a case; passes over those that do not. */
static bool at_case(struct vectorfile *file)
{
	while (file->at[0] == '\n' || file->at[0] == '#')
		(void)strsep(&file->at, "\n");
	return strncmp(file->at, "case ", strlen("case ")) == 0;
}

bool vectorfile_next(struct vectorfile *file)
{
	const char *key, *value;

	for (uint32_t i = 0; i < file->count; i++)
		ck_assert_msg(file->lines[i].used, "%s: what is '%s'?", file->name,
			      file->lines[i].key);
	file->count = 0;
	file->size = 0;
	if (!at_case(file)) {
		ck_assert_msg(file->at[0] == '\0', "%s: no case: %.40s", file->name, file->at);
		return false;
	}
	next_line(file, &key, &value);
	file->name = value;
	file->cases++;
	while (!at_case(file) && file->at[0] != '\0') {
		next_line(file, &key, &value);
		take_line(file, key, value);
	}
	return true;
}

const char *vectorfile_find(struct vectorfile *file, const char *key)
{
	for (uint32_t i = 0; i < file->count; i++) {
		if (strcmp(file->lines[i].key, key) != 0)
			continue;
		file->lines[i].used = true;
		return file->lines[i].value;
	}
	return NULL;
}

const char *vectorfile_text(struct vectorfile *file, const char *key)
{
	const char *value = vectorfile_find(file, key);

	ck_assert_msg(value != NULL, "%s: no '%s'", file->name, key);
	return value;
}

uint64_t vectorfile_number(struct vectorfile *file, const char *key)
{
	return number(file, vectorfile_text(file, key));
}
