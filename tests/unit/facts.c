/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/enforce/absence.h"
#include "lib/enforce/facts.h"
#include "tests/test.h"

#include <string.h>

#define S	 1000000000ull
#define QUOTA_US 20000u /* of 100 ms: a fifth of a CPU */
#define SHARE	 200000

static struct iso_facts facts;
static struct iso_facts_reading now;

static void setup(void)
{
	memset(&facts, 0, sizeof(facts));
	now = (struct iso_facts_reading){
		.now_ns = 1000 * S,
		.has_used = true,
		.allowed_ucpu = SHARE,
		.has_throttled = true,
		.quota_us = QUOTA_US,
		.has_kernel = true,
		.has_host = true,
	};
	iso_facts_look(&facts, &now);
}

/* Seconds of a job that uses so much of its share, and is throttled in so many periods. */
static void run(unsigned seconds, double used, unsigned throttled)
{
	for (unsigned i = 0; i < seconds; i++) {
		uint64_t used_ns = (uint64_t)(used * SHARE * 1000);

		now.now_ns += S;
		now.used_ns += used_ns;
		now.kernel_ns += used_ns;
		now.periods_throttled += throttled;
		now.host_ns += 2 * S;
		iso_facts_look(&facts, &now);
	}
}

static bool holds(enum iso_fact fact)
{
	double ratio = -1;
	bool it_does = iso_facts_holds(&facts, fact, &ratio);

	if (it_does)
		ck_assert_double_ge(ratio, 0);
	else
		ck_assert_double_eq(ratio, -1);
	return it_does;
}

static void assert_ratio(enum iso_fact fact, double expected, double tolerance)
{
	double ratio = 0;

	ck_assert(iso_facts_holds(&facts, fact, &ratio));
	ck_assert_double_eq_tol(ratio, expected, tolerance);
}

/* Used all the time, and throttled in all periods: it holds after ten seconds and not before. */
static void begins_after_ten(enum iso_fact fact, double used)
{
	run(9, used, 10);
	ck_assert(!holds(fact));
	run(1, used, 10);
	assert_ratio(fact, used, 1e-9);
}

static unsigned count_held(void)
{
	unsigned count = 0;

	for (int i = 0; i < ISO_FACT_COUNT; i++)
		count += holds((enum iso_fact)i);
	return count;
}

START_TEST(a_job_that_keeps_to_its_quota_is_not_odd)
{
	run(1000, 1.01, 10);
	run(1000, 0.1, 0);
	run(1000, 0, 0);
	/* One period's quota more, that a write hands out each second. */
	run(1000, 1.1, 9);
	ck_assert_uint_eq(count_held(), 0);
}
END_TEST

START_TEST(overuse_needs_two_windows_to_begin_and_one_to_end)
{
	run(100, 1, 10);
	run(10, 2, 10);
	begins_after_ten(ISO_FACT_OVERUSE, 1.5);
	/* Not enough to begin, and too much to end. */
	run(100, 1.15, 10);
	ck_assert(holds(ISO_FACT_OVERUSE));
	run(10, 1.05, 10);
	ck_assert(!holds(ISO_FACT_OVERUSE));

	/* Two that are not in a row. */
	for (int i = 0; i < 10; i++) {
		run(10, 2, 10);
		run(10, 1, 10);
	}
	ck_assert(!holds(ISO_FACT_OVERUSE));
}
END_TEST

START_TEST(what_is_allowed_in_between_is_the_larger_of_two)
{
	/* Half a second of each: used is what was allowed, never more. */
	for (int i = 0; i < 200; i++) {
		now.allowed_ucpu = i % 2 == 0 ? SHARE : SHARE / 10;
		now.quota_us = i % 2 == 0 ? QUOTA_US : QUOTA_US / 10;
		run(1, 0.55, 10);
	}
	ck_assert(!holds(ISO_FACT_OVERUSE));
	ck_assert(!holds(ISO_FACT_EARLY));

	now.allowed_ucpu = INT64_MAX;
	run(100, 10, 0);
	ck_assert(!holds(ISO_FACT_OVERUSE));
}
END_TEST

START_TEST(a_throttled_period_whose_quota_was_not_used_is_odd)
{
	begins_after_ten(ISO_FACT_EARLY, 0.5);
	run(10, 0.85, 10);
	ck_assert(holds(ISO_FACT_EARLY));
	run(10, 0.95, 10);
	ck_assert(!holds(ISO_FACT_EARLY));

	/* A burst a second, and then nothing: one throttled period of ten is right. */
	run(1000, 0.1, 1);
	ck_assert(!holds(ISO_FACT_EARLY));
}
END_TEST

