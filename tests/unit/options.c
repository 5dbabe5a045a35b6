/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ata/drift.h"
#include "lib/ata/norm.h"
#include "lib/ata/strategy.h"
#include "tests/test.h"
#include "tests/unit/pupil.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The practice options of the strategies; tests/sim/remedies.c shows what they are good for. */

START_TEST(norms_are_those_of_known_distributions)
{
	static double times[20000];

	/* Always 3 from the centre: exp(3/c) = 2. */
	times[0] = 4;
	times[1] = 10;
	ck_assert_double_eq_tol(iso_ata_norm(times, 2, 7), 3 / log(2), 1e-9);
	ck_assert_double_eq(iso_ata_norm(times, 1, 4), 0);
	/* The quantiles of Exp(5), whose norm is 10. */
	for (int i = 0; i < 20000; i++)
		times[i] = -5 * log(1 - (i + 0.5) / 20000);
	ck_assert_double_eq_tol(iso_ata_norm(times, 20000, 0), 10, 0.15);
	/* Of U(0, 1): c (exp(1/c) - 1) = 2, c = 0.7959. */
	for (int i = 0; i < 20000; i++)
		times[i] = (i + 0.5) / 20000;
	ck_assert_double_eq_tol(iso_ata_norm(times, 20000, 0), 0.79587, 1e-4);
}
END_TEST

START_TEST(drift_is_noticed_soon_and_its_times_are_the_new_ones)
{
	const double factors[] = { 8, 0.2 };

	for (int i = 0; i < 2; i++) {
		struct iso_ata_drift drift = { 0 };
		struct iso_ata_samples known = { 0 }, since = { 77, 77, 77 };
		struct iso_rng rng = { test_seed_base() };
		int late = 0;

		for (int u = 0; u < 2000; u++) {
			double time_s = 1 - log(1 - iso_rng_unit(&rng));

			ck_assert(!iso_ata_drift_add(&drift, &known, time_s, 24, &since));
			iso_ata_samples_add(&known, time_s);
		}
		ck_assert_double_eq(since.count, 77);
		while (!iso_ata_drift_add(
		    &drift, &known, factors[i] * (1 - log(1 - iso_rng_unit(&rng))), 24, &since))
			late++;
		/* 3.5 deviations a time upwards, about 1 downwards, to 24. */
		ck_assert_int_le(late, i == 0 ? 9 : 32);
		ck_assert_double_eq_tol(iso_ata_mean_s(&since) / (2 * factors[i]), 1, 0.4);
		ck_assert_double_eq(drift.up + drift.down, 0);
	}
}
END_TEST

START_TEST(irregular_times_alone_are_no_drift)
{
	struct iso_ata_drift drift = { 0 };
	struct iso_ata_samples known = { 0 }, since;
	struct iso_rng rng = { test_seed_base() };
	unsigned alarms = 0;

	for (int u = 0; u < 300000; u++) {
		double time_s = 1e-9 - log(1 - iso_rng_unit(&rng));

		alarms += iso_ata_drift_add(&drift, &known, time_s, 24, &since);
		iso_ata_samples_add(&known, time_s);
	}
	ck_assert_uint_eq(alarms, 0);
}
END_TEST

START_TEST(one_long_time_is_no_drift)
{
	struct iso_ata_drift drift = { 0 };
	struct iso_ata_samples known = { 0 }, since;

	for (int u = 0; u < 100; u++) {
		ck_assert(!iso_ata_drift_add(&drift, &known, 1 + 0.1 * (u % 2), 24, &since));
		iso_ata_samples_add(&known, 1 + 0.1 * (u % 2));
	}
	ck_assert(!iso_ata_drift_add(&drift, &known, 1e6, 24, &since));
	for (int u = 0; u < 20; u++)
		ck_assert(!iso_ata_drift_add(&drift, &known, 1.05, 24, &since));
	ck_assert_double_eq(drift.up, 0);
}
END_TEST

