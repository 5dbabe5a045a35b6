/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ata/strategy.h"
#include "lib/sim/speeds.h"
#include "tests/test.h"
#include "tests/unit/whole_run.h"

#include <math.h>

/* Runs whose events can be counted on one's fingers. */

/*
 * Workers that need 1, 2 and 4 s, until four gradients are in: the first gives
 * three and the second one, at 1, 2, 2 and 3 s.  Then the second has computed
 * for one and the third for three seconds in vain.
 */
START_TEST(a_greedy_round_costs_n_times_its_time)
{
	struct run run = run_with_constants(3, (const double[]){ 1, 2, 4 });
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_RENNALA, .batch = 4 }, NULL);
	for (uint64_t round = 1; round <= 5; round++) {
		struct iso_training_totals totals = run_after_rounds(&run, round);

		ck_assert_double_eq(totals.time_s, 3.0 * (double)round);
		ck_assert_double_eq(totals.worker_s, 9.0 * (double)round);
		ck_assert_double_eq(totals.cpu_s, 9.0 * (double)round);
		ck_assert_double_eq(totals.discarded_s, 4.0 * (double)round);
		ck_assert_uint_eq(totals.started, 6 * round);
		ck_assert_uint_eq(totals.computed, 4 * round);
		ck_assert_uint_eq(totals.stopped, 2 * round);
		ck_assert_uint_eq(totals.updates, round);
	}
	run_finish(&run);
}
END_TEST

/* Everybody goes on by himself: 12 + 6 + 3 ends until 12 s. */
START_TEST(asynchronous_workers_never_wait)
{
	struct run run = run_with_constants(3, (const double[]){ 1, 2, 4 });
	struct iso_training_totals totals;

	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = run_at_time(&run, 12);
	ck_assert_double_eq(totals.time_s, 12);
	ck_assert_uint_eq(totals.computed, 21);
	ck_assert_uint_eq(totals.updates, 21);
	ck_assert_uint_eq(totals.running, 3);
	ck_assert_double_eq(totals.worker_s, 36);
	/* Between two events time passes as well. */
	totals = run_at_time(&run, 12.5);
	ck_assert_uint_eq(totals.computed, 21);
	ck_assert_double_eq(totals.worker_s, 37.5);
	ck_assert_double_eq(totals.discarded_s, 0);
	run_finish(&run);
}
END_TEST

/* OFTA for means 1, 2, 4 and 7 tasks: 4, 2 and 1 of them, 4 s, no work in vain. */
START_TEST(an_allocated_round_ends_with_its_last_task)
{
	struct run run = run_with_constants(3, (const double[]){ 1, 2, 4 });
	struct iso_training_totals totals;

	run_strategy(&run, ISO_STRATEGY_OFTA, 7);
	for (uint32_t w = 0; w < 3; w++)
		iso_strategy_set_mean(run.strategy, w, iso_law_mean(&run.laws[w]));
	run.config.means_s = (const double[]){ 1, 2, 4 };
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 7 },
		  NULL);
	totals = run_after_rounds(&run, 3);
	ck_assert_double_eq(totals.time_s, 12);
	ck_assert_double_eq(totals.worker_s, 36);
	ck_assert_uint_eq(totals.started, 21);
	ck_assert_double_eq(totals.regret_s, 0);
	ck_assert_uint_eq(totals.settled_round, 1);
	run_finish(&run);
}
END_TEST

/* Not 0, which would look as good as can be. */
START_TEST(without_means_there_is_no_regret)
{
	struct run run = run_with_constants(3, (const double[]){ 1, 2, 4 });

	run_strategy(&run, ISO_STRATEGY_UTA, 6);
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 6 },
		  NULL);
	ck_assert_double_nan(run_after_rounds(&run, 5).regret_s);
	run_finish(&run);
}
END_TEST

/* Two tasks each: max(2, 4, 8) instead of 4 s is a regret of 4 s a round. */
START_TEST(the_regret_is_that_of_the_proxy_loss)
{
	struct run run = run_with_constants(3, (const double[]){ 1, 2, 4 });
	struct iso_training_totals totals;

	run_strategy(&run, ISO_STRATEGY_UTA, 6);
	run.config.means_s = (const double[]){ 1, 2, 4 };
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 6 },
		  NULL);
	totals = run_after_rounds(&run, 5);
	ck_assert_double_eq(totals.time_s, 40);
	ck_assert_double_eq(totals.worker_s, 5 * 14);
	ck_assert_double_eq(totals.regret_s, 5 * (8 - 4));
	run_finish(&run);
}
END_TEST

