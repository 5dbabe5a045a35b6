/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/text.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM 256u

static void check_names(const struct iso_graph_names *names)
{
	for (uint32_t i = 0; i < names->count; i++) {
		const struct iso_graph_name *name = &names->names[i];
		uint32_t node = UINT32_MAX;

		assert(name->length >= 1 && name->length <= ISO_GRAPH_NAME_MAX);
		for (uint32_t c = 0; c < name->length; c++)
			assert(name->text[c] > ' ' && name->text[c] <= '~' && name->text[c] != '#');
		enum iso_status status =
		    iso_graph_names_find(names, name->text, name->length, &node);

		assert(status == ISO_OK && node == i);
	}
}

static void check_edges(const struct iso_graph *graph)
{
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		const struct iso_graph_edge *edge = &graph->edges[k];

		assert(edge->low < edge->high && edge->high < graph->nodes);
		assert(k == 0 || edge[-1].low < edge->low ||
		       (edge[-1].low == edge->low && edge[-1].high < edge->high));
	}
}

static uint64_t lines_of(const uint8_t *data, size_t size)
{
	uint64_t lines = size > 0 && data[size - 1] != '\n';

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	return lines;
}

/* Any bytes: a sound graph whose nodes are found by their names, or a line and a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct iso_graph_edge edges[ROOM];
	static struct iso_graph_name memory[ROOM];
	static uint32_t slots[2 * ROOM];
	struct iso_graph_text_error error = { 0 };
	struct iso_graph_names names;
	struct iso_graph graph = { 0 };

	iso_graph_names_init(&names, ROOM, memory, slots);
	assert(names.slot_count <= 2 * ROOM);
	if (iso_graph_read((const char *)data, size, &names, edges, ROOM, &graph, &error) ==
	    ISO_OK) {
		assert(graph.nodes == names.count && graph.nodes >= 1);
		assert(graph.edge_count <= lines_of(data, size));
		check_names(&names);
		check_edges(&graph);
	} else {
		assert(graph.nodes == 0);
		assert(error.line <= lines_of(data, size));
		assert((error.line == 0) == (error.reason == ISO_GRAPH_TEXT_EMPTY));
		assert(strcmp(iso_graph_text_reason_text(error.reason), "fine") != 0);
	}
	return 0;
}
