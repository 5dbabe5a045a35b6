/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations, leases, burial and leaving, as one node after the other sees them. */
#include "config.h"

#include <string.h>

#include "lib/trade/trade.h"
#include "tests/test.h"

#define NODES	    3u
#define TICK_NS	    ((uint64_t)200000000)
#define S	    ((uint64_t)1000000000)
#define COARSE_NS   ((uint64_t)1 << 24) /* what an edge keeps times to */
#define FLOOR_UCPU  100000
#define SHARE_UCPU  1000000
#define BUDGET_UCPU (3 * (int64_t)SHARE_UCPU)

/* Three neighbours of each other, 1001 to 1003, with 1 CPU each. */
struct member {
	struct iso_trade_peer peers[NODES];
	struct iso_trade_config config;
	struct iso_trade *trade;
	uint64_t memory[8192];
	struct iso_record disk;
	int64_t enforced_ucpu, demand_ucpu;
	uint8_t said[NODES][ISO_EDGE_BYTES];
	bool has_said[NODES];
	bool is_off, is_stuck;
};

static struct member members[NODES];
static struct iso_quant quant;
static uint64_t now_ns;
static struct iso_lease_params lease;
static bool cut[NODES][NODES];

static void make(uint32_t i)
{
	struct member *member = &members[i];

	member->config = (struct iso_trade_config){
		.cluster = 77,
		.node = 1001 + i,
		.epoch = 3,
		.budget_ucpu = BUDGET_UCPU,
		.floor_ucpu = FLOOR_UCPU,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .dead_band = 0.005,
			   .relay_allow = 0.01,
			   .base_age_ns = 32 * TICK_NS,
			   .fresh_age_ns = 50 * TICK_NS },
		.lease = lease,
		.edges_max = 4,
		.peers = member->peers,
	};
	for (uint32_t j = 0; j < NODES; j++)
		if (j != i)
			member->peers[member->config.peer_count++] =
			    (struct iso_trade_peer){ 1001 + j, 1 };
	ck_assert_ok(iso_trade_init(member->memory, sizeof(member->memory), &member->config,
				    &member->trade));
	member->demand_ucpu = 1000000;
}

static void set_up(void)
{
	memset(members, 0, sizeof(members));
	memset(cut, 0, sizeof(cut));
	now_ns = 1000 * S;
	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	for (uint32_t i = 0; i < NODES; i++) {
		make(i);
		ck_assert_ok(
		    iso_trade_genesis(&members[i].config, 1, SHARE_UCPU, &members[i].disk));
		ck_assert_ok(iso_trade_open(members[i].trade, &members[i].disk));
	}
}

static void set_up_leased(void)
{
	lease = (struct iso_lease_params){ .lease_ns = 5 * S,
					   .promise_ns = 6 * S,
					   .guard_ns = S / 5 };
	set_up();
	lease = (struct iso_lease_params){ 0 };
}

static struct iso_trade_plan begin(uint32_t i, const struct iso_op *op)
{
	struct member *member = &members[i];
	struct iso_trade_input input = {
		.now_ns = now_ns,
		.enforced_ucpu = member->enforced_ucpu,
		.ceiling_ucpu = 2500000,
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1,
			  .demand_ucpu = member->demand_ucpu },
		.op = op,
	};
	struct iso_trade_plan plan;

	ck_assert_ok(iso_trade_begin(member->trade, &input, &plan));
	return plan;
}

static void finish(uint32_t i, struct iso_trade_plan *plan)
{
	struct member *member = &members[i];

	if (plan->lower && member->is_stuck) {
		ck_assert_int_eq(iso_trade_lowered(member->trade, member->enforced_ucpu),
				 ISO_E_RANGE);
		iso_trade_abort(member->trade, plan);
	} else if (plan->lower) {
		member->enforced_ucpu = plan->limit_ucpu;
		ck_assert_ok(iso_trade_lowered(member->trade, member->enforced_ucpu));
	}
	if (plan->record)
		iso_trade_record(member->trade, &member->disk);
	int64_t target = iso_trade_commit(member->trade, member->disk.seq);
	if (target > member->enforced_ucpu)
		member->enforced_ucpu = target;
	memset(member->has_said, 0, sizeof(member->has_said));
	for (uint32_t k = 0; k < iso_trade_edges(member->trade); k++) {
		uint8_t bytes[ISO_EDGE_BYTES];
		uint64_t peer = 0;

		if (iso_trade_message(member->trade, k, &peer, bytes) != ISO_OK ||
		    peer > 1000 + NODES)
			continue;
		memcpy(member->said[peer - 1001], bytes, sizeof(bytes));
		member->has_said[peer - 1001] = true;
	}
}

static struct iso_trade_plan tick(uint32_t i, const struct iso_op *op)
{
	struct iso_trade_plan plan = begin(i, op);

	finish(i, &plan);
	return plan;
}

static enum iso_status hear(uint32_t i, uint32_t from)
{
	return iso_trade_receive(members[i].trade, now_ns, 1001 + from, members[from].said[i],
				 ISO_EDGE_BYTES);
}

