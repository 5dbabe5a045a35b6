/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/dispatch.h"
#include "tests/test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MS   1000000ull
#define TERM 7

static const struct iso_dispatch_config standard = {
	.workers = 3, .tasks_max = 12, .threads_max = 4, .lease_mads = 8,
	.lease_first_ns = 1000 * MS, .lease_min_ns = 20 * MS, .movable = true,
	.newest_only = true, .term = TERM, .serial = 100,
};

static struct iso_dispatch_task tasks[12], again[12];
static struct iso_dispatch_order order;
static struct iso_dispatch_cancel cancel;
static struct iso_dispatch_done done;
static struct iso_dispatch_move move;

static struct iso_dispatch *make(const struct iso_dispatch_config *config)
{
	size_t size = iso_dispatch_size(config);
	struct iso_dispatch *dispatch = NULL;

	ck_assert_ok(iso_dispatch_init(malloc(size), size, config, &dispatch));
	return dispatch;
}

/* The next order, which must be to this worker and of so many tasks. */
static void ordered(struct iso_dispatch *dispatch, uint64_t now_ns,
		    struct iso_dispatch_task *ret_tasks, uint32_t worker, uint32_t count)
{
	ck_assert(iso_dispatch_next_order(dispatch, now_ns, ret_tasks, 12, &order));
	ck_assert_uint_eq(order.worker, worker);
	ck_assert_uint_eq(order.count, count);
}

/* Two workers with one thread and one CPU each, and 4 + 2 tasks at version 1 handed out. */
static struct iso_dispatch *started(const struct iso_dispatch_config *config)
{
	struct iso_dispatch *dispatch = make(config);

	iso_dispatch_join(dispatch, 0, 0, 1, 1000000);
	iso_dispatch_join(dispatch, 0, 1, 1, 1000000);
	iso_dispatch_start(dispatch, 0, 0, 4, 1, 55);
	iso_dispatch_start(dispatch, 0, 1, 2, 1, 55);
	ordered(dispatch, 0, tasks, 0, 4);
	ck_assert(order.with_params);
	ordered(dispatch, 0, tasks + 4, 1, 2);
	ck_assert(!iso_dispatch_next_order(dispatch, 0, again, 12, &order));
	return dispatch;
}

static enum iso_dispatch_verdict give(struct iso_dispatch *dispatch, uint64_t now_ns,
				      uint32_t worker, struct iso_dispatch_task task,
				      uint64_t on_cpu_ns)
{
	const struct iso_dispatch_result result = {
		.term = TERM, .task = task.task, .attempt = task.attempt, .worker = worker,
		.finite = true, .on_cpu_ns = on_cpu_ns,
	};

	return iso_dispatch_result(dispatch, now_ns, &result, &done);
}

static void accepted(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t worker,
		     struct iso_dispatch_task task, uint64_t on_cpu_ns)
{
	ck_assert_int_eq(give(dispatch, now_ns, worker, task, on_cpu_ns), ISO_DISPATCH_ACCEPTED);
}

START_TEST(a_result_comes_back_with_what_its_task_was)
{
	struct iso_dispatch *dispatch = started(&standard);

	for (uint32_t t = 0; t < 6; t++) {
		uint32_t worker = t < 4 ? 0 : 1;

		ck_assert_uint_eq(tasks[t].serial, 100 + t);
		ck_assert_uint_eq(tasks[t].attempt, 1);
		accepted(dispatch, 10 * MS, worker, tasks[t], 5 * MS);
		ck_assert_uint_eq(done.worker, worker);
		ck_assert_uint_eq(done.version, 1);
		ck_assert_uint_eq(done.serial, 100 + t);
		ck_assert_uint_eq(done.tag, 55);
	}
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->accepted, 6);
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->accepted_cpu_ns, 30 * MS);
	ck_assert_uint_eq(iso_dispatch_serial(dispatch), 106);
	ck_assert_uint_eq(iso_dispatch_wake_ns(dispatch), UINT64_MAX);
	free(dispatch);
}
END_TEST

