/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/trade/trade.h"

#include <math.h>
#include <signal.h>

#include "tests/test.h"
#include "tests/unit/trade_pair.h"

START_TEST(two_nodes_meet_at_equal_prices)
{
	pair_set_up();
	for (int i = 0; i < 60; i++) {
		pair_exchange();
		pair_audit_proves(-1);
	}
	/* x - 0.4 = y - 1.6 and x + y = 2. */
	struct iso_trade_status a = pair_status(&left), b = pair_status(&right);

	ck_assert_double_eq_tol((double)a.share_ucpu, 400000, 2000);
	ck_assert_double_eq_tol((double)b.share_ucpu, 1600000, 2000);
	ck_assert_int_eq(a.share_ucpu + b.share_ucpu, 2000000);
	ck_assert_int_eq(a.unacked_ucpu, 0);
	ck_assert_int_eq(left.enforced_ucpu, a.share_ucpu);
	ck_assert_uint_eq(a.seq, 60);
	ck_assert_uint_eq(a.received, 60);
	/* At rest nothing is written. */
	struct iso_trade_plan plan = pair_tick(&left);
	ck_assert(!plan.record);
	ck_assert(!plan.lower);
}
END_TEST

START_TEST(a_transfer_is_told_step_by_step)
{
	struct iso_trade_plan plan;

	pair_set_up();
	/* Prices 0.6 and -0.6: the first symbols are absolute. */
	pair_exchange();
	ck_assert_uint_eq(pair_frame(left.message).base_seq, 0);
	ck_assert_uint_eq(pair_frame(left.message).inc, 1);
	ck_assert_double_eq_tol(iso_price_real(pair_status(&left).price_q32), 0.6, 1e-6);
	ck_assert_double_eq_tol(iso_price_real(pair_edge(&left).heard.price.value_q32), -0.6, 0.08);
	/* The dearer side gives; its quota is lowered before anything else. */
	plan = pair_begin(&left);
	ck_assert(plan.lower);
	ck_assert(plan.record);
	ck_assert_int_gt(plan.debited_ucpu, 300000);
	ck_assert_int_eq(plan.limit_ucpu, 1000000 - plan.debited_ucpu);
	ck_assert_int_eq(plan.share_ucpu, plan.limit_ucpu);
	ck_assert_int_eq(pair_edge(&left).reason, ISO_SHARE_GAVE);
	ck_assert_int_eq(pair_status(&left).gave.given_ucpu, plan.debited_ucpu);
	ck_assert_uint_eq(pair_status(&left).gave_edge, 0);
	/* Until the commit the world sees the old state. */
	ck_assert_uint_eq(pair_edge(&left).sent, 0);
	ck_assert_int_eq(pair_status(&left).share_ucpu, 1000000);
	pair_finish(&left, &plan);
	ck_assert_uint_eq(pair_edge(&left).sent, (uint64_t)plan.debited_ucpu);
	ck_assert_int_eq(pair_status(&left).unacked_ucpu, plan.debited_ucpu);
	ck_assert_uint_eq(pair_frame(left.message).sent, (uint64_t)plan.debited_ucpu);
	/* This time the symbol is relative to what was heard. */
	ck_assert_uint_eq(pair_frame(left.message).base_seq, 1);
	ck_assert_uint_eq(pair_frame(left.message).echo_seq, 1);
	pair_audit_proves(plan.debited_ucpu);
	/* The receiver credits at its next tick and raises only at the commit. */
	ck_assert_ok(pair_hear(&right, left.message));
	ck_assert_int_eq(pair_status(&right).arriving_ucpu, plan.debited_ucpu);
	struct iso_trade_plan credit = pair_begin(&right);
	ck_assert_int_eq(credit.credited_ucpu, plan.debited_ucpu);
	ck_assert(!credit.lower);
	ck_assert_int_eq(credit.limit_ucpu, 1000000);
	ck_assert_int_eq(credit.target_ucpu, 1000000 + plan.debited_ucpu);
	ck_assert_int_eq(pair_edge(&right).reason, ISO_SHARE_CHEAPER);
	pair_finish(&right, &credit);
	ck_assert_int_eq(right.enforced_ucpu, 1000000 + plan.debited_ucpu);
	pair_audit_proves(0);
	ck_assert_ok(pair_hear(&left, right.message));
	ck_assert_int_eq(pair_status(&left).unacked_ucpu, 0);
}
END_TEST

