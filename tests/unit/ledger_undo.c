/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tick whose record the disk did not take: as if it had never been. */
#include "config.h"

#include <signal.h>

#include "tests/unit/ledger_one.h"

/* From PLANNING to the record that is not written; whether something is to be committed. */
static bool fail_to_write(struct iso_ledger *ledger)
{
	struct iso_record record;

	iso_ledger_plan(ledger, 3000, ledger->enforced_ucpu);
	if (ledger->phase == ISO_LEDGER_LOWERING)
		ck_assert_ok(iso_ledger_lowered(ledger, iso_ledger_limit(ledger)));
	ck_assert(iso_ledger_changed(ledger));
	iso_ledger_record(ledger, &record);
	return iso_ledger_undo(ledger);
}

static void commit(struct iso_ledger *ledger)
{
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_UNDONE);
	iso_ledger_commit(ledger, ledger->seq);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_IDLE);
	ledger->enforced_ucpu = iso_ledger_target(ledger);
}

/* This tick with the operation leaves no trace; the same again does what it should. */
static void undo_and_again(struct iso_ledger *ledger, struct iso_op op)
{
	struct iso_record before, after;
	int64_t under_way = iso_ledger_under_way(ledger, 0);

	iso_ledger_durable(ledger, &before);
	ck_assert_ok(hear(ledger, 1, 70, 0));
	ck_assert_int_eq(iso_ledger_begin(ledger), 70);
	if (op.kind != 0)
		ck_assert_ok(apply(ledger, op));
	if (iso_ledger_edge_open(ledger, 0) && iso_ledger_room(ledger) >= 30)
		iso_ledger_debit(ledger, 0, 30);
	ck_assert(fail_to_write(ledger));
	commit(ledger);
	iso_ledger_durable(ledger, &after);
	ck_assert_mem_eq(&after, &before, sizeof(after));
	ck_assert(!iso_ledger_changed(ledger));
	ck_assert_int_eq(iso_ledger_holdings(ledger), iso_record_holdings(&before));
	ck_assert_int_ge(iso_ledger_under_way(ledger, 0), under_way);

	ck_assert_int_eq(iso_ledger_begin(ledger), 70);
	if (op.kind != 0)
		ck_assert_ok(apply(ledger, op));
	end_tick(ledger);
	ck_assert_uint_eq(disk.last_op, op.kind != 0 ? op.id : before.last_op);
	ck_assert_uint_eq(disk.seq, before.seq + 1);
}

START_TEST(debits_and_credits_are_undone)
{
	struct iso_ledger *ledger = idle();

	undo_and_again(ledger, (struct iso_op){ 0 });
	ck_assert_int_eq(iso_record_holdings(&disk), 1070);
	ck_assert_uint_eq(disk.edges[0].sent, 0);
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), 0);
}
END_TEST

START_TEST(every_operation_is_undone)
{
	const struct iso_op ops[] = {
		op_of(5, ISO_OP_MINT, 200),	     op_of(5, ISO_OP_BURN, 300),
		edge_op(5, ISO_OP_OPEN, 2003, 1),    edge_op(5, ISO_OP_CLOSE, 2002, 1),
		{ .id = 5, .kind = ISO_OP_DRAIN, .on = true },
		op_of(5, ISO_OP_LEAVE, 0),	     op_of(5, ISO_OP_VOID, 0),
		{ .id = 5, .kind = ISO_OP_BUDGET, .budget_ucpu = BUDGET + 500 },
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct iso_ledger *ledger = idle();

		undo_and_again(ledger, ops[i]);
	}
}
END_TEST

/* What was opened goes, also from the order in which edges are found. */
START_TEST(an_edge_that_was_opened_is_not_there)
{
	struct iso_ledger *ledger = idle();
	uint32_t index;

	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, edge_op(5, ISO_OP_OPEN, 1500, 1)));
	ck_assert(fail_to_write(ledger));
	commit(ledger);
	ck_assert_uint_eq(ledger->edge_count, 2);
	ck_assert_int_eq(iso_ledger_find(ledger, 1500, &index), ISO_E_UNKNOWN);
	ck_assert_ok(iso_ledger_find(ledger, 2001, &index));
	ck_assert_uint_eq(index, 0);
	ck_assert_ok(iso_ledger_find(ledger, 2002, &index));
	ck_assert_uint_eq(index, 1);
}
END_TEST

