/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/round.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MS     1000000ull
#define TERM   7
#define PARAMS 3

static const struct iso_round_config standard = {
	.workers = 3, .batch = 6, .params = PARAMS, .threads_max = 4, .greedy_depth = 2,
	.lease_mads = 8, .lease_first_ns = 1000 * MS, .lease_min_ns = 20 * MS, .term = TERM,
};

static struct iso_round *make(const struct iso_round_config *config)
{
	size_t size = iso_round_size(config);
	struct iso_round *round = NULL;

	ck_assert_ok(iso_round_init(malloc(size), size, config, &round));
	return round;
}

/* Two workers with one thread and one CPU each, and 4 + 2 tasks handed out. */
static struct iso_round *started(struct iso_round_task tasks[6])
{
	const uint32_t allocation[3] = { 4, 2, 0 };
	struct iso_round *round = make(&standard);
	struct iso_round_order order;

	iso_round_join(round, 0, 0, 1, 1000000);
	iso_round_join(round, 0, 1, 1, 1000000);
	iso_round_start(round, 0, 1, allocation);
	ck_assert(iso_round_next_order(round, 0, tasks, 6, &order));
	ck_assert_uint_eq(order.worker, 0);
	ck_assert_uint_eq(order.count, 4);
	ck_assert(order.with_params);
	ck_assert(iso_round_next_order(round, 0, tasks + 4, 2, &order));
	ck_assert_uint_eq(order.worker, 1);
	ck_assert_uint_eq(order.count, 2);
	ck_assert(!iso_round_next_order(round, 0, tasks, 6, &order));
	return round;
}

static enum iso_round_verdict give(struct iso_round *round, uint64_t now_ns, uint32_t worker,
				   struct iso_round_task task, uint64_t on_cpu_ns)
{
	const float gradient[PARAMS] = { 1, (float)task.task, -2 };
	const struct iso_round_result result = {
		.term = TERM, .number = 1, .worker = worker, .task = task.task,
		.attempt = task.attempt, .on_cpu_ns = on_cpu_ns, .loss = 0.5,
		.gradient = gradient,
	};

	return iso_round_result(round, now_ns, &result);
}

START_TEST(a_round_ends_with_the_mean_of_its_results)
{
	struct iso_round_task tasks[6];
	struct iso_round *round = started(tasks);

	for (uint32_t t = 0; t < 6; t++) {
		ck_assert(!iso_round_complete(round));
		ck_assert_int_eq(give(round, 10 * MS, t < 4 ? 0 : 1, tasks[t], 5 * MS),
				 ISO_ROUND_ACCEPTED);
	}
	ck_assert(iso_round_complete(round));
	ck_assert_double_eq_tol((double)iso_round_gradient(round)[0], 1, 1e-6);
	ck_assert_double_eq_tol((double)iso_round_gradient(round)[1], 2.5, 1e-6);
	ck_assert_double_eq_tol((double)iso_round_gradient(round)[2], -2, 1e-6);
	ck_assert_double_eq_tol(iso_round_loss(round), 0.5, 1e-12);
	ck_assert_uint_eq(iso_round_totals(round)->accepted, 6);
	ck_assert_uint_eq(iso_round_totals(round)->accepted_cpu_ns, 30 * MS);
	ck_assert_uint_eq(iso_round_totals(round)->discarded_cpu_ns, 0);
	ck_assert_uint_eq(iso_round_wake_ns(round), UINT64_MAX);
	free(round);
}
END_TEST

START_TEST(a_result_counts_once_and_only_in_its_round_and_term)
{
	struct iso_round_task tasks[6];
	struct iso_round *round = started(tasks);
	const struct iso_round_totals *totals = iso_round_totals(round);
	const float gradient[PARAMS] = { 0 };
	struct iso_round_result result = { .term = TERM, .number = 1, .task = tasks[0].task,
					   .attempt = tasks[0].attempt, .on_cpu_ns = 10,
					   .gradient = gradient };

	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_ACCEPTED);
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_LATE);
	result.task = tasks[1].task;
	result.attempt = tasks[1].attempt + 1; /* never handed out */
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_LATE);
	result.attempt = 0;
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_LATE);
	result.task = 6;
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_LATE);
	result.worker = 99;
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_LATE);
	result.worker = 0;
	result.number = 0;
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_OLD);
	result.number = 2;
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_OTHER_TERM);
	result.number = 1;
	result.term = TERM - 1;
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_OTHER_TERM);
	ck_assert_uint_eq(totals->accepted, 1);
	ck_assert_uint_eq(totals->late, 5);
	ck_assert_uint_eq(totals->old, 1);
	ck_assert_uint_eq(totals->other_term, 2);
	ck_assert_uint_eq(totals->discarded_cpu_ns, 60);
	free(round);
}
END_TEST

