/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/trust.h"

#include <string.h>

#include "tests/test.h"

/* Four nodes, each a neighbour of all others; all limits 0.3 CPU, endowed with 1 CPU. */
#define NODES 4u
#define FLOOR 100000
#define LIMIT 300000

static const char *const names[NODES] = { "a", "b", "c", "d" };
static struct status_ledger all[NODES];
static const struct status_ledger *ledgers[NODES];
static struct trust trust;

static void set_up(void)
{
	memset(all, 0, sizeof(all));
	for (unsigned i = 0; i < NODES; i++) {
		struct iso_record *record = &all[i].snapshot.record;

		ledgers[i] = &all[i];
		all[i].node = names[i];
		all[i].snapshot.floor_ucpu = FLOOR;
		record->node = 1000 + i;
		record->gen = 1;
		record->endowment_ucpu = 1000000;
		for (unsigned k = 0; k < NODES; k++) {
			uint32_t at = record->edge_count;

			if (k == i)
				continue;
			record->edges[at] = (struct iso_record_edge){ .peer = 1000 + k,
								      .peer_gen = 1 };
			all[i].peers[at] = names[k];
			all[i].limits_ucpu[at] = LIMIT;
			record->edge_count++;
		}
	}
}

/* The edge of one node to another. */
static uint32_t edge(unsigned from, unsigned to)
{
	return to < from ? to : to - 1;
}

static void judge(unsigned count, unsigned index)
{
	trust_judge(ledgers, count, index, all[index].snapshot.record.endowment_ucpu, &trust);
}

START_TEST(limits_that_add_up_to_what_is_spare_are_bounds)
{
	for (unsigned i = 0; i < NODES; i++) {
		judge(NODES, i);
		ck_assert_int_eq(trust.verdict, TRUST_BOUNDED);
		ck_assert_int_eq(trust.limits_ucpu, 3 * LIMIT);
		ck_assert_int_eq(trust.spare_ucpu, 900000);
		ck_assert_uint_eq(trust.because_count, 0);
	}
	all[3].limits_ucpu[edge(3, 0)]++;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_EXCESS);
	ck_assert_int_eq(trust.limits_ucpu, 900001);
	/* What a node believes of others says nothing of itself. */
	judge(NODES, 3);
	ck_assert_int_eq(trust.verdict, TRUST_BOUNDED);
	/* The registry knows better what it was endowed with. */
	trust_judge(ledgers, NODES, 0, 1000001, &trust);
	ck_assert_int_eq(trust.verdict, TRUST_BOUNDED);
}
END_TEST

START_TEST(who_believes_anything_is_named_before_who_says_nothing)
{
	all[1].limits_ucpu[edge(1, 0)] = STATUS_UNKNOWN;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_UNKNOWN);
	ck_assert_uint_eq(trust.because_count, 1);
	ck_assert_str_eq(trust.because_of[0], "b");
	ck_assert_int_eq(trust.limits_ucpu, 2 * LIMIT);
	all[2].limits_ucpu[edge(2, 0)] = INT64_MAX;
	all[3].limits_ucpu[edge(3, 0)] = INT64_MAX;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_UNBOUNDED);
	ck_assert_uint_eq(trust.because_count, 2);
	ck_assert_str_eq(trust.because_of[0], "c");
	ck_assert_str_eq(trust.because_of[1], "d");
}
END_TEST

START_TEST(neighbours_that_were_not_asked_are_unknown)
{
	judge(2, 0);
	ck_assert_int_eq(trust.verdict, TRUST_UNKNOWN);
	ck_assert_uint_eq(trust.because_count, 2);
	ck_assert_str_eq(trust.because_of[0], "c");
	ck_assert_str_eq(trust.because_of[1], "d");
	ck_assert_int_eq(trust.limits_ucpu, LIMIT);
	/* A name that is not known, either. */
	all[0].peers[edge(0, 3)] = NULL;
	judge(3, 0);
	ck_assert_str_eq(trust.because_of[0], "?");
}
END_TEST

