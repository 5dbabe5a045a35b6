/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/weights.h"

#include <assert.h>
#include <stdbool.h>

static uint32_t largest(const uint32_t *degrees, uint32_t nodes)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < nodes; i++)
		most = degrees[i] > most ? degrees[i] : most;
	return most;
}

void iso_graph_weights(const struct iso_graph *graph, enum iso_weights_kind kind,
		       const uint32_t *degrees, double *ret_weights)
{
	uint32_t most = largest(degrees, graph->nodes);

	assert(kind == ISO_WEIGHTS_METROPOLIS || kind == ISO_WEIGHTS_MAX_DEGREE);
	assert(most < graph->nodes);
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		struct iso_graph_edge edge = graph->edges[k];
		bool own = kind == ISO_WEIGHTS_METROPOLIS;

		ret_weights[k] = iso_graph_metropolis(own ? degrees[edge.low] : most,
						      own ? degrees[edge.high] : most);
		assert(ret_weights[k] > 0 && ret_weights[k] <= 1);
	}
}