START_TEST(the_first_tasks_come_before_all_else)
{
	struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 9,
						   &(struct iso_ata_options){ .explore_tasks = 3 });
	uint32_t tasks[PUPILS];

	for (uint32_t i = 0; i < 3; i++)
		pupil_teach(strategy, i, 1e9, i == 0 ? 1 : 1e6);
	/* Worker 3 gets one a round, worker 0 all others. */
	for (uint64_t round = 1; round <= 3; round++) {
		pupil_allocate(strategy, round, tasks);
		ck_assert(iso_strategy_exploring(strategy));
		ck_assert_uint_eq(tasks[0], 8);
		ck_assert_uint_eq(tasks[3], 1);
		pupil_observe(strategy, 3, 1e9);
	}
	/* Then its score, which is 0. */
	pupil_allocate(strategy, 4, tasks);
	ck_assert_uint_eq(tasks[3], 9);
	free(strategy);
	/* All of them: evenly.  More than tasks: drawn. */
	strategy =
	    pupil_with(ISO_STRATEGY_ATA_POOLED, 9, &(struct iso_ata_options){ .explore_tasks = 3 });
	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_observe(strategy, i, i + 1);
	pupil_allocate(strategy, 1, tasks);
	for (uint32_t i = 0; i < PUPILS; i++)
		ck_assert(tasks[i] == 2 || tasks[i] == 3);
	free(strategy);
	strategy =
	    pupil_with(ISO_STRATEGY_ATA_POOLED, 3, &(struct iso_ata_options){ .explore_tasks = 3 });
	for (uint64_t round = 1; round <= 4; round++) {
		pupil_allocate(strategy, round, tasks);
		for (uint32_t i = 0; i < PUPILS; i++)
			ck_assert_uint_le(tasks[i], 1);
	}
	free(strategy);
}
END_TEST

START_TEST(old_times_fade_and_the_bound_looks_back_no_further)
{
	struct iso_strategy *strategy =
	    pupil_with(ISO_STRATEGY_ATA_POOLED, 2, &(struct iso_ata_options){ .discount = 0.9 });
	uint32_t tasks[PUPILS];

	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_teach(strategy, i, 1000, 1 + i);
	pupil_allocate(strategy, 1, tasks);
	ck_assert_double_eq(iso_strategy_samples(strategy, 2).count, 1000);
	pupil_allocate(strategy, 2, tasks);
	ck_assert_double_eq_tol(iso_strategy_samples(strategy, 2).count, 900, 1e-9);
	pupil_allocate(strategy, 12, tasks);
	ck_assert_double_eq_tol(iso_strategy_samples(strategy, 2).count, 900 * pow(0.9, 10), 1e-9);
	ck_assert_double_eq_tol(iso_strategy_samples(strategy, 2).sum_s, 2700 * pow(0.9, 10), 1e-9);
	/* Next to nothing is nothing. */
	pupil_allocate(strategy, 250, tasks);
	ck_assert_double_gt(iso_strategy_samples(strategy, 2).count, 0);
	pupil_allocate(strategy, 290, tasks);
	ck_assert_double_eq(iso_strategy_samples(strategy, 2).count, 0);
	/* ln(2k^2) of the 10 rounds that are remembered, not of 10^12. */
	pupil_teach(strategy, 0, 1000, 1);
	pupil_allocate(strategy, 1000000000000, tasks);
	ck_assert_double_eq(iso_strategy_samples(strategy, 0).count, 0);
	pupil_teach(strategy, 0, 1000, 1);
	pupil_allocate(strategy, 1000000000000, tasks);
	struct iso_ata_samples known = { 1000, 1000, 0 };
	/* Who is alone has the prior's spread, as 8 samples, and its own 999. */
	double variance = 8.0 * (4 * 1.0) / (4 + 16) / (8 + 999);
	ck_assert_double_eq_tol(iso_strategy_scores(strategy)[0],
				iso_ata_score_pooled(&known, variance, log(2 * 100)), 2e-3);
	free(strategy);
}
END_TEST