START_TEST(what_is_hardly_ever_throttled_is_not_throttled_early)
{
	run(10, 0.1, 10);
	ck_assert(holds(ISO_FACT_EARLY));
	run(599, 0.5, 0);
	ck_assert(holds(ISO_FACT_EARLY));
	run(1, 0.5, 0);
	ck_assert(!holds(ISO_FACT_EARLY));
	/* Nor without a quota. */
	now.quota_us = 0;
	run(1000, 0.1, 10);
	ck_assert(!holds(ISO_FACT_EARLY));
}
END_TEST

START_TEST(two_accounts_may_differ_a_little_and_in_both_ways)
{
	run(100, 1, 10);
	for (int way = -1; way <= 1; way += 2) {
		for (int i = 0; i < 130; i++) {
			now.kernel_ns += (uint64_t)(way * SHARE * 20); /* 2 % */
			run(1, 1, 10);
		}
		ck_assert(!holds(ISO_FACT_ACCOUNTS));
		for (int i = 0; i < 130; i++) {
			now.kernel_ns += (uint64_t)(way * SHARE * 100); /* 10 % */
			run(1, 1, 10);
		}
		assert_ratio(ISO_FACT_ACCOUNTS, way < 0 ? 1 / 0.9 : 1 / 1.1, 1e-3);
		run(130, 1, 10);
		ck_assert(!holds(ISO_FACT_ACCOUNTS));
	}
	/* Where there is next to nothing to compare nothing is said. */
	for (int i = 0; i < 1000; i++) {
		now.used_ns += 100000;
		run(1, 0, 0);
	}
	ck_assert(!holds(ISO_FACT_ACCOUNTS));
}
END_TEST

START_TEST(a_host_that_is_robbed_is_odd)
{
	for (int i = 0; i < 60; i++) {
		now.stolen_ns += 2 * S / 4;
		now.interrupts_ns += 2 * S / 10;
		run(1, 1, 10);
	}
	assert_ratio(ISO_FACT_STOLEN, 0.25, 1e-9);
	ck_assert(!holds(ISO_FACT_INTERRUPTS));
	for (int i = 0; i < 60; i++) {
		now.stolen_ns += 2 * S / 14; /* 7 % */
		now.interrupts_ns += 2 * S / 4;
		run(1, 1, 10);
	}
	ck_assert(holds(ISO_FACT_STOLEN));
	ck_assert(holds(ISO_FACT_INTERRUPTS));
	run(60, 1, 10);
	ck_assert_uint_eq(count_held(), 0);
}
END_TEST

START_TEST(counters_that_go_back_or_are_missing_prove_nothing)
{
	/* Another group at each look: whatever it has used before was under another limit. */
	for (int i = 0; i < 1000; i++) {
		now.used_ns = now.kernel_ns = i % 2 == 0 ? 1000000 * S : 0;
		now.periods_throttled = i % 2 == 0 ? 1000000 : 0;
		now.stolen_ns = i % 2 == 0 ? S : 0;
		now.has_used = i % 2 == 0;
		now.has_host = i % 2 == 0;
		run(1, 0, 0);
	}
	ck_assert_uint_eq(count_held(), 0);

	/* What holds is not forgotten for that. */
	now.has_used = now.has_host = true;
	now.stolen_ns = 0;
	run(100, 3, 0);
	ck_assert(holds(ISO_FACT_OVERUSE));
	now.has_used = now.has_host = false;
	run(100, 0, 0);
	ck_assert(holds(ISO_FACT_OVERUSE));
	now.has_used = true;
	run(30, 0.5, 0);
	ck_assert(!holds(ISO_FACT_OVERUSE));
}
END_TEST

/* Else an overuse would be held against it for as long as it is away. */
START_TEST(what_a_job_did_is_over_when_it_is_gone)
{
	run(100, 3, 0);
	ck_assert(holds(ISO_FACT_OVERUSE));
	now.has_used = false;
	now.is_gone = true;
	run(1, 0, 0);
	ck_assert(!holds(ISO_FACT_OVERUSE));

	/* The next one is judged from its start: two whole windows. */
	now.is_gone = false;
	now.has_used = true;
	now.used_ns = now.kernel_ns = 0;
	run(20, 3, 0);
	ck_assert(!holds(ISO_FACT_OVERUSE));
	run(1, 3, 0);
	ck_assert(holds(ISO_FACT_OVERUSE));
}
END_TEST

