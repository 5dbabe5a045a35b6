/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The administrator's operations, one node at a time. */
#include "config.h"

#include <signal.h>

#include "tests/unit/ledger_one.h"

START_TEST(what_is_minted_is_enforced_only_once_durable)
{
	struct iso_ledger *ledger = idle();
	struct iso_record durable;
	struct iso_op op = op_of(5, ISO_OP_MINT, 200);

	op.budget_ucpu = BUDGET + 200;
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op));
	ck_assert_int_eq(iso_ledger_holdings(ledger), 1200);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 1000);
	iso_ledger_plan(ledger, 3000, 1000);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_READY);
	ck_assert_int_eq(iso_ledger_limit(ledger), 1000);
	ck_assert_int_eq(iso_ledger_target(ledger), 1200);
	/* Until then nobody is told of it. */
	iso_ledger_durable(ledger, &durable);
	ck_assert_uint_eq(durable.last_op, 0);
	ck_assert_int_eq(durable.endowment_ucpu, 1000);
	ck_assert_int_eq(durable.budget_ucpu, BUDGET);
	ck_assert_int_eq(durable.last_op_ucpu, 0);
	finish(ledger);
	ck_assert_uint_eq(disk.last_op, 5);
	ck_assert_int_eq(disk.last_op_ucpu, 200);
	ck_assert_int_eq(disk.endowment_ucpu, 1200);
	ck_assert_int_eq(disk.budget_ucpu, BUDGET + 200);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 1200);
}
END_TEST

/* An abort undoes debits; what was minted owes nothing to the quota. */
START_TEST(an_abort_keeps_what_was_minted)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op_of(5, ISO_OP_MINT, 200)));
	iso_ledger_debit(ledger, 0, 300);
	ck_assert_int_eq(iso_ledger_holdings(ledger), 900);
	iso_ledger_plan(ledger, 3000, 1000);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_abort(ledger), 300);
	finish(ledger);
	ck_assert_uint_eq(disk.last_op, 5);
	ck_assert_int_eq(iso_record_holdings(&disk), 1200);
}
END_TEST

START_TEST(a_burn_lowers_before_its_record)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op_of(5, ISO_OP_BURN, 300)));
	ck_assert_int_eq(ledger->last_op_ucpu, 300);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 1000);
	iso_ledger_plan(ledger, 3000, 1000);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_limit(ledger), 700);
	ck_assert_int_eq(iso_ledger_lowered(ledger, 701), ISO_E_RANGE);
	ck_assert_ok(iso_ledger_lowered(ledger, 700));
	finish(ledger);
	ck_assert_int_eq(disk.endowment_ucpu, 700);
	ck_assert_int_eq(disk.last_op_ucpu, 300);
}
END_TEST

START_TEST(a_burn_takes_what_is_above_the_floor)
{
	struct iso_ledger *ledger = idle();

	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_BURN, 5000)));
	ck_assert_int_eq(disk.last_op_ucpu, 900);
	ck_assert_int_eq(iso_record_holdings(&disk), FLOOR);
	/* Nothing is an answer, too; it takes the number. */
	ck_assert_ok(tick(ledger, op_of(6, ISO_OP_BURN, 5000)));
	ck_assert_int_eq(disk.last_op_ucpu, 0);
	ck_assert_uint_eq(disk.last_op, 6);
	/* What came from others can be burned: A is less than nothing then. */
	ck_assert_ok(hear(ledger, 0, 800, 0));
	ck_assert_ok(tick(ledger, op_of(7, ISO_OP_BURN, 300)));
	ck_assert_int_eq(disk.endowment_ucpu, -200);
	ck_assert_int_eq(iso_record_holdings(&disk), 600);
}
END_TEST

START_TEST(an_abort_undoes_a_burn_with_its_number)
{
	struct iso_ledger *ledger = idle();
	struct iso_op op = op_of(6, ISO_OP_BURN, 300);

	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_MINT, 1)));
	op.budget_ucpu = 3500;
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op));
	iso_ledger_debit(ledger, 0, 10);
	iso_ledger_plan(ledger, 3000, 1001);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_abort(ledger), 10);
	ck_assert(!iso_ledger_changed(ledger));
	ck_assert_uint_eq(ledger->last_op, 5);
	ck_assert_int_eq(ledger->last_op_ucpu, 1);
	ck_assert_int_eq(ledger->budget_ucpu, BUDGET);
	finish(ledger);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 1001);
	/* The same operation again is not a repetition. */
	ck_assert_ok(tick(ledger, op));
	ck_assert_int_eq(iso_record_holdings(&disk), 701);
	ck_assert_int_eq(disk.budget_ucpu, 3500);
}
END_TEST

