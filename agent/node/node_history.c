/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/node/node_private.h"
#include "lib/quantity.h"

/*
 * Why the share is what it is: each change of it with what it was decided on, the
 * newest NODE_EVENTS_MAX since the start.  What flowed is taken from the edges' own
 * totals, so nothing that moved the share can be missing.
 */

struct event {
	uint64_t at_ns;             /* CLOCK_BOOTTIME */
	char peer[CONF_NAME_BYTES]; /* empty: an administrator's operation */
	uint64_t op;                /* its number, else 0 */
	int64_t moved_ucpu;         /* into the share; negative: out of it */
	int64_t share_ucpu;         /* after all that happened in this tick */
	int64_t demand_ucpu;
	double marginal;
	double price;               /* shown to neighbours */
	double peer_price;          /* as last heard; NAN */
};

struct node_history {
	struct event events[NODE_EVENTS_MAX];
	uint64_t total; /* ever; event n is at n % NODE_EVENTS_MAX */
	uint32_t gen;   /* of the edges below */
	uint32_t edges;
	uint64_t sent[ISO_DEGREE_MAX], received[ISO_DEGREE_MAX];
};

static struct event *add(struct node *node, const struct iso_trade_status *trade,
			 int64_t moved_ucpu)
{
	struct event *event = &node->history->events[node->history->total++ % NODE_EVENTS_MAX];

	*event = (struct event){
		.at_ns = clock_boot_ns(),
		.moved_ucpu = moved_ucpu,
		.share_ucpu = trade->share_ucpu,
		.demand_ucpu = (int64_t)job_view(node->job)->demand_ucpu,
		.marginal = iso_price_real(trade->marginal_q32),
		.price = iso_price_real(trade->price_q32),
		.peer_price = (double)NAN,
	};
	return event;
}

static void note_edge(struct node *node, const struct iso_trade_status *trade, uint32_t index)
{
	struct node_history *history = node->history;
	const struct peer *peer = node_peer_of_edge(node, index);
	struct iso_trade_edge edge;

	if (iso_trade_edge(node->trade, index, &edge) != ISO_OK)
		return;
	int64_t out_ucpu = (int64_t)(edge.sent - history->sent[index]);
	int64_t in_ucpu = (int64_t)(edge.received - history->received[index]);
	history->sent[index] = edge.sent;
	history->received[index] = edge.received;
	if (index >= history->edges || (in_ucpu == 0 && out_ucpu == 0))
		return; /* an edge that is new has a past of its own */
	struct event *event = add(node, trade, in_ucpu - out_ucpu);
	memcpy(event->peer, peer != NULL ? peer->as.name : "?",
	       peer != NULL ? sizeof(event->peer) : 2);
	if (edge.heard.valid)
		event->peer_price = iso_price_real(edge.heard.price.value_q32);
}

void node_history_note(struct node *node, const struct iso_op *op,
		       const struct iso_trade_plan *plan)
{
	struct node_history *history = node->history;
	uint32_t edges = iso_trade_edges(node->trade);
	struct iso_trade_status trade;

	iso_trade_status(node->trade, &trade);
	assert(edges <= ISO_DEGREE_MAX);
	if (history->gen != trade.gen)
		history->edges = 0; /* another life: other edges */
	history->gen = trade.gen;
	for (uint32_t i = 0; i < edges; i++)
		note_edge(node, &trade, i);
	history->edges = edges;
	if (op != NULL && plan->op_status == ISO_OK && plan->op_moved_ucpu != 0)
		add(node, &trade, plan->op_moved_ucpu)->op = op->id;
}

struct node_history *node_history_new(void)
{
	return calloc(1, sizeof(struct node_history));
}

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *event_json(const struct event *event, uint64_t boot_ns)
{
	return json_pack("{s:f, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "age_s",
			 (double)(boot_ns - event->at_ns) / ISO_NS_PER_S, "peer",
			 event->op == 0 ? json_string(event->peer) : json_null(), "operation",
			 event->op != 0 ? json_integer((json_int_t)event->op) : json_null(),
			 "moved_ucpu", (json_int_t)event->moved_ucpu, "share_ucpu",
			 (json_int_t)event->share_ucpu, "demand_ucpu",
			 (json_int_t)event->demand_ucpu, "marginal_cost",
			 real_or_null(event->marginal), "price", real_or_null(event->price),
			 "peer_price", real_or_null(event->peer_price));
}

json_t *node_command_history(void *context, const json_t *request)
{
	const struct node *node = context;
	const struct node_history *history = node->history;
	const json_t *wanted = json_object_get(request, "count");
	uint64_t kept = history->total < NODE_EVENTS_MAX ? history->total : NODE_EVENTS_MAX;
	uint64_t count = kept;
	uint64_t boot_ns = clock_boot_ns();
	json_t *events = json_array();

	if (json_is_integer(wanted) && json_integer_value(wanted) >= 0 &&
	    (uint64_t)json_integer_value(wanted) < count)
		count = (uint64_t)json_integer_value(wanted);
	for (uint64_t n = history->total - count; n < history->total; n++)
		(void)json_array_append_new(events,
					    event_json(&history->events[n % NODE_EVENTS_MAX],
							       boot_ns));
	return json_pack("{s:s, s:o, s:I}", "node", node->conf->node, "events", events,
			 "forgotten", (json_int_t)(history->total - kept));
}
