/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ledger/ledger.h"

#include <signal.h>
#include <string.h>

#include "tests/test.h"

static uint64_t memory[512];

static const struct iso_ledger_config config = {
	.cluster = 77,
	.node = 1001,
	.epoch = 2,
	.budget_ucpu = 4000,
	.floor_ucpu = 100,
	.edges_max = 3,
};

static struct iso_ledger *closed(void)
{
	struct iso_ledger *ledger;

	ck_assert_ok(iso_ledger_init(memory, sizeof(memory), &config, &ledger));
	return ledger;
}

/* Open with two edges, to 2001 and 2002, and 1000 units. */
static struct iso_ledger *opened(void)
{
	struct iso_ledger *ledger = closed();
	struct iso_record record;
	uint32_t index;

	ck_assert_ok(iso_ledger_genesis(&config, 1, 1000, &record));
	ck_assert_ok(iso_ledger_open(ledger, &record));
	ck_assert_ok(iso_ledger_edge(ledger, 2001, 1, &index));
	ck_assert_uint_eq(index, 0);
	ck_assert_ok(iso_ledger_edge(ledger, 2002, 1, &index));
	ck_assert_uint_eq(index, 1);
	return ledger;
}

static void finish(struct iso_ledger *ledger)
{
	struct iso_record record;

	if (iso_ledger_changed(ledger)) {
		iso_ledger_record(ledger, &record);
		iso_ledger_commit(ledger, record.seq);
	} else {
		iso_ledger_commit(ledger, ledger->seq);
	}
}

/* A tick without debits. */
static void tick(struct iso_ledger *ledger, int64_t enforced_ucpu)
{
	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 3000, enforced_ucpu);
	if (ledger->phase == ISO_LEDGER_LOWERING)
		ck_assert_ok(iso_ledger_lowered(ledger, iso_ledger_limit(ledger)));
	finish(ledger);
}

static struct iso_ledger *idle(void)
{
	struct iso_ledger *ledger = opened();

	tick(ledger, 0);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_IDLE);
	return ledger;
}

static enum iso_status hear(struct iso_ledger *ledger, uint32_t index, uint64_t sent,
			    uint64_t received)
{
	struct iso_ledger_news news = { sent, received, 1, 0 };

	return iso_ledger_heard(ledger, index, &news);
}

START_TEST(memory_and_numbers_are_checked)
{
	struct iso_ledger *untouched = (struct iso_ledger *)memory, *ledger = untouched;
	struct iso_ledger_config bad = config;
	struct iso_record record = { .seq = 99 };

	ck_assert_int_eq(iso_ledger_init(memory, iso_ledger_size(3) - 1, &config, &ledger),
			 ISO_E_SHORT);
	bad.budget_ucpu = 0;
	ck_assert_int_eq(iso_ledger_init(memory, sizeof(memory), &bad, &ledger), ISO_E_RANGE);
	bad = config;
	bad.floor_ucpu = 4001;
	ck_assert_int_eq(iso_ledger_init(memory, sizeof(memory), &bad, &ledger), ISO_E_RANGE);
	bad = config;
	bad.edges_max = 65;
	ck_assert_int_eq(iso_ledger_init(memory, sizeof(memory), &bad, &ledger), ISO_E_RANGE);
	ck_assert_ptr_eq(ledger, untouched);
	ck_assert_int_eq(iso_ledger_genesis(&config, 1, 99, &record), ISO_E_RANGE);
	ck_assert_int_eq(iso_ledger_genesis(&config, 1, 4001, &record), ISO_E_RANGE);
	ck_assert_int_eq(iso_ledger_genesis(&config, 0, 1000, &record), ISO_E_RANGE);
	ck_assert_uint_eq(record.seq, 99);
}
END_TEST

START_TEST(opening_starts_a_new_incarnation)
{
	struct iso_ledger *ledger = opened();

	ck_assert_uint_eq(ledger->inc, 1);
	ck_assert_int_eq(iso_ledger_holdings(ledger), 1000);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_OPENED);
	ck_assert(iso_ledger_changed(ledger));
	struct iso_record record;

	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 3000, 0);
	iso_ledger_record(ledger, &record);
	ck_assert_uint_eq(record.inc, 1);
	ck_assert_uint_eq(record.seq, 2);
	ck_assert_uint_eq(record.edge_count, 2);
	iso_ledger_commit(ledger, 2);
	ck_assert(!iso_ledger_changed(ledger));
	/* Again, from what was written. */
	iso_ledger_close(ledger);
	ck_assert_ok(iso_ledger_open(ledger, &record));
	ck_assert_uint_eq(ledger->inc, 2);
}
END_TEST