START_TEST(nothing_is_done_twice)
{
	struct iso_ledger *ledger = idle();
	struct iso_op op = op_of(5, ISO_OP_BURN, 300);

	ck_assert_ok(tick(ledger, op));
	refused(ledger, op, ISO_E_STALE);
	/* The answer is still there, and outlives a restart. */
	ck_assert_int_eq(ledger->last_op_ucpu, 300);
	iso_ledger_close(ledger);
	ledger = open_record(&disk);
	ck_assert_int_eq(iso_ledger_begin(ledger), 0);
	ck_assert_int_eq(apply(ledger, op), ISO_E_STALE);
	ck_assert_int_eq(ledger->last_op_ucpu, 300);
	ck_assert_uint_eq(ledger->last_op, 5);
	end_tick(ledger);
	ck_assert_int_eq(iso_record_holdings(&disk), 700);
	/* One that comes late, of whatever kind. */
	refused(ledger, op_of(4, ISO_OP_MINT, 300), ISO_E_STALE);
	refused(ledger, edge_op(4, ISO_OP_CLOSE, 2001, 1), ISO_E_STALE);
}
END_TEST

/* Killed before the record was durable: as if it had never come. */
START_TEST(what_was_not_durable_is_done_again)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op_of(5, ISO_OP_BURN, 300)));
	iso_ledger_close(ledger);
	ledger = open_record(&disk);
	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, op_of(5, ISO_OP_BURN, 300)));
	end_tick(ledger);
	ck_assert_int_eq(iso_record_holdings(&disk), 700);
}
END_TEST

START_TEST(a_number_that_was_given_up_is_void)
{
	struct iso_ledger *ledger = idle();

	ck_assert_ok(tick(ledger, op_of(6, ISO_OP_VOID, 0)));
	ck_assert_uint_eq(disk.last_op, 6);
	ck_assert_int_eq(disk.last_op_ucpu, 0);
	refused(ledger, op_of(5, ISO_OP_MINT, 300), ISO_E_STALE);
	ck_assert_int_eq(iso_record_holdings(&disk), 1000);
}
END_TEST

START_TEST(operations_out_of_range_are_refused)
{
	struct iso_ledger *ledger = idle();
	struct iso_op op = op_of(5, ISO_OP_MINT, 300);

	op.gen = 2;
	refused(ledger, op, ISO_E_FOREIGN);
	refused(ledger, op_of(0, ISO_OP_MINT, 300), ISO_E_RANGE);
	refused(ledger, op_of((uint64_t)ISO_UNITS_MAX + 1, ISO_OP_MINT, 300), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_MINT, 0), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_MINT, -1), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_BURN, 0), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_BURN, INT64_MIN), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_MINT, ISO_UNITS_MAX), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_MINT, INT64_MAX), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_BUDGET, 0), ISO_E_RANGE);
	refused(ledger, op_of(5, 0, 0), ISO_E_RANGE);
	refused(ledger, op_of(5, ISO_OP_VOID + 1, 0), ISO_E_RANGE);
	op = op_of(5, ISO_OP_VOID, 0);
	op.budget_ucpu = -1;
	refused(ledger, op, ISO_E_RANGE);
	op.budget_ucpu = ISO_UNITS_MAX + 1;
	refused(ledger, op, ISO_E_RANGE);
	refused(ledger, edge_op(5, ISO_OP_OPEN, 2003, 0), ISO_E_RANGE);
	refused(ledger, edge_op(5, ISO_OP_OPEN, 1001, 1), ISO_E_RANGE);
}
END_TEST