START_TEST(waits_until_its_transfer_is_acknowledged)
{
	pair_set_up();
	pair_exchange();
	pair_tick(&left); /* gives; the message is lost */
	pair_tick(&right);
	ck_assert_ok(pair_hear(&left, right.message));
	struct iso_trade_plan plan = pair_tick(&left);
	ck_assert_int_eq(plan.debited_ucpu, 0);
	ck_assert_int_eq(pair_edge(&left).reason, ISO_SHARE_WAITING);
	/* The next heartbeat carries it all the same. */
	ck_assert_ok(pair_hear(&right, left.message));
	ck_assert_int_gt(pair_tick(&right).credited_ucpu, 0);
}
END_TEST

START_TEST(an_abort_gives_nothing_away)
{
	struct iso_trade_plan plan;

	pair_set_up();
	pair_exchange();
	plan = pair_begin(&left);
	ck_assert_int_eq(iso_trade_lowered(left.trade, plan.limit_ucpu + 1), ISO_E_RANGE);
	iso_trade_abort(left.trade, &plan);
	ck_assert_int_eq(plan.debited_ucpu, 0);
	ck_assert_int_eq(plan.share_ucpu, 1000000);
	ck_assert(!plan.lower);
	ck_assert(!plan.record);
	ck_assert_int_eq(pair_edge(&left).reason, ISO_SHARE_ABORTED);
	pair_finish(&left, &plan);
	ck_assert_uint_eq(pair_frame(left.message).sent, 0);
	ck_assert_double_le(pair_edge(&left).remainder_ucpu, 1);
	/* And the next chance is taken. */
	pair_tick(&right);
	ck_assert_ok(pair_hear(&left, right.message));
	ck_assert_int_gt(pair_tick(&left).debited_ucpu, 0);
}
END_TEST

START_TEST(a_held_node_receives_but_does_not_give)
{
	pair_set_up();
	pair_exchange();
	left.hold = true;
	struct iso_trade_plan plan = pair_tick(&left);
	ck_assert_int_eq(plan.debited_ucpu, 0);
	ck_assert_int_eq(pair_edge(&left).reason, ISO_SHARE_HELD);
	right.hold = true;
	left.hold = false;
	pair_exchange();
	pair_tick(&left);
	ck_assert_ok(pair_hear(&right, left.message));
	ck_assert_int_gt(pair_tick(&right).credited_ucpu, 0);
}
END_TEST

START_TEST(a_paused_node_keeps_its_share_whatever_the_others_have)
{
	pair_set_up();
	pair_exchange();
	left.paused = true;
	for (int i = 0; i < 5; i++)
		pair_exchange();
	ck_assert_int_eq(pair_status(&left).share_ucpu, 1000000);
	/* Nor does it take: now it is the one in need. */
	left.demand_ucpu = 1600000;
	right.demand_ucpu = 400000;
	for (int i = 0; i < 5; i++)
		pair_exchange();
	ck_assert_int_eq(pair_status(&left).share_ucpu, 1000000);
	ck_assert_int_eq(pair_status(&right).share_ucpu, 1000000);
	pair_audit_proves(0);
	left.paused = false;
	for (int i = 0; i < 60; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&left).share_ucpu, 1600000, 2000);
	pair_audit_proves(-1);
}
END_TEST

/* What was given before the other side could know of it still arrives. */
START_TEST(a_paused_node_takes_in_what_is_under_way)
{
	pair_set_up();
	pair_exchange();
	struct iso_trade_plan plan = pair_tick(&left);
	ck_assert_int_gt(plan.debited_ucpu, 0);
	right.paused = true;
	ck_assert_ok(pair_hear(&right, left.message));
	ck_assert_int_eq(pair_tick(&right).credited_ucpu, plan.debited_ucpu);
	ck_assert_int_eq(right.enforced_ucpu, 1000000 + plan.debited_ucpu);
	pair_audit_proves(0);
}
END_TEST

START_TEST(a_message_is_decided_on_once)
{
	pair_set_up();
	left.config.share.stop_and_wait = false;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	pair_exchange();
	ck_assert_int_gt(pair_tick(&left).debited_ucpu, 0);
	ck_assert_int_eq(pair_tick(&left).debited_ucpu, 0);
	ck_assert_int_eq(pair_edge(&left).reason, ISO_SHARE_GAVE);
}
END_TEST