START_TEST(a_result_counts_once_and_only_in_its_term)
{
	struct iso_dispatch_config config = standard;

	config.tasks_max = 6;
	struct iso_dispatch *dispatch = started(&config);
	const struct iso_dispatch_totals *totals = iso_dispatch_totals(dispatch);
	struct iso_dispatch_result result = { .term = TERM, .task = tasks[0].task, .attempt = 1,
					      .finite = true, .on_cpu_ns = 10 };
	struct iso_dispatch_done untouched;

	memset(&untouched, 0x5a, sizeof(untouched));
	accepted(dispatch, 1, 0, tasks[0], 10);
	done = untouched;
	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done), ISO_DISPATCH_LATE);
	result.task = tasks[1].task;
	result.attempt = 2; /* never handed out */
	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done), ISO_DISPATCH_LATE);
	result.attempt = 0;
	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done), ISO_DISPATCH_LATE);
	result.attempt = 1;
	result.task += 1ull << 32; /* of another generation */
	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done), ISO_DISPATCH_LATE);
	result.task = 12; /* no such slot */
	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done), ISO_DISPATCH_LATE);
	result.task = tasks[1].task;
	result.term = TERM - 1;
	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done),
			 ISO_DISPATCH_OTHER_TERM);
	ck_assert_mem_eq(&done, &untouched, sizeof(done));
	ck_assert_uint_eq(totals->accepted, 1);
	ck_assert_uint_eq(totals->late, 5);
	ck_assert_uint_eq(totals->late_cpu_ns, 50);
	ck_assert_uint_eq(totals->other_term, 1);
	/* A slot that is used again has another number. */
	iso_dispatch_start(dispatch, 2, 0, 1, 1, 0);
	ordered(dispatch, 2, again, 0, 1);
	ck_assert_uint_eq((uint32_t)again[0].task, (uint32_t)tasks[0].task);
	ck_assert_uint_ne(again[0].task, tasks[0].task);
	ck_assert_int_eq(give(dispatch, 2, 0, tasks[0], 10), ISO_DISPATCH_LATE);
	free(dispatch);
}
END_TEST

START_TEST(a_silent_workers_tasks_go_to_another)
{
	struct iso_dispatch *dispatch = started(&standard);
	int moves = 0;

	/* Worker 1 delivers, worker 0 says nothing within the first lease. */
	accepted(dispatch, 10 * MS, 1, tasks[4], 5 * MS);
	accepted(dispatch, 20 * MS, 1, tasks[5], 5 * MS);
	ck_assert_uint_eq(iso_dispatch_wake_ns(dispatch), 1000 * MS);
	ck_assert(!iso_dispatch_tick(dispatch, 999 * MS, &move));
	ck_assert(!iso_dispatch_next_order(dispatch, 999 * MS, again, 12, &order));
	for (; iso_dispatch_tick(dispatch, 1000 * MS, &move); moves++)
		ck_assert(move.from == 0 && move.to == 1);
	ck_assert_int_eq(moves, 4);
	ck_assert(iso_dispatch_worker(dispatch, 0).suspect);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).leases_expired, 1);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).tasks, 0);
	ordered(dispatch, 1000 * MS, again, 1, 4);
	ck_assert(!order.with_params); /* it has shown that it has them */
	ck_assert_uint_eq(again[0].task, tasks[0].task);
	ck_assert_uint_eq(again[0].serial, tasks[0].serial);
	ck_assert_uint_eq(again[0].attempt, 2);
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->moved, 4);
	/* A late result whose task is open is as good, and the other need not go on. */
	ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
	accepted(dispatch, 1001 * MS, 0, tasks[0], 900 * MS);
	ck_assert_uint_eq(done.worker, 1);
	ck_assert(!iso_dispatch_worker(dispatch, 0).suspect);
	ck_assert(iso_dispatch_next_cancel(dispatch, &cancel));
	ck_assert_uint_eq(cancel.worker, 1);
	ck_assert_uint_eq(cancel.task, tasks[0].task);
	ck_assert_uint_eq(cancel.attempt, 2);
	ck_assert_uint_eq(cancel.oldest, 0);
	ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
	/* And what the other had done of it is counted. */
	ck_assert_int_eq(give(dispatch, 1002 * MS, 1, again[0], 6 * MS), ISO_DISPATCH_LATE);
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->late_cpu_ns, 6 * MS);
	/* The other way round the first one need not go on. */
	accepted(dispatch, 1003 * MS, 1, again[1], 6 * MS);
	ck_assert(iso_dispatch_next_cancel(dispatch, &cancel));
	ck_assert_uint_eq(cancel.worker, 0);
	ck_assert_uint_eq(cancel.task, tasks[1].task);
	ck_assert_uint_eq(cancel.attempt, 1);
	free(dispatch);
}
END_TEST