START_TEST(edges_that_have_ended_and_other_lives_do_not_count)
{
	all[1].snapshot.record.edges[edge(1, 0)].flags = ISO_EDGE_STATE_CLOSED;
	all[2].snapshot.record.edges[edge(2, 0)].flags = ISO_EDGE_STATE_FOLDED;
	all[3].snapshot.record.edges[edge(3, 0)].peer_gen = 2;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_BOUNDED);
	ck_assert_int_eq(trust.limits_ucpu, 0);
	all[0].snapshot.record.edges[edge(0, 3)].flags = ISO_EDGE_STATE_FOLDED;
	judge(3, 0);
	ck_assert_int_eq(trust.verdict, TRUST_BOUNDED);
	/* A frozen one still takes in. */
	all[1].snapshot.record.edges[edge(1, 0)].flags = ISO_EDGE_STATE_FROZEN;
	judge(NODES, 0);
	ck_assert_int_eq(trust.limits_ucpu, LIMIT);
}
END_TEST

START_TEST(what_was_taken_before_a_limit_was_lowered_counts)
{
	struct iso_record_edge *taker = &all[1].snapshot.record.edges[edge(1, 0)];

	/* 0.4 CPU in net: more than the limit is now. */
	taker->received = 900000;
	taker->sent = 500000;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_EXCESS);
	ck_assert_int_eq(trust.limits_ucpu, 2 * LIMIT + 400000);
	/* Within the limit, which more can come up to. */
	taker->sent = 600001;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_BOUNDED);
	ck_assert_int_eq(trust.limits_ucpu, 3 * LIMIT);
	/* Given in net: nothing is made up by that. */
	taker->sent = 1300000;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_BOUNDED);
	ck_assert_int_eq(trust.limits_ucpu, 3 * LIMIT);
	/* Who is believed without a limit stays so, whatever was taken. */
	all[1].limits_ucpu[edge(1, 0)] = INT64_MAX;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_UNBOUNDED);
	ck_assert_int_eq(trust.limits_ucpu, 2 * LIMIT);
}
END_TEST

START_TEST(forged_numbers_do_not_overflow)
{
	for (unsigned i = 1; i < NODES; i++)
		all[i].limits_ucpu[edge(i, 0)] = INT64_MAX - 1;
	all[1].snapshot.record.edges[edge(1, 0)].received = INT64_MAX;
	all[0].snapshot.record.endowment_ucpu = -ISO_UNITS_MAX;
	all[0].snapshot.floor_ucpu = ISO_UNITS_MAX;
	judge(NODES, 0);
	ck_assert_int_eq(trust.verdict, TRUST_EXCESS);
	ck_assert_int_eq(trust.limits_ucpu, INT64_MAX);
	ck_assert_int_eq(trust.spare_ucpu, -2 * ISO_UNITS_MAX);
}
END_TEST

START_TEST(who_is_out_is_not_judged)
{
	struct iso_record *record = &all[0].snapshot.record;

	ck_assert(trust_applies(&all[0], false));
	record->halt = ISO_HALT_AMNESIA;
	ck_assert(trust_applies(&all[0], false));
	record->halt = ISO_HALT_LEFT;
	ck_assert(!trust_applies(&all[0], false));
	/* That it says so frees no member from being judged. */
	ck_assert(trust_applies(&all[0], true));
	record->halt = ISO_HALT_BURIED;
	ck_assert(!trust_applies(&all[0], false));
	ck_assert(trust_applies(&all[0], true));
	record->halt = ISO_HALT_NONE;
	record->gen = 0;
	ck_assert(!trust_applies(&all[0], false));
	ck_assert(!trust_applies(&all[0], true));
	ck_assert_str_eq(trust_verdict_name(TRUST_BOUNDED), "bounded");
	ck_assert_str_eq(trust_verdict_name(TRUST_EXCESS), "excess");
	ck_assert_str_eq(trust_verdict_name(TRUST_UNBOUNDED), "unbounded");
	ck_assert_str_eq(trust_verdict_name(TRUST_UNKNOWN), "unknown");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trust");
	TCase *tcase = tcase_create("judge");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, limits_that_add_up_to_what_is_spare_are_bounds);
	tcase_add_test(tcase, who_believes_anything_is_named_before_who_says_nothing);
	tcase_add_test(tcase, neighbours_that_were_not_asked_are_unknown);
	tcase_add_test(tcase, edges_that_have_ended_and_other_lives_do_not_count);
	tcase_add_test(tcase, what_was_taken_before_a_limit_was_lowered_counts);
	tcase_add_test(tcase, forged_numbers_do_not_overflow);
	tcase_add_test(tcase, who_is_out_is_not_judged);
	suite_add_tcase(suite, tcase);
	return suite;
}