/*
 * A task of 10: speed 1/2 from 4 s, share 2 from 10 s.  4 + 3 are done by
 * then, the rest goes at 2 * 1/2, to 13 s; on the CPU 4 + 6 + 3 * 2.
 */
START_TEST(a_running_task_follows_its_speed_exactly)
{
	static const struct iso_speed_change changes[] = {
		{ ISO_SPEED_SPEED, 4, 0, 0, 0.5 },
		{ ISO_SPEED_SHARE, 10, 0, 0, 2 },
		{ ISO_SPEED_SPEED, 14, 0, 0, 0 },
		{ ISO_SPEED_SPEED, 20, 0, 0, 4 },
	};
	struct run run = run_with_constants(1, (const double[]){ 10 });
	struct iso_training_totals totals;

	run_changes(&run, changes, 4);
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = run_at_time(&run, 12.5);
	ck_assert_uint_eq(totals.computed, 0);
	ck_assert_double_eq(totals.worker_s, 12.5);
	ck_assert_double_eq(totals.cpu_s, 10 + 2 * 2.5);
	totals = run_at_time(&run, 13);
	ck_assert_uint_eq(totals.computed, 1);
	ck_assert_double_eq(totals.worker_s, 13);
	ck_assert_double_eq(totals.cpu_s, 16);
	/* The next one: 1 of 10 until 14 s, nothing until 20, the rest at 8 in 9/8 s. */
	totals = run_at_time(&run, 21);
	ck_assert_uint_eq(totals.computed, 1);
	totals = run_at_time(&run, 21.125);
	ck_assert_uint_eq(totals.computed, 2);
	ck_assert_double_eq(totals.worker_s, 21.125);
	ck_assert_double_eq(totals.cpu_s, 16 + 2 * 8.125);
	run_finish(&run);
}
END_TEST

/*
 * Twice the share halves the wall time and leaves the time on the CPU; half the speed
 * doubles both.  What the strategy learns is the one or the other.
 */
START_TEST(a_strategy_learns_the_time_that_is_asked_for)
{
	static const struct iso_speed_change changes[] = { { ISO_SPEED_SHARE, 0, 0, 0, 2 },
							   { ISO_SPEED_SPEED, 0, 0, 0, 0.25 } };

	for (int wall = 0; wall < 2; wall++) {
		struct run run = run_with_constants(1, (const double[]){ 5 });

		run_changes(&run, changes, 2);
		run_strategy(&run, ISO_STRATEGY_ATA_EMPIRICAL, 3);
		run.config.observe_wall = wall == 1;
		run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH }, NULL);
		(void)run_until(&run, 100, 2, ISO_TRAINING_ROUNDS);
		struct iso_ata_samples samples = iso_strategy_samples(run.strategy, 0);
		ck_assert_double_eq(samples.count, 6);
		ck_assert_double_eq(samples.sum_s, wall == 1 ? 60 : 120);
		run_finish(&run);
	}
}
END_TEST

/* Of two alike, the one with four times the share gets four times the tasks, and that is best. */
START_TEST(a_strategy_knows_the_shares)
{
	static const struct iso_speed_change changes[] = { { ISO_SPEED_SHARE, 0, 0, 0, 4 },
							   { ISO_SPEED_SHARE, 4, 0, 0, 1 } };
	struct run run = run_with_constants(2, (const double[]){ 2, 2 });
	struct iso_training_totals totals;

	run_changes(&run, changes, 2);
	run_strategy(&run, ISO_STRATEGY_OFTA, 5);
	iso_strategy_set_mean(run.strategy, 0, 2);
	iso_strategy_set_mean(run.strategy, 1, 2);
	run.config.means_s = (const double[]){ 2, 2 };
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH }, NULL);
	/* Two rounds of four tasks and one, of 2 s; then three and two, of 6 s. */
	totals = run_after_rounds(&run, 3);
	ck_assert_double_eq(totals.time_s, 2 + 2 + 6);
	ck_assert_uint_eq(totals.computed, 15);
	ck_assert_double_eq(totals.regret_s, 0);
	run_finish(&run);
}
END_TEST