/* As much as any ledger holds, and not one more. */
START_TEST(amounts_go_to_the_end_of_the_range)
{
	struct iso_op op = op_of(5, ISO_OP_BUDGET, 0);
	struct iso_ledger *ledger = idle();

	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_MINT, ISO_UNITS_MAX - 1000)));
	ck_assert_int_eq(iso_record_holdings(&disk), ISO_UNITS_MAX);
	refused(ledger, op_of(6, ISO_OP_MINT, 1), ISO_E_RANGE);
	/* A neighbour that sends even one more cannot be right. */
	ck_assert_int_eq(hear(ledger, 0, 1, 0), ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_OVERDRAFT);
	ledger = idle();
	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_MINT, ISO_UNITS_MAX - 1000)));
	ck_assert_ok(tick(ledger, op_of(6, ISO_OP_BURN, ISO_UNITS_MAX)));
	ck_assert_int_eq(disk.last_op_ucpu, ISO_UNITS_MAX - FLOOR);
	ck_assert_int_eq(iso_record_holdings(&disk), FLOOR);
	/* By what came from others, though so much was never minted here. */
	ledger = idle();
	op.budget_ucpu = ISO_UNITS_MAX;
	ck_assert_ok(tick(ledger, op));
	ck_assert_ok(tick(ledger, op_of(6, ISO_OP_MINT, ISO_UNITS_MAX - 4000000000)));
	ck_assert_ok(hear(ledger, 0, 4000000000 - 1000, 0));
	iso_ledger_begin(ledger);
	end_tick(ledger);
	ck_assert_int_eq(iso_record_holdings(&disk), ISO_UNITS_MAX);
	refused(ledger, op_of(7, ISO_OP_MINT, 1), ISO_E_RANGE);
	/* What arrives from two sides counts before it is credited. */
	ledger = idle();
	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_MINT, ISO_UNITS_MAX - 2000)));
	ck_assert_ok(hear(ledger, 0, 600, 0));
	ck_assert_int_eq(hear(ledger, 1, 401, 0), ISO_E_HALTED);
	ck_assert_int_eq(iso_ledger_begin(ledger), 0);
}
END_TEST

/* After so many transfers that the counters themselves end. */
START_TEST(counters_go_to_the_end_of_the_range)
{
	struct iso_ledger *ledger = idle();
	struct iso_record record = disk;

	record.edges[0].sent = ISO_UNITS_MAX - 500;
	record.edges[0].received = ISO_UNITS_MAX - 500;
	iso_ledger_close(ledger);
	ledger = open_record(&record);
	iso_ledger_begin(ledger);
	end_tick(ledger);
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), INT64_MAX);
	ck_assert_ok(hear(ledger, 0, ISO_UNITS_MAX, ISO_UNITS_MAX - 500));
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), 0);
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 500);
	end_tick(ledger);
	ck_assert_uint_eq(disk.edges[0].sent, ISO_UNITS_MAX);
	ck_assert_int_eq(iso_record_holdings(&disk), 1000);
	ck_assert_int_eq(hear(ledger, 0, (uint64_t)ISO_UNITS_MAX + 1, 0), ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_OVERDRAFT);
}
END_TEST

/* Whatever the budget: what is beyond, no donor has had under way. */
START_TEST(an_edge_carries_four_thousand_cpus_at_once)
{
	struct iso_op op = op_of(5, ISO_OP_MINT, 2 * ISO_LEDGER_UNDER_WAY_MAX);
	struct iso_ledger *ledger = idle();

	op.budget_ucpu = 4 * ISO_LEDGER_UNDER_WAY_MAX;
	ck_assert_ok(tick(ledger, op));
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, ISO_LEDGER_UNDER_WAY_MAX);
	end_tick(ledger);
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), ISO_LEDGER_UNDER_WAY_MAX);
	ck_assert_ok(hear(ledger, 0, (uint64_t)ISO_LEDGER_UNDER_WAY_MAX, 7));
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), ISO_LEDGER_UNDER_WAY_MAX - 7);
	ck_assert_int_eq(iso_ledger_begin(ledger), ISO_LEDGER_UNDER_WAY_MAX);
	iso_ledger_debit(ledger, 0, 7);
	end_tick(ledger);
	ck_assert_int_eq(hear(ledger, 0, 2 * (uint64_t)ISO_LEDGER_UNDER_WAY_MAX + 1, 0),
			 ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_OVERDRAFT);
}
END_TEST

START_TEST(too_much_under_way_dies)
{
	struct iso_op op = op_of(5, ISO_OP_MINT, 2 * ISO_LEDGER_UNDER_WAY_MAX);
	struct iso_ledger *ledger = idle();

	ck_assert_ok(tick(ledger, op));
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, ISO_LEDGER_UNDER_WAY_MAX);
	iso_ledger_debit(ledger, 0, 1);
}
END_TEST

