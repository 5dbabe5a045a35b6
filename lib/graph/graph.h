/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_H
#define ISO_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/rng.h"
#include "lib/status.h"

/*
 * Undirected graphs as sorted lists of edges without loops or doubles.
 * The array belongs to the caller; nothing is allocated.
 */
struct iso_graph_edge {
	uint32_t low;           /* low < high */
	uint32_t high;
};

struct iso_graph {
	uint32_t nodes;
	uint32_t edges_max;
	uint32_t edge_count;
	struct iso_graph_edge *edges;
};

/* nodes >= 1.  edges: room for edges_max, borrowed for the life of the graph. */
void iso_graph_init(struct iso_graph *graph, uint32_t nodes, struct iso_graph_edge *edges,
		    uint32_t edges_max);

/* ISO_E_RANGE: a loop or no such node.  ISO_E_FULL.  A double is no error and changes nothing. */
ISO_MUST_USE enum iso_status iso_graph_add(struct iso_graph *graph, uint32_t a, uint32_t b);

/*
 * Generators add to what is there.  ISO_E_FULL leaves the graph as it was.
 * exponential: i to i + 2^k (mod n).  grid: rows x columns = nodes, else
 * ISO_E_RANGE.  random: a ring and `chords` drawn pairs (which may coincide).
 */
ISO_MUST_USE enum iso_status iso_graph_line(struct iso_graph *graph);
ISO_MUST_USE enum iso_status iso_graph_ring(struct iso_graph *graph);
ISO_MUST_USE enum iso_status iso_graph_star(struct iso_graph *graph);
ISO_MUST_USE enum iso_status iso_graph_complete(struct iso_graph *graph);
ISO_MUST_USE enum iso_status iso_graph_exponential(struct iso_graph *graph);
ISO_MUST_USE enum iso_status iso_graph_grid(struct iso_graph *graph, uint32_t rows,
					    uint32_t columns);
ISO_MUST_USE enum iso_status iso_graph_random(struct iso_graph *graph, uint32_t chords,
					      struct iso_rng *rng);

/* ret_degree: one per node. */
void iso_graph_degrees(const struct iso_graph *graph, uint32_t *ret_degree);

/* scratch: one per node, overwritten. */
bool iso_graph_connected(const struct iso_graph *graph, uint32_t *scratch);

/*
 * Metropolis weight of an edge, 1 / (1 + max degree): with it the
 * eigenvalues of the weighted Laplacian stay below 2.
 */
double iso_graph_metropolis(uint32_t degree_a, uint32_t degree_b);

#endif