START_TEST(a_fold_is_undone)
{
	struct iso_ledger *ledger = used();

	ck_assert_ok(tick(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	undo_and_again(ledger, fold_op(6, 2001, 300, 50));
	ck_assert_uint_eq(disk.edges[0].flags, ISO_EDGE_STATE_FOLDED);
	/* And so is a new life in the place of one that has ended. */
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, edge_op(7, ISO_OP_OPEN, 2001, 2)));
	ck_assert(fail_to_write(ledger));
	commit(ledger);
	ck_assert_uint_eq(ledger->edges[0].flags, ISO_EDGE_STATE_FOLDED);
	ck_assert_uint_eq(ledger->edges[0].peer_gen, 1);
}
END_TEST

START_TEST(a_freeze_is_undone)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_freeze(ledger, 1);
	ck_assert(fail_to_write(ledger));
	commit(ledger);
	/* Nobody may be told that it was. */
	ck_assert(iso_ledger_edge_open(ledger, 1));
	ck_assert(!iso_ledger_changed(ledger));
}
END_TEST

/* Who knows that its journal is wrong goes on knowing it, and says so to the disk once it can. */
START_TEST(a_halt_stays)
{
	struct iso_ledger *ledger = idle();

	ck_assert_int_eq(hear(ledger, 0, 0, 10), ISO_E_HALTED);
	iso_ledger_begin(ledger);
	ck_assert(fail_to_write(ledger));
	commit(ledger);
	ck_assert_int_eq(ledger->halt, ISO_HALT_AMNESIA);
	ck_assert_int_eq(ledger->durable_halt, ISO_HALT_NONE);
	ck_assert_int_eq(iso_ledger_target(ledger), FLOOR);
	iso_ledger_begin(ledger);
	end_tick(ledger);
	ck_assert_int_eq(disk.halt, ISO_HALT_AMNESIA);
	ck_assert(!iso_ledger_changed(ledger));
}
END_TEST

START_TEST(before_the_first_record_nothing_may_be_said)
{
	struct iso_ledger *ledger;
	struct iso_record record;

	(void)idle();
	record = disk;
	ledger = open_record(&record);
	for (unsigned i = 0; i < 3; i++) {
		iso_ledger_begin(ledger);
		ck_assert(!fail_to_write(ledger));
		ck_assert_int_eq(ledger->phase, ISO_LEDGER_OPENED);
	}
	iso_ledger_begin(ledger);
	end_tick(ledger);
	ck_assert_uint_eq(disk.inc, record.inc + 1);
	ck_assert_uint_eq(disk.seq, record.seq + 1);
}
END_TEST

START_TEST(only_what_was_handed_out_can_be_undone)
{
	struct iso_ledger *ledger = idle();

	(void)!iso_ledger_undo(ledger);
}
END_TEST

START_TEST(what_is_undone_has_no_new_number)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 30);
	ck_assert(fail_to_write(ledger));
	iso_ledger_commit(ledger, ledger->seq + 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("ledger-undo");
	TCase *tcase = tcase_create("full-disk");

	tcase_add_test(tcase, debits_and_credits_are_undone);
	tcase_add_test(tcase, every_operation_is_undone);
	tcase_add_test(tcase, an_edge_that_was_opened_is_not_there);
	tcase_add_test(tcase, a_fold_is_undone);
	tcase_add_test(tcase, a_freeze_is_undone);
	tcase_add_test(tcase, a_halt_stays);
	tcase_add_test(tcase, before_the_first_record_nothing_may_be_said);
	tcase_add_test_raise_signal(tcase, only_what_was_handed_out_can_be_undone, SIGABRT);
	tcase_add_test_raise_signal(tcase, what_is_undone_has_no_new_number, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