/* Nothing is lost, and nothing enforced that is not owned. */
static void check_sum(int64_t total_ucpu)
{
	int64_t sum = 0, enforced = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		sum += iso_record_holdings(&members[i].disk);
		enforced += members[i].enforced_ucpu;
		ck_assert_int_le(members[i].enforced_ucpu, iso_record_holdings(&members[i].disk));
		for (uint32_t k = 0; k < members[i].disk.edge_count; k++) {
			const struct iso_record_edge *edge = &members[i].disk.edges[k];
			const struct iso_record *peer = &members[edge->peer - 1001].disk;

			for (uint32_t m = 0; m < peer->edge_count; m++)
				if (peer->edges[m].peer == 1001 + i)
					sum += (int64_t)(edge->sent - peer->edges[m].received);
		}
	}
	ck_assert_int_eq(sum, total_ucpu);
	ck_assert_int_le(enforced, total_ucpu);
}

static void round_with(uint32_t i, const struct iso_op *op, struct iso_trade_plan *ret_plan)
{
	now_ns += TICK_NS;
	for (uint32_t n = 0; n < NODES; n++) {
		if (members[n].is_off)
			continue;
		struct iso_trade_plan plan = tick(n, n == i ? op : NULL);

		if (n == i && ret_plan != NULL)
			*ret_plan = plan;
	}
	for (uint32_t n = 0; n < NODES; n++)
		for (uint32_t m = 0; m < NODES; m++)
			if (!members[m].is_off && !members[n].is_off && !cut[n][m] &&
			    members[n].has_said[m])
				(void)!hear(m, n);
}

static void rounds(unsigned count)
{
	while (count-- > 0)
		round_with(NODES, NULL, NULL);
}

static struct iso_trade_plan apply(uint32_t i, const struct iso_op *op)
{
	struct iso_trade_plan plan = { 0 };

	round_with(i, op, &plan);
	return plan;
}

static struct iso_trade_status status_of(uint32_t i)
{
	struct iso_trade_status status;

	iso_trade_status(members[i].trade, &status);
	return status;
}

/* The end at i of the edge to j. */
static struct iso_trade_edge edge_of(uint32_t i, uint32_t j)
{
	struct iso_trade_edge edge = { 0 };

	for (uint32_t k = 0; k < iso_trade_edges(members[i].trade); k++) {
		ck_assert_ok(iso_trade_edge(members[i].trade, k, &edge));
		if (edge.peer == 1001 + j)
			return edge;
	}
	ck_abort_msg("no edge");
	return edge;
}

static struct iso_edge_frame said(uint32_t i, uint32_t j)
{
	struct iso_edge_frame frame;

	ck_assert(members[i].has_said[j]);
	ck_assert_ok(iso_edge_decode(members[i].said[j], ISO_EDGE_BYTES, &frame));
	frame.flags = (uint16_t)(frame.flags & ~ISO_EDGE_REFERABLE);
	return frame;
}

START_TEST(a_mint_and_a_burn_are_done_once)
{
	struct iso_op mint = { .id = 5,
			       .kind = ISO_OP_MINT,
			       .gen = 1,
			       .amount_ucpu = 300000,
			       .budget_ucpu = BUDGET_UCPU + 300000 };
	struct iso_op burn = {
		.id = 6, .kind = ISO_OP_BURN, .gen = 1, .amount_ucpu = 100000000
	};
	struct iso_trade_plan plan;

	set_up();
	rounds(2);
	plan = apply(0, &mint);
	ck_assert_int_eq(plan.op_status, ISO_OK);
	ck_assert_int_eq(plan.op_moved_ucpu, 300000);
	check_sum(BUDGET_UCPU + 300000);
	ck_assert_int_eq(status_of(0).budget_ucpu, BUDGET_UCPU + 300000);
	ck_assert_int_eq(said(0, 1).budget_ucpu, BUDGET_UCPU + 300000);
	plan = apply(0, &mint);
	ck_assert_int_eq(plan.op_status, ISO_E_STALE);
	ck_assert_uint_eq(status_of(0).last_op, 5);
	ck_assert_int_eq(status_of(0).last_op_ucpu, 300000);
	check_sum(BUDGET_UCPU + 300000);
	/* It cannot be lowered: the burn has not been, and will be asked for again. */
	members[0].is_stuck = true;
	plan = apply(0, &burn);
	ck_assert_int_eq(plan.op_status, ISO_E_BUSY);
	ck_assert_int_eq(plan.op_moved_ucpu, 0);
	ck_assert_uint_eq(status_of(0).last_op, 5);
	check_sum(BUDGET_UCPU + 300000);
	members[0].is_stuck = false;
	int64_t share = status_of(0).share_ucpu;
	plan = apply(0, &burn);
	ck_assert_int_eq(plan.op_status, ISO_OK);
	ck_assert_int_ge(plan.op_moved_ucpu, share - FLOOR_UCPU);
	ck_assert_int_eq(members[0].enforced_ucpu, FLOOR_UCPU);
	check_sum(BUDGET_UCPU + 300000 - plan.op_moved_ucpu);
	burn.gen = 2;
	burn.id = 7;
	ck_assert_int_eq(apply(0, &burn).op_status, ISO_E_FOREIGN);
}
END_TEST