START_TEST(smoothed_scores_are_a_moving_average)
{
	struct iso_strategy *plain =
	    pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 2, &(struct iso_ata_options){ 0 });
	struct iso_strategy *smooth = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 2,
						 &(struct iso_ata_options){ .smoothing = 0.25 });
	double average = 0;
	uint32_t tasks[PUPILS];

	for (uint64_t round = 1; round <= 40; round++) {
		for (uint32_t i = 0; i < PUPILS; i++) {
			pupil_teach(plain, i, 1e6, (double)(round % 7 + i + 1));
			pupil_teach(smooth, i, 1e6, (double)(round % 7 + i + 1));
		}
		pupil_allocate(plain, round, tasks);
		pupil_allocate(smooth, round, tasks);
		double score = iso_strategy_scores(plain)[2];
		average = round == 1 ? score : average + 0.25 * (score - average);
		ck_assert_double_eq_tol(iso_strategy_scores(smooth)[2], average, 1e-12);
	}
	free(plain);
	free(smooth);
}
END_TEST

START_TEST(smoothing_does_not_delay_what_is_known_of_shares)
{
	struct iso_strategy_config config = {
		.kind = ISO_STRATEGY_ATA_POOLED,
		.workers = PUPILS,
		.batch = 7,
		.by_rate = true,
		.options.smoothing = 0.01,
	};
	struct iso_strategy *strategy = pupil_new(&config);
	uint32_t tasks[PUPILS];

	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_teach(strategy, i, 1e9, 1);
	pupil_allocate(strategy, 1, tasks);
	double before = iso_strategy_scores(strategy)[1];
	iso_strategy_set_rate(strategy, 1, 4);
	pupil_allocate(strategy, 2, tasks);
	ck_assert_double_eq_tol(iso_strategy_scores(strategy)[1], before / 4, 1e-6);
	ck_assert_uint_eq(tasks[1], 4);
	free(strategy);
}
END_TEST

START_TEST(an_allocation_is_kept_for_some_rounds)
{
	struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 6,
						   &(struct iso_ata_options){ .every_rounds = 10 });
	uint32_t tasks[PUPILS];

	/* While exploring each round has its own: another one of four is drawn first. */
	struct iso_strategy *exploring =
	    pupil_with(ISO_STRATEGY_ATA, 1, &(struct iso_ata_options){ .every_rounds = 1000 });
	unsigned changes = 0;
	for (uint64_t round = 1; round <= 40; round++) {
		pupil_allocate(exploring, round, tasks);
		changes += iso_strategy_changed(exploring);
	}
	ck_assert_uint_gt(changes, 15);
	free(exploring);
	for (uint32_t i = 1; i < PUPILS; i++)
		pupil_teach(strategy, i, 1e6, 1);
	pupil_allocate(strategy, 1, tasks);
	ck_assert_uint_eq(tasks[0], 6);
	pupil_teach(strategy, 0, 1e6, 1);
	pupil_allocate(strategy, 2, tasks);
	ck_assert(iso_strategy_changed(strategy));
	ck_assert_uint_eq(tasks[0], 2);
	/* Worker 0 is slow now; in round 12 this is taken up. */
	for (int u = 0; u < 10000000 && iso_strategy_samples(strategy, 0).count < 3e6; u++)
		pupil_observe(strategy, 0, 100);
	for (uint64_t round = 3; round < 12; round++) {
		pupil_allocate(strategy, round, tasks);
		ck_assert_uint_eq(tasks[0], 2);
		ck_assert(!iso_strategy_changed(strategy));
	}
	pupil_allocate(strategy, 12, tasks);
	ck_assert(iso_strategy_changed(strategy));
	ck_assert_uint_eq(tasks[0], 0);
	ck_assert_uint_eq(tasks[1], 2);
	/* One that leaves is noticed at once. */
	iso_strategy_set_present(strategy, 1, false);
	pupil_allocate(strategy, 13, tasks);
	ck_assert_uint_eq(tasks[1], 0);
	ck_assert_uint_eq(tasks[2], 3);
	free(strategy);
}
END_TEST

