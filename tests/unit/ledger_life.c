/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of a generation: a neighbour's, or its own. */
#include "config.h"

#include <signal.h>

#include "tests/unit/ledger_one.h"

START_TEST(a_closed_edge_never_changes_again)
{
	struct iso_ledger *ledger = used();
	struct iso_record durable;

	ck_assert_ok(hear(ledger, 0, 70, 300));
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	ck_assert(!iso_ledger_edge_open(ledger, 0));
	ck_assert(!iso_ledger_edge_credits(ledger, 0));
	/* The certificate is what is durable, not what is planned. */
	iso_ledger_durable(ledger, &durable);
	ck_assert_uint_eq(durable.edges[0].flags, 0);
	ck_assert_uint_eq(durable.edges[0].received, 50);
	end_tick(ledger);
	ck_assert_uint_eq(disk.edges[0].flags, ISO_EDGE_STATE_CLOSED);
	ck_assert_uint_eq(disk.edges[0].sent, 300);
	/* What had come before this tick is in it; nothing after is. */
	ck_assert_uint_eq(disk.edges[0].received, 70);
	ck_assert_int_eq(hear(ledger, 0, 500, 0), ISO_E_UNKNOWN);
	ck_assert_int_eq(iso_ledger_begin(ledger), 0);
	ck_assert_int_eq(iso_ledger_holdings(ledger), 770);
	end_tick(ledger);
	/* Nor after a restart. */
	iso_ledger_close(ledger);
	ledger = open_record(&disk);
	ck_assert_int_eq(iso_ledger_begin(ledger), 0);
	end_tick(ledger);
	ck_assert_int_eq(hear(ledger, 0, 500, 0), ISO_E_UNKNOWN);
	ck_assert_int_eq(hear(ledger, 0, 500, 9999), ISO_E_UNKNOWN);
	ck_assert_int_eq(ledger->halt, ISO_HALT_NONE);
	/* Again: the same certificate under another number. */
	ck_assert_ok(tick(ledger, edge_op(6, ISO_OP_CLOSE, 2001, 1)));
	ck_assert_uint_eq(disk.edges[0].received, 70);
}
END_TEST

START_TEST(only_the_generation_that_is_meant_is_closed)
{
	struct iso_ledger *ledger = used();

	refused(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 2), ISO_E_UNKNOWN);
	refused(ledger, edge_op(5, ISO_OP_CLOSE, 2003, 1), ISO_E_UNKNOWN);
	refused(ledger, edge_op(5, ISO_OP_FOLD, 2001, 2), ISO_E_UNKNOWN);
	refused(ledger, edge_op(5, ISO_OP_FOLD, 2003, 1), ISO_E_UNKNOWN);
}
END_TEST

START_TEST(a_fold_keeps_the_share)
{
	struct iso_ledger *ledger = used();
	struct iso_record durable;

	/* Not while something may still move. */
	refused(ledger, fold_op(5, 2001, 300, 50), ISO_E_BUSY);
	ck_assert_ok(tick(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	/* Not by another edge's certificate, and it will never be right. */
	refused(ledger, fold_op(6, 2001, 299, 50), ISO_E_RANGE);
	refused(ledger, fold_op(6, 2001, 300, 51), ISO_E_RANGE);
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, fold_op(6, 2001, 300, 50)));
	ck_assert_int_eq(iso_ledger_holdings(ledger), 750);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 750);
	iso_ledger_durable(ledger, &durable);
	ck_assert_uint_eq(durable.edges[0].sent, 300);
	ck_assert_uint_eq(durable.edges[0].flags, ISO_EDGE_STATE_CLOSED);
	ck_assert_int_eq(iso_record_holdings(&durable), 750);
	iso_ledger_plan(ledger, 3000, 750);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_READY);
	finish(ledger);
	ck_assert_int_eq(disk.endowment_ucpu, 750);
	ck_assert_int_eq(disk.last_op_ucpu, -250);
	ck_assert_uint_eq(disk.edges[0].sent, 0);
	ck_assert_uint_eq(disk.edges[0].received, 0);
	ck_assert_uint_eq(disk.edges[0].flags, ISO_EDGE_STATE_FOLDED);
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), 0);
	/* Whoever asks again is told that it is so; a certificate is no more to be had. */
	ck_assert_ok(tick(ledger, fold_op(7, 2001, 300, 50)));
	ck_assert_int_eq(disk.endowment_ucpu, 750);
	refused(ledger, edge_op(8, ISO_OP_CLOSE, 2001, 1), ISO_E_RANGE);
}
END_TEST