START_TEST(the_budget_bounds_what_can_come)
{
	struct iso_ledger *ledger = idle();
	struct iso_op op = op_of(5, ISO_OP_BUDGET, 0);

	op.budget_ucpu = 5000;
	ck_assert_ok(tick(ledger, op));
	ck_assert_ok(hear(ledger, 0, 5000, 0));
	op = (struct iso_op){ .id = 6, .kind = ISO_OP_BUDGET, .budget_ucpu = 500 };
	ck_assert_ok(tick(ledger, op));
	ck_assert_int_eq(disk.budget_ucpu, 500);
	/* With any kind: here it stays. */
	ck_assert_ok(tick(ledger, op_of(7, ISO_OP_VOID, 0)));
	ck_assert_int_eq(disk.budget_ucpu, 500);
	ck_assert_int_eq(hear(ledger, 0, 5501, 0), ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_OVERDRAFT);
}
END_TEST

START_TEST(edges_are_opened_by_generation)
{
	struct iso_ledger *ledger = idle();
	struct iso_record durable;
	uint32_t index;

	iso_ledger_begin(ledger);
	ck_assert_ok(apply(ledger, edge_op(5, ISO_OP_OPEN, 1999, 3)));
	ck_assert_ok(iso_ledger_find(ledger, 1999, &index));
	ck_assert_uint_eq(index, 2);
	iso_ledger_durable(ledger, &durable);
	ck_assert_uint_eq(durable.edge_count, 2);
	end_tick(ledger);
	ck_assert_uint_eq(disk.edge_count, 3);
	ck_assert_uint_eq(disk.edges[2].peer_gen, 3);
	ck_assert(iso_ledger_edge_open(ledger, 2));
	ck_assert_ok(iso_ledger_find(ledger, 2001, &index));
	ck_assert_uint_eq(index, 0);
	/* Open it is, of another generation it cannot be, and there is no place for a fourth. */
	ck_assert_ok(tick(ledger, edge_op(6, ISO_OP_OPEN, 1999, 3)));
	ck_assert_uint_eq(disk.last_op, 6);
	refused(ledger, edge_op(7, ISO_OP_OPEN, 1999, 4), ISO_E_RANGE);
	refused(ledger, edge_op(7, ISO_OP_OPEN, 1999, 2), ISO_E_RANGE);
	refused(ledger, edge_op(7, ISO_OP_OPEN, 2003, 1), ISO_E_FULL);
	freeze(ledger, 0);
	refused(ledger, edge_op(7, ISO_OP_OPEN, 2001, 1), ISO_E_RANGE);
	refused(ledger, edge_op(7, ISO_OP_OPEN, 2001, 2), ISO_E_RANGE);
	ck_assert_ok(tick(ledger, edge_op(7, ISO_OP_CLOSE, 2002, 1)));
	refused(ledger, edge_op(8, ISO_OP_OPEN, 2002, 1), ISO_E_RANGE);
	refused(ledger, edge_op(8, ISO_OP_OPEN, 2002, 2), ISO_E_RANGE);
}
END_TEST

START_TEST(the_configuration_makes_no_edges_beside_the_administrator)
{
	struct iso_ledger *ledger = idle();
	uint32_t index = 9;

	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_VOID, 0)));
	iso_ledger_close(ledger);
	ledger = open_record(&disk);
	ck_assert_ok(iso_ledger_edge(ledger, 2001, 1, &index));
	ck_assert_uint_eq(index, 0);
	ck_assert_int_eq(iso_ledger_edge(ledger, 2003, 1, &index), ISO_E_UNKNOWN);
	ck_assert_uint_eq(index, 0);
	ck_assert_uint_eq(ledger->edge_count, 2);
}
END_TEST

static enum iso_status open_with_floor(int64_t floor_ucpu, struct iso_ledger **ret_ledger)
{
	static uint64_t other[512];
	struct iso_ledger_config changed = config;

	changed.floor_ucpu = floor_ucpu;
	ck_assert_ok(iso_ledger_init(other, sizeof(other), &changed, ret_ledger));
	return iso_ledger_open(*ret_ledger, &disk);
}