START_TEST(own_data_is_asked_for_again_more_and_more_patiently)
{
	struct iso_dispatch_config config = standard;
	uint64_t now_ns = 0, wait_ns = 1000 * MS;

	config.movable = false;
	struct iso_dispatch *dispatch = started(&config);
	accepted(dispatch, 0, 1, tasks[4], MS);
	accepted(dispatch, 0, 1, tasks[5], MS);
	for (uint32_t time = 1; time <= 9; time++) {
		ck_assert_uint_eq(iso_dispatch_wake_ns(dispatch), now_ns + wait_ns);
		now_ns += wait_ns;
		wait_ns = wait_ns < 64000 * MS ? 2 * wait_ns : wait_ns;
		ck_assert(!iso_dispatch_tick(dispatch, now_ns, &move));
		ordered(dispatch, now_ns, again, 0, 4);
		ck_assert(order.with_params);
		/* The same tasks, and who has them can see that. */
		for (uint32_t t = 0; t < 4; t++) {
			ck_assert_uint_eq(again[t].task, tasks[t].task);
			ck_assert_uint_eq(again[t].serial, tasks[t].serial);
			ck_assert_uint_eq(again[t].attempt, time + 1);
		}
		ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).leases_expired, time);
	}
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->resent, 36);
	/* Nobody else can answer for it. */
	ck_assert_int_eq(give(dispatch, now_ns, 1, tasks[0], 1), ISO_DISPATCH_LATE);
	accepted(dispatch, now_ns, 0, tasks[0], 1);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).leases_expired, 0);
	free(dispatch);
}
END_TEST

START_TEST(no_lease_is_longer_than_an_hour)
{
	struct iso_dispatch_config config = standard;

	config.movable = false;
	config.lease_first_ns = 3000 * 1000 * MS;
	struct iso_dispatch *dispatch = started(&config);
	uint64_t now_ns = iso_dispatch_wake_ns(dispatch);
	ck_assert_uint_eq(now_ns, 3000 * 1000 * MS);
	while (iso_dispatch_tick(dispatch, now_ns, &move))
		;
	for (uint32_t i = 0; i < 2; i++)
		ck_assert(iso_dispatch_next_order(dispatch, now_ns, again, 12, &order));
	ck_assert_uint_eq(iso_dispatch_wake_ns(dispatch), now_ns + 3600 * 1000 * MS);
	free(dispatch);
}
END_TEST

START_TEST(leases_follow_the_workers_own_times_and_share)
{
	struct iso_dispatch *dispatch = started(&standard);

	/* 40 ms on CPU, no spread: the next one is due 40 ms after the third. */
	for (uint32_t t = 0; t < 3; t++)
		accepted(dispatch, 100 * MS, 0, tasks[t], 40 * MS);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).median_ns, 40 * MS);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).lease_end_ns, 140 * MS);
	/* A quarter of the share: four times as long.  Worker 1 keeps its first lease. */
	iso_dispatch_set_rate(dispatch, 100 * MS, 0, 1, 250000);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).lease_end_ns, 260 * MS);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 1).lease_end_ns, 1000 * MS);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 2).lease_end_ns, UINT64_MAX);
	/* Never below the minimum. */
	iso_dispatch_set_rate(dispatch, 100 * MS, 0, 4, 4000000);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).lease_end_ns, 120 * MS);
	free(dispatch);
}
END_TEST

START_TEST(spread_of_the_times_makes_leases_longer)
{
	struct iso_dispatch *dispatch = started(&standard);
	const uint64_t times[3] = { 30 * MS, 40 * MS, 60 * MS };

	for (uint32_t t = 0; t < 3; t++)
		accepted(dispatch, 100 * MS, 0, tasks[t], times[t]);
	/* Median 40, deviations 10, 0, 20: MAD 10, and 40 + 8 * 10. */
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).lease_end_ns, 220 * MS);
	free(dispatch);
}
END_TEST