START_TEST(a_ceiling_may_fall_and_rise)
{
	pair_set_up();
	pair_tick(&right);
	right.ceiling_ucpu = 300000;
	struct iso_trade_plan plan = pair_tick(&right);
	ck_assert(plan.lower);
	ck_assert_int_eq(right.enforced_ucpu, 300000);
	ck_assert_int_eq(pair_status(&right).share_ucpu, 1000000);
	/* What it cannot use it does not ask for, and gives away. */
	ck_assert_int_eq(pair_frame(right.message).head_ucpu, 0);
	for (int i = 0; i < 60; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&right).share_ucpu, 300000, 15000);
	right.ceiling_ucpu = 1800000;
	for (int i = 0; i < 60; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&right).share_ucpu, 1600000, 5000);
	pair_audit_proves(0);
}
END_TEST

START_TEST(what_is_released_goes_to_those_who_have_a_use_for_it)
{
	pair_set_up();
	pair_tick(&right);
	right.release = true;
	struct iso_trade_plan plan = pair_tick(&right);
	/* Nothing is taken from it: it stays enforced until somebody wants it. */
	ck_assert(!plan.lower);
	ck_assert_int_eq(right.enforced_ucpu, 1000000);
	ck_assert_int_eq(pair_frame(right.message).head_ucpu, 0);
	left.ceiling_ucpu = 1500000;
	for (int i = 0; i < 100; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&left).share_ucpu, 1500000, 16000);
	left.ceiling_ucpu = 1900000;
	for (int i = 0; i < 100; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&right).share_ucpu, 100000, 5000);

	/* Where nobody runs at all nothing moves. */
	left.release = true;
	for (int i = 0; i < 100; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&right).share_ucpu, 100000, 5000);

	left.release = right.release = false;
	for (int i = 0; i < 60; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&right).share_ucpu, 1600000, 5000);
	pair_audit_proves(0);
}
END_TEST

START_TEST(impossible_inputs_change_nothing)
{
	struct iso_trade_input input = { .now_ns = PAIR_TICK_NS,
					 .enforced_ucpu = 0,
					 .ceiling_ucpu = 1,
					 .cost = { .kind = ISO_COST_QUADRATIC,
						   .penalty = ISO_PENALTY_NONE,
						   .weight = 1,
						   .kappa = 1 } };
	struct iso_trade_plan plan = { .share_ucpu = 99 };
	struct iso_trade_edge edge = { .peer = 99 };
	struct iso_trade_input bad;

	pair_set_up();
	bad = input;
	bad.ceiling_ucpu = 0;
	ck_assert_int_eq(iso_trade_begin(left.trade, &bad, &plan), ISO_E_RANGE);
	bad = input;
	bad.enforced_ucpu = -1;
	ck_assert_int_eq(iso_trade_begin(left.trade, &bad, &plan), ISO_E_RANGE);
	bad = input;
	bad.cost.weight = NAN;
	ck_assert_int_eq(iso_trade_begin(left.trade, &bad, &plan), ISO_E_RANGE);
	ck_assert_int_eq(plan.share_ucpu, 99);
	ck_assert_int_eq(iso_trade_edge(left.trade, 1, &edge), ISO_E_UNKNOWN);
	ck_assert_uint_eq(edge.peer, 99);
	ck_assert_ok(iso_trade_begin(left.trade, &input, &plan));
	ck_assert_int_eq(plan.target_ucpu, 1);
}
END_TEST

START_TEST(a_node_of_64_edges_fits_in_8_KiB)
{
	struct iso_trade_config config = pair_config(NULL, 1001);

	pair_set_up();
	config.peer_count = 0;
	config.edges_max = ISO_DEGREE_MAX;
	ck_assert_uint_gt(iso_trade_size(&config), 0);
	ck_assert_uint_le(iso_trade_size(&config), 8192);
}
END_TEST