START_TEST(journals_of_others_are_refused)
{
	struct iso_ledger *ledger = closed();
	struct iso_record good, bad;

	ck_assert_ok(iso_ledger_genesis(&config, 1, 1000, &good));
	bad = good;
	bad.cluster++;
	ck_assert_int_eq(iso_ledger_open(ledger, &bad), ISO_E_FOREIGN);
	bad = good;
	bad.node++;
	ck_assert_int_eq(iso_ledger_open(ledger, &bad), ISO_E_FOREIGN);
	bad = good;
	bad.edge_count = 4;
	for (uint32_t k = 0; k < 4; k++)
		bad.edges[k] = (struct iso_record_edge){ .peer = k + 1, .peer_gen = 1 };
	ck_assert_int_eq(iso_ledger_open(ledger, &bad), ISO_E_FULL);
	bad = good;
	bad.endowment_ucpu = -1;
	ck_assert_int_eq(iso_ledger_open(ledger, &bad), ISO_E_MALFORMED);
	bad = good;
	bad.inc = UINT32_MAX;
	ck_assert_int_eq(iso_ledger_open(ledger, &bad), ISO_E_MALFORMED);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_CLOSED);
	ck_assert_ok(iso_ledger_open(ledger, &good));
}
END_TEST

START_TEST(edges_are_found_made_and_limited)
{
	struct iso_ledger *ledger = opened();
	uint32_t index = 9;

	ck_assert_int_eq(iso_ledger_find(ledger, 2003, &index), ISO_E_UNKNOWN);
	ck_assert_int_eq(iso_ledger_edge(ledger, 1001, 1, &index), ISO_E_RANGE);
	ck_assert_int_eq(iso_ledger_edge(ledger, 2003, 0, &index), ISO_E_RANGE);
	ck_assert_uint_eq(index, 9);
	/* A known edge keeps its generation. */
	ck_assert_ok(iso_ledger_edge(ledger, 2001, 7, &index));
	ck_assert_uint_eq(index, 0);
	ck_assert_uint_eq(ledger->edges[0].peer_gen, 1);
	ck_assert_ok(iso_ledger_edge(ledger, 2003, 1, &index));
	ck_assert_int_eq(iso_ledger_edge(ledger, 2004, 1, &index), ISO_E_FULL);
	ck_assert_uint_eq(index, 2);
}
END_TEST

START_TEST(totals_make_loss_and_repetition_harmless)
{
	struct iso_ledger *ledger = idle();

	/* 30 twice, then an older 10; what was between never came. */
	ck_assert_ok(hear(ledger, 0, 30, 0));
	ck_assert_ok(hear(ledger, 0, 30, 0));
	ck_assert_ok(hear(ledger, 0, 10, 0));
	ck_assert_int_eq(iso_ledger_holdings(ledger), 1000);
	ck_assert_int_eq(iso_ledger_begin(ledger), 30);
	ck_assert_int_eq(iso_ledger_holdings(ledger), 1030);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 1000);
	iso_ledger_plan(ledger, 3000, 1000);
	/* What is enforced may not grow before the credit is durable. */
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_READY);
	ck_assert_int_eq(iso_ledger_limit(ledger), 1000);
	ck_assert_int_eq(iso_ledger_target(ledger), 1030);
	finish(ledger);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 1030);
	ck_assert_ok(hear(ledger, 0, 30, 0));
	ck_assert_int_eq(iso_ledger_begin(ledger), 0);
	iso_ledger_plan(ledger, 3000, 1000);
	ck_assert(!iso_ledger_changed(ledger));
	finish(ledger);
}
END_TEST