START_TEST(a_silent_workers_tasks_go_to_another)
{
	struct iso_round_task tasks[6], again[6];
	struct iso_round *round = started(tasks);
	struct iso_round_order order;

	/* Worker 1 delivers, worker 0 says nothing within the first lease. */
	ck_assert_int_eq(give(round, 10 * MS, 1, tasks[4], 5 * MS), ISO_ROUND_ACCEPTED);
	ck_assert_int_eq(give(round, 20 * MS, 1, tasks[5], 5 * MS), ISO_ROUND_ACCEPTED);
	ck_assert_uint_eq(iso_round_wake_ns(round), 1000 * MS);
	iso_round_tick(round, 999 * MS);
	ck_assert(!iso_round_next_order(round, 999 * MS, again, 6, &order));
	iso_round_tick(round, 1000 * MS);
	ck_assert(iso_round_worker(round, 0).suspect);
	ck_assert(iso_round_next_order(round, 1000 * MS, again, 6, &order));
	ck_assert_uint_eq(order.worker, 1);
	ck_assert_uint_eq(order.count, 4);
	ck_assert(!order.with_params); /* it has shown that it has them */
	ck_assert_uint_eq(again[0].attempt, tasks[0].attempt + 1);
	ck_assert_uint_eq(iso_round_totals(round)->requeued, 4);
	/* A late result whose task is open is as good, and the other need not go on. */
	struct iso_round_cancel cancel;
	ck_assert(!iso_round_next_cancel(round, &cancel));
	ck_assert_int_eq(give(round, 1001 * MS, 0, tasks[0], 900 * MS), ISO_ROUND_ACCEPTED);
	ck_assert(!iso_round_worker(round, 0).suspect);
	ck_assert(iso_round_next_cancel(round, &cancel));
	ck_assert_uint_eq(cancel.worker, 1);
	ck_assert_uint_eq(cancel.task, tasks[0].task);
	ck_assert_uint_eq(cancel.attempt, again[0].attempt);
	ck_assert(!iso_round_next_cancel(round, &cancel));
	/* And what the other had done of it is counted. */
	ck_assert_int_eq(give(round, 1002 * MS, 1, again[0], 6 * MS), ISO_ROUND_LATE);
	ck_assert_uint_eq(iso_round_totals(round)->discarded_cpu_ns, 6 * MS);
	free(round);
}
END_TEST

START_TEST(a_lone_silent_worker_is_asked_again_more_and_more_patiently)
{
	const uint32_t allocation[3] = { 6, 0, 0 };
	struct iso_round *round = make(&standard);
	struct iso_round_task tasks[6];
	struct iso_round_order order;
	uint64_t now_ns = 0, wait_ns = 1000 * MS;

	iso_round_join(round, 0, 0, 1, 1000000);
	iso_round_start(round, 0, 1, allocation);
	for (uint32_t attempt = 1; attempt <= 9; attempt++) {
		ck_assert(iso_round_next_order(round, now_ns, tasks, 6, &order));
		ck_assert_uint_eq(order.count, 6);
		ck_assert(order.with_params);
		ck_assert_uint_eq(tasks[0].attempt, attempt);
		ck_assert_uint_eq(iso_round_wake_ns(round), now_ns + wait_ns);
		now_ns += wait_ns;
		wait_ns = wait_ns < 64000 * MS ? 2 * wait_ns : wait_ns;
		iso_round_tick(round, now_ns);
	}
	/* The very first attempt is still good. */
	ck_assert_int_eq(give(round, now_ns, 0, (struct iso_round_task){ tasks[0].task, 1 }, 1),
			 ISO_ROUND_ACCEPTED);
	free(round);
}
END_TEST

