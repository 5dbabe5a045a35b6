/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/trade/trade.h"

#include <assert.h>

#include "lib/smaller.h"
#include "lib/trade/trade_state.h"

static uint32_t degree_of(const struct iso_trade *trade)
{
	uint32_t degree = 0;

	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		degree += trade_edge_live(trade, k);
	return degree;
}

/* mu of the neighbourhood as heard until now, for the cost of this tick. */
static int64_t relay_at(const struct iso_trade *trade, int64_t share_ucpu)
{
	struct iso_share_crowd crowd = iso_share_crowd(&trade->cost, &trade->box, share_ucpu);

	for (uint32_t k = 0; k < trade->ledger->edge_count; k++) {
		struct iso_share_heard heard = trade_heard(trade, &trade->edges[k]);

		iso_trade_limit_price(trade, k, &heard);
		iso_share_crowd_add(&crowd, &trade->share, &heard, trade->now_ns);
	}
	return iso_share_relay(&crowd, &trade->cost, &trade->box);
}

/*
 * What has come since the last tick counts from here on, until the next one:
 * the message of this tick names what it was coded against and nothing later.
 */
static void take_up(struct iso_trade *trade)
{
	for (uint32_t k = 0; k < trade->ledger->edge_count; k++) {
		struct trade_edge *edge = &trade->edges[k];
		uint64_t age_ns = trade_age_ns(trade, edge);

		edge->echo_seq = edge->newest_seq;
		if (edge->referable) {
			edge->reference_seq = edge->newest_seq;
			edge->reference_q32 = edge->value_q32;
			edge->referable = false;
		}
		if (age_ns > trade->share.base_age_ns)
			edge->reference_seq = 0;
		if (age_ns > trade->share.fresh_age_ns)
			edge->priced = edge->fresh = false;
	}
}

/* What is not acknowledged stays within the budget: more would look forged at the other end. */
int64_t iso_trade_allowance(const struct iso_trade *trade, uint32_t index)
{
	const struct iso_ledger_edge *edge = &trade->ledger->edges[index];
	int64_t most = iso_smaller_i64(trade->ledger->budget_ucpu, ISO_LEDGER_UNDER_WAY_MAX);
	int64_t left = iso_smaller_i64(most - iso_ledger_under_way(trade->ledger, index),
				       ISO_UNITS_MAX - (int64_t)edge->sent);

	left = iso_smaller_i64(left, iso_trade_limit_out(trade, index));
	return left > 0 ? left : 0;
}

/* One edge with news; offer is of what was still there before.  Returns how much it gives. */
static int64_t decide_on(struct iso_trade *trade, uint32_t k, const struct iso_share_offer *offer,
			 int64_t room_ucpu)
{
	struct trade_edge *edge = &trade->edges[k];
	struct iso_share_heard heard = trade_heard(trade, edge);
	double remainder_ucpu = (double)edge->remainder_ucpu;
	struct iso_share_params params = trade->share;
	struct iso_share_decision decision;

	/* What it cannot use it gives for the smallest gain. */
	if (trade->ledger->floor_ucpu + room_ucpu > trade->box.ceiling_ucpu)
		params.dead_band = 0;
	if (trade->hold || trade->ledger->halt != ISO_HALT_NONE) {
		edge->reason = ISO_SHARE_HELD;
		return 0;
	}
	if (!trade_edge_gives(trade, k)) {
		edge->reason = ISO_SHARE_LEAVING;
		return 0;
	}
	if (iso_trade_limit_out(trade, k) == 0) {
		edge->reason = ISO_SHARE_LIMIT;
		return 0;
	}
	room_ucpu = iso_smaller_i64(room_ucpu, iso_trade_allowance(trade, k));
	/* The price was formed before our last transfer came in: it does not count. */
	if (trade->share.stop_and_wait && !edge->settled) {
		edge->reason = ISO_SHARE_WAITING;
		return 0;
	}
	decision =
	    iso_share_flow(&params, offer, trade->degree, &heard, room_ucpu, &remainder_ucpu);
	edge->remainder_ucpu = (float)remainder_ucpu;
	edge->reason = decision.reason;
	if (decision.reason == ISO_SHARE_GAVE) {
		trade->gave = decision;
		trade->gave_edge = k;
	}
	return decision.given_ucpu;
}