/* Speeds are hidden from all others. */
START_TEST(an_oracle_knows_the_speeds)
{
	static const struct iso_speed_change changes[] = { { ISO_SPEED_SPEED, 0, 0, 0, 4 },
							   { ISO_SPEED_SPEED, 0, 1, 1, 0 },
							   { ISO_SPEED_SPEED, 5, 1, 1, 2 } };

	for (int wall = 0; wall < 2; wall++) {
		struct run run = run_with_constants(2, (const double[]){ 2, 2 });
		struct iso_training_totals totals;

		run_changes(&run, changes, 3);
		run_strategy(&run, ISO_STRATEGY_OFTA, 5);
		run.config.means_s = (const double[]){ 2, 2 };
		run.config.is_oracle = true;
		run.config.observe_wall = wall == 1;
		run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH }, NULL);
		/* Two rounds of five tasks of the one that moves; then four and one, of 2 s. */
		totals = run_after_rounds(&run, 3);
		ck_assert_double_eq(totals.time_s, 2.5 + 2.5 + 2);
		ck_assert_uint_eq(totals.computed, 15);
		ck_assert_double_eq(totals.regret_s, 0);
		run_finish(&run);
	}
}
END_TEST

/* Who leaves takes its work with it; who joins late starts then. */
START_TEST(workers_come_and_go)
{
	static const struct iso_speed_change changes[] = {
		{ ISO_SPEED_LEAVE, 2.5, 0, 0, 0 },
		{ ISO_SPEED_JOIN, 3, 1, 1, 0 },
		{ ISO_SPEED_JOIN, 8, 0, 0, 0 },
	};
	struct run run = run_with_constants(2, (const double[]){ 1, 2 });
	struct iso_training_totals totals;

	run_changes(&run, changes, 3);
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = run_at_time(&run, 2.75);
	ck_assert_uint_eq(totals.computed, 2);
	ck_assert_uint_eq(totals.lost, 1);
	ck_assert_uint_eq(totals.running, 0);
	ck_assert_double_eq(totals.discarded_s, 0.5);
	totals = run_at_time(&run, 8);
	ck_assert_uint_eq(totals.computed, 2 + 2);
	totals = run_at_time(&run, 9);
	ck_assert_uint_eq(totals.computed, 4 + 2);
	run_finish(&run);
}
END_TEST

START_TEST(a_run_without_workers_is_stuck_until_one_comes)
{
	static const struct iso_speed_change changes[] = {
		{ ISO_SPEED_LEAVE, 1.5, 0, 0, 0 },
		{ ISO_SPEED_JOIN, 7, 0, 0, 0 },
		{ ISO_SPEED_LEAVE, 9, 0, 0, 0 },
	};
	struct run run = run_with_constants(1, (const double[]){ 1 });
	struct iso_training_totals totals;

	/* Shares that move for ever must not keep it going. */
	run_speeds(&run, &(struct iso_speeds_config){ .workers = 1,
						      .share = 1,
						      .changes = changes,
						      .change_count = 3,
						      .every_s = 0.75,
						      .share_least = 1,
						      .share_most = 1 });
	run_strategy(&run, ISO_STRATEGY_UTA, 1);
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 1 },
		  NULL);
	totals = run_until(&run, HUGE_VAL, UINT64_MAX, ISO_TRAINING_STUCK);
	/* Ends at 1 and 8 s; what would have ended at 9 s leaves just before. */
	ck_assert_double_eq(totals.time_s, 9);
	ck_assert_uint_eq(totals.rounds, 2);
	run_finish(&run);
}
END_TEST

/*
 * Two workers of 2 and 3 s, step 1/2, from 64: at 2 s the first has 64 and
 * makes it 32; at 3 s the second has 64 still and makes it 0; at 4 s the
 * first has 32: -16; at 6 s the first, which was given -16, makes it -8, and the
 * second, which was given 0 at 3 s, leaves it.
 */
START_TEST(gradients_are_those_of_the_point_that_was_given)
{
	static uint32_t params = 3;
	struct run run = run_with_constants(2, (const double[]){ 2, 3 });
	static const double expected[][2] = { { 1, 64 },  { 2, 32 }, { 3, 0 },
					      { 4, -16 }, { 6, -8 }, { 8, -4 } };
	const float x[3] = { 64, 64, 64 };

	run.config.problem = (struct iso_problem){ params, &params, run_identity };
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD, .step = 0.5 }, x);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		float now[3];

		(void)run_at_time(&run, expected[i][0]);
		iso_method_point(run.method, now);
		for (int p = 0; p < 3; p++)
			ck_assert_double_eq(now[p], expected[i][1]);
	}
	run_finish(&run);
}
END_TEST