START_TEST(leases_follow_the_workers_own_times_and_share)
{
	struct iso_round_task tasks[6];
	struct iso_round *round = started(tasks);

	/* 40 ms on CPU, no spread: the next one is due 40 ms after the third. */
	for (uint32_t t = 0; t < 3; t++)
		ck_assert_int_eq(give(round, 100 * MS, 0, tasks[t], 40 * MS), ISO_ROUND_ACCEPTED);
	ck_assert_uint_eq(iso_round_worker(round, 0).median_ns, 40 * MS);
	ck_assert_uint_eq(iso_round_worker(round, 0).lease_end_ns, 140 * MS);
	/* A quarter of the share: four times as long.  Worker 1 keeps its first lease. */
	iso_round_set_rate(round, 100 * MS, 0, 1, 250000);
	ck_assert_uint_eq(iso_round_worker(round, 0).lease_end_ns, 260 * MS);
	ck_assert_uint_eq(iso_round_worker(round, 1).lease_end_ns, 1000 * MS);
	ck_assert_uint_eq(iso_round_worker(round, 2).lease_end_ns, UINT64_MAX);
	/* Never below the minimum. */
	iso_round_set_rate(round, 100 * MS, 0, 4, 4000000);
	ck_assert_uint_eq(iso_round_worker(round, 0).lease_end_ns, 120 * MS);
	free(round);
}
END_TEST

START_TEST(spread_of_the_times_makes_leases_longer)
{
	struct iso_round_task tasks[6];
	struct iso_round *round = started(tasks);
	const uint64_t times[3] = { 30 * MS, 40 * MS, 60 * MS };

	for (uint32_t t = 0; t < 3; t++)
		give(round, 100 * MS, 0, tasks[t], times[t]);
	/* Median 40, deviations 10, 0, 20: MAD 10, and 40 + 8 * 10. */
	ck_assert_uint_eq(iso_round_worker(round, 0).lease_end_ns, 220 * MS);
	free(round);
}
END_TEST

START_TEST(tasks_of_one_that_leaves_wait_for_one_that_comes)
{
	struct iso_round_task tasks[6], again[6];
	struct iso_round *round = started(tasks);
	struct iso_round_order order;

	iso_round_leave(round, 5 * MS, 0);
	ck_assert(iso_round_next_order(round, 5 * MS, again, 6, &order));
	ck_assert_uint_eq(order.worker, 1);
	ck_assert_uint_eq(order.count, 4);
	iso_round_leave(round, 6 * MS, 1);
	ck_assert(!iso_round_next_order(round, 6 * MS, again, 6, &order));
	ck_assert_uint_eq(iso_round_wake_ns(round), UINT64_MAX);
	iso_round_join(round, 50 * MS, 0, 2, 1000000);
	ck_assert(iso_round_next_order(round, 50 * MS, again, 4, &order));
	ck_assert_uint_eq(order.worker, 0);
	ck_assert_uint_eq(order.count, 4);
	ck_assert(iso_round_next_order(round, 50 * MS, again + 4, 4, &order));
	ck_assert_uint_eq(order.count, 2);
	for (uint32_t t = 0; t < 6; t++)
		ck_assert_int_eq(give(round, 60 * MS, 0, again[t], MS), ISO_ROUND_ACCEPTED);
	ck_assert(iso_round_complete(round));
	free(round);
}
END_TEST

START_TEST(a_restarted_worker_gets_its_tasks_again)
{
	struct iso_round_task tasks[6], again[6];
	struct iso_round *round = started(tasks);
	struct iso_round_order order;

	iso_round_leave(round, 1 * MS, 1);
	ck_assert(iso_round_next_order(round, 1 * MS, again, 6, &order));
	iso_round_join(round, 2 * MS, 0, 1, 1000000);
	ck_assert(iso_round_next_order(round, 2 * MS, again, 6, &order));
	ck_assert_uint_eq(order.worker, 0);
	ck_assert_uint_eq(order.count, 6);
	ck_assert(order.with_params);
	free(round);
}
END_TEST

