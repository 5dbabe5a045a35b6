/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/graph.h"

#include <assert.h>

#include "lib/graph/build.h"
#include "lib/graph/parts.h"

static void assert_valid(const struct iso_graph *graph)
{
	assert(graph->nodes >= 1);
	assert(graph->edge_count <= graph->edges_max);
}

void iso_graph_init(struct iso_graph *graph, uint32_t nodes, struct iso_graph_edge *edges,
		    uint32_t edges_max)
{
	*graph = (struct iso_graph){ .nodes = nodes, .edges_max = edges_max, .edges = edges };
	assert_valid(graph);
}

static bool before(struct iso_graph_edge a, struct iso_graph_edge b)
{
	return a.low < b.low || (a.low == b.low && a.high < b.high);
}

static struct iso_graph_edge edge_of(uint32_t a, uint32_t b)
{
	return a < b ? (struct iso_graph_edge){ a, b } : (struct iso_graph_edge){ b, a };
}

/* Restores the heap below a root, over the first count edges. */
static void sift(struct iso_graph_edge *heap, uint32_t count, uint32_t root)
{
	for (;;) {
		uint32_t child = 2 * root + 1;

		if (child >= count)
			return;
		if (child + 1 < count && before(heap[child], heap[child + 1]))
			child++;
		if (!before(heap[root], heap[child]))
			return;

		struct iso_graph_edge swap = heap[root];

		heap[root] = heap[child];
		heap[child] = swap;
		root = child;
	}
}

/* In order, and none twice.  Many makers give the edges so. */
static bool is_sorted(const struct iso_graph *graph)
{
	for (uint32_t k = 1; k < graph->edge_count; k++)
		if (!before(graph->edges[k - 1], graph->edges[k]))
			return false;
	return true;
}

/* Sorts (heap sort: in place, no recursion) and drops doubles. */
static void normalise(struct iso_graph *graph)
{
	struct iso_graph_edge *edges = graph->edges;
	uint32_t kept = 0;

	if (is_sorted(graph))
		return;
	for (uint32_t k = graph->edge_count / 2; k-- > 0;)
		sift(edges, graph->edge_count, k);
	for (uint32_t count = graph->edge_count; count > 1; count--) {
		struct iso_graph_edge swap = edges[0];

		edges[0] = edges[count - 1];
		edges[count - 1] = swap;
		sift(edges, count - 1, 0);
	}
	for (uint32_t k = 0; k < graph->edge_count; k++)
		if (kept == 0 || before(edges[kept - 1], edges[k]))
			edges[kept++] = edges[k];
	graph->edge_count = kept;
	assert_valid(graph);
}

enum iso_status iso_graph_append(struct iso_graph *graph, uint32_t a, uint32_t b)
{
	if (a == b)
		return ISO_OK;
	if (graph->edge_count == graph->edges_max)
		return ISO_E_FULL;
	graph->edges[graph->edge_count++] = edge_of(a, b);
	return ISO_OK;
}

enum iso_status iso_graph_finish(struct iso_graph *graph, uint32_t count, enum iso_status status)
{
	if (status == ISO_OK)
		normalise(graph);
	else
		graph->edge_count = count;
	return status;
}

enum iso_status iso_graph_add(struct iso_graph *graph, uint32_t a, uint32_t b)
{
	assert_valid(graph);
	if (a == b || a >= graph->nodes || b >= graph->nodes)
		return ISO_E_RANGE;
	for (uint32_t k = 0; k < graph->edge_count; k++)
		if (graph->edges[k].low == edge_of(a, b).low &&
		    graph->edges[k].high == edge_of(a, b).high)
			return ISO_OK;
	return iso_graph_finish(graph, graph->edge_count, iso_graph_append(graph, a, b));
}

enum iso_status iso_graph_line(struct iso_graph *graph)
{
	uint32_t count = graph->edge_count;
	enum iso_status status = ISO_OK;

	assert_valid(graph);
	for (uint32_t i = 0; i + 1 < graph->nodes && status == ISO_OK; i++)
		status = iso_graph_append(graph, i, i + 1);
	return iso_graph_finish(graph, count, status);
}