START_TEST(a_debit_lowers_first)
{
	struct iso_ledger *ledger = idle();
	struct iso_record record, durable;

	iso_ledger_begin(ledger);
	ck_assert_int_eq(iso_ledger_room(ledger), 900);
	iso_ledger_debit(ledger, 0, 200);
	iso_ledger_debit(ledger, 1, 100);
	ck_assert_int_eq(iso_ledger_room(ledger), 600);
	iso_ledger_plan(ledger, 3000, 1000);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_limit(ledger), 700);
	/* A snapshot taken now shows what is durable. */
	iso_ledger_durable(ledger, &durable);
	ck_assert_int_eq(iso_record_holdings(&durable), 1000);
	ck_assert_uint_eq(durable.edges[0].sent, 0);
	ck_assert_int_eq(iso_ledger_lowered(ledger, 701), ISO_E_RANGE);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_ok(iso_ledger_lowered(ledger, 690));
	iso_ledger_record(ledger, &record);
	ck_assert_uint_eq(record.edges[0].sent, 200);
	ck_assert_uint_eq(record.edges[1].sent, 100);
	ck_assert_int_eq(iso_record_holdings(&record), 700);
	iso_ledger_commit(ledger, record.seq);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 700);
}
END_TEST

START_TEST(an_abort_undoes_debits_and_keeps_credits)
{
	struct iso_ledger *ledger = idle();

	ck_assert_ok(hear(ledger, 1, 50, 0));
	ck_assert_int_eq(iso_ledger_begin(ledger), 50);
	iso_ledger_debit(ledger, 0, 200);
	iso_ledger_plan(ledger, 3000, 1000);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), 200);
	ck_assert_int_eq(iso_ledger_abort(ledger), 200);
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), 0);
	ck_assert_int_eq(iso_ledger_holdings(ledger), 1050);
	ck_assert_uint_eq(ledger->edges[0].sent, 0);
	ck_assert(iso_ledger_changed(ledger));
	finish(ledger);
	ck_assert_int_eq(iso_ledger_durable_holdings(ledger), 1050);
	/* With nothing but debits, nothing is left to write. */
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 200);
	iso_ledger_plan(ledger, 3000, 1050);
	iso_ledger_abort(ledger);
	ck_assert(!iso_ledger_changed(ledger));
	finish(ledger);
}
END_TEST

START_TEST(a_ceiling_makes_a_reserve)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 400, 1000);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_target(ledger), 400);
	ck_assert_ok(iso_ledger_lowered(ledger, 400));
	finish(ledger);
	ck_assert_int_eq(iso_ledger_holdings(ledger), 1000);
	/* Below the floor, too: what the machine does not have cannot be enforced. */
	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 50, 50);
	ck_assert_int_eq(iso_ledger_target(ledger), 50);
	finish(ledger);
}
END_TEST

START_TEST(a_kernel_without_limit_is_lowered)
{
	struct iso_ledger *ledger = opened();

	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 3000, INT64_MAX);
	ck_assert_int_eq(ledger->phase, ISO_LEDGER_LOWERING);
	ck_assert_int_eq(iso_ledger_limit(ledger), 1000);
}
END_TEST

START_TEST(a_neighbour_that_knows_more_stops_everything)
{
	struct iso_ledger *ledger = idle();
	struct iso_record record;

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 200);
	iso_ledger_plan(ledger, 3000, 0);
	finish(ledger);
	ck_assert_ok(hear(ledger, 0, 0, 200));
	ck_assert_int_eq(iso_ledger_under_way(ledger, 0), 0);
	ck_assert_int_eq(hear(ledger, 0, 40, 201), ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_AMNESIA);
	/* No credit, no debit, no more than the floor; and it is written down. */
	ck_assert_int_eq(hear(ledger, 1, 40, 0), ISO_E_HALTED);
	ck_assert_int_eq(iso_ledger_begin(ledger), 0);
	ck_assert_int_eq(iso_ledger_room(ledger), 0);
	iso_ledger_plan(ledger, 3000, 800);
	ck_assert_int_eq(iso_ledger_limit(ledger), 100);
	ck_assert_ok(iso_ledger_lowered(ledger, 100));
	iso_ledger_record(ledger, &record);
	ck_assert_int_eq(record.halt, ISO_HALT_AMNESIA);
	iso_ledger_commit(ledger, record.seq);
	iso_ledger_close(ledger);
	ck_assert_ok(iso_ledger_open(ledger, &record));
	ck_assert_int_eq(ledger->halt, ISO_HALT_AMNESIA);
	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 3000, 0);
	ck_assert_int_eq(iso_ledger_target(ledger), 100);
}
END_TEST

