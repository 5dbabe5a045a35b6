/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on the budget, draining and leaving, as one node after the other sees them. */
#include "config.h"

#include "tests/test.h"
#include "tests/unit/trade_trio.h"

START_TEST(a_mint_and_a_burn_are_done_once)
{
	struct iso_op mint = { .id = 5,
			       .kind = ISO_OP_MINT,
			       .gen = 1,
			       .amount_ucpu = 300000,
			       .budget_ucpu = TRIO_BUDGET_UCPU + 300000 };
	struct iso_op burn = {
		.id = 6, .kind = ISO_OP_BURN, .gen = 1, .amount_ucpu = 100000000
	};
	struct iso_trade_plan plan;

	trio_set_up();
	trio_rounds(2);
	plan = trio_apply(0, &mint);
	ck_assert_int_eq(plan.op_status, ISO_OK);
	ck_assert_int_eq(plan.op_moved_ucpu, 300000);
	trio_check_sum(TRIO_BUDGET_UCPU + 300000);
	ck_assert_int_eq(trio_status(0).budget_ucpu, TRIO_BUDGET_UCPU + 300000);
	ck_assert_int_eq(trio_said(0, 1).budget_ucpu, TRIO_BUDGET_UCPU + 300000);
	plan = trio_apply(0, &mint);
	ck_assert_int_eq(plan.op_status, ISO_E_STALE);
	ck_assert_uint_eq(trio_status(0).last_op, 5);
	ck_assert_int_eq(trio_status(0).last_op_ucpu, 300000);
	trio_check_sum(TRIO_BUDGET_UCPU + 300000);
	/* It cannot be lowered: the burn has not been, and will be asked for again. */
	members[0].is_stuck = true;
	plan = trio_apply(0, &burn);
	ck_assert_int_eq(plan.op_status, ISO_E_BUSY);
	ck_assert_int_eq(plan.op_moved_ucpu, 0);
	ck_assert_uint_eq(trio_status(0).last_op, 5);
	trio_check_sum(TRIO_BUDGET_UCPU + 300000);
	members[0].is_stuck = false;
	int64_t share = trio_status(0).share_ucpu;
	plan = trio_apply(0, &burn);
	ck_assert_int_eq(plan.op_status, ISO_OK);
	ck_assert_int_ge(plan.op_moved_ucpu, share - TRIO_FLOOR_UCPU);
	ck_assert_int_eq(members[0].enforced_ucpu, TRIO_FLOOR_UCPU);
	trio_check_sum(TRIO_BUDGET_UCPU + 300000 - plan.op_moved_ucpu);
	burn.gen = 2;
	burn.id = 7;
	ck_assert_int_eq(trio_apply(0, &burn).op_status, ISO_E_FOREIGN);
}
END_TEST

/* An old copy may own what was given away: burned, it would be taken from the others. */
START_TEST(a_burn_waits_until_the_journal_is_verified)
{
	struct iso_op mint = { .id = 5, .kind = ISO_OP_MINT, .gen = 1, .amount_ucpu = 300000 };
	struct iso_op burn = { .id = 6, .kind = ISO_OP_BURN, .gen = 1, .amount_ucpu = 300000 };

	trio_set_up();
	trio_rounds(2);
	ck_assert_ok(trio_apply(0, &mint).op_status);
	members[0].config.verify_ns = 20 * TRIO_TICK_NS;
	ck_assert_ok(iso_trade_init(members[0].memory, sizeof(members[0].memory),
				    &members[0].config, &members[0].trade));
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	cut[1][0] = true;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(trio_apply(0, &burn).op_status, ISO_E_BUSY);
	ck_assert_uint_eq(trio_status(0).last_op, 5);
	/* What was done before, or must not be done any more, is said at once. */
	ck_assert_int_eq(trio_apply(0, &mint).op_status, ISO_E_STALE);
	burn.gen = 2;
	ck_assert_int_eq(trio_apply(0, &burn).op_status, ISO_E_FOREIGN);
	burn.gen = 1;
	cut[1][0] = false;
	trio_rounds(2);
	ck_assert(trio_status(0).verified);
	ck_assert_ok(trio_apply(0, &burn).op_status);
	trio_check_sum(TRIO_BUDGET_UCPU);
}
END_TEST