START_TEST(impossible_configurations_are_refused)
{
	struct iso_trade_peer peers[2] = { { 1002, 1 }, { 1003, 1 } };
	struct iso_trade *untouched = (struct iso_trade *)left.memory, *trade = untouched;
	struct iso_trade_config good, bad;
	struct iso_record record;

	pair_set_up();
	good = pair_config(peers, 1001);
	good.peer_count = 2;
#define refused(status, change)                                                                    \
	do {                                                                                       \
		bad = good;                                                                        \
		change;                                                                            \
		ck_assert_int_eq(iso_trade_init(left.memory, sizeof(left.memory), &bad, &trade),   \
				 status);                                                          \
		ck_assert_ptr_eq(trade, untouched);                                                \
	} while (0)
	refused(ISO_E_RANGE, bad.share.gamma = 2);
	refused(ISO_E_RANGE, bad.node = 1003);
	refused(ISO_E_RANGE, bad.edges_max = 65);
	refused(ISO_E_RANGE, bad.budget_ucpu = 0);
	refused(ISO_E_FULL, bad.edges_max = 1);
#undef refused
	peers[1].node = 1002;
	ck_assert_int_eq(iso_trade_init(left.memory, sizeof(left.memory), &good, &trade),
			 ISO_E_RANGE);
	ck_assert_uint_eq(iso_trade_size(&good), 0);
	peers[1] = (struct iso_trade_peer){ 1003, 0 };
	ck_assert_uint_eq(iso_trade_size(&good), 0);
	peers[1].gen = 1;
	ck_assert_int_eq(iso_trade_init(left.memory, iso_trade_size(&good) - 1, &good, &trade),
			 ISO_E_SHORT);
	ck_assert_int_eq(iso_trade_genesis(&good, 1, 5, &record), ISO_E_RANGE);
	/* More edges in the journal than there is room for. */
	good.edges_max = 2;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &good, &trade));
	ck_assert_ok(iso_trade_genesis(&good, 1, 1000000, &record));
	record.edge_count = 1;
	record.edges[0] = (struct iso_record_edge){ .peer = 1009, .peer_gen = 1 };
	ck_assert_int_eq(iso_trade_open(trade, &record), ISO_E_FULL);
	record.edge_count = 0;
	record.node = 5;
	ck_assert_int_eq(iso_trade_open(trade, &record), ISO_E_FOREIGN);
	record.node = 1001;
	ck_assert_ok(iso_trade_open(trade, &record));
}
END_TEST

START_TEST(dies_when_a_message_is_taken_before_the_commit)
{
	uint64_t peer;

	pair_set_up();
	pair_begin(&left);
	(void)!iso_trade_message(left.trade, 0, &peer, left.message);
}
END_TEST

START_TEST(dies_when_the_commit_comes_before_lowering)
{
	pair_set_up();
	pair_exchange();
	pair_begin(&left);
	iso_trade_commit(left.trade, left.disk.seq);
}
END_TEST

START_TEST(dies_when_the_record_was_not_made_durable)
{
	struct iso_record record;

	pair_set_up();
	pair_begin(&left);
	iso_trade_record(left.trade, &record);
	iso_trade_commit(left.trade, left.disk.seq);
}
END_TEST

START_TEST(dies_when_time_goes_back)
{
	pair_set_up();
	pair_tick(&left);
	left.now_ns -= 2 * (uint64_t)PAIR_TICK_NS;
	pair_begin(&left);
}
END_TEST

START_TEST(dies_when_used_after_the_journal_failed)
{
	pair_set_up();
	pair_tick(&left);
	iso_trade_close(left.trade);
	pair_begin(&left);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trade");
	TCase *tcase = tcase_create("tick");

	tcase_add_test(tcase, two_nodes_meet_at_equal_prices);
	tcase_add_test(tcase, a_transfer_is_told_step_by_step);
	tcase_add_test(tcase, waits_until_its_transfer_is_acknowledged);
	tcase_add_test(tcase, an_abort_gives_nothing_away);
	tcase_add_test(tcase, a_held_node_receives_but_does_not_give);
	tcase_add_test(tcase, a_paused_node_keeps_its_share_whatever_the_others_have);
	tcase_add_test(tcase, a_paused_node_takes_in_what_is_under_way);
	tcase_add_test(tcase, a_message_is_decided_on_once);
	tcase_add_test(tcase, a_ceiling_may_fall_and_rise);
	tcase_add_test(tcase, what_is_released_goes_to_those_who_have_a_use_for_it);
	tcase_add_test(tcase, impossible_inputs_change_nothing);
	tcase_add_test(tcase, a_node_of_64_edges_fits_in_8_KiB);
	tcase_add_test(tcase, impossible_configurations_are_refused);
	tcase_add_test_raise_signal(tcase, dies_when_a_message_is_taken_before_the_commit, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_the_commit_comes_before_lowering, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_the_record_was_not_made_durable, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_time_goes_back, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_used_after_the_journal_failed, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