/* An old copy may own what was given away: burned, it would be taken from the others. */
START_TEST(a_burn_waits_until_the_journal_is_verified)
{
	struct iso_op mint = { .id = 5, .kind = ISO_OP_MINT, .gen = 1, .amount_ucpu = 300000 };
	struct iso_op burn = { .id = 6, .kind = ISO_OP_BURN, .gen = 1, .amount_ucpu = 300000 };

	set_up();
	rounds(2);
	ck_assert_ok(apply(0, &mint).op_status);
	members[0].config.verify_ns = 20 * TICK_NS;
	ck_assert_ok(iso_trade_init(members[0].memory, sizeof(members[0].memory),
				    &members[0].config, &members[0].trade));
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	cut[1][0] = true;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(apply(0, &burn).op_status, ISO_E_BUSY);
	ck_assert_uint_eq(status_of(0).last_op, 5);
	/* What was done before, or must not be done any more, is said at once. */
	ck_assert_int_eq(apply(0, &mint).op_status, ISO_E_STALE);
	burn.gen = 2;
	ck_assert_int_eq(apply(0, &burn).op_status, ISO_E_FOREIGN);
	burn.gen = 1;
	cut[1][0] = false;
	rounds(2);
	ck_assert(status_of(0).verified);
	ck_assert_ok(apply(0, &burn).op_status);
	check_sum(BUDGET_UCPU);
}
END_TEST

/* The first gives all it can to the second, which believes in a far smaller budget. */
START_TEST(a_budget_that_one_end_does_not_know_yet_halts_nobody)
{
	struct iso_op less = {
		.id = 5, .kind = ISO_OP_BUDGET, .gen = 1, .budget_ucpu = 200000
	};
	struct iso_edge_frame frame;
	uint8_t bytes[ISO_EDGE_BYTES];

	set_up();
	members[0].demand_ucpu = 0;
	members[1].demand_ucpu = 2500000;
	members[2].is_off = true;
	now_ns += TICK_NS;
	tick(0, NULL);
	ck_assert_ok(tick(1, &less).op_status);
	ck_assert_int_eq(status_of(1).budget_ucpu, 200000);
	ck_assert_ok(hear(0, 1));
	now_ns += TICK_NS;
	ck_assert_int_gt(tick(0, NULL).debited_ucpu, 200000);
	frame = said(0, 1);
	ck_assert_ok(hear(1, 0));
	/* Beyond what both believe in there is nothing to be had. */
	frame.sent = BUDGET_UCPU + 1;
	iso_edge_encode(&frame, bytes);
	ck_assert_int_eq(
	    iso_trade_receive(members[1].trade, now_ns, 1001, bytes, sizeof(bytes)),
	    ISO_E_HALTED);
	ck_assert_int_eq(status_of(1).halt, ISO_HALT_OVERDRAFT);
}
END_TEST

START_TEST(a_donor_keeps_within_its_budget)
{
	struct iso_op less = {
		.id = 5, .kind = ISO_OP_BUDGET, .gen = 1, .budget_ucpu = 200000
	};

	set_up();
	members[0].demand_ucpu = 0;
	members[1].demand_ucpu = 2500000;
	members[2].is_off = true;
	now_ns += TICK_NS;
	ck_assert_ok(tick(0, &less).op_status);
	for (int i = 0; i < 4; i++) {
		struct iso_trade_edge edge;

		/* What it gives never arrives, while the other's prices do. */
		tick(1, NULL);
		ck_assert_ok(hear(0, 1));
		now_ns += TICK_NS;
		tick(0, NULL);
		edge = edge_of(0, 1);
		ck_assert_uint_eq(edge.sent - edge.acked, 200000);
	}
}
END_TEST

START_TEST(a_draining_node_keeps_its_floor)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_DRAIN, .gen = 1, .on = true };

	set_up();
	rounds(2);
	ck_assert_ok(apply(0, &op).op_status);
	ck_assert_uint_eq(status_of(0).flags, ISO_NODE_DRAINING);
	for (int i = 0; i < 40; i++) {
		rounds(1);
		check_sum(BUDGET_UCPU);
		ck_assert_int_ge(status_of(0).share_ucpu, FLOOR_UCPU);
		ck_assert_int_eq(said(0, 1).head_ucpu, 0);
	}
	ck_assert_int_eq(status_of(0).share_ucpu, FLOOR_UCPU);
	ck_assert_int_eq(edge_of(0, 1).reason, ISO_SHARE_FLOOR);
	/* In equal parts, as its neighbours are alike. */
	ck_assert_double_eq_tol((double)status_of(1).share_ucpu, 1450000, 20000);
	op = (struct iso_op){ .id = 6, .kind = ISO_OP_DRAIN, .gen = 1, .on = false };
	ck_assert_ok(apply(0, &op).op_status);
	rounds(60);
	ck_assert_double_eq_tol((double)status_of(0).share_ucpu, 1000000, 20000);
	check_sum(BUDGET_UCPU);
}
END_TEST

