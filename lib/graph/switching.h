/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_SWITCHING_H
#define ISO_GRAPH_SWITCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/graph/weights.h"
#include "lib/status.h"

/*
 * Networks that change: which edges of a graph are up in a round, as a pure function
 * of seed, round and edge (co-optimisation, section 4.1: the switching signal).  Over
 * the complete graph this is a random graph drawn anew; over any other, failing links.
 * An edge is up or down for both of its ends at once, so that what flows over it
 * cancels.
 */
enum iso_switching_promise {
	ISO_SWITCHING_FREE = 1,         /* none: edges are drawn, each by itself */
	ISO_SWITCHING_CONNECTED,        /* connected at all times, if the whole graph is */
	ISO_SWITCHING_UNION,            /* each edge is up once in `turns` draws in a row */
};

struct iso_switching {
	uint64_t seed;
	double up;                      /* probability that an edge is drawn, 0 to 1 */
	uint32_t dwell;                 /* rounds that a draw lasts, >= 1 */
	enum iso_switching_promise promise;
	uint32_t turns;                 /* >= 1; of ISO_SWITCHING_UNION alone */
};

/* ISO_E_RANGE: one of the values is none of the above. */
ISO_MUST_USE enum iso_status iso_switching_check(const struct iso_switching *switching);

/*
 * One edge.  With ISO_SWITCHING_CONNECTED it is up also where this says false, if
 * parts would fall asunder without it.
 */
bool iso_switching_is_up(const struct iso_switching *switching, struct iso_graph_edge edge,
			 uint64_t round);

/*
 * All edges of a round, in the graph's order; returns how many are up.  To keep the
 * promise of ISO_SWITCHING_CONNECTED, edges that join two parts are added, beginning
 * anywhere in the list: a spanning tree of the parts, no edge more.
 * scratch: one per node, overwritten.
 */
uint32_t iso_switching_edges(const struct iso_switching *switching, const struct iso_graph *graph,
			     uint64_t round, uint32_t *scratch, bool *ret_up);

/*
 * Weights among the edges that are up, by the degrees that the nodes have now; 0
 * for those that are down.  ret_degrees: one per node.
 */
void iso_switching_weights(const struct iso_graph *graph, const bool *up,
			   enum iso_weights_kind kind, uint32_t *ret_degrees, double *ret_weights);

#endif