/* What is usual is told as well, to those who draw it. */
START_TEST(ratios_are_known_after_a_window_also_of_what_is_not_odd)
{
	double ratio = -1;

	run(4, 0.5, 0);
	ck_assert(!iso_facts_ratio(&facts, ISO_FACT_OVERUSE, &ratio));
	ck_assert(!iso_facts_ratio(&facts, ISO_FACT_STOLEN, &ratio));
	ck_assert_double_eq(ratio, -1);
	run(100, 0.5, 0);
	ck_assert(iso_facts_ratio(&facts, ISO_FACT_OVERUSE, &ratio));
	ck_assert_double_eq_tol(ratio, 0.5, 1e-6);
	ck_assert(iso_facts_ratio(&facts, ISO_FACT_STOLEN, &ratio));
	ck_assert_double_eq(ratio, 0);
	ck_assert(iso_facts_ratio(&facts, ISO_FACT_ACCOUNTS, &ratio));
	ck_assert_double_eq_tol(ratio, 1, 1e-6);
	/* It was never throttled. */
	ck_assert(!iso_facts_ratio(&facts, ISO_FACT_EARLY, &ratio));
	/* The next job is another one, the host is the same. */
	now.is_gone = true;
	run(1, 0, 0);
	ck_assert(!iso_facts_ratio(&facts, ISO_FACT_OVERUSE, &ratio));
	ck_assert(!iso_facts_ratio(&facts, ISO_FACT_ACCOUNTS, &ratio));
	ck_assert(iso_facts_ratio(&facts, ISO_FACT_STOLEN, &ratio));
}
END_TEST

/* Whatever the distances of the looks and the changes of the share. */
START_TEST(who_obeys_is_never_accused)
{
	struct iso_rng rng = { test_seed_base() + (uint64_t)_i };

	setup();
	for (int i = 0; i < 3000; i++) {
		uint64_t pause_ns = 1 + iso_rng_below(&rng, 3 * S);
		double seconds = (double)pause_ns / (double)S, used;

		if (iso_rng_below(&rng, 10) == 0) {
			now.quota_us = 1000 + (uint32_t)iso_rng_below(&rng, 200000);
			now.allowed_ucpu = (int64_t)now.quota_us * 10;
		}
		used = (double)now.allowed_ucpu * seconds * 1000;
		if (iso_rng_below(&rng, 2) == 0) {
			used *= (double)iso_rng_below(&rng, 1000) / 1000;
		} else {
			/* All of it, so each period was a throttled one. */
			now.periods_throttled += (uint64_t)(seconds * 10);
		}
		now.now_ns += pause_ns;
		now.used_ns += (uint64_t)used;
		now.kernel_ns += (uint64_t)used;
		now.host_ns += 2 * pause_ns;
		now.interrupts_ns += pause_ns / 20;
		iso_facts_look(&facts, &now);
		ck_assert_uint_eq(count_held(), 0);
	}
}
END_TEST

START_TEST(who_is_absent_for_long_is_released)
{
	struct iso_absence absence = { 0 };

	ck_assert(!iso_absence_look(&absence, 10 * S, false, 60 * S));
	ck_assert(!iso_absence_look(&absence, 20 * S, true, 60 * S));
	ck_assert(!iso_absence_look(&absence, 80 * S - 1, true, 60 * S));
	ck_assert(iso_absence_look(&absence, 80 * S, true, 60 * S));
	ck_assert(absence.is_released);
	/* Back at once, and away again: all of the grace anew. */
	ck_assert(!iso_absence_look(&absence, 81 * S, false, 60 * S));
	ck_assert(!iso_absence_look(&absence, 82 * S, true, 60 * S));
	ck_assert(!iso_absence_look(&absence, 141 * S, true, 60 * S));
	ck_assert(iso_absence_look(&absence, 142 * S, true, 60 * S));
	/* Reloaded with another time. */
	ck_assert(!iso_absence_look(&absence, 143 * S, true, UINT64_MAX));
	ck_assert(!iso_absence_look(&absence, UINT64_MAX, true, UINT64_MAX));

	struct iso_absence at_once = { 0 };
	ck_assert(iso_absence_look(&at_once, 10 * S, true, 0));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("facts");
	TCase *tcase = tcase_create("facts");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_job_that_keeps_to_its_quota_is_not_odd);
	tcase_add_test(tcase, overuse_needs_two_windows_to_begin_and_one_to_end);
	tcase_add_test(tcase, what_is_allowed_in_between_is_the_larger_of_two);
	tcase_add_test(tcase, a_throttled_period_whose_quota_was_not_used_is_odd);
	tcase_add_test(tcase, what_is_hardly_ever_throttled_is_not_throttled_early);
	tcase_add_test(tcase, two_accounts_may_differ_a_little_and_in_both_ways);
	tcase_add_test(tcase, a_host_that_is_robbed_is_odd);
	tcase_add_test(tcase, counters_that_go_back_or_are_missing_prove_nothing);
	tcase_add_test(tcase, what_a_job_did_is_over_when_it_is_gone);
	tcase_add_test(tcase, ratios_are_known_after_a_window_also_of_what_is_not_odd);
	tcase_add_loop_test(tcase, who_obeys_is_never_accused, 0, test_runs(20));
	tcase_add_test(tcase, who_is_absent_for_long_is_released);
	suite_add_tcase(suite, tcase);
	return suite;
}