START_TEST(two_that_drain_do_not_give_to_each_other)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_DRAIN, .gen = 1, .on = true };

	set_up();
	rounds(2);
	ck_assert_ok(apply(0, &op).op_status);
	ck_assert_ok(apply(1, &op).op_status);
	rounds(3);
	uint64_t before = edge_of(0, 1).sent;
	rounds(20);
	ck_assert_uint_eq(edge_of(0, 1).sent, before);
	ck_assert_int_eq(status_of(0).share_ucpu, FLOOR_UCPU);
	ck_assert_int_eq(status_of(1).share_ucpu, FLOOR_UCPU);
	ck_assert_int_eq(status_of(2).share_ucpu, BUDGET_UCPU - 2 * FLOOR_UCPU);
}
END_TEST

/* The edges of neighbours of a node that has left or was buried become part of their A. */
static void fold(uint32_t i, uint32_t gone, uint64_t id)
{
	struct iso_trade_edge edge = edge_of(i, gone);
	struct iso_op op = { .id = id,
			     .kind = ISO_OP_FOLD,
			     .gen = 1,
			     .peer = 1001 + gone,
			     .peer_gen = 1,
			     .sent = edge.sent,
			     .received = edge.received };

	ck_assert_ok(apply(i, &op).op_status);
	ck_assert_uint_eq(edge_of(i, gone).flags, ISO_EDGE_STATE_FOLDED);
	ck_assert(!members[i].has_said[gone]);
}

START_TEST(a_node_gives_all_it_has_and_leaves)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_LEAVE, .gen = 1 };

	set_up();
	/* It is the cheapest: the others would give to it if they might. */
	members[0].demand_ucpu = 2000000;
	rounds(30);
	ck_assert_ok(apply(0, &op).op_status);
	ck_assert_uint_eq(said(0, 1).flags, ISO_EDGE_LEAVING);
	/* One neighbour does not hear of it at first, and gives on. */
	cut[0][2] = true;
	rounds(5);
	ck_assert_uint_eq(edge_of(1, 0).flags, ISO_EDGE_STATE_FROZEN);
	ck_assert_uint_eq(said(1, 0).flags, ISO_EDGE_FROZEN);
	ck_assert(edge_of(1, 0).leaving);
	ck_assert_int_eq(edge_of(1, 0).reason, ISO_SHARE_LEAVING);
	uint64_t frozen = edge_of(1, 0).sent;
	ck_assert_int_eq(status_of(0).halt, ISO_HALT_NONE);
	cut[0][2] = false;
	for (int i = 0; i < 20 && status_of(0).halt == ISO_HALT_NONE; i++)
		rounds(1);
	ck_assert_int_eq(status_of(0).halt, ISO_HALT_LEFT);
	ck_assert_uint_eq(edge_of(1, 0).sent, frozen);
	ck_assert(edge_of(0, 1).settled);
	ck_assert_int_eq(members[0].enforced_ucpu, 0);
	rounds(2);
	check_sum(BUDGET_UCPU);
	ck_assert(!members[0].has_said[1]);
	fold(1, 0, 6);
	fold(2, 0, 7);
	/* What its edges carried is part of A now: the ledger of the two is whole without it. */
	ck_assert_int_eq(members[1].disk.endowment_ucpu + members[2].disk.endowment_ucpu,
			 BUDGET_UCPU);
	ck_assert_int_eq(status_of(1).share_ucpu + status_of(2).share_ucpu +
			     status_of(1).unacked_ucpu + status_of(2).unacked_ucpu,
			 BUDGET_UCPU);
}
END_TEST

START_TEST(a_node_that_still_enforces_does_not_leave)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_LEAVE, .gen = 1 };

	set_up();
	rounds(3);
	ck_assert_ok(apply(0, &op).op_status);
	/* Down to the floor it goes at once; the rest waits for the job to end. */
	ck_assert_int_eq(status_of(0).share_ucpu, FLOOR_UCPU);
	members[0].is_stuck = true;
	rounds(10);
	ck_assert_int_eq(status_of(0).share_ucpu, FLOOR_UCPU);
	ck_assert_int_eq(status_of(0).halt, ISO_HALT_NONE);
	members[0].is_stuck = false;
	rounds(10);
	ck_assert_int_eq(status_of(0).halt, ISO_HALT_LEFT);
	check_sum(BUDGET_UCPU);
}
END_TEST