START_TEST(greedy_keeps_everybody_busy_until_enough_is_in)
{
	struct iso_round *round = make(&standard);
	struct iso_round_task tasks[8], next[8];
	struct iso_round_order order;
	struct iso_round_cancel cancel;

	iso_round_join(round, 0, 0, 2, 2000000);
	iso_round_join(round, 0, 1, 1, 1000000);
	iso_round_start(round, 0, 1, NULL);
	ck_assert(iso_round_next_order(round, 0, tasks, 8, &order));
	ck_assert_uint_eq(order.count, 4); /* 2 threads, 2 deep */
	ck_assert(iso_round_next_order(round, 0, next, 8, &order));
	ck_assert_uint_eq(order.count, 2);
	for (uint32_t u = 0; u < 6; u++) {
		ck_assert(!iso_round_complete(round));
		ck_assert_int_eq(give(round, (10 + u) * MS, 0, tasks[0], 10 * MS),
				 ISO_ROUND_ACCEPTED);
		/* The same slot with the same attempt never counts twice. */
		if (u < 5) {
			ck_assert_int_eq(give(round, (10 + u) * MS, 0, tasks[0], MS),
					 ISO_ROUND_LATE);
			ck_assert(iso_round_next_order(round, (10 + u) * MS, tasks, 8, &order));
			ck_assert_uint_eq(order.worker, 0);
			ck_assert_uint_eq(order.count, 1);
			ck_assert(!order.with_params);
		}
	}
	ck_assert(iso_round_complete(round));
	ck_assert_int_eq(give(round, 20 * MS, 1, next[0], 7 * MS), ISO_ROUND_OLD);
	ck_assert_uint_eq(iso_round_totals(round)->accepted, 6);
	ck_assert_uint_eq(iso_round_totals(round)->discarded_cpu_ns, 12 * MS);
	/* Both still hold tasks. */
	ck_assert(iso_round_next_cancel(round, &cancel));
	ck_assert_uint_eq(cancel.task, UINT32_MAX);
	ck_assert(iso_round_next_cancel(round, &cancel));
	ck_assert_uint_eq(cancel.worker, 1);
	ck_assert(!iso_round_next_cancel(round, &cancel));
	ck_assert(!iso_round_next_order(round, 20 * MS, tasks, 8, &order));
	free(round);
}
END_TEST

START_TEST(greedy_tells_a_silent_worker_again)
{
	struct iso_round *round = make(&standard);
	struct iso_round_task tasks[8], again[8];
	struct iso_round_order order;

	iso_round_join(round, 0, 0, 1, 1000000);
	iso_round_start(round, 0, 1, NULL);
	ck_assert(iso_round_next_order(round, 0, tasks, 8, &order));
	iso_round_tick(round, 1000 * MS);
	ck_assert(iso_round_next_order(round, 1000 * MS, again, 8, &order));
	ck_assert_mem_eq(tasks, again, 2 * sizeof(tasks[0]));
	ck_assert(order.with_params);
	ck_assert_uint_eq(iso_round_wake_ns(round), 3000 * MS);
	ck_assert_int_eq(give(round, 1001 * MS, 0, tasks[0], MS), ISO_ROUND_ACCEPTED);
	free(round);
}
END_TEST

START_TEST(what_is_not_finite_is_refused_and_done_again)
{
	struct iso_round_task tasks[6], again[6];
	struct iso_round *round = started(tasks);
	struct iso_round_order order;
	float gradient[PARAMS] = { 0 };
	struct iso_round_result result = { .term = TERM, .number = 1, .task = tasks[0].task,
					   .attempt = tasks[0].attempt, .on_cpu_ns = 10,
					   .gradient = gradient };
	const float bad[3] = { NAN, INFINITY, -INFINITY };

	for (int i = 0; i < 4; i++) {
		gradient[1] = i < 3 ? bad[i] : 0;
		result.loss = i < 3 ? 0 : (double)NAN;
		ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_NOT_FINITE);
		ck_assert(iso_round_next_order(round, 1, again, 6, &order));
		ck_assert_uint_eq(order.count, 1);
		ck_assert_uint_eq(again[0].task, tasks[0].task);
		result.worker = order.worker;
		result.attempt = again[0].attempt;
	}
	ck_assert_uint_eq(iso_round_totals(round)->not_finite, 4);
	ck_assert_uint_eq(iso_round_totals(round)->discarded_cpu_ns, 40);
	/* The largest finite float is one. */
	gradient[1] = FLT_MAX;
	result.loss = 0;
	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_ACCEPTED);
	free(round);
}
END_TEST

START_TEST(abandoned_work_is_counted)
{
	struct iso_round_task tasks[6];
	struct iso_round *round = started(tasks);
	const struct iso_round_result result = { .term = TERM, .number = 1, .task = tasks[0].task,
						 .attempt = tasks[0].attempt, .on_cpu_ns = 123,
						 .abandoned = true };

	ck_assert_int_eq(iso_round_result(round, 1, &result), ISO_ROUND_ABANDONED);
	ck_assert_uint_eq(iso_round_totals(round)->discarded_cpu_ns, 123);
	ck_assert_uint_eq(iso_round_totals(round)->abandoned, 1);
	free(round);
}
END_TEST

/*
 * Shares 1 and 0.5 CPU, tasks of 10 and 10 ms: results at 10, 20, 30, 40 ms and at
 * 20, 40 ms.  The sixth is at 40 ms, by when 1.5 CPUs have burnt 60 ms.
 */
