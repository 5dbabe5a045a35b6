/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/arcs.h"

#include <assert.h>
#include <stddef.h>

static void assert_valid(const struct iso_arcs *arcs)
{
	assert(arcs->nodes >= 1);
	assert(arcs->arc_count <= arcs->arcs_max);
}

void iso_arcs_init(struct iso_arcs *arcs, uint32_t nodes, struct iso_arc *memory, uint32_t arcs_max)
{
	*arcs = (struct iso_arcs){ .nodes = nodes, .arcs_max = arcs_max, .arcs = memory };
	assert_valid(arcs);
}

static uint32_t hops_of(uint32_t nodes)
{
	uint32_t hops = 0;

	while (hops < 32 && (uint64_t)1 << hops < nodes)
		hops++;
	return hops;
}

uint64_t iso_arcs_exponential_count(uint32_t nodes)
{
	return (uint64_t)nodes * (hops_of(nodes) + 1);
}

/* Keeps the senders of one node in order: they come rotated, once around at most. */
static void put_in_order(struct iso_arc *arcs, uint32_t count, struct iso_arc arc)
{
	while (count > 0 && arcs[count - 1].from > arc.from) {
		arcs[count] = arcs[count - 1];
		count--;
	}
	arcs[count] = arc;
}

enum iso_status iso_arcs_exponential(struct iso_arcs *arcs)
{
	uint32_t nodes = arcs->nodes, hops = hops_of(nodes);
	double weight = 1.0 / (hops + 1);

	assert_valid(arcs);
	assert(arcs->arc_count == 0);
	if (iso_arcs_exponential_count(nodes) > arcs->arcs_max)
		return ISO_E_FULL;
	for (uint32_t to = 0; to < nodes; to++) {
		struct iso_arc *senders = &arcs->arcs[arcs->arc_count];

		senders[0] = (struct iso_arc){ to, to, weight };
		for (uint32_t h = 0; h < hops; h++) {
			uint64_t hop = (uint64_t)1 << h;
			uint32_t from = (uint32_t)((to + (uint64_t)nodes - hop) % nodes);

			assert(from != to);
			put_in_order(senders, h + 1, (struct iso_arc){ from, to, weight });
		}
		arcs->arc_count += hops + 1;
	}
	assert_valid(arcs);
	return ISO_OK;
}

/* cursors[i]: where node i's senders begin, when each has its neighbours and itself. */
static void place_nodes(const struct iso_graph *graph, uint32_t *cursors)
{
	uint32_t start = 0;

	iso_graph_degrees(graph, cursors);
	for (uint32_t i = 0; i < graph->nodes; i++) {
		uint32_t count = cursors[i] + 1;

		cursors[i] = start;
		start += count;
	}
	assert(start == 2 * graph->edge_count + graph->nodes);
}

/*
 * Edges are sorted by low, then high: for each node first come, in order, the
 * edges where it is the high end, then those where it is the low one.
 */
static void place_arcs(struct iso_arcs *arcs, const struct iso_graph *graph, const double *weights,
		       uint32_t *cursors)
{
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		struct iso_graph_edge edge = graph->edges[k];

		arcs->arcs[cursors[edge.high]++] =
		    (struct iso_arc){ edge.low, edge.high, weights == NULL ? 0 : weights[k] };
	}
	for (uint32_t i = 0; i < graph->nodes; i++)
		arcs->arcs[cursors[i]++] = (struct iso_arc){ i, i, 0 };
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		struct iso_graph_edge edge = graph->edges[k];

		arcs->arcs[cursors[edge.low]++] =
		    (struct iso_arc){ edge.high, edge.low, weights == NULL ? 0 : weights[k] };
	}
}

static enum iso_status both_ways(struct iso_arcs *arcs, const struct iso_graph *graph,
				 const double *weights, uint32_t *scratch)
{
	uint64_t count = 2 * (uint64_t)graph->edge_count + graph->nodes;

	assert_valid(arcs);
	assert(arcs->arc_count == 0 && arcs->nodes == graph->nodes);
	if (count > arcs->arcs_max)
		return ISO_E_FULL;
	place_nodes(graph, scratch);
	place_arcs(arcs, graph, weights, scratch);
	arcs->arc_count = (uint32_t)count;
	assert_valid(arcs);
	return ISO_OK;
}

enum iso_status iso_arcs_of_graph(struct iso_arcs *arcs, const struct iso_graph *graph,
				  uint32_t *scratch)
{
	enum iso_status status = both_ways(arcs, graph, NULL, scratch);

	if (status == ISO_OK)
		iso_arcs_push_weights(arcs, scratch);
	return status;
}