/* While a budget is being raised, one end knows of it and the other does not yet. */
START_TEST(what_the_sender_knows_of_the_budget_counts)
{
	struct iso_ledger *ledger = idle();
	int64_t budget = ledger->budget_ucpu;
	struct iso_ledger_news news = { (uint64_t)budget + 1, 0, 1, budget + 1 };

	ck_assert_ok(iso_ledger_heard(ledger, 0, &news));
	/* It can be less than what is known here, and says nothing then. */
	news = (struct iso_ledger_news){ (uint64_t)budget + 1, 0, 1, 1 };
	ck_assert_ok(iso_ledger_heard(ledger, 0, &news));
	news = (struct iso_ledger_news){ (uint64_t)budget + 3, 0, 1, budget + 2 };
	ck_assert_int_eq(iso_ledger_heard(ledger, 0, &news), ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_OVERDRAFT);
}
END_TEST

START_TEST(an_incarnation_from_the_future_is_amnesia)
{
	struct iso_ledger *ledger = idle();
	struct iso_ledger_news news = { 0, 0, 2, 0 };

	ck_assert_int_eq(iso_ledger_heard(ledger, 0, &news), ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_AMNESIA);
}
END_TEST

START_TEST(more_than_the_budget_cannot_come)
{
	struct iso_ledger *ledger = idle();

	ck_assert_ok(hear(ledger, 0, 4000, 0));
	ck_assert_int_eq(hear(ledger, 1, 4001, 0), ISO_E_HALTED);
	ck_assert_int_eq(ledger->halt, ISO_HALT_OVERDRAFT);
	ledger = idle();
	ck_assert_int_eq(hear(ledger, 0, UINT64_MAX, 0), ISO_E_HALTED);
}
END_TEST

START_TEST(closed_edges_carry_nothing)
{
	struct iso_ledger *ledger = closed();
	struct iso_record record;

	ck_assert_ok(iso_ledger_genesis(&config, 1, 1000, &record));
	record.edge_count = 2;
	record.edges[0] = (struct iso_record_edge){ 2001, 1, ISO_EDGE_STATE_CLOSED, 7, 5 };
	record.edges[1] = (struct iso_record_edge){ 2002, 1, ISO_EDGE_STATE_FROZEN, 0, 0 };
	ck_assert_ok(iso_ledger_open(ledger, &record));
	ck_assert(!iso_ledger_edge_open(ledger, 0));
	ck_assert(!iso_ledger_edge_open(ledger, 1));
	/* What went over it still counts. */
	ck_assert_int_eq(iso_ledger_holdings(ledger), 998);
}
END_TEST

/*
 * Random life of one node against an account kept beside it; every call that
 * is legal may come, and a crash may come after any of them.
 */
START_TEST(keeps_its_books_whatever_comes)
{
	for (int run = 0; run < test_runs(200); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		struct iso_ledger *ledger = idle();
		uint64_t peer_sent[2] = { 0, 0 };
		struct iso_record disk, record;

		iso_ledger_durable(ledger, &disk);
		for (int step = 0; step < 100; step++) {
			for (uint32_t k = 0; k < 2; k++) {
				uint64_t unseen = peer_sent[k] - ledger->edges[k].received;

				peer_sent[k] += iso_rng_below(&rng, 50) * (unseen < 100);
				if (iso_rng_below(&rng, 2) == 0)
					ck_assert_ok(
					    hear(ledger, k, iso_rng_below(&rng, peer_sent[k] + 1),
						 iso_rng_below(&rng, disk.edges[k].sent + 1)));
			}
			int64_t x = iso_ledger_holdings(ledger);
			int64_t credited = iso_ledger_begin(ledger), debited = 0;

			for (uint32_t k = 0; k < 2; k++) {
				int64_t room = iso_ledger_room(ledger);
				int64_t d =
				    room > 0 ? (int64_t)iso_rng_below(&rng, (uint64_t)room) : 0;

				if (d == 0 || iso_rng_below(&rng, 2) == 0)
					continue;
				iso_ledger_debit(ledger, k, d);
				debited += d;
			}
			iso_ledger_plan(ledger, 3000, (int64_t)iso_rng_below(&rng, 2000));
			ck_assert_int_eq(iso_ledger_holdings(ledger), x + credited - debited);
			ck_assert_int_ge(iso_ledger_holdings(ledger), config.floor_ucpu);
			ck_assert_int_le(iso_ledger_limit(ledger), iso_record_holdings(&disk));
			if (ledger->phase == ISO_LEDGER_LOWERING && iso_rng_below(&rng, 4) == 0)
				ck_assert_int_eq(iso_ledger_abort(ledger), debited);
			else if (ledger->phase == ISO_LEDGER_LOWERING)
				ck_assert_ok(iso_ledger_lowered(ledger, iso_ledger_limit(ledger)));
			if (iso_rng_below(&rng, 8) == 0) {
				/* Killed: what was not written never happened. */
				iso_ledger_close(ledger);
				ck_assert_ok(iso_ledger_open(ledger, &disk));
				tick(ledger, 0);
				iso_ledger_durable(ledger, &disk);
				continue;
			}
			if (iso_ledger_changed(ledger)) {
				iso_ledger_record(ledger, &record);
				ck_assert_uint_eq(record.seq, disk.seq + 1);
				iso_ledger_commit(ledger, record.seq);
				disk = record;
			} else {
				iso_ledger_commit(ledger, disk.seq);
			}
			ck_assert_int_eq(iso_ledger_durable_holdings(ledger),
					 iso_record_holdings(&disk));
		}
	}
}
END_TEST