/* Decides on every edge that has news; returns how much was debited. */
static int64_t decide(struct iso_trade *trade)
{
	struct iso_ledger *ledger = trade->ledger;
	uint32_t count = ledger->edge_count;
	int64_t share_ucpu = iso_ledger_holdings(ledger), debited = 0;
	int64_t room_ucpu = iso_ledger_room(ledger);
	int64_t relay_q32 = relay_at(trade, share_ucpu);
	struct iso_share_offer offer =
	    iso_share_offer(&trade->cost, &trade->box, share_ucpu, relay_q32);

	trade->degree = degree_of(trade);
	for (uint32_t n = 0; n < count; n++) {
		/* Everyone gets the first look in turn: what is left to give is scarce. */
		uint32_t k = (n + trade->turn) % count;
		int64_t given;

		if (!trade->edges[k].fresh || !trade_edge_live(trade, k))
			continue;
		trade->edges[k].fresh = false;
		given = decide_on(trade, k, &offer, room_ucpu - debited);
		if (given == 0)
			continue;
		iso_ledger_debit(ledger, k, given);
		debited += given;
		offer = iso_share_offer(&trade->cost, &trade->box, share_ucpu - debited, relay_q32);
	}
	assert(iso_ledger_holdings(ledger) == share_ucpu - debited);
	return debited;
}

static struct iso_trade_plan plan_of(const struct iso_trade *trade, int64_t credited_ucpu,
				     int64_t debited_ucpu)
{
	const struct iso_ledger *ledger = trade->ledger;

	return (struct iso_trade_plan){
		.share_ucpu = iso_ledger_holdings(ledger),
		.target_ucpu = iso_ledger_target(ledger),
		.limit_ucpu = iso_ledger_limit(ledger),
		.credited_ucpu = credited_ucpu,
		.debited_ucpu = debited_ucpu,
		.lower = ledger->phase == ISO_LEDGER_LOWERING,
		.record = iso_ledger_changed(ledger),
		.op_status = trade->op_status,
		.op_moved_ucpu = trade->op_moved_ucpu,
	};
}

/*
 * The ceiling of this tick.  Without a lease it is the floor; before the journal
 * is verified, what was enforced before the start, which the node owned
 * whatever it has forgotten.
 */
static int64_t enforceable(const struct iso_trade *trade, int64_t ceiling_ucpu)
{
	int64_t floor_ucpu = trade->ledger->floor_ucpu;

	if (!iso_trade_leased(trade))
		return iso_smaller_i64(ceiling_ucpu, floor_ucpu);
	if (iso_trade_verified(trade))
		return ceiling_ucpu;
	/* No limit at all was nobody's share. */
	if (trade->before_ucpu == INT64_MAX || trade->before_ucpu < floor_ucpu)
		return iso_smaller_i64(ceiling_ucpu, floor_ucpu);
	return iso_smaller_i64(ceiling_ucpu, trade->before_ucpu);
}

/* What comes before any transfer: the operation, and what neighbours have said of themselves. */
static void change_state(struct iso_trade *trade, const struct iso_trade_input *input)
{
	int64_t floor_ucpu = trade->ledger->floor_ucpu;

	iso_trade_apply(trade, input->op);
	iso_trade_freeze(trade);
	iso_trade_leave(trade);
	/* Who drains or releases shows the price of one that may own no more than its floor. */
	bool least = trade_drains(trade) || input->release;

	trade->box = (struct iso_box){ floor_ucpu, least ? floor_ucpu : input->ceiling_ucpu };
}

enum iso_status iso_trade_begin(struct iso_trade *trade, const struct iso_trade_input *input,
				struct iso_trade_plan *ret_plan)
{
	struct iso_ledger *ledger = trade->ledger;

	trade_assert(trade);
	assert(input->now_ns >= trade->now_ns);
	if (input->ceiling_ucpu <= 0 || input->enforced_ucpu < 0 ||
	    iso_cost_check(&input->cost) != ISO_OK)
		return ISO_E_RANGE;
	trade->cost = input->cost;
	trade->enforced_ucpu = input->enforced_ucpu;
	trade->now_ns = input->now_ns;
	/* What was promised before a start is forgotten: as if all of it was just now. */
	if (ledger->phase == ISO_LEDGER_OPENED) {
		trade->started_ns = input->now_ns;
		trade->before_ucpu = input->enforced_ucpu;
	}
	trade->hold = input->hold || input->paused || !iso_trade_verified(trade);
	trade->paused = input->paused;

	int64_t credited = iso_ledger_begin(ledger);

	change_state(trade, input);
	trade->gave.reason = ISO_SHARE_SILENT;
	take_up(trade);
	int64_t debited = trade_drains(trade) ? iso_trade_drain(trade) : decide(trade);

