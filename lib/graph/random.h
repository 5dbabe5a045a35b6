/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_RANDOM_H
#define ISO_GRAPH_RANDOM_H

#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/rng.h"
#include "lib/status.h"

/*
 * Random graphs, which may be connected or not: iso_graph_connected() tells.  They
 * add to what is there; ISO_E_FULL leaves the graph as it was.
 */

/*
 * Erdős-Rényi: each pair with probability 0 <= p <= 1, else ISO_E_RANGE.  In time of
 * nodes + edges (Batagelj and Brandes 2005, by skipping pairs).
 */
ISO_MUST_USE enum iso_status iso_graph_erdos_renyi(struct iso_graph *graph, double p,
						   struct iso_rng *rng);

/* Edges for which there should be room; fewer in all but one of 10^12 draws. */
uint64_t iso_graph_erdos_renyi_room(uint32_t nodes, double p);

struct iso_graph_point {
	double x, y;
};

/*
 * Geometric: nodes at random in the unit square, an edge where two are at most
 * radius >= 0 apart, else ISO_E_RANGE.  ret_points: one per node.  scratch: two per
 * node, overwritten.
 */
ISO_MUST_USE enum iso_status iso_graph_geometric(struct iso_graph *graph, double radius,
						 struct iso_rng *rng, uint32_t *scratch,
						 struct iso_graph_point *ret_points);

uint64_t iso_graph_geometric_room(uint32_t nodes, double radius);

#endif
