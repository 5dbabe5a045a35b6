/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/control/opjson.h"
#include "agent/node/crash.h"
#include "agent/node/node_private.h"
#include "lib/quantity.h"

/*
 * The administrator's operations: taken in between two ticks, applied one a
 * tick, which then comes sooner, and answered when the record that holds both
 * effect and number is durable.
 * What is answered with "busy" has changed nothing and is asked for again.
 */

/* An operation waits no longer for its tick. */
#define OP_DELAY_NS 100000000u

static uint32_t tick_ms(const struct node *node)
{
	return (uint32_t)(node->conf->trading.tick_ns / 1000000u);
}

__attribute__((format(printf, 2, 3))) static json_t *busy(uint64_t retry_ms, const char *format,
							   ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_t *reply = control_refuse("%s", text);
	(void)json_object_set_new(reply, "busy", json_true());
	(void)json_object_set_new(reply, "retry_ms", json_integer((json_int_t)retry_ms));
	return reply;
}

static json_t *applied(struct node *node, uint64_t last_op, int64_t moved_ucpu)
{
	return json_pack("{s:b, s:b, s:I, s:I, s:o}", "ok", 1, "applied", 1, "last_op",
			 (json_int_t)last_op, "moved_ucpu", (json_int_t)moved_ucpu, "record",
			 node_command_ledger(node, NULL));
}

/* For an operation whose number was taken before: the answer of then, or that it is too late. */
static json_t *again(struct node *node, uint64_t id)
{
	struct iso_trade_status trade;

	iso_trade_status(node->trade, &trade);
	if (id == trade.last_op)
		return applied(node, trade.last_op, trade.last_op_ucpu);
	json_t *reply = control_refuse("operation %" PRIu64 " is older than the newest that was "
				       "applied, %" PRIu64, id, trade.last_op);
	(void)json_object_set_new(reply, "stale", json_true());
	(void)json_object_set_new(reply, "last_op", json_integer((json_int_t)trade.last_op));
	return reply;
}

static void note(const struct node_op *op, const char *what)
{
	const struct iso_op *is = &op->as.op;
	char amount[48] = "";

	if (is->kind == ISO_OP_MINT || is->kind == ISO_OP_BURN)
		snprintf(amount, sizeof(amount), " %.4f CPU",
			 (double)is->amount_ucpu / ISO_UCPU_PER_CPU);
	log_info("operation %" PRIu64 " (%s%s%s%s) of %s: %s", is->id, iso_op_name(is->kind),
		 amount, op->as.peer[0] != '\0' ? " " : "", op->as.peer, op->token.who, what);
}

static void note_applied(const struct node_op *op, int64_t moved_ucpu)
{
	const struct iso_op *is = &op->as.op;
	char text[96] = "applied";

	/* What was asked for is there already. */
	if (is->kind == ISO_OP_BURN || is->kind == ISO_OP_FOLD)
		snprintf(text, sizeof(text), "applied, %.4f CPU",
			 (double)moved_ucpu / ISO_UCPU_PER_CPU);
	else if (is->budget_ucpu != 0)
		snprintf(text, sizeof(text), "applied, budget %.4f CPU",
			 (double)is->budget_ucpu / ISO_UCPU_PER_CPU);
	note(op, text);
}

/* Takes the oldest off the queue and answers it (moves reply). */
static void answer(struct node *node, json_t *reply)
{
	assert(node->op_count > 0);
	struct control_token token = node->ops[0].token;
	node->op_count--;
	memmove(&node->ops[0], &node->ops[1], node->op_count * sizeof(node->ops[0]));
	control_answer(&token, reply);
}

static void refuse(struct node *node, const char *why)
{
	note(&node->ops[0], why);
	answer(node, control_refuse("%s", why));
}

/* Where the peer is reached is durable before the edge is: an edge that nobody can use is none. */
static int prepare_open(struct node *node, const struct opjson_op *op, struct error *reterr)
{
	struct opjson_neighbour neighbour = { .gen = op->op.peer_gen };
	struct peer *peer;

	memcpy(neighbour.name, op->peer, sizeof(neighbour.name));
	memcpy(neighbour.address, op->address, sizeof(neighbour.address));
	memcpy(neighbour.public_key, op->public_key, sizeof(neighbour.public_key));
	return node_meet(node, &neighbour, &peer, reterr);
}

const struct iso_op *node_op_next(struct node *node)
{
	struct iso_trade_status trade;
	struct error error = { 0 };

	iso_trade_status(node->trade, &trade);
	while (node->op_count > 0) {
		const struct iso_op *op = &node->ops[0].as.op;

		if (op->id <= trade.last_op) {
			answer(node, again(node, op->id));
		} else if (node_is_stuck(node)) {
			answer(node, busy(tick_ms(node), "%s", node->stuck_reason));
		} else if (op->gen != trade.gen) {
			char why[96];

			snprintf(why, sizeof(why), "this node is of generation %" PRIu32
				 ", not %" PRIu32, trade.gen, op->gen);
			refuse(node, why);
		} else if (op->kind == ISO_OP_OPEN && trade.halt == ISO_HALT_NONE &&
			   prepare_open(node, &node->ops[0].as, &error) < 0) {
			refuse(node, error.text);
		} else {
			return op;
		}
	}
	return NULL;
}