START_TEST(late_times_count_unless_by_round)
{
	uint32_t tasks[PUPILS];

	for (int by_round = 0; by_round < 2; by_round++) {
		struct iso_strategy *strategy =
		    pupil_with(ISO_STRATEGY_ATA_POOLED, 6,
			       &(struct iso_ata_options){ .by_round = by_round == 1 });

		pupil_allocate(strategy, 5, tasks);
		iso_strategy_observe(strategy, 0, &(struct iso_ata_task){ 1, 1, 4 });
		ck_assert_double_eq(iso_strategy_samples(strategy, 0).count, 1 - by_round);
		iso_strategy_observe(strategy, 0, &(struct iso_ata_task){ 1, 1, 5 });
		iso_strategy_observe(strategy, 0, &(struct iso_ata_task){ 1, 1, 0 });
		ck_assert_double_eq(iso_strategy_samples(strategy, 0).count, 3 - by_round);
		free(strategy);
	}
}
END_TEST

START_TEST(by_cost_what_is_learnt_is_time_over_cost)
{
	uint32_t tasks[PUPILS];

	for (int by_cost = 0; by_cost < 2; by_cost++) {
		struct iso_strategy *strategy =
		    pupil_with(ISO_STRATEGY_ATA_POOLED, 6,
			       &(struct iso_ata_options){ .by_cost = by_cost == 1 });

		pupil_allocate(strategy, 1, tasks);
		iso_strategy_observe(strategy, 1, &(struct iso_ata_task){ 12, 4, 0 });
		ck_assert_double_eq(iso_strategy_samples(strategy, 1).sum_s, by_cost == 1 ? 3 : 12);
		iso_strategy_observe(strategy, 1, &(struct iso_ata_task){ 12, 0, 0 });
		iso_strategy_observe(strategy, 1, &(struct iso_ata_task){ 12, NAN, 0 });
		iso_strategy_observe(strategy, 1, &(struct iso_ata_task){ 12, -1, 0 });
		ck_assert_double_eq(iso_strategy_samples(strategy, 1).count, by_cost == 1 ? 1 : 4);
		free(strategy);
	}
}
END_TEST

START_TEST(calibration_measures_the_largest_norms)
{
	const struct iso_ata_options options = { .calibrate_tasks = 4 };
	struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA, 6, &options);
	uint32_t tasks[PUPILS];

	/* Worker i: i + 1 times 0.5, 1.5, 0.5, 1.5, so that the norm is half that over ln 2. */
	for (int u = 0; u < 4; u++) {
		for (uint32_t i = 0; i < PUPILS; i++) {
			if (u == 3 && i == 2)
				continue;
			pupil_observe(strategy, i, (i + 1) * (u % 2 == 0 ? 0.5 : 1.5));
		}
	}
	pupil_allocate(strategy, 1, tasks);
	ck_assert(!iso_strategy_calibrated(strategy));
	ck_assert(iso_strategy_exploring(strategy));
	ck_assert_uint_ge(tasks[2], 1);
	ck_assert_double_eq(iso_strategy_width(strategy).alpha_s, 0.1);
	pupil_observe(strategy, 2, 4.5);
	pupil_allocate(strategy, 2, tasks);
	ck_assert(iso_strategy_calibrated(strategy));
	ck_assert_double_eq_tol(iso_strategy_width(strategy).alpha_s, 2 / log(2), 1e-9);
	ck_assert_double_eq_tol(iso_strategy_width(strategy).eta, 0.5 / log(2), 1e-9);
	ck_assert_double_eq(iso_strategy_width(strategy).constant, 2);
	/* Once and for all. */
	pupil_observe(strategy, 2, 4500);
	pupil_allocate(strategy, 3, tasks);
	ck_assert_double_eq_tol(iso_strategy_width(strategy).alpha_s, 2 / log(2), 1e-9);
	free(strategy);
	/* ata-pooled has nothing to calibrate. */
	strategy = pupil_with(ISO_STRATEGY_ATA_POOLED, 6, &options);
	pupil_observe(strategy, 0, 1);
	pupil_allocate(strategy, 1, tasks);
	ck_assert_uint_eq(iso_strategy_worker_bytes(strategy), 72);
	free(strategy);
}
END_TEST