	trade->turn = ledger->edge_count != 0 ? (trade->turn + 1) % ledger->edge_count : 0;
	iso_ledger_plan(ledger, enforceable(trade, input->ceiling_ucpu), input->enforced_ucpu);
	*ret_plan = plan_of(trade, credited, debited);
	return ISO_OK;
}

enum iso_status iso_trade_lowered(struct iso_trade *trade, int64_t readback_ucpu)
{
	trade_assert(trade);
	return iso_ledger_lowered(trade->ledger, readback_ucpu);
}

/* Before the debits of this tick are undone. */
static void forget_debits(struct iso_trade *trade)
{
	for (uint32_t k = 0; k < trade->ledger->edge_count; k++) {
		struct trade_edge *edge = &trade->edges[k];
		double debit_ucpu = (double)trade->ledger->edges[k].debit;

		if (debit_ucpu == 0)
			continue;
		/* The flow is still owed, but it must not pile up while nothing can go. */
		debit_ucpu += (double)edge->remainder_ucpu;
		edge->remainder_ucpu = debit_ucpu > 1 ? 1 : (float)debit_ucpu;
		edge->reason = ISO_SHARE_ABORTED;
	}
	trade->gave.reason = ISO_SHARE_ABORTED;
}

void iso_trade_abort(struct iso_trade *trade, struct iso_trade_plan *ret_plan)
{
	struct iso_ledger *ledger = trade->ledger;
	int64_t credited = ledger->credit_ucpu;

	trade_assert(trade);
	forget_debits(trade);
	(void)iso_ledger_abort(ledger);
	if (trade->op_kind == ISO_OP_BURN && trade->op_status == ISO_OK) {
		trade->op_status = ISO_E_BUSY;
		trade->op_moved_ucpu = 0;
	}
	*ret_plan = plan_of(trade, credited, 0);
}

void iso_trade_record(struct iso_trade *trade, struct iso_record *ret_record)
{
	trade_assert(trade);
	iso_ledger_record(trade->ledger, ret_record);
}

bool iso_trade_undo(struct iso_trade *trade, struct iso_trade_plan *ret_plan)
{
	trade_assert(trade);
	forget_debits(trade);
	bool is_begun = iso_ledger_undo(trade->ledger);
	iso_trade_unapply(trade);
	*ret_plan = plan_of(trade, 0, 0);
	ret_plan->record = false;
	return is_begun;
}

/* Every other message at most: a later life of the peer hears them, too. */
static void next_tombstone(struct iso_trade *trade)
{
	bool again = trade->tombstone_gen != 0 && trade->tombstone_edge == trade->ended_edge;

	trade->tombstone_gen = again ? 0 : trade->ended_gen;
	trade->tombstone_edge = trade->ended_edge;
	trade->ended_gen = 0;
}

/*
 * What lies above the ceiling makes this node want to give, but is not in the
 * price that it shows: where everybody has too much, each would show more than its
 * neighbours do, prices would rise for as long as that lasts, and take about
 * as long to come down before shares could be right again.
 */
static int64_t usable(const struct iso_trade *trade, int64_t share_ucpu)
{
	int64_t ceiling_ucpu = trade->box.ceiling_ucpu;

	return share_ucpu < ceiling_ucpu ? share_ucpu : ceiling_ucpu;
}

int64_t iso_trade_commit(struct iso_trade *trade, uint64_t durable_seq)
{
	struct iso_ledger *ledger = trade->ledger;
	int64_t share_ucpu;

	trade_assert(trade);
	iso_ledger_commit(ledger, durable_seq);
	share_ucpu = iso_ledger_holdings(ledger);
	trade->offer = iso_share_offer(&trade->cost, &trade->box, usable(trade, share_ucpu),
				       relay_at(trade, share_ucpu));
	trade->head_ucpu = iso_share_head(&trade->share, trade->box.ceiling_ucpu, share_ucpu);
	if (trade_drains(trade) || trade->paused)
		trade->head_ucpu = 0;
	trade->degree = degree_of(trade);
	/* At its end prices count no more until the next start; what was given still does. */
	if (trade->seq < UINT32_MAX) {
		trade->seq++;
		/* Not before the tick began: a lease that counts from then is not too long. */
		iso_lease_sent(&trade->lease, trade->seq, trade->now_ns);
	}
	next_tombstone(trade);
	for (uint32_t k = 0; k < ledger->edge_count; k++)
		if (trade_edge_live(trade, k))
			iso_trade_code_price(trade, &trade->edges[k]);
	return iso_ledger_target(ledger);
}