START_TEST(dies_when_sending_before_the_commit)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_commit(ledger, ledger->seq);
}
END_TEST

START_TEST(dies_when_recording_before_lowering)
{
	struct iso_ledger *ledger = idle();
	struct iso_record record;

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 200);
	iso_ledger_plan(ledger, 3000, 1000);
	iso_ledger_record(ledger, &record);
}
END_TEST

START_TEST(dies_when_committing_what_was_not_recorded)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 200);
	iso_ledger_plan(ledger, 3000, 0);
	iso_ledger_commit(ledger, ledger->seq);
}
END_TEST

START_TEST(dies_when_committing_another_record)
{
	struct iso_ledger *ledger = opened();
	struct iso_record record;

	iso_ledger_begin(ledger);
	iso_ledger_plan(ledger, 3000, 0);
	iso_ledger_record(ledger, &record);
	iso_ledger_commit(ledger, record.seq - 1);
}
END_TEST

START_TEST(dies_when_giving_below_the_floor)
{
	struct iso_ledger *ledger = idle();

	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 901);
}
END_TEST

START_TEST(dies_when_hearing_before_the_incarnation_is_durable)
{
	(void)!hear(opened(), 0, 1, 0);
}
END_TEST

START_TEST(dies_when_debiting_a_frozen_edge)
{
	struct iso_ledger *ledger = idle();

	ledger->edges[0].flags = ISO_EDGE_STATE_FROZEN;
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("ledger");
	TCase *tcase = tcase_create("machine");

	tcase_add_test(tcase, memory_and_numbers_are_checked);
	tcase_add_test(tcase, opening_starts_a_new_incarnation);
	tcase_add_test(tcase, journals_of_others_are_refused);
	tcase_add_test(tcase, edges_are_found_made_and_limited);
	tcase_add_test(tcase, totals_make_loss_and_repetition_harmless);
	tcase_add_test(tcase, a_debit_lowers_first);
	tcase_add_test(tcase, an_abort_undoes_debits_and_keeps_credits);
	tcase_add_test(tcase, a_ceiling_makes_a_reserve);
	tcase_add_test(tcase, a_kernel_without_limit_is_lowered);
	tcase_add_test(tcase, a_neighbour_that_knows_more_stops_everything);
	tcase_add_test(tcase, what_the_sender_knows_of_the_budget_counts);
	tcase_add_test(tcase, an_incarnation_from_the_future_is_amnesia);
	tcase_add_test(tcase, more_than_the_budget_cannot_come);
	tcase_add_test(tcase, closed_edges_carry_nothing);
	tcase_add_test(tcase, keeps_its_books_whatever_comes);
	tcase_add_test_raise_signal(tcase, dies_when_sending_before_the_commit, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_recording_before_lowering, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_committing_what_was_not_recorded, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_committing_another_record, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_giving_below_the_floor, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_hearing_before_the_incarnation_is_durable,
				    SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_debiting_a_frozen_edge, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
