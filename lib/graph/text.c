/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/text.h"

#include <assert.h>
#include <string.h>

#include "lib/checksum.h"
#include "lib/data/text.h"
#include "lib/graph/build.h"

#define NO_NODE UINT32_MAX

const char *iso_graph_text_reason_text(enum iso_graph_text_reason reason)
{
	switch (reason) {
	case ISO_GRAPH_TEXT_FINE: return "fine";
#define X(name, text)                                                                              \
	case name: return text;
		ISO_GRAPH_TEXT_MAP(X)
#undef X
	}
	return "unknown reason";
}

/* A power of two, half empty at least. */
uint32_t iso_graph_names_slots(uint32_t names_max)
{
	uint32_t slots = 2;

	assert(names_max >= 1 && names_max <= UINT32_MAX / 4);
	while (slots / 2 < names_max)
		slots *= 2;
	return slots;
}

void iso_graph_names_init(struct iso_graph_names *names, uint32_t names_max,
			  struct iso_graph_name *memory, uint32_t *slots)
{
	*names = (struct iso_graph_names){ .names = memory,
					   .names_max = names_max,
					   .slots = slots,
					   .slot_count = iso_graph_names_slots(names_max) };
	for (uint32_t s = 0; s < names->slot_count; s++)
		slots[s] = NO_NODE;
}

/* The slot of a name, or the empty one where it would be put. */
static uint32_t *slot_of(const struct iso_graph_names *names, const char *text, size_t length)
{
	uint32_t mask = names->slot_count - 1;
	uint32_t s = (uint32_t)iso_checksum(text, length) & mask;

	assert(names->count <= names->slot_count / 2);
	for (; names->slots[s] != NO_NODE; s = (s + 1) & mask) {
		const struct iso_graph_name *name = &names->names[names->slots[s]];

		assert(names->slots[s] < names->count);
		if (name->length == length && memcmp(name->text, text, length) == 0)
			break;
	}
	return &names->slots[s];
}

enum iso_status iso_graph_names_find(const struct iso_graph_names *names, const char *text,
				     size_t length, uint32_t *ret_node)
{
	uint32_t node = *slot_of(names, text, length);

	if (node == NO_NODE)
		return ISO_E_UNKNOWN;
	*ret_node = node;
	return ISO_OK;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next word of a line; length 0: there is none. */
static enum iso_graph_text_reason take_word(struct iso_text_line *line, struct iso_graph_name *word)
{
	size_t n = 0;

	while (line->length > 0 && is_blank(line->bytes[0])) {
		line->bytes++;
		line->length--;
	}
	/* What follows the comment sign is not looked at. */
	for (; n < line->length && !is_blank(line->bytes[n]) && line->bytes[n] != '#'; n++)
		if (line->bytes[n] < '!' || line->bytes[n] > '~')
			return ISO_GRAPH_TEXT_CHARACTER;
	if (n > ISO_GRAPH_NAME_MAX)
		return ISO_GRAPH_TEXT_LONG;
	*word = (struct iso_graph_name){ line->bytes, (uint32_t)n };
	line->bytes += n;
	line->length -= n;
	return ISO_GRAPH_TEXT_FINE;
}

static enum iso_graph_text_reason number_of(struct iso_graph_names *names,
					    const struct iso_graph_name *word, uint32_t *ret_node)
{
	uint32_t *slot = slot_of(names, word->text, word->length);

	if (*slot == NO_NODE) {
		if (names->count == names->names_max)
			return ISO_GRAPH_TEXT_FULL;
		names->names[names->count] = *word;
		*slot = names->count++;
	}
	*ret_node = *slot;
	return ISO_GRAPH_TEXT_FINE;
}

/* One line: two names, one or none. */
static enum iso_graph_text_reason take_line(struct iso_text_line line,
					    struct iso_graph_names *names, struct iso_graph *graph)
{
	enum iso_graph_text_reason reason = ISO_GRAPH_TEXT_FINE;
	uint32_t nodes[2], count = 0;

	for (;;) {
		struct iso_graph_name word = { 0 };

		reason = take_word(&line, &word);
		if (reason != ISO_GRAPH_TEXT_FINE)
			return reason;
		if (word.length == 0)
			break;
		if (count == 2)
			return ISO_GRAPH_TEXT_WORDS;
		reason = number_of(names, &word, &nodes[count++]);
		if (reason != ISO_GRAPH_TEXT_FINE)
			return reason;
	}
	if (count < 2)
		return ISO_GRAPH_TEXT_FINE;
	if (nodes[0] == nodes[1])
		return ISO_GRAPH_TEXT_LOOP;
	graph->nodes = names->count;
	return iso_graph_append(graph, nodes[0], nodes[1]) == ISO_OK ? ISO_GRAPH_TEXT_FINE
								     : ISO_GRAPH_TEXT_FULL;
}

enum iso_status iso_graph_read(const char *text, size_t size, struct iso_graph_names *names,
			       struct iso_graph_edge *edges, uint32_t edges_max,
			       struct iso_graph *ret_graph, struct iso_graph_text_error *ret_error)
{
	struct iso_graph_text_error error = { 0 };
	struct iso_text_line line;
	struct iso_graph graph;
	size_t used;

	assert(names->count == 0);
	iso_graph_init(&graph, 1, edges, edges_max);
	while (iso_text_line(text, size, true, &line, &used) == ISO_OK) {
		error.line++;
		error.reason = take_line(line, names, &graph);
		if (error.reason != ISO_GRAPH_TEXT_FINE)
			break;
		text += used;
		size -= used;
	}
	if (error.reason == ISO_GRAPH_TEXT_FINE && names->count == 0)
		error = (struct iso_graph_text_error){ 0, ISO_GRAPH_TEXT_EMPTY };
	if (error.reason != ISO_GRAPH_TEXT_FINE) {
		*ret_error = error;
		return ISO_E_MALFORMED;
	}
	graph.nodes = names->count;

	enum iso_status status = iso_graph_finish(&graph, 0, ISO_OK);

	assert(status == ISO_OK);
	*ret_graph = graph;
	return status;
}