/* Times may be in any unit: what a width is at least goes with them. */
START_TEST(calibration_of_times_that_never_vary_has_their_unit)
{
	const struct iso_ata_options options = { .calibrate_tasks = 4 };
	uint32_t tasks[PUPILS];

	for (double unit = 1e-12; unit < 1e13; unit *= 1e12) {
		struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA, 6, &options);

		for (uint32_t u = 0; u < 4 * PUPILS; u++)
			pupil_observe(strategy, u % PUPILS, unit);
		pupil_allocate(strategy, 1, tasks);
		ck_assert(iso_strategy_calibrated(strategy));
		ck_assert_double_gt(iso_strategy_width(strategy).alpha_s, 0);
		ck_assert_double_lt(iso_strategy_width(strategy).alpha_s, 1e-8 * unit);
		ck_assert_double_lt(iso_strategy_width(strategy).eta, 1e-8);
		free(strategy);
	}
}
END_TEST

/* A profile has a mean and a deviation, and no single times. */
START_TEST(calibration_measures_nothing_that_is_imported)
{
	const struct iso_ata_options options = { .calibrate_tasks = 4, .explore_tasks = 20 };
	struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 6, &options);
	struct iso_strategy *other = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 6, &options);
	uint32_t tasks[PUPILS];
	uint8_t bytes[256];

	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_teach(strategy, i, 100, i + 1);
	for (int u = 0; u < 4; u++) {
		pupil_allocate(strategy, 1 + (uint64_t)u, tasks);
		ck_assert(!iso_strategy_calibrated(strategy));
		/* In the middle, what a checkpoint says. */
		if (u == 2) {
			ck_assert_uint_le(iso_strategy_worker_bytes(strategy), sizeof(bytes));
			for (uint32_t i = 0; i < PUPILS; i++) {
				iso_strategy_save_worker(strategy, i, bytes);
				ck_assert_ok(iso_strategy_restore_worker(other, i, bytes));
			}
		}
		for (uint32_t i = 0; i < PUPILS; i++) {
			ck_assert_uint_ge(tasks[i], 1);
			pupil_observe(strategy, i, (i + 1) * (u % 2 == 0 ? 0.5 : 1.5));
			if (u >= 2)
				pupil_observe(other, i, (i + 1) * (u % 2 == 0 ? 0.5 : 1.5));
		}
	}
	for (int i = 0; i < 2; i++) {
		struct iso_strategy *at = i == 0 ? strategy : other;

		pupil_allocate(at, 5, tasks);
		ck_assert(iso_strategy_calibrated(at));
		ck_assert_double_eq_tol(iso_strategy_width(at).alpha_s, 2 / log(2), 1e-9);
		ck_assert_double_eq_tol(iso_strategy_width(at).eta, 0.5 / log(2), 1e-9);
	}
	/* As first tasks they do count. */
	ck_assert(!iso_strategy_exploring(strategy));
	free(strategy);
	free(other);
}
END_TEST