START_TEST(what_a_worker_had_is_forgotten_when_it_leaves)
{
	struct iso_dispatch *dispatch = started(&standard);

	ck_assert_uint_eq(iso_dispatch_leave(dispatch, 5 * MS, 0), 4);
	ck_assert_uint_eq(iso_dispatch_leave(dispatch, 5 * MS, 0), 0);
	ck_assert_int_eq(give(dispatch, 6 * MS, 0, tasks[0], MS), ISO_DISPATCH_LATE);
	/* Also what somebody else was being looked for. */
	const struct iso_dispatch_result bad = { .term = TERM, .task = tasks[4].task, .attempt = 1,
						 .worker = 1 };
	ck_assert_int_eq(iso_dispatch_result(dispatch, 6 * MS, &bad, &done),
			 ISO_DISPATCH_NOT_FINITE);
	ck_assert_uint_eq(iso_dispatch_leave(dispatch, 6 * MS, 1), 2);
	ck_assert(!iso_dispatch_tick(dispatch, 6 * MS, &move));
	/* A restarted one has no parameters, and is told no more than it asks for. */
	iso_dispatch_join(dispatch, 7 * MS, 1, 1, 1000000);
	ck_assert_int_eq(give(dispatch, 8 * MS, 1, tasks[4], MS), ISO_DISPATCH_LATE);
	ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
	iso_dispatch_start(dispatch, 9 * MS, 1, 2, 1, 0);
	ordered(dispatch, 9 * MS, again, 1, 2);
	ck_assert(order.with_params);
	free(dispatch);
}
END_TEST

START_TEST(a_worker_taken_back_drops_what_it_has_before_it_gets_more)
{
	struct iso_dispatch *dispatch = started(&standard);

	iso_dispatch_join(dispatch, MS, 0, 1, 1000000);
	iso_dispatch_start(dispatch, MS, 0, 1, 1, 0);
	iso_dispatch_drop(dispatch, 0);
	ck_assert(iso_dispatch_next_cancel(dispatch, &cancel));
	ck_assert_uint_eq(cancel.worker, 0);
	ck_assert_uint_eq(cancel.oldest, UINT64_MAX);
	ck_assert_uint_eq(cancel.attempt, 0);
	ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
	ordered(dispatch, MS, again, 0, 1);
	free(dispatch);
}
END_TEST

START_TEST(a_newer_order_voids_older_ones_only_in_rounds)
{
	for (int rounds = 0; rounds <= 1; rounds++) {
		struct iso_dispatch_config config = standard;

		config.newest_only = rounds == 1;
		struct iso_dispatch *dispatch = started(&config);
		iso_dispatch_start(dispatch, MS, 0, 1, 2, 0);
		ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
		ordered(dispatch, MS, again, 0, 1);
		ck_assert_uint_eq(order.version, 2);
		ck_assert_uint_eq(order.oldest, rounds == 1 ? 2 : 0);
		/* What it has is still believed: only the worker is told. */
		accepted(dispatch, 2 * MS, 0, tasks[0], MS);
		ck_assert_uint_eq(done.version, 1);
		free(dispatch);
	}
}
END_TEST

START_TEST(stopped_tasks_are_forgotten_and_their_worker_hears_of_it)
{
	struct iso_dispatch_config config = standard;

	config.newest_only = false;
	struct iso_dispatch *dispatch = started(&config);
	iso_dispatch_start(dispatch, MS, 0, 1, 3, 0);
	ordered(dispatch, MS, again, 0, 1);
	ck_assert_uint_eq(iso_dispatch_stop(dispatch, 2 * MS, 0, 2), 4);
	ck_assert_uint_eq(iso_dispatch_stop(dispatch, 2 * MS, 0, 2), 0);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).tasks, 1);
	ck_assert(iso_dispatch_next_cancel(dispatch, &cancel));
	ck_assert_uint_eq(cancel.worker, 0);
	ck_assert_uint_eq(cancel.oldest, 2);
	ck_assert_uint_eq(cancel.attempt, 0);
	ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
	ck_assert_int_eq(give(dispatch, 3 * MS, 0, tasks[1], MS), ISO_DISPATCH_LATE);
	/* With an order on the way to it, that says it. */
	ck_assert_uint_eq(iso_dispatch_stop(dispatch, 4 * MS, 0, 4), 1);
	iso_dispatch_start(dispatch, 4 * MS, 0, 2, 5, 0);
	ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
	ordered(dispatch, 4 * MS, again, 0, 2);
	ck_assert_uint_eq(order.oldest, 4);
	ck_assert(!iso_dispatch_next_cancel(dispatch, &cancel));
	free(dispatch);
}
END_TEST