START_TEST(more_than_the_floor_needs_a_lease)
{
	set_up_leased();
	now_ns += TICK_NS;
	tick(0, NULL);
	/* Nobody has answered yet. */
	ck_assert(!status_of(0).lease_valid);
	ck_assert_int_eq(members[0].enforced_ucpu, FLOOR_UCPU);
	ck_assert_uint_eq(iso_trade_lease_deadline(members[0].trade), 0);
	uint64_t sent_ns = now_ns;
	tick(1, NULL);
	ck_assert_ok(hear(1, 0));
	now_ns += 2 * S;
	tick(1, NULL);
	ck_assert_ok(hear(0, 1));
	/* It counts from when the question was sent. */
	uint64_t deadline_ns = iso_trade_lease_deadline(members[0].trade);
	ck_assert_uint_le(deadline_ns, sent_ns + 5 * S);
	ck_assert_uint_gt(deadline_ns, sent_ns + 5 * S - COARSE_NS);
	ck_assert(status_of(0).lease_valid);
	tick(0, NULL);
	int64_t share = status_of(0).share_ucpu;
	ck_assert_int_ge(share, SHARE_UCPU / 2);
	ck_assert_int_eq(members[0].enforced_ucpu, share);
	now_ns = deadline_ns - S / 5 - 1;
	tick(0, NULL);
	ck_assert_int_eq(members[0].enforced_ucpu, share);
	now_ns++;
	ck_assert(tick(0, NULL).lower);
	ck_assert_int_eq(members[0].enforced_ucpu, FLOOR_UCPU);
	ck_assert_int_eq(status_of(0).share_ucpu, share);
	/* Another start does not know what it sent, but whoever kept the deadline does. */
	iso_trade_close(members[0].trade);
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	iso_trade_lease_resume(members[0].trade, now_ns + 2 * S);
	tick(0, NULL);
	ck_assert_int_eq(members[0].enforced_ucpu, share);
	/* An answer to the start before is none. */
	ck_assert_ok(hear(0, 1));
	ck_assert_uint_eq(iso_trade_lease_deadline(members[0].trade), now_ns + 2 * S);
}
END_TEST

static const struct iso_op bury_third = {
	.id = 9, .kind = ISO_OP_CLOSE, .gen = 1, .peer = 1003, .peer_gen = 1
};

START_TEST(an_edge_is_closed_when_its_promise_has_passed)
{
	set_up_leased();
	rounds(5);
	now_ns += TICK_NS;
	uint64_t asked_ns = now_ns;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_E_BUSY);
	ck_assert(edge_of(0, 2).closing);
	uint64_t close_ns = edge_of(0, 2).close_at_ns;
	ck_assert_uint_ge(close_ns, asked_ns + 6 * S);
	ck_assert_uint_le(close_ns, asked_ns + 6 * S + COARSE_NS);
	/* From then on it answers no more, and hears nothing that it would have to answer. */
	ck_assert(!members[0].has_said[2]);
	tick(2, NULL);
	ck_assert_int_eq(hear(0, 2), ISO_E_UNKNOWN);
	now_ns = close_ns - 1;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_E_BUSY);
	ck_assert_uint_eq(edge_of(0, 2).close_at_ns, close_ns);
	ck_assert_uint_eq(members[0].disk.edges[1].flags, 0);
	now_ns++;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_OK);
	ck_assert_uint_eq(members[0].disk.edges[1].flags, ISO_EDGE_STATE_CLOSED);
	ck_assert_uint_eq(iso_trade_close_at_ns(members[0].trade, 1), UINT64_MAX);
	ck_assert_uint_eq(iso_trade_close_at_ns(members[0].trade, 7), UINT64_MAX);
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_E_STALE);
}
END_TEST

START_TEST(the_promise_counts_from_the_request_on)
{
	set_up_leased();
	rounds(5);
	/* Silent for long: but another neighbour may have heard it, and be gone since. */
	for (int i = 0; i < 100; i++) {
		now_ns += TICK_NS;
		tick(0, NULL);
	}
	uint64_t asked_ns = now_ns;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_E_BUSY);
	uint64_t close_ns = edge_of(0, 2).close_at_ns;
	ck_assert_uint_ge(close_ns, asked_ns + 6 * S);
	now_ns = close_ns - 1;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_E_BUSY);
	now_ns++;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_OK);
}
END_TEST

START_TEST(a_start_forgets_the_burial_but_not_the_promise)
{
	set_up_leased();
	rounds(5);
	now_ns += TICK_NS;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_E_BUSY);
	now_ns += 5 * S;
	iso_trade_close(members[0].trade);
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	tick(0, NULL);
	ck_assert(!edge_of(0, 2).closing);
	ck_assert(members[0].has_said[2]);
	now_ns += 3 * S;
	uint64_t asked_ns = now_ns;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_E_BUSY);
	uint64_t close_ns = edge_of(0, 2).close_at_ns;
	ck_assert_uint_ge(close_ns, asked_ns + 6 * S);
	ck_assert_uint_le(close_ns, asked_ns + 6 * S + COARSE_NS);
	now_ns = close_ns;
	ck_assert_int_eq(tick(0, &bury_third).op_status, ISO_OK);
}
END_TEST