START_TEST(workers_that_are_alike_share_their_samples)
{
	struct iso_strategy *strategy =
	    pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 6, &(struct iso_ata_options){ .cluster = 0.1 });
	uint32_t tasks[PUPILS];

	/* One is known well, two are as fast with too few samples for a score, one is slow. */
	pupil_teach(strategy, 0, 100000, 1);
	pupil_teach(strategy, 1, 20, 1.05);
	pupil_teach(strategy, 2, 20, 0.2);
	pupil_teach(strategy, 3, 100000, 7);
	pupil_allocate(strategy, 5, tasks);
	ck_assert_uint_eq(iso_strategy_cluster(strategy, 2), 1);
	ck_assert_uint_eq(iso_strategy_cluster(strategy, 0), 2);
	ck_assert_uint_eq(iso_strategy_cluster(strategy, 1), 2);
	ck_assert_uint_eq(iso_strategy_cluster(strategy, 3), 3);
	struct iso_ata_width width = { ISO_ATA_WIDTH_FINAL, 1, 1 };
	struct iso_ata_samples both = { 100020, 100021, 0 };
	ck_assert_double_eq_tol(iso_strategy_scores(strategy)[1],
				0.9 * iso_ata_score_empirical(&both, &width, iso_ata_log_term(5)),
				1e-9);
	/* Alone it has a timid score, and the well-known one's own is the better. */
	struct iso_ata_samples alone = { 20, 4, 0 };
	ck_assert_double_eq_tol(iso_strategy_scores(strategy)[2],
				iso_ata_score_reopened(&alone, 2, iso_ata_log_term(5)), 1e-9);
	ck_assert_double_gt(iso_strategy_scores(strategy)[0], 0.95);
	free(strategy);
	/* Within the errors of few samples, yet never said to be slower than its own mean. */
	strategy =
	    pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 6, &(struct iso_ata_options){ .cluster = 0.1 });
	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_teach(strategy, i, i == 0 ? 2 : 1000000, i == 0 ? 0.7 : 1);
	pupil_allocate(strategy, 5, tasks);
	ck_assert_uint_eq(iso_strategy_cluster(strategy, 0), iso_strategy_cluster(strategy, 1));
	ck_assert_double_eq(iso_strategy_scores(strategy)[0], 0.7);
	free(strategy);
}
END_TEST

START_TEST(a_changed_worker_is_explored_anew_and_draws_not_all_tasks)
{
	struct iso_strategy *strategy =
	    pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 8, &(struct iso_ata_options){ .drift = 24 });
	uint32_t tasks[PUPILS];

	for (uint32_t i = 0; i < PUPILS; i++)
		for (int u = 0; u < 4000; u++)
			pupil_observe(strategy, i, 0.9 + 0.1 * (u % 3));
	pupil_allocate(strategy, 10, tasks);
	ck_assert_uint_eq(tasks[1], 2);
	ck_assert_uint_eq(iso_strategy_drifts(strategy, 1), 0);
	for (int u = 0; u < 10; u++)
		pupil_observe(strategy, 1, 20);
	ck_assert_uint_eq(iso_strategy_drifts(strategy, 1), 1);
	ck_assert_double_le(iso_strategy_samples(strategy, 1).count, 10);
	ck_assert_double_eq_tol(
	    iso_ata_mean_s(&(struct iso_ata_samples){ iso_strategy_samples(strategy, 1).count,
						      iso_strategy_samples(strategy, 1).sum_s, 0 }),
	    20, 1e-9);
	/* Its own score would be 0, for which it would get all 8. */
	pupil_allocate(strategy, 11, tasks);
	ck_assert(!iso_strategy_exploring(strategy));
	ck_assert_double_gt(iso_strategy_scores(strategy)[1], 1);
	ck_assert_double_lt(iso_strategy_scores(strategy)[1], 10);
	ck_assert_uint_le(tasks[1], 1);
	free(strategy);
	/* Nor with ata-pooled, which has no width to go by. */
	strategy = pupil_with(ISO_STRATEGY_ATA_POOLED, 8, &(struct iso_ata_options){ .drift = 24 });
	for (uint32_t i = 0; i < PUPILS; i++)
		for (int u = 0; u < 400; u++)
			pupil_observe(strategy, i, 0.9 + 0.1 * (u % 3));
	for (int u = 0; u < 7; u++)
		pupil_observe(strategy, 1, 20);
	ck_assert_uint_eq(iso_strategy_drifts(strategy, 1), 1);
	pupil_allocate(strategy, 10, tasks);
	ck_assert_double_gt(iso_strategy_scores(strategy)[1], 1);
	ck_assert_double_lt(iso_strategy_scores(strategy)[1], 19);
	free(strategy);
	/* What was averaged before the change is past. */
	strategy = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 8,
			      &(struct iso_ata_options){ .drift = 24, .smoothing = 0.01 });
	for (uint32_t i = 0; i < PUPILS; i++)
		for (int u = 0; u < 4000; u++)
			pupil_observe(strategy, i, 0.9 + 0.1 * (u % 3));
	pupil_allocate(strategy, 10, tasks);
	for (int u = 0; u < 3000; u++)
		pupil_observe(strategy, 1, 20);
	pupil_allocate(strategy, 11, tasks);
	ck_assert_double_gt(iso_strategy_scores(strategy)[1], 10);
	free(strategy);
}
END_TEST

