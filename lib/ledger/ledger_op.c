/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <string.h>

#include "lib/ledger/ledger.h"
#include "lib/ledger/ledger_state.h"

static bool in_range(int64_t units)
{
	return units >= -ISO_UNITS_MAX && units <= ISO_UNITS_MAX;
}

/* What an operation is going to do, once nothing speaks against it. */
struct effect {
	int64_t endowment_ucpu; /* added to A */
	int64_t holdings_ucpu;	/* added to x */
	int64_t moved_ucpu;	/* the answer */
	uint32_t flags;		/* of the node */
	uint32_t index;		/* of the edge that becomes as below; LEDGER_NO_EDGE: none */
	struct iso_record_edge edge;
};

static enum iso_status mint(const struct iso_ledger *ledger, const struct iso_op *op,
			    struct effect *effect)
{
	if (op->amount_ucpu > ISO_UNITS_MAX - ledger->holdings_ucpu)
		return ISO_E_RANGE;
	effect->endowment_ucpu = effect->holdings_ucpu = op->amount_ucpu;
	effect->moved_ucpu = op->amount_ucpu;
	return ISO_OK;
}

static enum iso_status burn(const struct iso_ledger *ledger, const struct iso_op *op,
			    struct effect *effect)
{
	int64_t room = iso_ledger_room(ledger);

	effect->moved_ucpu = op->amount_ucpu < room ? op->amount_ucpu : room;
	effect->endowment_ucpu = effect->holdings_ucpu = -effect->moved_ucpu;
	return ISO_OK;
}

static enum iso_status open_edge(const struct iso_ledger *ledger, const struct iso_op *op,
				 struct effect *effect)
{
	uint32_t index = 0;

	if (op->peer == ledger->node)
		return ISO_E_RANGE;
	effect->edge = (struct iso_record_edge){ .peer = op->peer, .peer_gen = op->peer_gen };
	if (iso_ledger_find(ledger, op->peer, &index) != ISO_OK) {
		effect->index = ledger->edge_count;
		return ledger->edge_count < ledger->edges_max ? ISO_OK : ISO_E_FULL;
	}

	const struct iso_ledger_edge *edge = &ledger->edges[index];

	if (edge->peer_gen == op->peer_gen && edge->flags == 0)
		return ISO_OK;
	/* Only a life that comes after one whose units are all accounted for. */
	if (edge->flags != ISO_EDGE_STATE_FOLDED || edge->peer_gen >= op->peer_gen)
		return ISO_E_RANGE;
	effect->index = index;
	return ISO_OK;
}

/* The edge to this generation of the peer, as it is, for an operation to change it. */
static enum iso_status find_edge(const struct iso_ledger *ledger, const struct iso_op *op,
				 uint32_t *ret_index, struct iso_record_edge *ret_edge)
{
	uint32_t index = 0;
	enum iso_status status = iso_ledger_find(ledger, op->peer, &index);

	if (status != ISO_OK || ledger->edges[index].peer_gen != op->peer_gen)
		return ISO_E_UNKNOWN;
	*ret_index = index;
	*ret_edge = (struct iso_record_edge){
		.peer = op->peer,
		.peer_gen = op->peer_gen,
		.flags = ledger->edges[index].flags,
		.sent = ledger->edges[index].sent,
		.received = ledger->edges[index].received,
	};
	return ISO_OK;
}

static enum iso_status close_edge(const struct iso_ledger *ledger, const struct iso_op *op,
				  struct effect *effect)
{
	uint32_t index = 0;
	enum iso_status status = find_edge(ledger, op, &index, &effect->edge);

	if (status != ISO_OK)
		return status;
	/* Its S and R are part of A: there is nothing left to certify. */
	if (effect->edge.flags == ISO_EDGE_STATE_FOLDED)
		return ISO_E_RANGE;
	if ((effect->edge.flags & ISO_EDGE_STATE_CLOSED) != 0)
		return ISO_OK;
	effect->edge.flags |= ISO_EDGE_STATE_CLOSED;
	effect->index = index;
	return ISO_OK;
}