START_TEST(a_tombstone_credits_nothing)
{
	struct iso_ledger *ledger = used();

	ck_assert_ok(tick(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	ck_assert_ok(tick(ledger, fold_op(6, 2001, 300, 50)));
	for (int restart = 0; restart < 2; restart++) {
		ck_assert_int_eq(hear(ledger, 0, 70, 0), ISO_E_UNKNOWN);
		ck_assert_int_eq(iso_ledger_begin(ledger), 0);
		end_tick(ledger);
		ck_assert_int_eq(iso_record_holdings(&disk), 750);
		iso_ledger_close(ledger);
		ledger = open_record(&disk);
		iso_ledger_begin(ledger);
		end_tick(ledger);
	}
}
END_TEST

START_TEST(a_later_generation_takes_the_place_of_a_tombstone)
{
	struct iso_ledger *ledger = used();
	struct iso_record durable;

	/* Heard before the end, and of another life. */
	ck_assert_ok(hear(ledger, 0, 90, 300));
	ck_assert_ok(tick(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	refused(ledger, edge_op(6, ISO_OP_OPEN, 2001, 2), ISO_E_RANGE);
	ck_assert_ok(tick(ledger, fold_op(6, 2001, 300, 90)));
	refused(ledger, edge_op(7, ISO_OP_OPEN, 2001, 1), ISO_E_RANGE);
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, edge_op(7, ISO_OP_OPEN, 2001, 2)));
	iso_ledger_durable(ledger, &durable);
	ck_assert_uint_eq(durable.edges[0].peer_gen, 1);
	ck_assert_uint_eq(durable.edges[0].flags, ISO_EDGE_STATE_FOLDED);
	end_tick(ledger);
	ck_assert_uint_eq(disk.edge_count, 2);
	ck_assert_uint_eq(disk.edges[0].peer_gen, 2);
	ck_assert_uint_eq(disk.edges[0].flags, 0);
	ck_assert_uint_eq(ledger->edges[0].arriving, 0);
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), 0);
	ck_assert_int_eq(iso_ledger_begin(ledger), 0);
	end_tick(ledger);
	/* Its counters begin anew, so that what was R before is a credit now. */
	ck_assert_ok(hear(ledger, 0, 20, 0));
	ck_assert_int_eq(iso_ledger_begin(ledger), 20);
	iso_ledger_debit(ledger, 0, 5);
	end_tick(ledger);
	ck_assert_uint_eq(disk.edges[0].sent, 5);
	/* The life before it is over; closing it is no certificate of this one. */
	refused(ledger, edge_op(8, ISO_OP_CLOSE, 2001, 1), ISO_E_UNKNOWN);
}
END_TEST

START_TEST(a_frozen_edge_takes_and_does_not_give)
{
	struct iso_ledger *ledger = used();
	struct iso_record durable;

	iso_ledger_begin(ledger);
	iso_ledger_freeze(ledger, 0);
	ck_assert(!iso_ledger_edge_open(ledger, 0));
	ck_assert(iso_ledger_edge_credits(ledger, 0));
	/* A promise is one once it is durable. */
	iso_ledger_durable(ledger, &durable);
	ck_assert_uint_eq(durable.edges[0].flags, 0);
	ck_assert(iso_ledger_changed(ledger));
	end_tick(ledger);
	ck_assert_uint_eq(disk.edges[0].flags, ISO_EDGE_STATE_FROZEN);
	/* Twice is once. */
	iso_ledger_begin(ledger);
	iso_ledger_freeze(ledger, 0);
	ck_assert(!iso_ledger_changed(ledger));
	end_tick(ledger);
	ck_assert_ok(hear(ledger, 0, 80, 300));
	ck_assert_int_eq(iso_ledger_begin(ledger), 30);
	end_tick(ledger);
	ck_assert_int_eq(iso_record_holdings(&disk), 780);
}
END_TEST