static double overflow(void *context, uint32_t worker, const float *x, struct iso_rng *rng,
		       float *ret_gradient)
{
	(void)context;
	(void)worker;
	(void)rng;
	ret_gradient[0] = x[0] * x[0];
	return 0;
}

/* -1, -2 and -6 at 1, 2 and 3 s and so on: each is more than the square of the one before. */
START_TEST(a_run_ends_where_its_gradients_are_no_numbers)
{
	const float x[1] = { -1 };
	struct run run = run_with_constants(1, (const double[]){ 1 });

	run.config.problem = (struct iso_problem){ 1, NULL, overflow };
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD, .step = 1 }, x);
	struct iso_training_totals totals =
	    run_until(&run, 1000, UINT64_MAX, ISO_TRAINING_DIVERGED);
	ck_assert_double_lt(totals.time_s, 12);
	ck_assert_uint_eq(totals.ignored, 1);
	ck_assert_uint_eq(totals.computed, totals.used + totals.ignored);
	ck_assert_uint_eq(totals.updates, totals.used);
	ck_assert_double_eq(totals.discarded_s, 1);
	/* And stays there. */
	ck_assert_double_eq(run_until(&run, 1000, UINT64_MAX, ISO_TRAINING_DIVERGED).time_s,
			    totals.time_s);
	run_finish(&run);
}
END_TEST

START_TEST(tasks_of_another_size_take_as_much_longer)
{
	static const struct iso_law size = { .kind = ISO_LAW_CONSTANT, .scale = 3 };
	struct run run = run_with_constants(1, (const double[]){ 2 });
	struct iso_training_totals totals;

	run.config.size = &size;
	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = run_at_time(&run, 18);
	ck_assert_uint_eq(totals.computed, 3);
	run_finish(&run);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct run run = run_with_constants(2, (const double[]){ 1, 2 });
	struct iso_training_config bad;
	uint64_t memory[64];

	run_start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	bad = run.config;
	ck_assert_uint_gt(iso_training_size(&bad), sizeof(memory));
	ck_assert_int_eq(iso_training_init(memory, sizeof(memory), &bad, &run.training),
			 ISO_E_SHORT);
	bad.workers = 0;
	ck_assert_uint_eq(iso_training_size(&bad), 0);
	bad = run.config;
	bad.kind = ISO_METHOD_MINIBATCH; /* wants an allocation */
	ck_assert_int_eq(iso_training_init(memory, sizeof(memory), &bad, &run.training),
			 ISO_E_RANGE);
	bad = run.config;
	bad.capped = true;
	ck_assert_uint_eq(iso_training_size(&bad), 0);
	bad = run.config;
	bad.problem.params = 1; /* and no gradient */
	ck_assert_uint_eq(iso_training_size(&bad), 0);
	run_finish(&run);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("training");
	TCase *tcase = tcase_create("driver");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_greedy_round_costs_n_times_its_time);
	tcase_add_test(tcase, asynchronous_workers_never_wait);
	tcase_add_test(tcase, an_allocated_round_ends_with_its_last_task);
	tcase_add_test(tcase, the_regret_is_that_of_the_proxy_loss);
	tcase_add_test(tcase, without_means_there_is_no_regret);
	tcase_add_test(tcase, a_running_task_follows_its_speed_exactly);
	tcase_add_test(tcase, a_strategy_learns_the_time_that_is_asked_for);
	tcase_add_test(tcase, a_strategy_knows_the_shares);
	tcase_add_test(tcase, an_oracle_knows_the_speeds);
	tcase_add_test(tcase, workers_come_and_go);
	tcase_add_test(tcase, a_run_without_workers_is_stuck_until_one_comes);
	tcase_add_test(tcase, gradients_are_those_of_the_point_that_was_given);
	tcase_add_test(tcase, a_run_ends_where_its_gradients_are_no_numbers);
	tcase_add_test(tcase, tasks_of_another_size_take_as_much_longer);
	tcase_add_test(tcase, what_makes_no_sense_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
