/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_DISTANCE_H
#define ISO_GRAPH_DISTANCE_H

#include <stdint.h>

#include "lib/graph/graph.h"

/* Neighbours of node i: others[starts[i]] to others[starts[i + 1] - 1], ascending. */
struct iso_adjacency {
	uint32_t nodes;
	const uint32_t *starts;
	const uint32_t *others;
};

/* starts: nodes + 1; others: twice as many as edges; both borrowed. */
struct iso_adjacency iso_graph_adjacency(const struct iso_graph *graph, uint32_t *starts,
					 uint32_t *others);

/*
 * How many edges away each node is; UINT32_MAX: it cannot be reached.  Returns the
 * largest of the others, the eccentricity.  queue: one per node, overwritten.
 */
uint32_t iso_graph_distances(const struct iso_adjacency *adjacency, uint32_t from, uint32_t *queue,
			     uint32_t *ret_distances);

/* Between which bounds the diameter is; low == high: it is known. */
struct iso_diameter {
	uint32_t low, high;
	uint32_t searches; /* from so many nodes */
};

/*
 * Of a connected graph, from searches_max >= 1 nodes at most (Takes and Kosters 2011:
 * each search bounds the eccentricity of all nodes; a graph that is the same from
 * everywhere needs as many searches as it has nodes).  scratch: 4 per node.
 */
struct iso_diameter iso_graph_diameter(const struct iso_adjacency *adjacency, uint32_t searches_max,
				       uint32_t *scratch);

#endif