START_TEST(greedy_cost_is_what_all_burn_until_the_last_needed_result)
{
	const uint32_t allocation[3] = { 4, 2, 0 };
	struct iso_round *round = make(&standard);
	struct iso_round_task tasks[6];
	struct iso_round_order order;

	iso_round_join(round, 0, 0, 1, 1000000);
	iso_round_join(round, 0, 1, 2, 500000);
	iso_round_start(round, 0, 1, allocation);
	ck_assert(iso_round_next_order(round, 0, tasks, 6, &order));
	ck_assert(iso_round_next_order(round, 0, tasks + 4, 6, &order));
	for (uint32_t t = 0; t < 6; t++)
		give(round, MS, t < 4 ? 0 : 1, tasks[t], 10 * MS);
	ck_assert(iso_round_complete(round));
	ck_assert_uint_eq(iso_round_totals(round)->greedy_cpu_ns, 60 * MS);
	free(round);
}
END_TEST

START_TEST(absent_workers_tasks_go_to_the_present)
{
	const uint32_t allocation[3] = { 0, 0, 6 };
	struct iso_round *round = make(&standard);
	struct iso_round_task tasks[6];
	struct iso_round_order order;

	iso_round_join(round, 0, 0, 1, 1000000);
	iso_round_join(round, 0, 1, 1, 500000);
	iso_round_start(round, 0, 1, allocation);
	/* 4 : 2 by their shares, since nothing else is known. */
	ck_assert(iso_round_next_order(round, 0, tasks, 6, &order));
	ck_assert_uint_eq(order.count, 4);
	ck_assert(iso_round_next_order(round, 0, tasks, 6, &order));
	ck_assert_uint_eq(order.count, 2);
	free(round);
}
END_TEST

START_TEST(a_configuration_that_makes_no_sense_is_refused)
{
	struct iso_round *round = NULL;
	static uint64_t memory[4096];

	for (int i = 0; i < 7; i++) {
		struct iso_round_config config = standard;

		switch (i) {
		case 0: config.workers = 0; break;
		case 1: config.batch = 0; break;
		case 2: config.params = 0; break;
		case 3: config.greedy_depth = 0; break;
		case 4: config.lease_min_ns = 0; break;
		case 5: config.threads_max = UINT32_MAX; break;
		case 6: config.lease_mads = 0; break;
		}
		ck_assert_uint_eq(iso_round_size(&config), 0);
		ck_assert_int_eq(iso_round_init(memory, sizeof(memory), &config, &round),
				 ISO_E_RANGE);
	}
	ck_assert_int_eq(iso_round_init(memory, iso_round_size(&standard) - 1, &standard, &round),
			 ISO_E_SHORT);
	ck_assert_ptr_null(round);
}
END_TEST

START_TEST(dies_when_time_goes_back)
{
	struct iso_round *round = make(&standard);

	iso_round_tick(round, 10);
	iso_round_tick(round, 9);
}
END_TEST

START_TEST(dies_of_an_allocation_that_is_not_the_batch)
{
	const uint32_t allocation[3] = { 5, 0, 0 };

	iso_round_start(make(&standard), 0, 1, allocation);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("round");
	TCase *tcase = tcase_create("results and leases");

	tcase_add_test(tcase, a_round_ends_with_the_mean_of_its_results);
	tcase_add_test(tcase, a_result_counts_once_and_only_in_its_round_and_term);
	tcase_add_test(tcase, a_silent_workers_tasks_go_to_another);
	tcase_add_test(tcase, a_lone_silent_worker_is_asked_again_more_and_more_patiently);
	tcase_add_test(tcase, leases_follow_the_workers_own_times_and_share);
	tcase_add_test(tcase, spread_of_the_times_makes_leases_longer);
	tcase_add_test(tcase, tasks_of_one_that_leaves_wait_for_one_that_comes);
	tcase_add_test(tcase, a_restarted_worker_gets_its_tasks_again);
	tcase_add_test(tcase, greedy_keeps_everybody_busy_until_enough_is_in);
	tcase_add_test(tcase, greedy_tells_a_silent_worker_again);
	tcase_add_test(tcase, what_is_not_finite_is_refused_and_done_again);
	tcase_add_test(tcase, abandoned_work_is_counted);
	tcase_add_test(tcase, greedy_cost_is_what_all_burn_until_the_last_needed_result);
	tcase_add_test(tcase, absent_workers_tasks_go_to_the_present);
	tcase_add_test(tcase, a_configuration_that_makes_no_sense_is_refused);
	tcase_add_test_raise_signal(tcase, dies_when_time_goes_back, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_of_an_allocation_that_is_not_the_batch, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
