/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_ARCS_H
#define ISO_GRAPH_ARCS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/rng.h"
#include "lib/status.h"

/*
 * Directed graphs with weights, each node's arc to itself included: the matrix B
 * of push-sum methods as a list, B[to][from] = weight, sorted by `to`, then `from`.
 * The array belongs to the caller; nothing is allocated.
 */
struct iso_arc {
	uint32_t from;
	uint32_t to;
	double weight;
};

struct iso_arcs {
	uint32_t nodes;
	uint32_t arcs_max;
	uint32_t arc_count;
	struct iso_arc *arcs;
};

/* nodes >= 1.  arcs: room for arcs_max, borrowed. */
void iso_arcs_init(struct iso_arcs *arcs, uint32_t nodes, struct iso_arc *memory,
		   uint32_t arcs_max);

/*
 * The makers fill an empty list.  Those that take scratch (one per node) overwrite
 * it.  ISO_E_FULL leaves the list empty.
 */

/* How many arcs iso_arcs_exponential() makes. */
uint64_t iso_arcs_exponential_count(uint32_t nodes);

/*
 * i to i + 2^h (mod n), h = 0..floor(log2(n - 1)), and to itself, weights
 * 1 / out-degree.  Every node also receives from that many, so that B is doubly
 * stochastic (the graph of S-ADDOPT's and Push-SAGA's experiments).
 */
ISO_MUST_USE enum iso_status iso_arcs_exponential(struct iso_arcs *arcs);

/* Every edge both ways and every node to itself, column-stochastic; 2 edges + nodes arcs. */
ISO_MUST_USE enum iso_status iso_arcs_of_graph(struct iso_arcs *arcs, const struct iso_graph *graph,
					       uint32_t *scratch);

/* The same arcs with one weight an edge; what is left of 1 goes to the node itself. */
ISO_MUST_USE enum iso_status iso_arcs_of_weights(struct iso_arcs *arcs,
						 const struct iso_graph *graph,
						 const double *weights, uint32_t *scratch);

/*
 * Makes links one-way: where there are arcs both ways between two nodes, one of them
 * is dropped with probability 0 <= part <= 1, either as likely (the geometric graph of
 * S-ADDOPT's and Push-SAGA's experiments has 0.03).  Returns how many were.  Weights
 * are left as they are: iso_arcs_push_weights() makes new ones.
 */
uint32_t iso_arcs_one_way(struct iso_arcs *arcs, double part, struct iso_rng *rng);

/*
 * Whether there is a way from every node to every other one, without which push-sum
 * methods agree on nothing.  In time of arcs by the longest way at most.
 * scratch: one per node, overwritten.
 */
bool iso_arcs_strongly_connected(const struct iso_arcs *arcs, uint32_t *scratch);

/*
 * Weights 1 / out-degree: column-stochastic, which a sender can do by itself.
 * degrees: one per node, overwritten.
 */
void iso_arcs_push_weights(struct iso_arcs *arcs, uint32_t *degrees);

/* out[to] = sum of weight * in[from], for vectors of m doubles, one behind the other. */
void iso_arcs_mix(const struct iso_arcs *arcs, uint32_t m, const double *in, double *out);

#endif
