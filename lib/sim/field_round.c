/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <string.h>

#include "lib/sim/field_state.h"
#include "lib/track/flow.h"

static bool has_dropped_end(const struct iso_field *field, struct iso_graph_edge edge)
{
	return field_is(field, edge.low, FIELD_DROPPED) ||
	       field_is(field, edge.high, FIELD_DROPPED);
}

/* Those of dropped nodes are none. */
static void leave_out_dropped(struct iso_field *field)
{
	for (uint32_t e = 0; e < field->edges && field->any_away; e++)
		if (has_dropped_end(field, field->config.graph->edges[e]))
			field->up[e] = false;
}

void iso_field_find_edges(struct iso_field *field)
{
	const struct iso_field_config *config = &field->config;
	const struct iso_graph *graph = config->graph;
	bool follows = config->switching != NULL && !config->steady_weights;

	if (field->weigh_anew && !follows) {
		memset(field->up, 1, field->edges * sizeof(*field->up));
		leave_out_dropped(field);
		iso_switching_weights(graph, field->up, config->weights, field->degree,
				      field->weight);
	}
	field->weigh_anew = false;
	if (config->switching == NULL)
		return;
	(void)iso_switching_edges(config->switching, graph, field->counts.rounds, field->marks,
				  field->up);
	leave_out_dropped(field);
	if (follows)
		iso_switching_weights(graph, field->up, config->weights, field->degree,
				      field->weight);
}

/* Forgets what flowed over the edges of a node that has been silent for too long. */
static void drop(struct iso_field *field, uint32_t node)
{
	field->node[node].standing = FIELD_DROPPED;
	field->weigh_anew = true;
	for (uint32_t e = 0; e < field->edges && field->m > 0; e++) {
		struct iso_graph_edge edge = field->config.graph->edges[e];

		if (edge.low == node || edge.high == node)
			memset(field_at(field->flux, field, e), 0, sizeof(double) * field->m);
	}
}

static void wait_for_silent(struct iso_field *field)
{
	for (uint32_t i = 0; i < field->nodes && field->any_away; i++)
		if (field_is(field, i, FIELD_SILENT) &&
		    field->node[i].silent_rounds++ >= field->config.hold_rounds)
			drop(field, i);
}

/* Moves the estimates to where they will be at the neighbours, counting bits. */
static bool send(struct iso_field *field, uint32_t node)
{
	const struct iso_field_config *config = &field->config;
	uint64_t bits = 0;

	if (config->sites != NULL) {
		uint64_t price_bits =
		    iso_stream_apply(&config->price, &field->price[node], &field->price_sent[node]);

		if (price_bits == 0)
			return false;
		bits += price_bits;
	}
	if (field->m > 0) {
		uint64_t y_bits = iso_stream_apply(&config->vector, field_at(field->y, field, node),
						   field_at(field->y_sent, field, node));
		uint64_t z_bits = iso_stream_apply(&config->vector, field_at(field->z, field, node),
						   field_at(field->z_sent, field, node));

		if (y_bits == 0 || z_bits == 0)
			return false;
		bits += y_bits + z_bits;
	}
	field->bits[node] = bits;
	return true;
}

static bool send_all(struct iso_field *field)
{
	for (uint32_t i = 0; i < field->nodes; i++)
		if (field_is(field, i, FIELD_PRESENT) && !send(field, i))
			return false;
	return true;
}

/* What a receiver needs that has missed some: the missed ones, or the values themselves. */
static uint64_t catch_up_bits(const struct iso_field *field, uint32_t edge, uint32_t sender)
{
	const struct iso_field_config *config = &field->config;
	bool price = config->sites != NULL && config->price.mode == ISO_STREAM_INNOVATION;
	bool vector = field->m > 0 && config->vector.mode == ISO_STREAM_INNOVATION;
	uint64_t exact = 64 * ((price ? 1 : 0) + (vector ? 2 * (uint64_t)field->m : 0));
	uint64_t missed = field->missed[edge];

	if (missed == 0 || exact == 0)
		return 0;
	return missed < exact / field->bits[sender] ? missed * field->bits[sender] : exact;
}

static void count_message(struct iso_field *field, uint32_t edge, uint32_t sender)
{
	uint64_t more = catch_up_bits(field, edge, sender);

	field->counts.messages++;
	field->counts.bits += field->bits[sender] + more;
	field->counts.catch_up_bits += more;
}