/* Symmetric: what a node receives is what it sends, so its row gives its column. */
enum iso_status iso_arcs_of_weights(struct iso_arcs *arcs, const struct iso_graph *graph,
				    const double *weights, uint32_t *scratch)
{
	enum iso_status status = both_ways(arcs, graph, weights, scratch);
	uint32_t first = 0;

	while (status == ISO_OK && first < arcs->arc_count) {
		uint32_t own = first, k = first;
		double others = 0;

		for (; k < arcs->arc_count && arcs->arcs[k].to == arcs->arcs[first].to; k++) {
			others += arcs->arcs[k].weight;
			own = arcs->arcs[k].from == arcs->arcs[k].to ? k : own;
		}
		assert(arcs->arcs[own].from == arcs->arcs[own].to);
		arcs->arcs[own].weight = 1 - others;
		first = k;
	}
	return status;
}

static bool before(const struct iso_arc *arc, uint32_t to, uint32_t from)
{
	return arc->to < to || (arc->to == to && arc->from < from);
}

/* NULL: there is none. */
static struct iso_arc *find(const struct iso_arcs *arcs, uint32_t from, uint32_t to)
{
	uint32_t low = 0, high = arcs->arc_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (before(&arcs->arcs[middle], to, from))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == arcs->arc_count || arcs->arcs[low].to != to || arcs->arcs[low].from != from)
		return NULL;
	return &arcs->arcs[low];
}

uint32_t iso_arcs_one_way(struct iso_arcs *arcs, double part, struct iso_rng *rng)
{
	const double dropped = -1;
	uint32_t kept = 0, count = arcs->arc_count;

	assert_valid(arcs);
	assert(part >= 0 && part <= 1);
	for (uint32_t k = 0; k < count; k++) {
		struct iso_arc *arc = &arcs->arcs[k], *back = find(arcs, arc->to, arc->from);

		assert(arc->weight >= 0 || arc->weight == dropped);
		/* Each pair once, and never a node's arc to itself. */
		if (arc->from >= arc->to || back == NULL || iso_rng_unit(rng) >= part)
			continue;
		if (iso_rng_below(rng, 2) == 0)
			arc = back;
		arc->weight = dropped;
	}
	for (uint32_t k = 0; k < count; k++)
		if (arcs->arcs[k].weight != dropped)
			arcs->arcs[kept++] = arcs->arcs[k];
	arcs->arc_count = kept;
	return count - kept;
}

/* Whether the node 0 reaches all, along the arcs or against them. */
static bool reaches_all(const struct iso_arcs *arcs, bool against, uint32_t *reached)
{
	uint32_t count = 1, before_count = 0;

	for (uint32_t i = 0; i < arcs->nodes; i++)
		reached[i] = i == 0;
	while (count > before_count) {
		before_count = count;
		for (uint32_t k = 0; k < arcs->arc_count; k++) {
			uint32_t source = against ? arcs->arcs[k].to : arcs->arcs[k].from;
			uint32_t target = against ? arcs->arcs[k].from : arcs->arcs[k].to;

			if (!reached[source] || reached[target])
				continue;
			reached[target] = 1;
			count++;
		}
	}
	assert(count <= arcs->nodes);
	return count == arcs->nodes;
}

bool iso_arcs_strongly_connected(const struct iso_arcs *arcs, uint32_t *scratch)
{
	assert_valid(arcs);
	return reaches_all(arcs, false, scratch) && reaches_all(arcs, true, scratch);
}

void iso_arcs_push_weights(struct iso_arcs *arcs, uint32_t *degrees)
{
	assert_valid(arcs);
	for (uint32_t i = 0; i < arcs->nodes; i++)
		degrees[i] = 0;
	for (uint32_t k = 0; k < arcs->arc_count; k++)
		degrees[arcs->arcs[k].from]++;
	for (uint32_t k = 0; k < arcs->arc_count; k++)
		arcs->arcs[k].weight = 1.0 / degrees[arcs->arcs[k].from];
}

void iso_arcs_mix(const struct iso_arcs *arcs, uint32_t m, const double *in, double *out)
{
	assert_valid(arcs);
	assert(in != out);
	for (uint64_t c = 0; c < (uint64_t)arcs->nodes * m; c++)
		out[c] = 0;
	for (uint32_t k = 0; k < arcs->arc_count; k++) {
		const struct iso_arc *arc = &arcs->arcs[k];
		const double *source = in + (uint64_t)arc->from * m;
		double *target = out + (uint64_t)arc->to * m;

		for (uint32_t c = 0; c < m; c++)
			target[c] += arc->weight * source[c];
	}
}