static enum iso_status fold_edge(const struct iso_ledger *ledger, const struct iso_op *op,
				 struct effect *effect)
{
	uint32_t index = 0;
	enum iso_status status = find_edge(ledger, op, &index, &effect->edge);
	struct iso_record_edge *edge = &effect->edge;
	bool is_closed;

	if (status != ISO_OK || edge->flags == ISO_EDGE_STATE_FOLDED)
		return status;
	is_closed = (edge->flags & ISO_EDGE_STATE_CLOSED) != 0;
	if (!is_closed && (edge->flags & ISO_EDGE_STATE_FROZEN) == 0)
		return ISO_E_BUSY;
	/* What a frozen edge credits may still come; a closed one will never change. */
	if (edge->sent != op->sent || edge->received != op->received)
		return is_closed ? ISO_E_RANGE : ISO_E_BUSY;
	if (ledger->edges[index].credit != 0 ||
	    ledger->edges[index].flags != ledger->edges[index].durable_flags)
		return ISO_E_BUSY;
	effect->endowment_ucpu = (int64_t)(edge->received - edge->sent);
	if (!in_range(ledger->endowment_ucpu + effect->endowment_ucpu))
		return ISO_E_RANGE;
	effect->moved_ucpu = effect->endowment_ucpu;
	edge->sent = edge->received = 0;
	edge->flags = ISO_EDGE_STATE_FOLDED;
	effect->index = index;
	return ISO_OK;
}

static enum iso_status effect_of(const struct iso_ledger *ledger, const struct iso_op *op,
				 struct effect *ret_effect)
{
	*ret_effect = (struct effect){ .flags = ledger->flags, .index = LEDGER_NO_EDGE };
	switch (op->kind) {
	case ISO_OP_MINT: return mint(ledger, op, ret_effect);
	case ISO_OP_BURN: return burn(ledger, op, ret_effect);
	case ISO_OP_OPEN: return open_edge(ledger, op, ret_effect);
	case ISO_OP_CLOSE: return close_edge(ledger, op, ret_effect);
	case ISO_OP_FOLD: return fold_edge(ledger, op, ret_effect);
	case ISO_OP_DRAIN:
		ret_effect->flags &= ~ISO_NODE_DRAINING;
		ret_effect->flags |= op->on ? ISO_NODE_DRAINING : 0;
		return ISO_OK;
	case ISO_OP_LEAVE: ret_effect->flags |= ISO_NODE_LEAVING; return ISO_OK;
	case ISO_OP_BUDGET:
	case ISO_OP_VOID: return ISO_OK;
	}
	return ISO_E_RANGE;
}

/* Everything that has to be undone, or shown as it was, until it is durable. */
static void remember(struct iso_ledger *ledger, enum iso_op_kind kind, uint32_t index)
{
	ledger->op = (struct iso_ledger_op){
		.kind = kind,
		.index = index,
		.edge_count = ledger->edge_count,
		.flags = ledger->flags,
		.endowment_ucpu = ledger->endowment_ucpu,
		.budget_ucpu = ledger->budget_ucpu,
		.last_op = ledger->last_op,
		.last_op_ucpu = ledger->last_op_ucpu,
	};
	if (index >= ledger->edge_count)
		return;

	const struct iso_ledger_edge *edge = &ledger->edges[index];

	ledger->op.edge = (struct iso_record_edge){
		.peer = edge->peer,
		.peer_gen = edge->peer_gen,
		.flags = edge->durable_flags,
		.sent = edge->sent - edge->debit,
		.received = edge->received - edge->credit,
	};
	ledger->op.unacked = edge->unacked;
}

