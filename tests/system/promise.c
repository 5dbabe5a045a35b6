/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The promise of isobard(8), on the kernel this runs on: over any 10 s a job
 * uses at most 1.01 times its share, and all jobs at most 1.01 times the
 * budget.  Shares move once a second between three jobs, one for each period.
 */
#include "config.h"

#include "tests/promise.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/test.h"

#define SECONDS	    28u
#define BUDGET_UCPU 900000u
#define TICK_NS	    1000000000u

static const uint64_t periods_ms[] = { 10, 100, 1000 };

static void keeps_the_promise(enum load_kind load, int threads, double mean_least)
{
	struct promise_job jobs[3];
	struct promise_result results[3];
	double worst_sum;

	for (unsigned i = 0; i < 3; i++)
		jobs[i] = (struct promise_job){ .period_ms = periods_ms[i],
						.load = load,
						.threads = threads,
						.tick_ns = TICK_NS };
	promise_run(jobs, 3, SECONDS, BUDGET_UCPU, test_seed_base(), results, &worst_sum);
	for (unsigned i = 0; i < 3; i++) {
		printf("# period %4d ms, %d threads: worst window %.4f, mean %.4f, %u changes\n",
		       (int)periods_ms[i], threads, results[i].worst, results[i].mean,
		       results[i].changes);
		ck_assert_uint_ge(results[i].changes, SECONDS / 3);
		ck_assert_msg(results[i].worst <= 1.01, "period %d ms: worst window %.4f",
			      (int)periods_ms[i], results[i].worst);
		/* It would be no feat with jobs that the quota does not bind. */
		ck_assert_msg(results[i].mean >= mean_least, "period %d ms: mean %.4f",
			      (int)periods_ms[i], results[i].mean);
	}
	printf("# all: worst window %.4f of the budget\n", worst_sum);
	ck_assert_double_le(worst_sum, 1.01);
}

START_TEST(one_busy_thread_stays_within_its_share)
{
	keeps_the_promise(LOAD_BUSY, 1, 0.4);
}
END_TEST

START_TEST(as_many_threads_as_cpus_stay_within_their_share)
{
	keeps_the_promise(LOAD_BUSY, (int)sysconf(_SC_NPROCESSORS_ONLN), 0.4);
}
END_TEST

START_TEST(bursts_stay_within_the_share)
{
	keeps_the_promise(LOAD_BURSTS, (int)sysconf(_SC_NPROCESSORS_ONLN), 0.15);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("promise");
	TCase *tcase = tcase_create("kernel");
	const char *why = promise_missing();

	if (why != NULL)
		test_skip_all(why);
	tcase_set_timeout(tcase, 120);
	tcase_add_unchecked_fixture(tcase, NULL, test_cgroup_sweep);
	tcase_add_test(tcase, one_busy_thread_stays_within_its_share);
	tcase_add_test(tcase, as_many_threads_as_cpus_stay_within_their_share);
	tcase_add_test(tcase, bursts_stay_within_the_share);
	suite_add_tcase(suite, tcase);
	return suite;
}