START_TEST(who_is_never_used_is_tried_now_and_then)
{
	struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 6,
						   &(struct iso_ata_options){ .probe_rounds = 7 });
	uint32_t tasks[PUPILS], tried = 0;

	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_teach(strategy, i, 1e9, i == 3 ? 1000 : 1);
	for (uint64_t round = 1; round <= 700; round++) {
		pupil_allocate(strategy, round, tasks);
		tried += tasks[3];
		ck_assert_uint_le(tasks[3], 1);
		ck_assert_uint_eq(tasks[0] + tasks[1] + tasks[2] + tasks[3], 6);
	}
	/* Seven rounds without one, and then one. */
	ck_assert_uint_eq(tried, 700 / 8);
	free(strategy);
}
END_TEST

/* One round without a task is no probe for those who have one in each. */
START_TEST(who_is_used_is_not_probed)
{
	struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 12,
						   &(struct iso_ata_options){ .probe_rounds = 1 });
	uint32_t tasks[PUPILS], tried = 0;

	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_teach(strategy, i, 1e9, i == 0 ? 1 : i == 3 ? 1000 : 5);
	for (uint64_t round = 1; round <= 60; round++) {
		pupil_allocate(strategy, round, tasks);
		ck_assert_uint_ge(tasks[0], 8);
		tried += tasks[3];
	}
	ck_assert_uint_eq(tried, 30);
	free(strategy);
}
END_TEST

/* A kept allocation gives its workers tasks in each round; one with a probe is not kept. */
START_TEST(probes_leave_a_kept_allocation_as_it_is)
{
	struct iso_strategy *strategy =
	    pupil_with(ISO_STRATEGY_ATA_EMPIRICAL, 6,
		       &(struct iso_ata_options){ .every_rounds = 50, .probe_rounds = 20 });
	uint32_t tasks[PUPILS], usual[PUPILS], tried = 0, others = 0;

	for (uint32_t i = 0; i < PUPILS; i++)
		pupil_teach(strategy, i, 1e9, i == 3 ? 1000 : 1);
	pupil_allocate(strategy, 1, usual);
	for (uint64_t round = 2; round <= 2000; round++) {
		pupil_allocate(strategy, round, tasks);
		tried += tasks[3];
		others += tasks[3] == 0 && memcmp(tasks, usual, sizeof(tasks)) != 0;
	}
	/* Once, and then a new allocation for 50 rounds. */
	ck_assert_uint_eq(tried, 39);
	ck_assert_uint_eq(others, 0);
	free(strategy);
}
END_TEST

