/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/pagetable.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/confutil.h"

char *pagetable_source(const char *name)
{
	const char *srcdir = getenv("top_srcdir");
	char path[512], *text;
	struct error error;

	snprintf(path, sizeof(path), "%s/%s", srcdir != NULL ? srcdir : ".", name);
	ck_assert_msg(confutil_read_file(path, &text, &error) == 0, "%s", error.text);
	return text;
}

static void copy(char *out, size_t size, const char *from)
{
	ck_assert_msg(strlen(from) < size, "too long: %s", from);
	memcpy(out, from, strlen(from) + 1);
}

/* ".It A Ta B Ta C Ta D", or without the first cell. */
static bool read_row(const char *line, struct row *ret_row)
{
	char text[256], *cells[4] = { NULL }, *at = text;
	unsigned count = 0;

	copy(text, sizeof(text), line + strlen(".It "));
	while (at != NULL && count < 4) {
		char *end = strstr(at, " Ta ");

		cells[count++] = at;
		if (end != NULL)
			*end = '\0';
		at = end != NULL ? end + strlen(" Ta ") : NULL;
	}
	memset(ret_row, 0, sizeof(*ret_row));
	if (strncmp(cells[0], "Sy ", 3) == 0)
		return false;
	bool has_offset = count == 4;
	ck_assert_msg(count >= 3, "a row of %u cells: %s", count, line);
	if (has_offset)
		ret_row->offset = (unsigned)strtoul(cells[0], NULL, 10);
	copy(ret_row->name, sizeof(ret_row->name), cells[has_offset ? 2 : 0]);
	copy(ret_row->type, sizeof(ret_row->type), cells[1]);
	copy(ret_row->meaning, sizeof(ret_row->meaning), cells[has_offset ? 3 : 2]);
	ret_row->size = (unsigned)strtoul(ret_row->type + 1, NULL, 10);
	/* Numbers are counted in bits, text and the rest in bytes. */
	if (strchr("uif", ret_row->type[0]) != NULL)
		ret_row->size /= 8;
	return true;
}

void pagetable_read(const char *name, struct table *ret_table)
{
	char *page = pagetable_source("man/isobar-protocol.7"), mark[64];
	bool is_inside = false, is_done = false;

	snprintf(mark, sizeof(mark), ".\\\" table: %s", name);
	ret_table->count = 0;
	for (char *save = page, *line; !is_done && (line = strsep(&save, "\n")) != NULL;) {
		if (strcmp(line, mark) == 0) {
			is_inside = true;
		} else if (is_inside && strncmp(line, ".It ", 4) == 0) {
			ck_assert_uint_lt(ret_table->count, PAGETABLE_ROWS_MAX);
			ret_table->count += read_row(line, &ret_table->rows[ret_table->count]);
		} else if (is_inside && strcmp(line, ".El") == 0) {
			is_done = true;
		}
	}
	free(page);
	ck_assert_msg(is_done && ret_table->count > 0, "the page has no table %s", name);
}

const struct row *pagetable_row(const struct table *table, const char *name)
{
	for (unsigned i = 0; i < table->count; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return &table->rows[i];
	ck_abort_msg("the page has no row %s", name);
}