/* What is kept for its burial is what the registry heard once: it may not enforce more. */
START_TEST(with_an_administrator_the_floor_only_falls)
{
	struct iso_ledger *ledger = idle();

	ck_assert_int_eq(disk.floor_ucpu, FLOOR);
	ck_assert_ok(open_with_floor(FLOOR + 50, &ledger));
	ledger->enforced_ucpu = 1000;
	iso_ledger_begin(ledger);
	end_tick(ledger);
	ck_assert_int_eq(disk.floor_ucpu, FLOOR + 50);
	ck_assert_ok(tick(ledger, op_of(5, ISO_OP_VOID, 0)));
	ck_assert_int_eq(open_with_floor(FLOOR + 51, &ledger), ISO_E_RANGE);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_CLOSED);
	ck_assert_ok(open_with_floor(FLOOR - 1, &ledger));
	iso_ledger_begin(ledger);
	end_tick(ledger);
	/* Lowered, even without being used, it stays so. */
	ck_assert_int_eq(disk.floor_ucpu, FLOOR - 1);
	ck_assert_int_eq(open_with_floor(FLOOR, &ledger), ISO_E_RANGE);
	ck_assert_ok(open_with_floor(FLOOR - 1, &ledger));
}
END_TEST

/* The order by peer is kept whatever the order of their coming. */
START_TEST(edges_are_found_among_many)
{
	static uint64_t large[1024];
	struct iso_ledger_config wide = config;
	struct iso_rng rng = { test_seed_base() };
	struct iso_record record;
	struct iso_ledger *ledger;
	uint64_t peers[ISO_DEGREE_MAX];
	uint32_t index = 0;

	wide.edges_max = ISO_DEGREE_MAX;
	ck_assert_ok(iso_ledger_init(large, sizeof(large), &wide, &ledger));
	ck_assert_ok(iso_ledger_genesis(&wide, 1, 1000, &record));
	ck_assert_ok(iso_ledger_open(ledger, &record));
	for (uint32_t k = 0; k < ISO_DEGREE_MAX; k++) {
		peers[k] = (iso_rng_below(&rng, 1u << 20) << 8 | k) + 10000;
		ck_assert_int_eq(iso_ledger_find(ledger, peers[k], &index), ISO_E_UNKNOWN);
		ck_assert_ok(iso_ledger_edge(ledger, peers[k], 1, &index));
	}
	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 3000, 0);
	iso_ledger_record(ledger, &record);
	iso_ledger_close(ledger);
	ck_assert_ok(iso_ledger_open(ledger, &record));
	for (uint32_t k = 0; k < ISO_DEGREE_MAX; k++) {
		ck_assert_ok(iso_ledger_find(ledger, peers[k], &index));
		ck_assert_uint_eq(index, k);
		ck_assert_int_eq(iso_ledger_find(ledger, peers[k] + 256, &index), ISO_E_UNKNOWN);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("ledger-op");
	TCase *tcase = tcase_create("operations");

	tcase_add_test(tcase, what_is_minted_is_enforced_only_once_durable);
	tcase_add_test(tcase, an_abort_keeps_what_was_minted);
	tcase_add_test(tcase, a_burn_lowers_before_its_record);
	tcase_add_test(tcase, a_burn_takes_what_is_above_the_floor);
	tcase_add_test(tcase, an_abort_undoes_a_burn_with_its_number);
	tcase_add_test(tcase, nothing_is_done_twice);
	tcase_add_test(tcase, what_was_not_durable_is_done_again);
	tcase_add_test(tcase, a_number_that_was_given_up_is_void);
	tcase_add_test(tcase, operations_out_of_range_are_refused);
	tcase_add_test(tcase, amounts_go_to_the_end_of_the_range);
	tcase_add_test(tcase, counters_go_to_the_end_of_the_range);
	tcase_add_test(tcase, an_edge_carries_four_thousand_cpus_at_once);
	tcase_add_test_raise_signal(tcase, too_much_under_way_dies, SIGABRT);
	tcase_add_test(tcase, the_budget_bounds_what_can_come);
	tcase_add_test(tcase, edges_are_opened_by_generation);
	tcase_add_test(tcase, the_configuration_makes_no_edges_beside_the_administrator);
	tcase_add_test(tcase, with_an_administrator_the_floor_only_falls);
	tcase_add_test(tcase, edges_are_found_among_many);
	suite_add_tcase(suite, tcase);
	return suite;
}