static void pull(struct iso_field *field, uint32_t edge, bool low_moves, bool high_moves)
{
	struct iso_graph_edge ends = field->config.graph->edges[edge];
	double weight = field->config.step * field->weight[edge];

	memset(field->scratch, 0, sizeof(double) * field->m);
	iso_track_flow(field->m, weight, field_at(field->y_sent, field, ends.low),
		       field_at(field->y_sent, field, ends.high), field->scratch);
	if (low_moves)
		iso_track_gain(field->m, field->scratch, field_at(field->pull, field, ends.low));
	if (high_moves)
		iso_track_lose(field->m, field->scratch, field_at(field->pull, field, ends.high));
}

/* One edge, both of whose ends are present. */
static void flow(struct iso_field *field, uint32_t edge)
{
	struct iso_graph_edge ends = field->config.graph->edges[edge];

	if (field->config.sites != NULL) {
		double difference = field->price_sent[ends.high] - field->price_sent[ends.low];
		double flux = field->config.share_step * field->weight[edge] * difference;

		field->share[ends.low] += flux;
		field->share[ends.high] -= flux;
	}
	if (field->m == 0)
		return;
	iso_track_flow(field->m, field->config.step * field->weight[edge],
		       field_at(field->z_sent, field, ends.low),
		       field_at(field->z_sent, field, ends.high),
		       field_at(field->flux, field, edge));
	pull(field, edge, true, true);
}

static void pass_edge(struct iso_field *field, uint32_t edge)
{
	struct iso_graph_edge ends = field->config.graph->edges[edge];
	bool low = field_is(field, ends.low, FIELD_PRESENT);
	bool high = field_is(field, ends.high, FIELD_PRESENT);

	if (field->up[edge] && low && high) {
		count_message(field, edge, ends.low);
		count_message(field, edge, ends.high);
		field->missed[edge] = 0;
		flow(field, edge);
	} else {
		field->counts.skipped++;
		if (field->missed[edge] < UINT32_MAX)
			field->missed[edge]++;
		/* The last values of a silent neighbour draw on. */
		if (field->up[edge] && field->m > 0)
			pull(field, edge, low, high);
	}
	if (field->m == 0)
		return;
	iso_track_gain(field->m, field_at(field->flux, field, edge),
		       field_at(field->inflow, field, ends.low));
	iso_track_lose(field->m, field_at(field->flux, field, edge),
		       field_at(field->inflow, field, ends.high));
}

static bool move(struct iso_field *field, uint32_t node)
{
	const struct iso_field_config *config = &field->config;
	const double *drawn = field_at(field->pull, field, node);
	const double *z = field_at(field->z, field, node);
	bool is_finite;

	field->z_square += iso_track_square(field->m, z);
	field->pull_square += iso_track_square(field->m, drawn);
	iso_track_move(field->m, drawn, config->step * config->alpha, z,
		       field_at(field->y, field, node));
	is_finite = iso_field_take_gradient(field, node);
	iso_field_make_z(field, node);
	return is_finite;
}

static bool move_all(struct iso_field *field)
{
	bool is_finite = true;

	field->z_square = 0;
	field->pull_square = 0;
	for (uint32_t i = 0; i < field->nodes; i++) {
		if (field->config.sites != NULL)
			iso_field_take_price(field, i);
		if (field->m == 0)
			continue;
		if (field_is(field, i, FIELD_PRESENT))
			is_finite = move(field, i) && is_finite;
		else
			/* It stands still, but one of its neighbours may have been dropped. */
			iso_field_make_z(field, i);
	}
	return is_finite;
}

enum iso_status iso_field_round(struct iso_field *field)
{
	size_t vector_bytes = sizeof(double) * field->nodes * field->m;

	if (field->diverged)
		return ISO_E_RANGE;
	wait_for_silent(field);
	iso_field_find_edges(field);
	field->diverged = !send_all(field);
	if (field->diverged)
		return ISO_E_RANGE;
	memset(field->pull, 0, vector_bytes);
	memset(field->inflow, 0, vector_bytes);
	for (uint32_t e = 0; e < field->edges; e++)
		pass_edge(field, e);
	field->diverged = !move_all(field);
	field->counts.rounds++;
	return field->diverged ? ISO_E_RANGE : ISO_OK;
}