/* The first gives all it can to the second, which believes in a far smaller budget. */
START_TEST(a_budget_that_one_end_does_not_know_yet_halts_nobody)
{
	struct iso_op less = {
		.id = 5, .kind = ISO_OP_BUDGET, .gen = 1, .budget_ucpu = 200000
	};
	struct iso_edge_frame frame;

	trio_set_up();
	members[0].demand_ucpu = 0;
	members[1].demand_ucpu = 2500000;
	members[2].is_off = true;
	now_ns += TRIO_TICK_NS;
	trio_tick(0, NULL);
	ck_assert_ok(trio_tick(1, &less).op_status);
	ck_assert_int_eq(trio_status(1).budget_ucpu, 200000);
	ck_assert_ok(trio_hear(0, 1));
	now_ns += TRIO_TICK_NS;
	ck_assert_int_gt(trio_tick(0, NULL).debited_ucpu, 200000);
	frame = trio_said(0, 1);
	ck_assert_ok(trio_hear(1, 0));
	/* Beyond what both believe in there is nothing to be had. */
	frame.sent = TRIO_BUDGET_UCPU + 1;
	ck_assert_int_eq(trio_hear_forged(1, 1001, &frame), ISO_E_HALTED);
	ck_assert_int_eq(trio_status(1).halt, ISO_HALT_OVERDRAFT);
}
END_TEST

START_TEST(a_donor_keeps_within_its_budget)
{
	struct iso_op less = {
		.id = 5, .kind = ISO_OP_BUDGET, .gen = 1, .budget_ucpu = 200000
	};

	trio_set_up();
	members[0].demand_ucpu = 0;
	members[1].demand_ucpu = 2500000;
	members[2].is_off = true;
	now_ns += TRIO_TICK_NS;
	ck_assert_ok(trio_tick(0, &less).op_status);
	for (int i = 0; i < 4; i++) {
		struct iso_trade_edge edge;

		/* What it gives never arrives, while the other's prices do. */
		trio_tick(1, NULL);
		ck_assert_ok(trio_hear(0, 1));
		now_ns += TRIO_TICK_NS;
		trio_tick(0, NULL);
		edge = trio_edge(0, 1);
		ck_assert_uint_eq(edge.sent - edge.acked, 200000);
	}
}
END_TEST

START_TEST(a_draining_node_keeps_its_floor)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_DRAIN, .gen = 1, .on = true };

	trio_set_up();
	trio_rounds(2);
	ck_assert_ok(trio_apply(0, &op).op_status);
	ck_assert_uint_eq(trio_status(0).flags, ISO_NODE_DRAINING);
	for (int i = 0; i < 40; i++) {
		trio_rounds(1);
		trio_check_sum(TRIO_BUDGET_UCPU);
		ck_assert_int_ge(trio_status(0).share_ucpu, TRIO_FLOOR_UCPU);
		ck_assert_int_eq(trio_said(0, 1).head_ucpu, 0);
	}
	ck_assert_int_eq(trio_status(0).share_ucpu, TRIO_FLOOR_UCPU);
	ck_assert_int_eq(trio_edge(0, 1).reason, ISO_SHARE_FLOOR);
	/* In equal parts, as its neighbours are alike. */
	ck_assert_double_eq_tol((double)trio_status(1).share_ucpu, 1450000, 20000);
	op = (struct iso_op){ .id = 6, .kind = ISO_OP_DRAIN, .gen = 1, .on = false };
	ck_assert_ok(trio_apply(0, &op).op_status);
	trio_rounds(60);
	ck_assert_double_eq_tol((double)trio_status(0).share_ucpu, 1000000, 20000);
	trio_check_sum(TRIO_BUDGET_UCPU);
}
END_TEST