START_TEST(a_frozen_edge_folds_when_all_has_come)
{
	struct iso_ledger *ledger = used();

	/* A promise that is not durable is none. */
	iso_ledger_begin(ledger);
	iso_ledger_freeze(ledger, 0);
	ck_assert_int_eq(apply(ledger, fold_op(5, 2001, 300, 50)), ISO_E_BUSY);
	end_tick(ledger);
	ledger = used();
	ck_assert_ok(hear(ledger, 0, 60, 0));
	iso_ledger_begin(ledger);
	iso_ledger_freeze(ledger, 0);
	ck_assert_int_eq(apply(ledger, fold_op(5, 2001, 300, 60)), ISO_E_BUSY);
	end_tick(ledger);
	/* 20 are on their way. */
	refused(ledger, fold_op(5, 2001, 300, 80), ISO_E_BUSY);
	ck_assert_ok(hear(ledger, 0, 80, 300));
	iso_ledger_begin(ledger);
	ck_assert_int_eq(apply(ledger, fold_op(5, 2001, 300, 80)), ISO_E_BUSY);
	end_tick(ledger);
	ck_assert_ok(tick(ledger, fold_op(5, 2001, 300, 80)));
	ck_assert_int_eq(iso_record_holdings(&disk), 780);
	ck_assert_int_eq(disk.endowment_ucpu, 780);
}
END_TEST

/* The leaver died on the way: it is buried like any other. */
START_TEST(a_frozen_edge_can_be_closed)
{
	struct iso_ledger *ledger = used();

	freeze(ledger, 0);
	ck_assert_ok(tick(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	ck_assert_uint_eq(disk.edges[0].flags, ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FROZEN);
	ck_assert_int_eq(hear(ledger, 0, 80, 300), ISO_E_UNKNOWN);
	ck_assert_ok(tick(ledger, fold_op(6, 2001, 300, 50)));
	ck_assert_uint_eq(disk.edges[0].flags, ISO_EDGE_STATE_FOLDED);
}
END_TEST

START_TEST(draining_is_a_flag_that_can_be_taken_back)
{
	struct iso_ledger *ledger = idle();
	struct iso_op op = op_of(5, ISO_OP_DRAIN, 0);
	struct iso_record durable;

	op.on = true;
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op));
	iso_ledger_durable(ledger, &durable);
	ck_assert_uint_eq(durable.flags, 0);
	end_tick(ledger);
	ck_assert_uint_eq(disk.flags, ISO_NODE_DRAINING);
	iso_ledger_close(ledger);
	ledger = open_record(&disk);
	ck_assert_uint_eq(ledger->flags, ISO_NODE_DRAINING);
	iso_ledger_begin(ledger);
	ck_assert_int_eq(iso_ledger_room(ledger), 900);
	end_tick(ledger);
	op.id = 6;
	op.on = false;
	ck_assert_ok(tick(ledger, op));
	ck_assert_uint_eq(disk.flags, 0);
}
END_TEST

static enum iso_status leave(struct iso_ledger *ledger, int64_t enforced)
{
	enum iso_status status;

	iso_ledger_begin(ledger);
	status = iso_ledger_leave(ledger, enforced);
	end_tick(ledger);
	return status;
}