START_TEST(an_imported_worker_is_believed_so_far)
{
	struct iso_strategy *strategy =
	    pupil_with(ISO_STRATEGY_ATA_POOLED, 6, &(struct iso_ata_options){ .explore_tasks = 5 });
	const struct iso_ata_samples wrong[] = {
		{ 0, 0, 0 },   { 10, 0, 0 },   { -1, 1, 0 },
		{ NAN, 1, 0 }, { 10, -5, 0 },  { 10, INFINITY, 0 },
		{ 10, 5, -1 }, { 10, 5, NAN }, { 1e-300, 1e9, 0 },
	};

	ck_assert_ok(
	    iso_strategy_import(strategy, 1, (struct iso_ata_samples){ 4000, 2000, 400 }, 100));
	struct iso_ata_samples known = iso_strategy_samples(strategy, 1);
	ck_assert_double_eq_tol(known.count, 100, 1e-9);
	ck_assert_double_eq_tol(known.sum_s, 50, 1e-9);
	ck_assert_double_eq_tol(known.squares_s2, 10, 1e-9);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(iso_strategy_import(strategy, 1, wrong[i], 100), ISO_E_RANGE);
	ck_assert_double_eq(iso_strategy_samples(strategy, 1).count, known.count);
	free(strategy);
}
END_TEST

START_TEST(options_out_of_range_are_refused)
{
	const struct iso_ata_options wrong[] = {
		{ .discount = -0.1 }, { .discount = 1.1 },	{ .discount = NAN },
		{ .smoothing = 2 },   { .cluster = -1 },	{ .drift = 3.9 },
		{ .drift = 1001 },    { .calibrate_tasks = 3 }, { .calibrate_tasks = 4097 },
	};
	struct iso_strategy_config config = {
		.kind = ISO_STRATEGY_ATA_POOLED,
		.workers = 2,
		.batch = 3,
	};

	ck_assert_uint_gt(iso_strategy_size(&config), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		config.options = wrong[i];
		ck_assert_uint_eq(iso_strategy_size(&config), 0);
	}
	/* At their ends they are off: no memory, no effect. */
	config.options = (struct iso_ata_options){ 0 };
	size_t bare = iso_strategy_size(&config);
	config.options = (struct iso_ata_options){ .discount = 1, .smoothing = 1, .cluster = 1 };
	ck_assert_uint_eq(iso_strategy_size(&config), bare);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("practice");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, norms_are_those_of_known_distributions);
	tcase_add_test(tcase, drift_is_noticed_soon_and_its_times_are_the_new_ones);
	tcase_add_test(tcase, irregular_times_alone_are_no_drift);
	tcase_add_test(tcase, one_long_time_is_no_drift);
	tcase_add_test(tcase, the_first_tasks_come_before_all_else);
	tcase_add_test(tcase, old_times_fade_and_the_bound_looks_back_no_further);
	tcase_add_test(tcase, smoothed_scores_are_a_moving_average);
	tcase_add_test(tcase, smoothing_does_not_delay_what_is_known_of_shares);
	tcase_add_test(tcase, an_allocation_is_kept_for_some_rounds);
	tcase_add_test(tcase, late_times_count_unless_by_round);
	tcase_add_test(tcase, by_cost_what_is_learnt_is_time_over_cost);
	tcase_add_test(tcase, calibration_measures_the_largest_norms);
	tcase_add_test(tcase, calibration_of_times_that_never_vary_has_their_unit);
	tcase_add_test(tcase, calibration_measures_nothing_that_is_imported);
	tcase_add_test(tcase, workers_that_are_alike_share_their_samples);
	tcase_add_test(tcase, a_changed_worker_is_explored_anew_and_draws_not_all_tasks);
	tcase_add_test(tcase, who_is_never_used_is_tried_now_and_then);
	tcase_add_test(tcase, who_is_used_is_not_probed);
	tcase_add_test(tcase, probes_leave_a_kept_allocation_as_it_is);
	tcase_add_test(tcase, an_imported_worker_is_believed_so_far);
	tcase_add_test(tcase, options_out_of_range_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