START_TEST(a_burial_can_be_given_up_until_it_is_done)
{
	struct iso_op op = { .id = 10, .kind = ISO_OP_VOID, .gen = 1 };

	set_up_leased();
	rounds(5);
	ck_assert_int_eq(apply(0, &bury_third).op_status, ISO_E_BUSY);
	ck_assert_int_eq(apply(0, &op).op_status, ISO_OK);
	ck_assert(!edge_of(0, 2).closing);
	ck_assert(members[0].has_said[2]);
	/* The one that was given up comes late. */
	ck_assert_int_eq(apply(0, &bury_third).op_status, ISO_E_STALE);
	ck_assert(!edge_of(0, 2).closing);
	rounds(2);
	ck_assert(status_of(2).lease_valid);
}
END_TEST

START_TEST(without_leases_a_burial_needs_a_word)
{
	struct iso_op op = bury_third;

	set_up();
	rounds(5);
	ck_assert_int_eq(apply(0, &bury_third).op_status, ISO_E_RANGE);
	ck_assert(!edge_of(0, 2).closing);
	ck_assert(members[0].has_said[2]);
	op.on = true;
	ck_assert_int_eq(apply(0, &op).op_status, ISO_OK);
	ck_assert_uint_eq(edge_of(0, 2).flags, ISO_EDGE_STATE_CLOSED);
}
END_TEST

START_TEST(who_was_buried_is_told)
{
	struct iso_op op = bury_third;

	set_up();
	rounds(5);
	op.on = true;
	cut[2][0] = true;
	ck_assert_int_eq(apply(0, &op).op_status, ISO_OK);
	/* It has heard nothing of that and goes on. */
	ck_assert_int_eq(status_of(2).halt, ISO_HALT_NONE);
	ck_assert(!members[0].has_said[2]);
	rounds(3);
	ck_assert(!members[0].has_said[2]);
	cut[2][0] = false;
	rounds(2);
	ck_assert_uint_eq(said(0, 2).flags, ISO_EDGE_TOMBSTONE);
	ck_assert_uint_eq(said(0, 2).destination_gen, 1);
	ck_assert_uint_eq(said(0, 2).sent, 0);
	rounds(2);
	ck_assert_int_eq(status_of(2).halt, ISO_HALT_BURIED);
	ck_assert_int_eq(members[2].disk.halt, ISO_HALT_BURIED);
	ck_assert_int_le(members[2].enforced_ucpu, FLOOR_UCPU);
	ck_assert(!members[2].has_said[1]);
	/* It falls silent, and so do those who told it. */
	rounds(2);
	ck_assert(!members[0].has_said[2]);
	/* A start changes nothing. */
	iso_trade_close(members[2].trade);
	ck_assert_ok(iso_trade_open(members[2].trade, &members[2].disk));
	rounds(2);
	ck_assert_int_eq(status_of(2).halt, ISO_HALT_BURIED);
}
END_TEST

START_TEST(a_tombstone_of_another_life_does_nothing)
{
	struct iso_edge_frame frame;
	uint8_t bytes[ISO_EDGE_BYTES];

	set_up();
	rounds(3);
	frame = said(0, 2);
	frame.flags = ISO_EDGE_TOMBSTONE;
	frame.destination_gen = 2;
	iso_edge_encode(&frame, bytes);
	ck_assert_int_eq(
	    iso_trade_receive(members[2].trade, now_ns, 1001, bytes, sizeof(bytes)),
	    ISO_E_FOREIGN);
	/* And only a neighbour is believed, by its key. */
	frame.destination_gen = 1;
	iso_edge_encode(&frame, bytes);
	ck_assert_int_eq(
	    iso_trade_receive(members[2].trade, now_ns, 1002, bytes, sizeof(bytes)),
	    ISO_E_FOREIGN);
	ck_assert_int_eq(status_of(2).halt, ISO_HALT_NONE);
	/* Whatever life of its own the neighbour is in. */
	frame.source_gen = 4;
	iso_edge_encode(&frame, bytes);
	ck_assert_int_eq(
	    iso_trade_receive(members[2].trade, now_ns, 1001, bytes, sizeof(bytes)),
	    ISO_E_HALTED);
	ck_assert_int_eq(status_of(2).halt, ISO_HALT_BURIED);
}
END_TEST

/* Buries the third, which is off, by a word; its estate but for the floor goes to the first. */
static void bury_and_fold(void)
{
	struct iso_op op = bury_third;

	members[2].is_off = true;
	op.on = true;
	ck_assert_ok(apply(0, &op).op_status);
	ck_assert_ok(apply(1, &op).op_status);
	fold(0, 2, 10);
	fold(1, 2, 10);
	int64_t kept = members[0].disk.endowment_ucpu + members[1].disk.endowment_ucpu;
	op = (struct iso_op){ .id = 11,
			      .kind = ISO_OP_MINT,
			      .gen = 1,
			      .amount_ucpu = BUDGET_UCPU - FLOOR_UCPU - kept };
	ck_assert_ok(apply(0, &op).op_status);
}