START_TEST(a_node_leaves_once_everything_is_settled)
{
	struct iso_ledger *ledger = used();

	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY);
	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_LEAVE, 0)));
	ck_assert_uint_eq(disk.flags, ISO_NODE_LEAVING);
	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY); /* it owns 750 */
	iso_ledger_begin(ledger);
	/* Its floor goes with the rest. */
	ck_assert_int_eq(iso_ledger_room(ledger), 750);
	iso_ledger_debit(ledger, 1, 750);
	end_tick(ledger);
	ledger->enforced_ucpu = 0;
	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY); /* not arrived */
	ck_assert_ok(hear(ledger, 1, 0, 750));
	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY); /* nor here */
	ck_assert_ok(hear(ledger, 0, 50, 300));
	ck_assert_int_eq(leave(ledger, 1), ISO_E_BUSY); /* its kernel grants something */
	/* What comes in the same tick is owned again. */
	ck_assert_ok(hear(ledger, 0, 60, 300));
	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY);
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 1, 10);
	end_tick(ledger);
	ledger->enforced_ucpu = 0;
	ck_assert_ok(hear(ledger, 1, 0, 760));
	/* Nor beside an operation, which may still be undone. */
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op_of(6, ISO_OP_BURN, 1)));
	ck_assert_int_eq(iso_ledger_leave(ledger, 0), ISO_E_BUSY);
	end_tick(ledger);
	ck_assert_ok(leave(ledger, 0));
	ck_assert_int_eq(disk.halt, ISO_HALT_LEFT);
	ck_assert_int_eq(iso_record_holdings(&disk), 0);
	ck_assert_int_eq(iso_ledger_target(ledger), 0);
	ck_assert_int_eq(hear(ledger, 0, 99, 300), ISO_E_HALTED);
	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY);
}
END_TEST

START_TEST(that_it_left_is_told_once_durable)
{
	struct iso_ledger *ledger = idle();
	struct iso_record durable;

	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_LEAVE, 0)));
	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY);
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 1000);
	end_tick(ledger);
	ck_assert_ok(hear(ledger, 0, 0, 1000));
	iso_ledger_begin(ledger);
	ck_assert_ok(iso_ledger_leave(ledger, 0));
	iso_ledger_durable(ledger, &durable);
	ck_assert_int_eq(durable.halt, ISO_HALT_NONE);
	end_tick(ledger);
	iso_ledger_durable(ledger, &durable);
	ck_assert_int_eq(durable.halt, ISO_HALT_LEFT);
}
END_TEST

START_TEST(who_owns_nothing_leaves_only_when_told)
{
	struct iso_ledger *ledger = idle();
	struct iso_record record = disk;

	record.endowment_ucpu = 0;
	iso_ledger_close(ledger);
	ledger = open_record(&record);
	ck_assert_int_eq(leave(ledger, 0), ISO_E_BUSY);
	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_LEAVE, 0)));
	ck_assert_ok(leave(ledger, 0));
}
END_TEST

START_TEST(a_leaver_may_burn_its_floor)
{
	struct iso_ledger *ledger = idle();

	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_LEAVE, 0)));
	ck_assert_ok(tick(ledger, op_of(6, ISO_OP_BURN, 5000)));
	ck_assert_int_eq(disk.last_op_ucpu, 1000);
	ck_assert_int_eq(iso_record_holdings(&disk), 0);
}
END_TEST

START_TEST(who_was_buried_stops_at_the_floor)
{
	struct iso_ledger *ledger = used();

	iso_ledger_void(ledger);
	ck_assert_int_eq(ledger->halt, ISO_HALT_BURIED);
	ck_assert_int_eq(hear(ledger, 0, 60, 0), ISO_E_HALTED);
	iso_ledger_begin(ledger);
	ck_assert_int_eq(iso_ledger_room(ledger), 0);
	iso_ledger_plan(ledger, 3000, 750);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_limit(ledger), FLOOR);
	ck_assert_ok(iso_ledger_lowered(ledger, FLOOR));
	finish(ledger);
	ck_assert_int_eq(disk.halt, ISO_HALT_BURIED);
	/* The first reason stays. */
	ledger = used();
	ck_assert_int_eq(hear(ledger, 0, 0, 9999), ISO_E_HALTED);
	iso_ledger_void(ledger);
	ck_assert_int_eq(ledger->halt, ISO_HALT_AMNESIA);
}
END_TEST

