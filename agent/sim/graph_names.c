/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/graph_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (64u << 20)

void graph_names_close(struct graph_names *names)
{
	free(names->text);
	free(names->memory);
	free(names->slots);
	free(names->edges);
	memset(names, 0, sizeof(*names));
}

static void close_file(FILE **file)
{
	if (*file != NULL)
		(void)fclose(*file);
}

/* The whole file; works for pipes as well. */
static int load(const char *path, char **ret_text, size_t *ret_size, struct error *reterr)
{
	__attribute__((cleanup(close_file))) FILE *file = fopen(path, "re");
	size_t size = 0, room = 0;

	if (file == NULL)
		return error_errno(reterr, -errno, "open %s", path);
	for (;;) {
		if (size == room) {
			char *larger = realloc(*ret_text, room += room / 2 + 65536);

			if (larger == NULL)
				return error_errno(reterr, -ENOMEM, "%s", path);
			*ret_text = larger;
		}
		errno = 0;
		size_t count = fread(*ret_text + size, 1, room - size, file);

		size += count;
		if (size > FILE_MAX)
			return error_set(reterr, -EINVAL, "%s: larger than %u MiB", path,
					 FILE_MAX >> 20);
		if (count == 0 && ferror(file) != 0)
			return error_errno(reterr, errno != 0 ? -errno : -EIO, "read %s", path);
		if (count == 0)
			break;
	}
	*ret_size = size;
	return 0;
}

/* At least as many as there can be, whatever the text is: lines, and words in them. */
static void count(const char *text, size_t size, uint32_t *ret_lines, uint32_t *ret_words)
{
	bool in_word = false;

	*ret_lines = *ret_words = 1;
	for (size_t i = 0; i < size; i++) {
		bool is_word = text[i] > ' ' && text[i] <= '~';

		*ret_lines += text[i] == '\n';
		*ret_words += is_word && !in_word;
		in_word = is_word;
	}
}

static int parse(const char *path, size_t size, struct graph_names *into, struct error *reterr)
{
	struct iso_graph_text_error error;
	uint32_t lines, words;

	count(into->text, size, &lines, &words);
	into->memory = malloc(words * sizeof(*into->memory));
	into->slots = malloc(iso_graph_names_slots(words) * sizeof(*into->slots));
	into->edges = malloc(lines * sizeof(*into->edges));
	if (into->memory == NULL || into->slots == NULL || into->edges == NULL)
		return error_errno(reterr, -ENOMEM, "%s: %u lines", path, lines);
	iso_graph_names_init(&into->names, words, into->memory, into->slots);
	if (iso_graph_read(into->text, size, &into->names, into->edges, lines, &into->graph,
			   &error) == ISO_OK)
		return 0;
	if (error.line == 0)
		return error_set(reterr, -EINVAL, "%s: %s", path,
				 iso_graph_text_reason_text(error.reason));
	return error_set(reterr, -EINVAL, "%s: line %ju: %s", path, (uintmax_t)error.line,
			 iso_graph_text_reason_text(error.reason));
}

int graph_names_read(const char *path, struct graph_names *ret, struct error *reterr)
{
	struct graph_names names = { 0 };
	size_t size = 0;
	int r = load(path, &names.text, &size, reterr);

	if (r == 0)
		r = parse(path, size, &names, reterr);
	if (r < 0) {
		graph_names_close(&names);
		return r;
	}
	*ret = names;
	return 0;
}

int graph_names_list(const char *list, struct graph_names *ret, struct error *reterr)
{
	struct graph_names names = { .text = strdup(list) };
	uint32_t wanted = 1;
	int r;

	if (names.text == NULL)
		return error_errno(reterr, -ENOMEM, "names");
	/* One a line is how the reader knows names without edges. */
	for (char *c = names.text; *c != '\0'; c++)
		if (*c == ',') {
			*c = '\n';
			wanted++;
		}
	r = parse("names", strlen(list), &names, reterr);
	if (r == 0 && (names.graph.edge_count != 0 || names.names.count != wanted))
		r = error_set(reterr, -EINVAL, "names: one is empty, twice there or has a blank");
	if (r < 0) {
		graph_names_close(&names);
		return r;
	}
	*ret = names;
	return 0;
}

const char *graph_name(const struct graph_names *names, uint32_t node,
		       char buffer[GRAPH_NAME_BYTES])
{
	if (names->names.count == 0)
		snprintf(buffer, GRAPH_NAME_BYTES, "node%u", node);
	else
		snprintf(buffer, GRAPH_NAME_BYTES, "%.*s", (int)names->memory[node].length,
			 names->memory[node].text);
	return buffer;
}

bool graph_node(const struct graph_names *names, const char *name, uint32_t nodes,
		uint32_t *ret_node)
{
	char buffer[GRAPH_NAME_BYTES];
	unsigned long node;
	char *end;

	if (names->names.count > 0)
		return iso_graph_names_find(&names->names, name, strlen(name), ret_node) == ISO_OK;
	if (strncmp(name, "node", 4) != 0)
		return false;
	node = strtoul(name + 4, &end, 10);
	/* And written as we do: no sign, no zero in front. */
	if (*end != '\0' || node >= nodes ||
	    strcmp(graph_name(names, (uint32_t)node, buffer), name) != 0)
		return false;
	*ret_node = (uint32_t)node;
	return true;
}