/* A new life of the third, with its floor as endowment and two new edges. */
static void readmit(void)
{
	const struct iso_ledger_peer peers[] = { { 1001, 1 }, { 1002, 1 } };
	struct iso_ledger_admission admission = { .id = 12,
						  .gen = 2,
						  .endowment_ucpu = FLOOR_UCPU,
						  .budget_ucpu = BUDGET_UCPU,
						  .peers = peers,
						  .peer_count = 2 };
	struct iso_op op = {
		.id = 13, .kind = ISO_OP_OPEN, .gen = 1, .peer = 1003, .peer_gen = 2
	};
	struct member *third = &members[2];
	struct iso_record record;

	ck_assert_int_eq(iso_trade_admit(&third->config, &third->disk, &admission, &record),
			 ISO_E_BUSY);
	third->disk.halt = ISO_HALT_BURIED;
	ck_assert_ok(iso_trade_admit(&third->config, &third->disk, &admission, &record));
	third->disk = record;
	third->enforced_ucpu = 0;
	ck_assert_ok(iso_trade_init(third->memory, sizeof(third->memory), &third->config,
				    &third->trade));
	ck_assert_ok(iso_trade_open(third->trade, &record));
	third->is_off = false;
	ck_assert_ok(apply(0, &op).op_status);
	ck_assert_ok(apply(1, &op).op_status);
}

START_TEST(a_later_life_begins_at_zero)
{
	uint8_t old[ISO_EDGE_BYTES];

	set_up();
	members[2].demand_ucpu = 0;
	rounds(30);
	ck_assert_uint_gt(edge_of(0, 2).received, 0);
	memcpy(old, members[2].said[0], sizeof(old));
	bury_and_fold();
	ck_assert(edge_of(0, 2).dormant);
	readmit();
	ck_assert_uint_eq(edge_of(0, 2).peer_gen, 2);
	ck_assert_uint_eq(edge_of(0, 2).received, 0);
	rounds(5);
	/* What the first life sent long ago is credited to nobody. */
	ck_assert_int_eq(iso_trade_receive(members[0].trade, now_ns, 1003, old, sizeof(old)),
			 ISO_E_FOREIGN);
	members[2].demand_ucpu = 1000000;
	rounds(60);
	check_sum(BUDGET_UCPU);
	for (uint32_t i = 0; i < NODES; i++)
		ck_assert_double_eq_tol((double)status_of(i).share_ucpu, 1000000, 20000);
}
END_TEST

START_TEST(an_old_life_is_told_beside_the_new_one)
{
	uint8_t old[ISO_EDGE_BYTES];
	unsigned tombstones = 0, ordinary = 0;

	set_up();
	rounds(5);
	memcpy(old, members[2].said[0], sizeof(old));
	bury_and_fold();
	readmit();
	rounds(3);
	/* Somebody runs a copy of the machine: it is told, but every other time at most. */
	for (int i = 0; i < 10; i++) {
		(void)!iso_trade_receive(members[0].trade, now_ns, 1003, old, sizeof(old));
		rounds(1);
		struct iso_edge_frame frame = said(0, 2);
		tombstones += frame.flags == ISO_EDGE_TOMBSTONE && frame.destination_gen == 1;
		ordinary += frame.flags == 0 && frame.destination_gen == 2;
	}
	ck_assert_uint_eq(tombstones, 5);
	ck_assert_uint_eq(ordinary, 5);
	ck_assert_int_eq(status_of(2).halt, ISO_HALT_NONE);
	ck_assert_uint_eq(status_of(2).drops[ISO_DROP_GENERATION], 5);
}
END_TEST

START_TEST(a_tombstone_among_the_peers_stays_one)
{
	set_up();
	rounds(5);
	bury_and_fold();
	iso_trade_close(members[0].trade);
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	rounds(2);
	ck_assert(edge_of(0, 2).dormant);
	ck_assert(!members[0].has_said[2]);
	ck_assert_int_eq(status_of(0).halt, ISO_HALT_NONE);
}
END_TEST

START_TEST(a_node_waits_for_its_admission)
{
	struct member *third = &members[2];
	const struct iso_ledger_peer peers[] = { { 1001, 1 } };
	struct iso_ledger_admission admission = { .id = 12,
						  .gen = 1,
						  .endowment_ucpu = 400000,
						  .budget_ucpu = BUDGET_UCPU,
						  .peers = peers,
						  .peer_count = 1 };
	struct iso_record record;

	set_up();
	iso_trade_close(third->trade);
	ck_assert_ok(iso_trade_genesis(&third->config, 0, 0, &third->disk));
	ck_assert_ok(iso_trade_open(third->trade, &third->disk));
	rounds(3);
	ck_assert_uint_eq(iso_trade_edges(third->trade), 0);
	ck_assert_int_eq(third->enforced_ucpu, 0);
	ck_assert(!third->has_said[0]);
	ck_assert_int_eq(apply(2, &bury_third).op_status, ISO_E_FOREIGN);
	ck_assert_ok(iso_trade_admit(&third->config, &third->disk, &admission, &record));
	iso_trade_close(third->trade);
	third->disk = record;
	ck_assert_ok(iso_trade_open(third->trade, &record));
	rounds(5);
	ck_assert_uint_eq(status_of(2).gen, 1);
	/* One neighbour by admission; the configuration makes no other one any more. */
	ck_assert_uint_eq(iso_trade_edges(third->trade), 1);
	ck_assert_uint_gt(edge_of(2, 0).received + edge_of(2, 0).sent, 0);
	ck_assert_int_gt(third->enforced_ucpu, 400000);
	/* It is done once. */
	ck_assert_int_eq(iso_trade_admit(&third->config, &third->disk, &admission, &record),
			 ISO_E_STALE);
}
END_TEST