START_TEST(a_worker_can_stand_on_several_points)
{
	struct iso_dispatch_config config = standard;
	uint64_t version;

	config.newest_only = false;
	config.movable = false;
	struct iso_dispatch *dispatch = make(&config);
	iso_dispatch_join(dispatch, 0, 0, 3, 3000000);
	iso_dispatch_join(dispatch, 0, 1, 1, 1000000);
	for (uint64_t v = 1; v <= 3; v++) {
		iso_dispatch_start(dispatch, 0, 0, 1, v, 0);
		ordered(dispatch, 0, tasks + v, 0, 1);
		ck_assert_uint_eq(order.version, v);
		ck_assert(order.with_params);
	}
	/* A result of an older point does not show that it has the newest. */
	accepted(dispatch, 0, 0, tasks[2], 1);
	iso_dispatch_start(dispatch, 0, 0, 1, 3, 0);
	ordered(dispatch, 0, tasks + 2, 0, 1);
	ck_assert(order.with_params);
	/* The other one begins at the newest; the first goes on at what it was given last. */
	iso_dispatch_start(dispatch, 0, 1, 1, 4, 0);
	ordered(dispatch, 0, again, 1, 1);
	accepted(dispatch, 1, 0, tasks[3], 1);
	iso_dispatch_start(dispatch, 1, 0, 2, 3, 0);
	ordered(dispatch, 1, again, 0, 2);
	ck_assert_uint_eq(order.version, 3);
	ck_assert(!order.with_params);
	uint32_t third = order.point;
	ck_assert(iso_dispatch_point_in_use(dispatch, third, &version));
	ck_assert_uint_eq(version, 3);
	/* What is sent again comes with its own point. */
	ck_assert(!iso_dispatch_tick(dispatch, 5000 * MS, &move));
	uint32_t seen = 0;
	while (iso_dispatch_next_order(dispatch, 5000 * MS, again, 12, &order)) {
		ck_assert_uint_eq(order.worker, order.version == 4 ? 1 : 0);
		ck_assert(order.with_params == (order.version != 3));
		seen |= 1u << order.version;
	}
	ck_assert_uint_eq(seen, 2 + 8 + 16);
	/* Nobody needs a point that all have left. */
	iso_dispatch_leave(dispatch, 5000 * MS, 0);
	ck_assert(!iso_dispatch_point_in_use(dispatch, third, &version));
	uint32_t used = 0;
	for (uint32_t p = 0; p < iso_dispatch_points(dispatch); p++)
		used += iso_dispatch_point_in_use(dispatch, p, &version);
	ck_assert_uint_eq(used, 1);
	ck_assert_uint_eq(version, 4);
	free(dispatch);
}
END_TEST

START_TEST(what_is_not_finite_is_refused_and_done_again_by_another)
{
	struct iso_dispatch *dispatch = started(&standard);
	struct iso_dispatch_result result = { .term = TERM, .task = tasks[0].task, .attempt = 1,
					      .on_cpu_ns = 10 };

	for (uint32_t i = 1; i <= 4; i++) {
		ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done),
				 ISO_DISPATCH_NOT_FINITE);
		(void)iso_dispatch_tick(dispatch, 1, &move);
		ck_assert(iso_dispatch_next_order(dispatch, 1, again, 12, &order));
		ck_assert_uint_eq(order.count, 1);
		ck_assert_uint_eq(again[0].task, tasks[0].task);
		ck_assert_uint_gt(again[0].attempt, result.attempt);
		/* As long as the other one has not done so as well. */
		ck_assert(i > 1 || order.worker == 1);
		result.worker = order.worker;
		result.attempt = again[0].attempt;
	}
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->not_finite, 4);
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->not_finite_cpu_ns, 40);
	result.finite = true;
	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done), ISO_DISPATCH_ACCEPTED);
	free(dispatch);
}
END_TEST

START_TEST(abandoned_work_is_counted)
{
	struct iso_dispatch *dispatch = started(&standard);
	const struct iso_dispatch_result result = { .term = TERM, .task = tasks[0].task,
						    .attempt = 1, .on_cpu_ns = 123,
						    .abandoned = true };

	ck_assert_int_eq(iso_dispatch_result(dispatch, 1, &result, &done), ISO_DISPATCH_ABANDONED);
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->abandoned_cpu_ns, 123);
	ck_assert_uint_eq(iso_dispatch_totals(dispatch)->abandoned, 1);
	ck_assert_uint_eq(iso_dispatch_worker(dispatch, 0).tasks, 4);
	free(dispatch);
}
END_TEST