enum iso_status iso_graph_ring(struct iso_graph *graph)
{
	uint32_t count = graph->edge_count;
	enum iso_status status = ISO_OK;

	assert_valid(graph);
	for (uint32_t i = 0; i < graph->nodes && status == ISO_OK; i++)
		status = iso_graph_append(graph, i, (i + 1) % graph->nodes);
	return iso_graph_finish(graph, count, status);
}

enum iso_status iso_graph_star(struct iso_graph *graph)
{
	uint32_t count = graph->edge_count;
	enum iso_status status = ISO_OK;

	assert_valid(graph);
	for (uint32_t i = 1; i < graph->nodes && status == ISO_OK; i++)
		status = iso_graph_append(graph, 0, i);
	return iso_graph_finish(graph, count, status);
}

enum iso_status iso_graph_complete(struct iso_graph *graph)
{
	uint32_t count = graph->edge_count;
	enum iso_status status = ISO_OK;

	assert_valid(graph);
	for (uint32_t i = 0; i < graph->nodes && status == ISO_OK; i++)
		for (uint32_t j = i + 1; j < graph->nodes && status == ISO_OK; j++)
			status = iso_graph_append(graph, i, j);
	return iso_graph_finish(graph, count, status);
}

enum iso_status iso_graph_exponential(struct iso_graph *graph)
{
	uint32_t count = graph->edge_count;
	enum iso_status status = ISO_OK;

	assert_valid(graph);
	for (uint64_t hop = 1; hop < graph->nodes && status == ISO_OK; hop *= 2)
		for (uint32_t i = 0; i < graph->nodes && status == ISO_OK; i++)
			status = iso_graph_append(graph, i, (uint32_t)((i + hop) % graph->nodes));
	return iso_graph_finish(graph, count, status);
}

enum iso_status iso_graph_grid(struct iso_graph *graph, uint32_t rows, uint32_t columns)
{
	uint32_t count = graph->edge_count;
	enum iso_status status = ISO_OK;

	assert_valid(graph);
	if ((uint64_t)rows * columns != graph->nodes)
		return ISO_E_RANGE;
	for (uint32_t i = 0; i < graph->nodes && status == ISO_OK; i++) {
		if ((i + 1) % columns != 0)
			status = iso_graph_append(graph, i, i + 1);
		if (status == ISO_OK && i / columns + 1 < rows)
			status = iso_graph_append(graph, i, i + columns);
	}
	return iso_graph_finish(graph, count, status);
}

enum iso_status iso_graph_random(struct iso_graph *graph, uint32_t chords, struct iso_rng *rng)
{
	uint32_t count = graph->edge_count;
	enum iso_status status = ISO_OK;

	assert_valid(graph);
	for (uint32_t i = 0; i < graph->nodes && status == ISO_OK; i++)
		status = iso_graph_append(graph, i, (i + 1) % graph->nodes);
	for (uint32_t k = 0; k < chords && status == ISO_OK; k++) {
		uint32_t a = (uint32_t)iso_rng_below(rng, graph->nodes);

		status = iso_graph_append(graph, a, (uint32_t)iso_rng_below(rng, graph->nodes));
	}
	return iso_graph_finish(graph, count, status);
}

void iso_graph_degrees(const struct iso_graph *graph, uint32_t *ret_degree)
{
	assert_valid(graph);
	for (uint32_t i = 0; i < graph->nodes; i++)
		ret_degree[i] = 0;
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		ret_degree[graph->edges[k].low]++;
		ret_degree[graph->edges[k].high]++;
	}
}

bool iso_graph_connected(const struct iso_graph *graph, uint32_t *scratch)
{
	uint32_t parts = graph->nodes;

	assert_valid(graph);
	iso_parts_start(scratch, graph->nodes);
	for (uint32_t k = 0; k < graph->edge_count; k++)
		parts -= iso_parts_join(scratch, graph->edges[k].low, graph->edges[k].high);
	return parts == 1;
}

double iso_graph_metropolis(uint32_t degree_a, uint32_t degree_b)
{
	return 1.0 / (1 + (degree_a > degree_b ? degree_a : degree_b));
}