START_TEST(two_that_drain_do_not_give_to_each_other)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_DRAIN, .gen = 1, .on = true };

	trio_set_up();
	trio_rounds(2);
	ck_assert_ok(trio_apply(0, &op).op_status);
	ck_assert_ok(trio_apply(1, &op).op_status);
	trio_rounds(3);
	uint64_t before = trio_edge(0, 1).sent;
	trio_rounds(20);
	ck_assert_uint_eq(trio_edge(0, 1).sent, before);
	ck_assert_int_eq(trio_status(0).share_ucpu, TRIO_FLOOR_UCPU);
	ck_assert_int_eq(trio_status(1).share_ucpu, TRIO_FLOOR_UCPU);
	ck_assert_int_eq(trio_status(2).share_ucpu, TRIO_BUDGET_UCPU - 2 * TRIO_FLOOR_UCPU);
}
END_TEST

START_TEST(a_node_gives_all_it_has_and_leaves)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_LEAVE, .gen = 1 };

	trio_set_up();
	/* It is the cheapest: the others would give to it if they might. */
	members[0].demand_ucpu = 2000000;
	trio_rounds(30);
	ck_assert_ok(trio_apply(0, &op).op_status);
	ck_assert_uint_eq(trio_said(0, 1).flags, ISO_EDGE_LEAVING);
	/* One neighbour does not hear of it at first, and gives on. */
	cut[0][2] = true;
	trio_rounds(5);
	ck_assert_uint_eq(trio_edge(1, 0).flags, ISO_EDGE_STATE_FROZEN);
	ck_assert_uint_eq(trio_said(1, 0).flags, ISO_EDGE_FROZEN);
	ck_assert(trio_edge(1, 0).leaving);
	ck_assert_int_eq(trio_edge(1, 0).reason, ISO_SHARE_LEAVING);
	uint64_t frozen = trio_edge(1, 0).sent;
	ck_assert_int_eq(trio_status(0).halt, ISO_HALT_NONE);
	cut[0][2] = false;
	for (int i = 0; i < 20 && trio_status(0).halt == ISO_HALT_NONE; i++)
		trio_rounds(1);
	ck_assert_int_eq(trio_status(0).halt, ISO_HALT_LEFT);
	ck_assert_uint_eq(trio_edge(1, 0).sent, frozen);
	ck_assert(trio_edge(0, 1).settled);
	ck_assert_int_eq(members[0].enforced_ucpu, 0);
	trio_rounds(2);
	trio_check_sum(TRIO_BUDGET_UCPU);
	ck_assert(!members[0].has_said[1]);
	trio_fold(1, 0, 6);
	trio_fold(2, 0, 7);
	/* What its edges carried is part of A now: the ledger of the two is whole without it. */
	ck_assert_int_eq(members[1].disk.endowment_ucpu + members[2].disk.endowment_ucpu,
			 TRIO_BUDGET_UCPU);
	ck_assert_int_eq(trio_status(1).share_ucpu + trio_status(2).share_ucpu +
			     trio_status(1).unacked_ucpu + trio_status(2).unacked_ucpu,
			 TRIO_BUDGET_UCPU);
}
END_TEST

START_TEST(a_node_that_still_enforces_does_not_leave)
{
	struct iso_op op = { .id = 5, .kind = ISO_OP_LEAVE, .gen = 1 };

	trio_set_up();
	trio_rounds(3);
	ck_assert_ok(trio_apply(0, &op).op_status);
	/* Down to the floor it goes at once; the rest waits for the job to end. */
	ck_assert_int_eq(trio_status(0).share_ucpu, TRIO_FLOOR_UCPU);
	members[0].is_stuck = true;
	trio_rounds(10);
	ck_assert_int_eq(trio_status(0).share_ucpu, TRIO_FLOOR_UCPU);
	ck_assert_int_eq(trio_status(0).halt, ISO_HALT_NONE);
	members[0].is_stuck = false;
	trio_rounds(10);
	ck_assert_int_eq(trio_status(0).halt, ISO_HALT_LEFT);
	trio_check_sum(TRIO_BUDGET_UCPU);
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
	suite_add_tcase(suite, tcase);
	return suite;
}
