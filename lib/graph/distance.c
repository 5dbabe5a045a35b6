/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/distance.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* Sorted by low, then high: for each node first its lower neighbours come by, then the others. */
static void place(const struct iso_graph *graph, uint32_t *cursors, uint32_t *others)
{
	for (uint32_t k = 0; k < graph->edge_count; k++)
		others[cursors[graph->edges[k].high]++] = graph->edges[k].low;
	for (uint32_t k = 0; k < graph->edge_count; k++)
		others[cursors[graph->edges[k].low]++] = graph->edges[k].high;
}

struct iso_adjacency iso_graph_adjacency(const struct iso_graph *graph, uint32_t *starts,
					 uint32_t *others)
{
	uint32_t start = 0;

	assert(graph->edge_count <= UINT32_MAX / 2);
	iso_graph_degrees(graph, starts);
	for (uint32_t i = 0; i < graph->nodes; i++) {
		uint32_t degree = starts[i];

		starts[i] = start;
		start += degree;
	}
	assert(start == 2 * graph->edge_count);
	place(graph, starts, others);
	/* Each cursor has come to where the next node starts. */
	for (uint32_t i = graph->nodes; i > 0; i--)
		starts[i] = starts[i - 1];
	starts[0] = 0;
	return (struct iso_adjacency){ graph->nodes, starts, others };
}

uint32_t iso_graph_distances(const struct iso_adjacency *adjacency, uint32_t from, uint32_t *queue,
			     uint32_t *ret_distances)
{
	uint32_t head = 0, tail = 0;

	assert(from < adjacency->nodes);
	for (uint32_t i = 0; i < adjacency->nodes; i++)
		ret_distances[i] = UINT32_MAX;
	ret_distances[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t k = adjacency->starts[node]; k < adjacency->starts[node + 1]; k++) {
			uint32_t other = adjacency->others[k];

			if (ret_distances[other] != UINT32_MAX)
				continue;
			ret_distances[other] = ret_distances[node] + 1;
			queue[tail++] = other;
		}
	}
	assert(tail <= adjacency->nodes);
	return ret_distances[queue[tail - 1]];
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Bounds of the eccentricities: what is open is where they differ. */
struct bounds {
	uint32_t nodes;
	uint32_t *low, *high;
};

/* The open node that may be the most remote, or else the most central one. */
static uint32_t choose(const struct bounds *bounds, bool is_remote)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < bounds->nodes; i++) {
		if (bounds->low[i] == bounds->high[i])
			continue;
		if (best == UINT32_MAX || (is_remote ? bounds->high[i] > bounds->high[best]
						     : bounds->low[i] < bounds->low[best]))
			best = i;
	}
	assert(best != UINT32_MAX);
	return best;
}

/* What a search says of all nodes, by the triangle; returns the most that the diameter can be. */
static uint32_t narrow(struct bounds *bounds, uint32_t from, uint32_t eccentricity,
		       const uint32_t *distances)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < bounds->nodes; i++) {
		uint32_t d = distances[i];

		assert(d <= eccentricity);
		bounds->low[i] = larger(bounds->low[i], larger(d, eccentricity - d));
		bounds->high[i] = smaller(bounds->high[i], eccentricity + d);
		if (i == from)
			bounds->low[i] = bounds->high[i] = eccentricity;
		most = larger(most, bounds->high[i]);
	}
	return most;
}

struct iso_diameter iso_graph_diameter(const struct iso_adjacency *adjacency, uint32_t searches_max,
				       uint32_t *scratch)
{
	uint32_t nodes = adjacency->nodes;
	uint32_t *queue = scratch, *distances = scratch + nodes;
	struct bounds bounds = { nodes, scratch + 2 * (size_t)nodes, scratch + 3 * (size_t)nodes };
	struct iso_diameter diameter = { .low = 0, .high = nodes - 1 };

	assert(searches_max >= 1);
	for (uint32_t i = 0; i < nodes; i++) {
		bounds.low[i] = 0;
		bounds.high[i] = nodes - 1;
	}
	while (diameter.low < diameter.high && diameter.searches < searches_max) {
		uint32_t from = choose(&bounds, diameter.searches % 2 == 0);
		uint32_t eccentricity = iso_graph_distances(adjacency, from, queue, distances);

		diameter.searches++;
		diameter.low = larger(diameter.low, eccentricity);
		diameter.high = narrow(&bounds, from, eccentricity, distances);
	}
	assert(diameter.low <= diameter.high);
	return diameter;
}