/* It does not know what it owns: a burn would burn what others have. */
START_TEST(who_has_halted_applies_nothing)
{
	struct iso_ledger *ledger = used();
	struct iso_op drain = op_of(6, ISO_OP_DRAIN, 0);

	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_MINT, 7)));
	iso_ledger_void(ledger);
	ck_assert_int_eq(tick(ledger, op_of(6, ISO_OP_MINT, 1)), ISO_E_HALTED);
	refused(ledger, op_of(6, ISO_OP_BURN, 1), ISO_E_HALTED);
	refused(ledger, drain, ISO_E_HALTED);
	refused(ledger, op_of(6, ISO_OP_LEAVE, 0), ISO_E_HALTED);
	refused(ledger, edge_op(6, ISO_OP_OPEN, 2003, 1), ISO_E_HALTED);
	refused(ledger, edge_op(6, ISO_OP_CLOSE, 2001, 1), ISO_E_HALTED);
	/* What it did before can still be asked for. */
	refused(ledger, op_of(5, ISO_OP_MINT, 7), ISO_E_STALE);
	ck_assert_int_eq(ledger->last_op_ucpu, 7);
	ck_assert_ok(tick(ledger, op_of(6, ISO_OP_VOID, 0)));
	ck_assert_uint_eq(disk.last_op, 6);
}
END_TEST

START_TEST(dies_when_an_operation_comes_after_a_debit)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 1);
	(void)!apply(ledger, op_of(5, ISO_OP_BURN, 1));
}
END_TEST

START_TEST(dies_when_two_operations_share_a_tick)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op_of(5, ISO_OP_MINT, 1)));
	(void)!apply(ledger, op_of(6, ISO_OP_MINT, 1));
}
END_TEST

START_TEST(dies_when_debiting_a_closed_edge)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	iso_ledger_debit(ledger, 0, 1);
}
END_TEST

START_TEST(dies_when_leaving_after_a_debit)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 1);
	(void)!iso_ledger_leave(ledger, 0);
}
END_TEST

START_TEST(dies_when_freezing_after_a_debit)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 1);
	iso_ledger_freeze(ledger, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("ledger-life");
	TCase *tcase = tcase_create("generations");

	tcase_add_test(tcase, a_closed_edge_never_changes_again);
	tcase_add_test(tcase, only_the_generation_that_is_meant_is_closed);
	tcase_add_test(tcase, a_fold_keeps_the_share);
	tcase_add_test(tcase, a_tombstone_credits_nothing);
	tcase_add_test(tcase, a_later_generation_takes_the_place_of_a_tombstone);
	tcase_add_test(tcase, a_frozen_edge_takes_and_does_not_give);
	tcase_add_test(tcase, a_frozen_edge_folds_when_all_has_come);
	tcase_add_test(tcase, a_frozen_edge_can_be_closed);
	tcase_add_test(tcase, draining_is_a_flag_that_can_be_taken_back);
	tcase_add_test(tcase, a_node_leaves_once_everything_is_settled);
	tcase_add_test(tcase, that_it_left_is_told_once_durable);
	tcase_add_test(tcase, who_owns_nothing_leaves_only_when_told);
	tcase_add_test(tcase, a_leaver_may_burn_its_floor);
	tcase_add_test(tcase, who_was_buried_stops_at_the_floor);
	tcase_add_test(tcase, who_has_halted_applies_nothing);
	tcase_add_test_raise_signal(tcase, dies_when_an_operation_comes_after_a_debit, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_two_operations_share_a_tick, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_debiting_a_closed_edge, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_leaving_after_a_debit, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_freezing_after_a_debit, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
