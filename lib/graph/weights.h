/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_WEIGHTS_H
#define ISO_GRAPH_WEIGHTS_H

#include <stdint.h>

#include "lib/graph/graph.h"

/*
 * Symmetric weights, one an edge.  With each kind the weights at a node sum to
 * less than 1, so that I - Laplacian is doubly stochastic and the eigenvalues of
 * the Laplacian are in [0, 2) (co-optimisation, section 4.6).
 */
enum iso_weights_kind {
	ISO_WEIGHTS_METROPOLIS = 1,     /* 1 / (1 + larger degree of the two ends) */
	ISO_WEIGHTS_MAX_DEGREE,         /* 1 / (1 + largest degree of all) */
};

/* degrees: of iso_graph_degrees().  ret_weights: one an edge, in the graph's order. */
void iso_graph_weights(const struct iso_graph *graph, enum iso_weights_kind kind,
		       const uint32_t *degrees, double *ret_weights);

#endif