static void change_edge(struct iso_ledger *ledger, const struct effect *effect)
{
	const struct iso_record_edge *wanted = &effect->edge;
	struct iso_ledger_edge *edge;

	if (effect->index == ledger->edge_count) {
		(void)iso_ledger_append(ledger, wanted->peer, wanted->peer_gen);
		return;
	}
	edge = &ledger->edges[effect->index];
	assert(edge->debit == 0);
	assert(edge->arriving == 0);
	edge->peer_gen = wanted->peer_gen;
	edge->flags = (uint16_t)wanted->flags;
	edge->sent = wanted->sent;
	edge->received = wanted->received;
	/* A new life, or none: nothing was sent to it, or nothing will be any more. */
	if (wanted->sent == 0)
		edge->unacked = 0;
}

enum iso_status iso_ledger_apply(struct iso_ledger *ledger, const struct iso_op *op,
				 int64_t *ret_moved_ucpu)
{
	struct effect effect;
	enum iso_status status;

	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_PLANNING);
	assert(ledger->op.kind == 0);
	assert(ledger->debit_ucpu == 0);
	status = iso_op_check(op);
	if (status != ISO_OK)
		return status;
	if (op->gen != ledger->gen)
		return ISO_E_FOREIGN;
	if (op->id <= ledger->last_op)
		return ISO_E_STALE;
	/* Whoever has halted, or was never let in, does not know what it owns. */
	if (op->kind != ISO_OP_VOID && (ledger->halt != ISO_HALT_NONE || ledger->gen == 0))
		return ISO_E_HALTED;
	status = effect_of(ledger, op, &effect);
	if (status != ISO_OK)
		return status;
	if (!in_range(ledger->endowment_ucpu + effect.endowment_ucpu))
		return ISO_E_RANGE;
	remember(ledger, op->kind, effect.index);
	if (effect.index != LEDGER_NO_EDGE)
		change_edge(ledger, &effect);
	ledger->flags = effect.flags;
	ledger->endowment_ucpu += effect.endowment_ucpu;
	ledger->holdings_ucpu += effect.holdings_ucpu;
	if (op->budget_ucpu != 0 && ledger->gen != 0)
		ledger->budget_ucpu = op->budget_ucpu;
	ledger->last_op = op->id;
	ledger->last_op_ucpu = effect.moved_ucpu;
	iso_ledger_assert(ledger);
	*ret_moved_ucpu = effect.moved_ucpu;
	return ISO_OK;
}

void iso_ledger_unapply(struct iso_ledger *ledger)
{
	const struct iso_ledger_op *op = &ledger->op;

	if (op->kind == 0)
		return;
	if (ledger->edge_count > op->edge_count) {
		iso_ledger_remove_newest(ledger);
	} else if (op->index < op->edge_count) {
		struct iso_ledger_edge *edge = &ledger->edges[op->index];

		edge->peer_gen = op->edge.peer_gen;
		edge->flags = (uint16_t)op->edge.flags;
		edge->sent = op->edge.sent;
		edge->received = op->edge.received;
		edge->unacked = op->unacked;
	}
	ledger->flags = op->flags;
	ledger->endowment_ucpu = op->endowment_ucpu;
	ledger->budget_ucpu = op->budget_ucpu;
	ledger->last_op = op->last_op;
	ledger->last_op_ucpu = op->last_op_ucpu;
	memset(&ledger->op, 0, sizeof(ledger->op));
}

void iso_ledger_unburn(struct iso_ledger *ledger)
{
	if (ledger->op.kind != ISO_OP_BURN)
		return;
	ledger->holdings_ucpu += ledger->last_op_ucpu;
	iso_ledger_unapply(ledger);
}

void iso_ledger_freeze(struct iso_ledger *ledger, uint32_t index)
{
	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_PLANNING);
	assert(iso_ledger_edge_credits(ledger, index));

	struct iso_ledger_edge *edge = &ledger->edges[index];

	/* Nothing of this record goes out to a peer that is told it is frozen. */
	assert(edge->debit == 0);
	if ((edge->flags & ISO_EDGE_STATE_FROZEN) != 0)
		return;
	edge->flags |= ISO_EDGE_STATE_FROZEN;
	ledger->dirty = true;
}

