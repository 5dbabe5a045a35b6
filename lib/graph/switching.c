/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/switching.h"

#include <assert.h>

#include "lib/graph/parts.h"
#include "lib/rng.h"

enum iso_status iso_switching_check(const struct iso_switching *switching)
{
	if (!(switching->up >= 0 && switching->up <= 1) || switching->dwell < 1)
		return ISO_E_RANGE;
	switch (switching->promise) {
	case ISO_SWITCHING_FREE:
	case ISO_SWITCHING_CONNECTED: return ISO_OK;
	case ISO_SWITCHING_UNION: return switching->turns >= 1 ? ISO_OK : ISO_E_RANGE;
	}
	return ISO_E_RANGE;
}

/* The draw that a round belongs to has a generator of its own; each key in it one, too. */
static struct iso_rng rng_of(const struct iso_switching *switching, uint64_t draw, uint64_t key)
{
	struct iso_rng rng = { switching->seed };

	rng.state = iso_rng_next(&rng) ^ draw;
	rng.state = iso_rng_next(&rng) ^ key;
	return rng;
}

static uint64_t key_of(struct iso_graph_edge edge)
{
	return (uint64_t)edge.low << 32 | edge.high;
}

/* In which of `turns` draws it is an edge's turn: evenly spread, the same for ever. */
static bool has_turn(const struct iso_switching *switching, struct iso_graph_edge edge,
		     uint64_t draw)
{
	struct iso_rng rng = rng_of(switching, UINT64_MAX, key_of(edge));

	return draw % switching->turns == iso_rng_below(&rng, switching->turns);
}

bool iso_switching_is_up(const struct iso_switching *switching, struct iso_graph_edge edge,
			 uint64_t round)
{
	uint64_t draw = round / switching->dwell;
	struct iso_rng rng = rng_of(switching, draw, key_of(edge));

	assert(iso_switching_check(switching) == ISO_OK);
	assert(edge.low < edge.high);
	if (switching->promise == ISO_SWITCHING_UNION && has_turn(switching, edge, draw))
		return true;
	return iso_rng_unit(&rng) < switching->up;
}

/* No edge has this key: its ends would be the same. */
static uint32_t first_of(const struct iso_switching *switching, const struct iso_graph *graph,
			 uint64_t round)
{
	struct iso_rng rng = rng_of(switching, round / switching->dwell, 0);

	return (uint32_t)iso_rng_below(&rng, graph->edge_count);
}

static uint32_t join_parts(const struct iso_graph *graph, uint32_t first, uint32_t *parent,
			   bool *up)
{
	uint32_t added = 0;

	for (uint32_t n = 0; n < graph->edge_count; n++) {
		uint32_t k = (uint32_t)(((uint64_t)first + n) % graph->edge_count);
		struct iso_graph_edge edge = graph->edges[k];

		if (up[k] || !iso_parts_join(parent, edge.low, edge.high))
			continue;
		up[k] = true;
		added++;
	}
	assert(added < graph->nodes);
	return added;
}

uint32_t iso_switching_edges(const struct iso_switching *switching, const struct iso_graph *graph,
			     uint64_t round, uint32_t *scratch, bool *ret_up)
{
	uint32_t count = 0;

	iso_parts_start(scratch, graph->nodes);
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		struct iso_graph_edge edge = graph->edges[k];

		ret_up[k] = iso_switching_is_up(switching, edge, round);
		if (!ret_up[k])
			continue;
		(void)iso_parts_join(scratch, edge.low, edge.high);
		count++;
	}
	if (switching->promise == ISO_SWITCHING_CONNECTED && count < graph->edge_count)
		count += join_parts(graph, first_of(switching, graph, round), scratch, ret_up);
	assert(count <= graph->edge_count);
	return count;
}

void iso_switching_weights(const struct iso_graph *graph, const bool *up,
			   enum iso_weights_kind kind, uint32_t *ret_degrees, double *ret_weights)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		ret_degrees[i] = 0;
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		ret_degrees[graph->edges[k].low] += up[k];
		ret_degrees[graph->edges[k].high] += up[k];
	}
	iso_graph_weights(graph, kind, ret_degrees, ret_weights);
	for (uint32_t k = 0; k < graph->edge_count; k++)
		ret_weights[k] = up[k] ? ret_weights[k] : 0;
}