START_TEST(a_node_without_edges_needs_no_lease_until_it_has_one)
{
	struct member *third = &members[2];
	struct iso_op op = {
		.id = 5, .kind = ISO_OP_OPEN, .gen = 1, .peer = 1001, .peer_gen = 1
	};

	set_up_leased();
	third->config.peer_count = 0;
	ck_assert_ok(iso_trade_init(third->memory, sizeof(third->memory), &third->config,
				    &third->trade));
	ck_assert_ok(iso_trade_open(third->trade, &third->disk));
	rounds(5);
	ck_assert_uint_eq(iso_trade_lease_deadline(third->trade), UINT64_MAX);
	ck_assert_int_eq(third->enforced_ucpu, SHARE_UCPU);
	/* In the very tick: from its answer on it may be buried without another word. */
	now_ns += TICK_NS;
	ck_assert_ok(tick(2, &op).op_status);
	ck_assert_int_eq(third->enforced_ucpu, FLOOR_UCPU);
	ck_assert_uint_eq(iso_trade_lease_deadline(third->trade), 0);
	ck_assert_uint_eq(iso_trade_edges(third->trade), 1);
	ck_assert_ok(hear(0, 2));
	rounds(3);
	ck_assert(status_of(2).lease_valid);
	ck_assert_int_gt(third->enforced_ucpu, FLOOR_UCPU);
}
END_TEST

START_TEST(an_opened_edge_is_promised_from_then_on)
{
	struct iso_op open = {
		.id = 13, .kind = ISO_OP_OPEN, .gen = 1, .peer = 1007, .peer_gen = 1
	};
	struct iso_op close = {
		.id = 14, .kind = ISO_OP_CLOSE, .gen = 1, .peer = 1007, .peer_gen = 1
	};

	set_up_leased();
	rounds(60);
	now_ns += TICK_NS;
	uint64_t opened_ns = now_ns;
	ck_assert_ok(tick(0, &open).op_status);
	ck_assert_uint_eq(iso_trade_edges(members[0].trade), 3);
	/* It was never heard, but a life before may have been. */
	uint64_t close_ns = iso_trade_close_at_ns(members[0].trade, 2);
	ck_assert_uint_ge(close_ns, opened_ns + 6 * S);
	ck_assert_uint_le(close_ns, opened_ns + 6 * S + COARSE_NS);
	now_ns = opened_ns + 6 * S - 1;
	ck_assert_int_eq(tick(0, &close).op_status, ISO_E_BUSY);
	/* From the request on it is promised anew. */
	now_ns = close_ns;
	ck_assert_int_eq(tick(0, &close).op_status, ISO_E_BUSY);
	now_ns = iso_trade_close_at_ns(members[0].trade, 2);
	ck_assert_int_eq(tick(0, &close).op_status, ISO_OK);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trade_op");
	TCase *tcase = tcase_create("operations");

	tcase_add_test(tcase, a_mint_and_a_burn_are_done_once);
	tcase_add_test(tcase, a_burn_waits_until_the_journal_is_verified);
	tcase_add_test(tcase, a_budget_that_one_end_does_not_know_yet_halts_nobody);
	tcase_add_test(tcase, a_donor_keeps_within_its_budget);
	tcase_add_test(tcase, a_draining_node_keeps_its_floor);
	tcase_add_test(tcase, two_that_drain_do_not_give_to_each_other);
	tcase_add_test(tcase, a_node_gives_all_it_has_and_leaves);
	tcase_add_test(tcase, a_node_that_still_enforces_does_not_leave);
	tcase_add_test(tcase, more_than_the_floor_needs_a_lease);
	tcase_add_test(tcase, an_edge_is_closed_when_its_promise_has_passed);
	tcase_add_test(tcase, the_promise_counts_from_the_request_on);
	tcase_add_test(tcase, a_start_forgets_the_burial_but_not_the_promise);
	tcase_add_test(tcase, a_burial_can_be_given_up_until_it_is_done);
	tcase_add_test(tcase, without_leases_a_burial_needs_a_word);
	tcase_add_test(tcase, who_was_buried_is_told);
	tcase_add_test(tcase, a_tombstone_of_another_life_does_nothing);
	tcase_add_test(tcase, a_later_life_begins_at_zero);
	tcase_add_test(tcase, an_old_life_is_told_beside_the_new_one);
	tcase_add_test(tcase, a_tombstone_among_the_peers_stays_one);
	tcase_add_test(tcase, a_node_waits_for_its_admission);
	tcase_add_test(tcase, a_node_without_edges_needs_no_lease_until_it_has_one);
	tcase_add_test(tcase, an_opened_edge_is_promised_from_then_on);
	suite_add_tcase(suite, tcase);
	return suite;
}
