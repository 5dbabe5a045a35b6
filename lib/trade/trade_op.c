/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <string.h>

#include "lib/trade/trade_state.h"

/* What leases say to a CLOSE; ISO_OK: the ledger decides. */
static enum iso_status may_close(struct iso_trade *trade, const struct iso_op *op)
{
	const struct iso_ledger *ledger = trade->ledger;
	uint32_t index = 0;

	if (iso_op_check(op) != ISO_OK || op->gen != ledger->gen || op->id <= ledger->last_op ||
	    ledger->halt != ISO_HALT_NONE)
		return ISO_OK;
	if (iso_ledger_find(ledger, op->peer, &index) != ISO_OK ||
	    ledger->edges[index].peer_gen != op->peer_gen ||
	    !iso_ledger_edge_credits(ledger, index))
		return ISO_OK;
	if (op->on)
		return ISO_OK;
	if (trade->lease.params.lease_ns == 0)
		return ISO_E_RANGE;
	/*
	 * From here on it gets no answer that could renew its lease.  Nor does the wait
	 * begin any earlier: another neighbour, which has left or was buried since, may have
	 * renewed it until just now, and is not asked any more.
	 */
	if (!trade_bit(trade->closing, index))
		trade->edges[index].heard_at = trade_coarse(trade->now_ns);
	trade->closing |= (uint64_t)1 << index;
	return iso_trade_may_close(trade, index) ? ISO_OK : ISO_E_BUSY;
}

/*
 * What is burned was owned, or the sum would fall by what somebody else has:
 * not on the word of a journal that may be an old copy.
 */
static enum iso_status may_burn(const struct iso_trade *trade, const struct iso_op *op)
{
	const struct iso_ledger *ledger = trade->ledger;

	if (iso_op_check(op) != ISO_OK || op->gen != ledger->gen || op->id <= ledger->last_op ||
	    ledger->halt != ISO_HALT_NONE)
		return ISO_OK;
	return iso_trade_verified(trade) ? ISO_OK : ISO_E_BUSY;
}

/* What an operation that was applied means for the volatile part of its edge. */
static void follow(struct iso_trade *trade, const struct iso_op *op, bool was_there)
{
	uint32_t index = 0;

	trade->closing_before = trade->closing;
	trade->leaving_before = trade->leaving;
	trade->frozen_before = trade->frozen;
	if (op->kind == ISO_OP_VOID)
		trade->closing = 0;
	if (op->kind != ISO_OP_OPEN && op->kind != ISO_OP_CLOSE && op->kind != ISO_OP_FOLD)
		return;

	enum iso_status status = iso_ledger_find(trade->ledger, op->peer, &index);
	struct trade_edge *edge = &trade->edges[index];

	assert(status == ISO_OK);
	trade->op_edge = index;
	trade->before_op = *edge;
	if (op->kind == ISO_OP_OPEN && was_there) {
		edge->dormant = false;
		return;
	}
	/* Of another life, or of none any more: nothing that was heard counts. */
	memset(edge, 0, sizeof(*edge));
	trade->closing &= ~((uint64_t)1 << index);
	trade->leaving &= ~((uint64_t)1 << index);
	trade->frozen &= ~((uint64_t)1 << index);
	trade->withheld &= ~((uint64_t)1 << index);
	edge->dormant = op->kind == ISO_OP_FOLD;
	/* What a life before may have been promised is not known here. */
	if (op->kind == ISO_OP_OPEN)
		edge->heard_at = trade_coarse(trade->now_ns);
}

static bool has_edge(const struct iso_ledger *ledger, const struct iso_op *op)
{
	uint32_t index = 0;

	return iso_ledger_find(ledger, op->peer, &index) == ISO_OK &&
	       ledger->edges[index].peer_gen == op->peer_gen;
}

void iso_trade_apply(struct iso_trade *trade, const struct iso_op *op)
{
	trade->op_kind = op != NULL ? op->kind : 0;
	trade->op_status = ISO_OK;
	trade->op_moved_ucpu = 0;
	trade->op_edge = UINT32_MAX;
	if (op == NULL)
		return;

	bool was_there = has_edge(trade->ledger, op);

	if (op->kind == ISO_OP_CLOSE)
		trade->op_status = may_close(trade, op);
	if (op->kind == ISO_OP_BURN)
		trade->op_status = may_burn(trade, op);
	if (trade->op_status == ISO_OK)
		trade->op_status = iso_ledger_apply(trade->ledger, op, &trade->op_moved_ucpu);
	if (trade->op_status == ISO_OK)
		follow(trade, op, was_there);
}

void iso_trade_unapply(struct iso_trade *trade)
{
	if (trade->op_kind == 0 || trade->op_status != ISO_OK)
		return;
	trade->op_status = ISO_E_BUSY;
	trade->op_moved_ucpu = 0;
	trade->closing = trade->closing_before;
	trade->leaving = trade->leaving_before;
	trade->frozen = trade->frozen_before;
	if (trade->op_edge != UINT32_MAX)
		trade->edges[trade->op_edge] = trade->before_op;
	trade->op_edge = UINT32_MAX;
}

void iso_trade_freeze(struct iso_trade *trade)
{
	struct iso_ledger *ledger = trade->ledger;

	for (uint32_t k = 0; k < ledger->edge_count && ledger->halt == ISO_HALT_NONE; k++)
		if (trade_bit(trade->leaving, k) && iso_ledger_edge_open(ledger, k))
			iso_ledger_freeze(ledger, k);
}

bool iso_trade_done(const struct iso_trade *trade, uint32_t index)
{
	const struct iso_ledger_edge *counters = &trade->ledger->edges[index];

	if ((counters->flags & ISO_EDGE_STATE_FOLDED) != 0)
		return true;
	/* It has told its last S, so nothing more will arrive. */
	return (counters->flags & ISO_EDGE_STATE_CLOSED) == 0 && trade_bit(trade->frozen, index) &&
	       counters->arriving == 0 && counters->unacked == 0;
}

void iso_trade_leave(struct iso_trade *trade)
{
	if ((trade->ledger->flags & ISO_NODE_LEAVING) == 0)
		return;
	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		if (!iso_trade_done(trade, k))
			return;
	/* If it is not yet, it will be tried again in the next tick. */
	(void)!iso_ledger_leave(trade->ledger, trade->enforced_ucpu);
}