static bool all_arrived(const struct iso_ledger *ledger)
{
	for (uint32_t k = 0; k < ledger->edge_count; k++)
		if (iso_ledger_edge_credits(ledger, k) && ledger->edges[k].unacked != 0)
			return false;
	return true;
}

enum iso_status iso_ledger_leave(struct iso_ledger *ledger, int64_t enforced_ucpu)
{
	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_PLANNING);
	assert(ledger->debit_ucpu == 0);
	assert(enforced_ucpu >= 0);
	if ((ledger->flags & ISO_NODE_LEAVING) == 0 || ledger->halt != ISO_HALT_NONE)
		return ISO_E_BUSY;
	if (ledger->holdings_ucpu != 0 || enforced_ucpu != 0 || !all_arrived(ledger))
		return ISO_E_BUSY;
	/* A burn may still be undone. */
	if (ledger->op.kind != 0)
		return ISO_E_BUSY;
	ledger->halt = ISO_HALT_LEFT;
	ledger->dirty = true;
	return ISO_OK;
}

/* A peer that old has seen end can only come back in a greater generation. */
static bool peer_possible(const struct iso_record *old, const struct iso_ledger_peer *peer)
{
	for (uint32_t k = 0; k < old->edge_count; k++)
		if (old->edges[k].peer == peer->node &&
		    (old->edges[k].flags & (ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FOLDED)) != 0)
			return peer->gen > old->edges[k].peer_gen;
	return true;
}

static enum iso_status check_admission(const struct iso_ledger_config *config,
				       const struct iso_record *old,
				       const struct iso_ledger_admission *admission)
{
	if (!iso_ledger_config_possible(config) || iso_record_check(old) != ISO_OK)
		return ISO_E_RANGE;
	if (old->cluster != config->cluster || old->node != config->node)
		return ISO_E_FOREIGN;
	if (admission->id == 0 || admission->id > (uint64_t)ISO_UNITS_MAX)
		return ISO_E_RANGE;
	if (admission->id <= old->last_op)
		return ISO_E_STALE;
	if (old->gen != 0 && old->halt == ISO_HALT_NONE)
		return ISO_E_BUSY;
	if (admission->gen <= old->gen)
		return ISO_E_RANGE;
	if (admission->budget_ucpu <= 0 || admission->budget_ucpu > ISO_UNITS_MAX ||
	    admission->endowment_ucpu < config->floor_ucpu ||
	    admission->endowment_ucpu > admission->budget_ucpu)
		return ISO_E_RANGE;
	if (admission->peer_count > config->edges_max)
		return ISO_E_FULL;
	for (uint32_t k = 0; k < admission->peer_count; k++)
		if (!peer_possible(old, &admission->peers[k]))
			return ISO_E_RANGE;
	return ISO_OK;
}

enum iso_status iso_ledger_admit(const struct iso_ledger_config *config,
				 const struct iso_record *old,
				 const struct iso_ledger_admission *admission,
				 struct iso_record *ret_record)
{
	struct iso_record record;
	enum iso_status status = check_admission(config, old, admission);

	if (status != ISO_OK)
		return status;
	memset(&record, 0, sizeof(record));
	record.cluster = old->cluster;
	record.node = old->node;
	record.gen = admission->gen;
	record.inc = old->inc;
	record.epoch = config->epoch;
	record.endowment_ucpu = admission->endowment_ucpu;
	record.budget_ucpu = admission->budget_ucpu;
	record.floor_ucpu = config->floor_ucpu;
	record.last_op = admission->id;
	record.seq = old->seq + 1;
	record.edge_count = admission->peer_count;
	for (uint32_t k = 0; k < admission->peer_count; k++)
		record.edges[k] = (struct iso_record_edge){
			.peer = admission->peers[k].node,
			.peer_gen = admission->peers[k].gen,
		};
	/* The node itself, a peer twice or without generation, numbers at their end. */
	if (iso_record_check(&record) != ISO_OK)
		return ISO_E_RANGE;
	*ret_record = record;
	return ISO_OK;
}