/* Milliseconds until the edge to this peer may be closed, UINT64_MAX: never without a word. */
static uint64_t close_in_ms(const struct node *node, uint64_t peer)
{
	struct iso_trade_edge edge;
	uint64_t now_ns = clock_boot_ns();

	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		if (iso_trade_edge(node->trade, i, &edge) != ISO_OK || edge.peer != peer)
			continue;
		if (edge.close_at_ns == UINT64_MAX)
			return UINT64_MAX;
		return edge.close_at_ns > now_ns ? (edge.close_at_ns - now_ns) / 1000000u + 1 : 0;
	}
	return 0;
}

static json_t *not_yet(const struct node *node, const struct opjson_op *op)
{
	struct iso_trade_status status;
	uint64_t left_ms;

	if (node_is_stuck(node))
		return busy(tick_ms(node), "%s", node->stuck_reason);
	switch (op->op.kind) {
	case ISO_OP_CLOSE:
		left_ms = close_in_ms(node, op->op.peer);
		if (left_ms > 0 && left_ms < UINT64_MAX)
			return busy(left_ms, "%s may have a lease for another %.1f s", op->peer,
				    (double)left_ms / 1e3);
		break;
	case ISO_OP_FOLD:
		return busy(tick_ms(node), "the edge to %s is not settled yet, or not closed",
			    op->peer);
	case ISO_OP_BURN:
		iso_trade_status(node->trade, &status);
		if (!status.verified)
			return busy(tick_ms(node), "the journal is not verified yet, see "
						   "isobard(8)");
		return busy(tick_ms(node), "cgroup %s: the limit cannot be lowered now",
			    conf_job(node->conf));
	case ISO_OP_MINT:
	case ISO_OP_BUDGET:
	case ISO_OP_OPEN:
	case ISO_OP_DRAIN:
	case ISO_OP_LEAVE:
	case ISO_OP_VOID: break;
	}
	return busy(tick_ms(node), "not now");
}

/* What the ledger's statuses mean for this operation. */
static void explain(const struct node *node, const struct opjson_op *op, enum iso_status status,
		    char *out, size_t size)
{
	struct iso_trade_status trade;

	iso_trade_status(node->trade, &trade);
	if (status == ISO_E_HALTED)
		snprintf(out, size, "this node has stopped trading: %s",
			 iso_halt_text(trade.halt));
	else if (status == ISO_E_FULL)
		snprintf(out, size, "%u edges are the most", ISO_DEGREE_MAX);
	else if (status == ISO_E_UNKNOWN)
		snprintf(out, size, "there is no edge to generation %" PRIu32 " of %s",
			 op->op.peer_gen, op->peer);
	else if (status == ISO_E_RANGE && op->op.kind == ISO_OP_OPEN)
		snprintf(out, size,
			 "an edge to another generation of %s is there, or generation %" PRIu32
			 " has ended", op->peer, op->op.peer_gen);
	else if (status == ISO_E_RANGE && op->op.kind == ISO_OP_CLOSE)
		snprintf(out, size, "there are no leases (trading.lease), so only a declared "
			 "death closes the edge to %s", op->peer);
	else if (status == ISO_E_RANGE && op->op.kind == ISO_OP_FOLD)
		snprintf(out, size, "what went over the edge to %s is not what was certified",
			 op->peer);
	else
		snprintf(out, size, "%s: %s", iso_op_name(op->op.kind), iso_status_text(status));
}

void node_op_done(struct node *node, const struct iso_trade_plan *plan)
{
	const struct node_op *op = &node->ops[0];
	char text[256];

	assert(node->op_count > 0);
	if (plan->op_status == ISO_OK) {
		note_applied(op, plan->op_moved_ucpu);
		node_map_edges(node);
		answer(node, applied(node, op->as.op.id, plan->op_moved_ucpu));
	} else if (plan->op_status == ISO_E_BUSY) {
		answer(node, not_yet(node, &op->as));
	} else if (plan->op_status == ISO_E_STALE) {
		answer(node, again(node, op->as.op.id));
	} else {
		explain(node, &op->as, plan->op_status, text, sizeof(text));
		refuse(node, text);
	}
}

json_t *node_command_op(void *context, const json_t *request, const struct control_token *token)
{
	struct node *node = context;
	struct error error = { 0 };
	struct node_op op;

	if (opjson_op_read(request, node->conf->cluster, &op.as, &error) < 0)
		return control_refuse("%s", error.text);
	if (node->op_count == NODE_OPS_MAX)
		return busy(tick_ms(node), "%u operations wait for the next ticks", NODE_OPS_MAX);
	op.token = *token;
	node->ops[node->op_count++] = op;
	/* A procedure is many of these, one after the other: it need not take as many ticks. */
	uint64_t soon_ns = clock_now_ns() + OP_DELAY_NS;
	if (soon_ns < node->tick_at_ns)
		node->tick_at_ns = soon_ns;
	node_arm(node);
	return NULL;
}