/*
 * Shares 1 and 0.5 CPU, tasks of 10 and 10 ms: results at 10, 20, 30, 40 ms and at
 * 20, 40 ms.  The sixth is at 40 ms, by when 1.5 CPUs have burnt 60 ms.
 */
START_TEST(greedy_cost_is_what_all_burn_until_the_last_needed_result)
{
	struct iso_dispatch *dispatch = started(&standard);

	iso_dispatch_set_rate(dispatch, 0, 1, 2, 500000);
	for (uint32_t t = 0; t < 6; t++)
		accepted(dispatch, MS, t < 4 ? 0 : 1, tasks[t], 10 * MS);
	ck_assert_uint_eq(iso_dispatch_greedy_ns(dispatch, 6), 60 * MS);
	free(dispatch);
}
END_TEST

START_TEST(a_configuration_that_makes_no_sense_is_refused)
{
	struct iso_dispatch *dispatch = NULL;
	static uint64_t memory[4096];

	for (int i = 0; i < 6; i++) {
		struct iso_dispatch_config config = standard;

		switch (i) {
		case 0: config.workers = 0; break;
		case 1: config.tasks_max = 0; break;
		case 2: config.threads_max = 0; break;
		case 3: config.lease_first_ns = 0; break;
		case 4: config.lease_min_ns = 0; break;
		case 5: config.lease_mads = 0; break;
		}
		ck_assert_uint_eq(iso_dispatch_size(&config), 0);
		ck_assert_int_eq(iso_dispatch_init(memory, sizeof(memory), &config, &dispatch),
				 ISO_E_RANGE);
	}
	ck_assert_int_eq(iso_dispatch_init(memory, iso_dispatch_size(&standard) - 1, &standard,
					   &dispatch),
			 ISO_E_SHORT);
	ck_assert_ptr_null(dispatch);
}
END_TEST

START_TEST(dies_when_time_goes_back)
{
	struct iso_dispatch *dispatch = make(&standard);

	(void)iso_dispatch_tick(dispatch, 10, &move);
	(void)iso_dispatch_tick(dispatch, 9, &move);
}
END_TEST

START_TEST(dies_of_more_tasks_than_there_is_room_for)
{
	iso_dispatch_start(started(&standard), 0, 0, 7, 1, 0);
}
END_TEST

START_TEST(dies_of_an_order_to_one_who_is_not_here)
{
	iso_dispatch_start(started(&standard), 0, 2, 1, 1, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("dispatch");
	TCase *tcase = tcase_create("tasks and leases");

	tcase_add_test(tcase, a_result_comes_back_with_what_its_task_was);
	tcase_add_test(tcase, a_result_counts_once_and_only_in_its_term);
	tcase_add_test(tcase, a_silent_workers_tasks_go_to_another);
	tcase_add_test(tcase, own_data_is_asked_for_again_more_and_more_patiently);
	tcase_add_test(tcase, no_lease_is_longer_than_an_hour);
	tcase_add_test(tcase, leases_follow_the_workers_own_times_and_share);
	tcase_add_test(tcase, spread_of_the_times_makes_leases_longer);
	tcase_add_test(tcase, what_a_worker_had_is_forgotten_when_it_leaves);
	tcase_add_test(tcase, a_worker_taken_back_drops_what_it_has_before_it_gets_more);
	tcase_add_test(tcase, a_newer_order_voids_older_ones_only_in_rounds);
	tcase_add_test(tcase, stopped_tasks_are_forgotten_and_their_worker_hears_of_it);
	tcase_add_test(tcase, a_worker_can_stand_on_several_points);
	tcase_add_test(tcase, what_is_not_finite_is_refused_and_done_again_by_another);
	tcase_add_test(tcase, abandoned_work_is_counted);
	tcase_add_test(tcase, greedy_cost_is_what_all_burn_until_the_last_needed_result);
	tcase_add_test(tcase, a_configuration_that_makes_no_sense_is_refused);
	tcase_add_test_raise_signal(tcase, dies_when_time_goes_back, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_of_more_tasks_than_there_is_room_for, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_of_an_order_to_one_who_is_not_here, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
