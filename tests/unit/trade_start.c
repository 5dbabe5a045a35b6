/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A node that starts again: from its journal, an old one, or another configuration. */
#include "config.h"

#include "tests/test.h"
#include "tests/unit/trade_pair.h"

START_TEST(a_restart_goes_on_where_the_disk_is)
{
	pair_set_up();
	for (int i = 0; i < 3; i++)
		pair_exchange();
	int64_t share = pair_status(&left).share_ucpu;
	struct iso_trade_plan plan = pair_begin(&left);
	ck_assert_int_ne(plan.debited_ucpu, 0);
	/* Killed after the decision, before the record. */
	iso_trade_close(left.trade);
	left.enforced_ucpu = plan.limit_ucpu;
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	ck_assert_int_eq(pair_status(&left).share_ucpu, share);
	plan = pair_tick(&left);
	ck_assert(plan.record);
	ck_assert_uint_eq(left.disk.inc, 2);
	ck_assert_int_eq(left.enforced_ucpu, share);
	ck_assert_uint_eq(pair_frame(left.message).base_seq, 0);
	pair_audit_proves(-1);
	/* The neighbour takes the newer incarnation and answers it absolutely at first. */
	ck_assert_ok(pair_hear(&right, left.message));
	ck_assert_uint_eq(pair_edge(&right).peer_inc, 2);
	for (int i = 0; i < 60; i++)
		pair_exchange();
	ck_assert_double_eq_tol((double)pair_status(&left).share_ucpu, 400000, 2000);
}
END_TEST

/* Left starts again from a journal, with so much in the kernel and a journal to be verified. */
static void start_again(const struct iso_record *journal, int64_t enforced_ucpu)
{
	uint64_t now_ns = left.now_ns;

	left.config.verify_ns = 10 * (uint64_t)PAIR_TICK_NS;
	left.disk = *journal;
	left.enforced_ucpu = enforced_ucpu;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	left.now_ns = now_ns;
}

START_TEST(a_start_enforces_no_more_than_before_until_it_is_verified)
{
	struct iso_record disk;

	pair_set_up();
	for (int i = 0; i < 3; i++)
		pair_exchange();
	disk = left.disk;
	int64_t share = pair_status(&left).share_ucpu;

	/* A guard has lowered the limit meanwhile. */
	start_again(&disk, 300000);
	pair_tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, 300000);
	ck_assert(!pair_status(&left).verified);
	/* What the neighbour sent before it heard of the start says nothing; nothing is given. */
	pair_tick(&right);
	ck_assert_ok(pair_hear(&left, right.message));
	ck_assert_int_eq(pair_tick(&left).debited_ucpu, 0);
	ck_assert_int_eq(left.enforced_ucpu, 300000);
	/* One that the neighbour has sent after it heard of the start does. */
	ck_assert_ok(pair_hear(&right, left.message));
	pair_tick(&right);
	ck_assert_ok(pair_hear(&left, right.message));
	ck_assert(pair_status(&left).verified);
	pair_tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, pair_status(&left).share_ucpu);

	/* Nobody answers: for so long, and no longer. */
	start_again(&disk, 300000);
	for (int i = 0; i < 10; i++) {
		pair_tick(&left);
		ck_assert_int_eq(left.enforced_ucpu, 300000);
	}
	pair_tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, share);

	/* No limit at all, or less than the floor, was nobody's share. */
	start_again(&disk, INT64_MAX);
	pair_tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, left.config.floor_ucpu);
	start_again(&disk, left.config.floor_ucpu / 2);
	pair_tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, left.config.floor_ucpu);
}
END_TEST

START_TEST(an_old_journal_that_owned_more_is_never_enforced)
{
	struct iso_record old;

	pair_set_up();
	pair_exchange();
	old = left.disk;
	for (int i = 0; i < 60; i++)
		pair_exchange();
	int64_t share = pair_status(&left).share_ucpu;

	ck_assert_int_lt(share, iso_record_holdings(&old));
	start_again(&old, share);
	pair_tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, share);
	pair_tick(&right);
	ck_assert_int_eq(pair_hear(&left, right.message), ISO_E_HALTED);
	ck_assert_int_eq(pair_status(&left).halt, ISO_HALT_AMNESIA);
	pair_tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, left.config.floor_ucpu);
}
END_TEST

START_TEST(edges_that_left_the_configuration_lie_dormant)
{
	uint64_t peer;
	uint8_t bytes[ISO_EDGE_BYTES];

	pair_set_up();
	for (int i = 0; i < 5; i++)
		pair_exchange();
	int64_t share = pair_status(&left).share_ucpu;
	left.peer.node = 1005;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	ck_assert_uint_eq(iso_trade_edges(left.trade), 2);
	ck_assert_int_eq(pair_status(&left).share_ucpu, share);
	pair_tick(&left);
	ck_assert(pair_edge(&left).dormant);
	ck_assert_int_eq(iso_trade_message(left.trade, 0, &peer, bytes), ISO_E_UNKNOWN);
	ck_assert_ok(iso_trade_message(left.trade, 1, &peer, bytes));
	ck_assert_uint_eq(peer, 1005);
	ck_assert_int_eq(iso_trade_message(left.trade, 2, &peer, bytes), ISO_E_UNKNOWN);
	ck_assert_int_eq(
	    iso_trade_receive(left.trade, left.now_ns, 1002, right.message, ISO_EDGE_BYTES),
	    ISO_E_UNKNOWN);
	/* It was never deleted, so it can come back. */
	left.peer.node = 1002;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	pair_tick(&left);
	ck_assert(!pair_edge(&left).dormant);
	pair_audit_proves(-1);
}
END_TEST

START_TEST(an_old_journal_stops_the_node)
{
	struct iso_record old;
	uint64_t peer;
	uint8_t bytes[ISO_EDGE_BYTES];

	pair_set_up();
	pair_exchange();
	old = left.disk;
	for (int i = 0; i < 5; i++)
		pair_exchange();
	iso_trade_close(left.trade);
	ck_assert_ok(iso_trade_open(left.trade, &old));
	left.disk = old;
	pair_tick(&left);
	ck_assert_int_eq(pair_hear(&left, right.message), ISO_E_HALTED);
	ck_assert_int_eq(pair_status(&left).halt, ISO_HALT_AMNESIA);
	ck_assert_uint_eq(pair_status(&left).drops[ISO_DROP_HALTED], 1);
	ck_assert_int_eq(iso_trade_message(left.trade, 0, &peer, bytes), ISO_E_HALTED);
	struct iso_trade_plan plan = pair_tick(&left);
	ck_assert(plan.record);
	ck_assert_int_eq(left.enforced_ucpu, 100000);
	ck_assert_int_eq(left.disk.halt, ISO_HALT_AMNESIA);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trade_start");
	TCase *tcase = tcase_create("start");

	tcase_add_test(tcase, a_restart_goes_on_where_the_disk_is);
	tcase_add_test(tcase, a_start_enforces_no_more_than_before_until_it_is_verified);
	tcase_add_test(tcase, an_old_journal_that_owned_more_is_never_enforced);
	tcase_add_test(tcase, edges_that_left_the_configuration_lie_dormant);
	tcase_add_test(tcase, an_old_journal_stops_the_node);
	suite_add_tcase(suite, tcase);
	return suite;
}