static json_t *explain_admission(const struct node *node, enum iso_status status,
				 const struct iso_trade_status *trade)
{
	switch ((int)status) {
	case ISO_E_BUSY:
		return control_refuse("generation %" PRIu32 " of this node is alive: it leaves, "
				      "or is buried, first", trade->gen);
	case ISO_E_FULL:
		return control_refuse("%u neighbours are the most", ISO_DEGREE_MAX);
	case ISO_E_RANGE:
		return control_refuse("the generation is not greater than %" PRIu32 ", the share "
				      "not between the floor, %.4f CPU, and the budget, or a "
				      "neighbour's generation has ended", trade->gen,
				      (double)node->conf->floor_ucpu / ISO_UCPU_PER_CPU);
	default:
		return control_refuse("%s", iso_status_text(status));
	}
}

/* The peers of the admission, durable and connected. */
static int meet_all(struct node *node, const struct opjson_admission *from,
		    struct iso_ledger_peer ret_peers[CONF_NEIGHBOURS_MAX], struct error *reterr)
{
	for (uint32_t i = 0; i < from->neighbour_count; i++) {
		struct peer *peer;
		int r = node_meet(node, &from->neighbours[i], &peer, reterr);

		if (r < 0)
			return r;
		ret_peers[i] = (struct iso_ledger_peer){ peer->id, from->neighbours[i].gen };
	}
	return 0;
}

/* The new generation: its record durable, then the core anew from it.  NULL: the node ends. */
static json_t *begin_generation(struct node *node, const struct iso_ledger_admission *admission,
				const struct iso_trade_status *trade)
{
	struct iso_trade_config config =
		node_trade_config(node->conf, &node->quant, node->trade_peers);
	struct iso_audit_node now;
	struct iso_record record;
	struct error error = { 0 };

	iso_trade_snapshot(node->trade, 0, 1, &now);
	enum iso_status status = iso_trade_admit(&config, &now.record, admission, &record);
	if (status != ISO_OK)
		return explain_admission(node, status, trade);
	crash_point("admitting");
	if (journal_write(node->journal, &record, &error) < 0) {
		if (journal_is_whole(node->journal))
			return control_refuse("%s; it is not in force, try the same again",
					      error.text);
		/* What is on the disk is open: no answer is the true one. */
		node_fail(node, error.text);
		return NULL;
	}
	crash_point("admitted");
	node->durable_seq = record.seq;
	node->journal_writes++;
	if (node_open_trade(node, &record, &error) < 0) {
		node_fail(node, error.text);
		return NULL;
	}
	/* As at a start: durable under a new incarnation before anybody hears of it. */
	node_tick(node, clock_now_ns());
	return node->failed ? NULL : applied(node, admission->id, 0);
}

json_t *node_command_admit(void *context, const json_t *request,
			   const struct control_token *token)
{
	static struct opjson_admission from; /* too large for the stack; one thread */
	struct iso_ledger_peer peers[CONF_NEIGHBOURS_MAX];
	struct node *node = context;
	struct iso_trade_status trade;
	struct error error = { 0 };

	if (opjson_admission_read(request, &from, &error) < 0)
		return control_refuse("%s", error.text);
	iso_trade_status(node->trade, &trade);
	if (from.id <= trade.last_op)
		return again(node, from.id);
	if (trade.gen != 0 && trade.halt == ISO_HALT_NONE)
		return explain_admission(node, ISO_E_BUSY, &trade);
	if (job_view(node->job)->enforced_ucpu > from.endowment_ucpu &&
	    job_view(node->job)->enforced_ucpu > (int64_t)node->conf->floor_ucpu)
		return busy(tick_ms(node), "cgroup %s: the limit cannot be lowered now",
			    conf_job(node->conf));
	if (meet_all(node, &from, peers, &error) < 0)
		return control_refuse("%s", error.text);
	const struct iso_ledger_admission admission = {
		.id = from.id,
		.gen = from.gen,
		.endowment_ucpu = from.endowment_ucpu,
		.budget_ucpu = from.budget_ucpu,
		.peers = peers,
		.peer_count = from.neighbour_count,
	};
	json_t *reply = begin_generation(node, &admission, &trade);
	if (json_is_true(json_object_get(reply, "ok")))
		log_info("admitted as generation %" PRIu32 " by %s (operation %" PRIu64
			 "): share %.4f CPU, neighbours: %" PRIu32, from.gen, token->who,
			 from.id, (double)from.endowment_ucpu / ISO_UCPU_PER_CPU,
			 from.neighbour_count);
	return reply;
}
