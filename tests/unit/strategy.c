/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ata/strategy.h"
#include "tests/test.h"
#include "tests/unit/pupil.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 5

static const struct iso_ata_width width = { ISO_ATA_WIDTH_FINAL, 0.1, 1 };

static struct iso_strategy *make(enum iso_strategy_kind kind, uint32_t workers, uint32_t batch)
{
	struct iso_strategy_config config = {
		.kind = kind, .workers = workers, .batch = batch, .width = width,
		.by_rate = true, .seed = test_seed_base(),
	};

	return pupil_new(&config);
}

/* Worker `to` is what the checkpoint of `from` says. */
static void resume(struct iso_strategy *strategy, uint32_t to, const struct iso_strategy *other,
		   uint32_t from)
{
	size_t size = iso_strategy_worker_bytes(other);
	uint8_t *bytes = malloc(size);

	ck_assert_uint_eq(iso_strategy_worker_bytes(strategy), size);
	iso_strategy_save_worker(other, from, bytes);
	ck_assert_ok(iso_strategy_restore_worker(strategy, to, bytes));
	free(bytes);
}

static uint32_t sum(const uint32_t *tasks, uint32_t n)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < n; i++)
		total += tasks[i];
	return total;
}

START_TEST(bounds_equal_hand_computed_values)
{
	/* K = 100, T = 50, k = 10: l = ln 200 = 5.29831737, sqrt(l/100) + l/100 = 0.28316391. */
	struct iso_ata_samples samples = { 100, 50, 0 };
	double log_term = iso_ata_log_term(10);

	ck_assert_double_eq_tol(log_term, 5.298317366548036, 1e-12);
	ck_assert_double_eq_tol(iso_ata_score(&samples, &width, log_term), 0.44336722, 1e-7);
	ck_assert_double_eq_tol(iso_ata_score_empirical(&samples, &width, log_term), 0.21683609,
				1e-7);
	struct iso_ata_width first = { ISO_ATA_WIDTH_FIRST, 0.1, 0.1 };
	/* 4e times as much: 0.5 - 0.1 * 10.87312731 * 0.28316391 and half of 1 minus that. */
	ck_assert_double_eq_tol(iso_ata_score(&samples, &first, log_term), 0.19211227, 1e-7);
	ck_assert_double_eq_tol(iso_ata_score_empirical(&samples, &first, log_term), 0.34605614,
				1e-7);
	ck_assert_double_eq_tol(ISO_ATA_WIDTH_FIRST, 4 * exp(1), 1e-14);
	/* No overflow of k^2. */
	ck_assert_double_eq_tol(iso_ata_log_term(UINT64_MAX), log(2) + 128 * log(2), 1e-9);
}
END_TEST

START_TEST(bounds_are_never_negative_and_zero_without_samples)
{
	struct iso_ata_samples none = { 0 }, few = { 1, 0.5, 0 };

	ck_assert_double_eq(iso_ata_score(&none, &width, iso_ata_log_term(1)), 0);
	ck_assert_double_eq(iso_ata_score_empirical(&none, &width, iso_ata_log_term(1)), 0);
	ck_assert_double_eq(iso_ata_score(&few, &width, iso_ata_log_term(1000)), 0);
	ck_assert_double_eq(iso_ata_score_empirical(&few, &width, iso_ata_log_term(1000)), 0);
	ck_assert_double_eq(iso_ata_mean_s(&none), 0);
	ck_assert_double_eq(iso_rate_cpus(2, 1500000), 1.5);
	ck_assert_double_eq(iso_rate_cpus(1, 1500000), 1);
}
END_TEST

START_TEST(unseen_workers_get_one_task_each_at_random)
{
	struct iso_strategy *strategy = make(ISO_STRATEGY_ATA, WORKERS, 2);
	uint32_t tasks[WORKERS], seen[WORKERS] = { 0 };

	pupil_teach(strategy, 0, 1000000, 1);
	for (int run = 0; run < 400; run++) {
		ck_assert_ok(iso_strategy_allocate(strategy, 1, tasks));
		ck_assert_uint_eq(sum(tasks, WORKERS), 2);
		ck_assert_uint_eq(tasks[0], 0);
		for (int i = 1; i < WORKERS; i++) {
			ck_assert_uint_le(tasks[i], 1);
			seen[i] += tasks[i];
		}
	}
	for (int i = 1; i < WORKERS; i++)
		ck_assert_uint_gt(seen[i], 140); /* 200 expected, sd 10 */
	free(strategy);
}
END_TEST

START_TEST(zero_scores_share_what_the_unseen_leave)
{
	struct iso_strategy *strategy = make(ISO_STRATEGY_ATA_EMPIRICAL, WORKERS, 10);
	uint32_t tasks[WORKERS], extra[WORKERS] = { 0 };

	pupil_teach(strategy, 0, 1000000, 1); /* positive */
	pupil_teach(strategy, 1, 2, 1); /* too few samples: 0 */
	pupil_teach(strategy, 2, 2, 50);
	pupil_teach(strategy, 3, 2, 0.02);
	for (int run = 0; run < 300; run++) {
		ck_assert_ok(iso_strategy_allocate(strategy, 100, tasks));
		ck_assert(iso_strategy_exploring(strategy));
		ck_assert_uint_eq(tasks[0], 0);
		ck_assert_uint_eq(tasks[4], 1);
		ck_assert_uint_eq(sum(tasks, WORKERS), 10); /* 3 each of the other 9 */
		for (int i = 1; i < 4; i++)
			ck_assert_uint_eq(tasks[i], 3);
	}
	/* With 5 unseen of 10 tasks and nobody else: 2 each, nothing is lost. */
	free(strategy);
	strategy = make(ISO_STRATEGY_ATA_EMPIRICAL, WORKERS, 12);
	for (int run = 0; run < 300; run++) {
		ck_assert_ok(iso_strategy_allocate(strategy, 1, tasks));
		ck_assert_uint_eq(sum(tasks, WORKERS), 12);
		for (int i = 0; i < WORKERS; i++) {
			ck_assert_uint_ge(tasks[i], 2);
			ck_assert_uint_le(tasks[i], 3);
			extra[i] += tasks[i] - 2;
		}
	}
	for (int i = 0; i < WORKERS; i++)
		ck_assert_uint_gt(extra[i], 80); /* 120 expected, sd 8.5 */
	free(strategy);
}
END_TEST

START_TEST(known_workers_are_allocated_by_speed_and_rate)
{
	struct iso_strategy *strategy = make(ISO_STRATEGY_ATA_EMPIRICAL, 3, 9);
	uint32_t tasks[3];

	for (uint32_t i = 0; i < 3; i++)
		pupil_teach(strategy, i, 100000000, 0.010);
	ck_assert_ok(iso_strategy_allocate(strategy, 5, tasks));
	ck_assert(!iso_strategy_exploring(strategy));
	ck_assert_uint_eq(tasks[0], 3);
	ck_assert_uint_eq(tasks[2], 3);
	/* The same on-CPU time, but twice the share of the two others together. */
	iso_strategy_set_rate(strategy, 0, 1.2);
	iso_strategy_set_rate(strategy, 1, 0.4);
	iso_strategy_set_rate(strategy, 2, 0.2);
	ck_assert_ok(iso_strategy_allocate(strategy, 5, tasks));
	ck_assert_uint_eq(tasks[0], 6);
	ck_assert_uint_eq(tasks[1], 2);
	ck_assert_uint_eq(tasks[2], 1);
	/* 0.010 s less the width: a wall time of 0.010 / 0.4 s. */
	ck_assert_double_eq_tol(iso_strategy_scores(strategy)[1], 0.025, 1e-4);
	/* One that leaves gets nothing and keeps what it taught. */
	iso_strategy_set_present(strategy, 0, false);
	ck_assert_ok(iso_strategy_allocate(strategy, 5, tasks));
	ck_assert_uint_eq(tasks[0], 0);
	ck_assert_uint_eq(tasks[1], 6);
	ck_assert_double_eq(iso_strategy_samples(strategy, 0).count, 100000000);
	free(strategy);
}
END_TEST

START_TEST(plain_form_ignores_the_rate)
{
	struct iso_strategy_config config = { .kind = ISO_STRATEGY_ATA, .workers = 2, .batch = 4,
					      .width = width };
	struct iso_strategy *strategy = pupil_new(&config);
	uint32_t tasks[2];

	for (uint32_t i = 0; i < 2; i++)
		pupil_teach(strategy, i, 100000000, 1);
	iso_strategy_set_rate(strategy, 0, 0.1);
	ck_assert_ok(iso_strategy_allocate(strategy, 5, tasks));
	ck_assert_uint_eq(tasks[0], 2);
	free(strategy);
}
END_TEST

START_TEST(uniform_gives_the_rest_to_different_workers_each_round)
{
	struct iso_strategy *strategy = make(ISO_STRATEGY_UTA, WORKERS, 13);
	uint32_t tasks[WORKERS], extra[WORKERS] = { 0 };

	for (uint64_t round = 1; round <= 500; round++) {
		ck_assert_ok(iso_strategy_allocate(strategy, round, tasks));
		ck_assert_uint_eq(sum(tasks, WORKERS), 13);
		for (int i = 0; i < WORKERS; i++) {
			ck_assert(tasks[i] == 2 || tasks[i] == 3);
			extra[i] += tasks[i] - 2;
		}
	}
	for (int i = 0; i < WORKERS; i++)
		ck_assert_uint_gt(extra[i], 240); /* 300 expected, sd 11 */
	free(strategy);
}
END_TEST

START_TEST(greedy_lets_everybody_start)
{
	struct iso_strategy *strategy = make(ISO_STRATEGY_GTA, 3, 7);
	uint32_t tasks[3];

	iso_strategy_set_present(strategy, 1, false);
	ck_assert_ok(iso_strategy_allocate(strategy, 1, tasks));
	ck_assert_uint_eq(tasks[0], 7);
	ck_assert_uint_eq(tasks[1], 0);
	ck_assert_uint_eq(tasks[2], 7);
	free(strategy);
}
END_TEST

START_TEST(given_means_are_allocated_by_ras)
{
	struct iso_strategy *strategy = make(ISO_STRATEGY_OFTA, 3, 9);
	uint32_t tasks[3];

	/* Nothing is known: evenly. */
	ck_assert_ok(iso_strategy_allocate(strategy, 1, tasks));
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(tasks[i], 3);
	/* Who is not known gets nothing, whatever its times are. */
	iso_strategy_set_mean(strategy, 0, 1);
	iso_strategy_set_mean(strategy, 2, 2);
	pupil_observe(strategy, 1, 0.001);
	ck_assert_ok(iso_strategy_allocate(strategy, 2, tasks));
	ck_assert_uint_eq(tasks[0], 6);
	ck_assert_uint_eq(tasks[1], 0);
	ck_assert_uint_eq(tasks[2], 3);
	ck_assert(!iso_strategy_exploring(strategy));
	/* By rate. */
	iso_strategy_set_rate(strategy, 2, 4);
	ck_assert_ok(iso_strategy_allocate(strategy, 3, tasks));
	ck_assert_uint_eq(tasks[0], 3);
	ck_assert_uint_eq(tasks[2], 6);
	ck_assert_double_eq(iso_strategy_scores(strategy)[2], 0.5);
	free(strategy);
}
END_TEST

START_TEST(the_pooled_bound_equals_a_hand_computed_value)
{
	/* K = 100, mean 0.5, k = 10: 0.5 / (1 + 0.5 (sqrt(2 l/K) + l/K)), l = ln 200. */
	struct iso_ata_samples samples = { 100, 50, 0 }, one = { 1, 0.5, 0 };
	struct iso_ata_samples less = { 0.1, 0.05, 0 };
	double log_term = iso_ata_log_term(10);

	ck_assert_double_eq_tol(iso_ata_score_pooled(&samples, 0.25, log_term), 0.4204316, 1e-6);
	ck_assert_double_eq(iso_ata_score_pooled(&samples, 0, log_term), 0.5);
	/* Positive from the first sample on, and no smaller for what has faded. */
	ck_assert_double_gt(iso_ata_score_pooled(&one, 2, log_term), 0.03);
	ck_assert_double_eq(iso_ata_score_pooled(&less, 2, log_term),
			    iso_ata_score_pooled(&one, 2, log_term));
	/* 1, 2, 3, 4: mean 2.5, variance 5/3. */
	struct iso_ata_samples four = { 0 };
	for (int i = 1; i <= 4; i++)
		iso_ata_samples_add(&four, i);
	ck_assert_double_eq_tol(four.squares_s2, 5, 1e-12);
	ck_assert_double_eq_tol(iso_ata_relative_variance(&four), 5.0 / 3 / 6.25, 1e-12);
}
END_TEST

/* A worker that was seen twice is judged by how much the others' times spread. */
START_TEST(spread_is_shared_where_one_alone_has_few_samples)
{
	double scores[2];

	for (int irregular = 0; irregular < 2; irregular++) {
		struct iso_strategy *strategy = make(ISO_STRATEGY_ATA_POOLED, WORKERS, 4);
		uint32_t tasks[WORKERS];

		for (uint32_t i = 1; i < WORKERS; i++)
			for (int u = 0; u < 40; u++)
				pupil_observe(strategy, i,
					      1 + 0.9 * irregular * (u % 2 == 0 ? 1 : -1));
		pupil_observe(strategy, 0, 1);
		pupil_observe(strategy, 0, 1);
		ck_assert_ok(iso_strategy_allocate(strategy, 10, tasks));
		ck_assert(!iso_strategy_exploring(strategy));
		scores[irregular] = iso_strategy_scores(strategy)[0];
		free(strategy);
	}
	ck_assert_double_gt(scores[0], 1.5 * scores[1]);
	ck_assert_double_gt(scores[1], 0.1);
}
END_TEST

START_TEST(nobody_there_is_a_status)
{
	struct iso_strategy *strategy = make(ISO_STRATEGY_ATA, 2, 3);
	uint32_t tasks[2] = { 77, 77 };

	iso_strategy_set_present(strategy, 0, false);
	iso_strategy_set_present(strategy, 1, false);
	ck_assert_int_eq(iso_strategy_allocate(strategy, 1, tasks), ISO_E_UNKNOWN);
	ck_assert_uint_eq(tasks[0], 77);
	free(strategy);
}
END_TEST

START_TEST(same_seed_and_samples_replay_the_same_run)
{
	struct iso_strategy *a = make(ISO_STRATEGY_ATA_EMPIRICAL, WORKERS, 7);
	struct iso_strategy *b = make(ISO_STRATEGY_ATA_EMPIRICAL, WORKERS, 7);
	struct iso_rng rng = { test_seed_base() };
	uint32_t tasks[WORKERS], again[WORKERS];
	uint8_t bytes[128];

	ck_assert_uint_le(iso_strategy_state_bytes(a), sizeof(bytes));
	for (uint64_t round = 1; round <= 400; round++) {
		/* Half way, b is what a's checkpoint says. */
		if (round == 200) {
			free(b);
			b = make(ISO_STRATEGY_ATA_EMPIRICAL, WORKERS, 7);
			iso_strategy_save(a, bytes);
			ck_assert_ok(iso_strategy_restore(b, bytes));
			for (uint32_t i = 0; i < WORKERS; i++)
				resume(b, i, a, i);
		}
		ck_assert_ok(iso_strategy_allocate(a, round, tasks));
		ck_assert_ok(iso_strategy_allocate(b, round, again));
		ck_assert_mem_eq(tasks, again, sizeof(tasks));
		for (uint32_t i = 0; i < WORKERS; i++) {
			for (uint32_t u = 0; u < tasks[i]; u++) {
				double time_s = 0.01 * (i + 1) * (0.5 + iso_rng_unit(&rng));

				pupil_observe(a, i, time_s);
				pupil_observe(b, i, time_s);
			}
		}
	}
	ck_assert(!iso_strategy_exploring(a));
	/* Nonsense times teach nothing. */
	struct iso_ata_samples before = iso_strategy_samples(a, 0);
	pupil_observe(a, 0, NAN);
	pupil_observe(a, 0, INFINITY);
	pupil_observe(a, 0, 0);
	ck_assert_double_eq(iso_strategy_samples(a, 0).count, before.count);
	free(a);
	free(b);
}
END_TEST

START_TEST(a_configuration_that_makes_no_sense_is_refused)
{
	const struct iso_strategy_config good = {
		.kind = ISO_STRATEGY_ATA, .workers = 2, .batch = 4, .width = width
	};
	struct iso_strategy *strategy = NULL;
	static uint64_t memory[512];

	for (int i = 0; i < 6; i++) {
		struct iso_strategy_config config = good;

		switch (i) {
		case 0: config.workers = 0; break;
		case 1: config.batch = 0; break;
		case 2: config.width.alpha_s = 0; break;
		case 3: config.width.constant = NAN; break;
		case 4: config.width.alpha_s = INFINITY; break;
		case 5: config.kind = (enum iso_strategy_kind)0; break;
		}
		ck_assert_uint_eq(iso_strategy_size(&config), 0);
		ck_assert_int_eq(iso_strategy_init(memory, sizeof(memory), &config, &strategy),
				 ISO_E_RANGE);
	}
	ck_assert_int_eq(iso_strategy_init(memory, iso_strategy_size(&good) - 1, &good, &strategy),
			 ISO_E_SHORT);
	ck_assert_ptr_null(strategy);
	ck_assert_str_eq(iso_strategy_kind_text(ISO_STRATEGY_ATA_EMPIRICAL), "ata-empirical");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("strategy");
	TCase *tcase = tcase_create("allocation");

	tcase_add_test(tcase, bounds_equal_hand_computed_values);
	tcase_add_test(tcase, bounds_are_never_negative_and_zero_without_samples);
	tcase_add_test(tcase, unseen_workers_get_one_task_each_at_random);
	tcase_add_test(tcase, zero_scores_share_what_the_unseen_leave);
	tcase_add_test(tcase, known_workers_are_allocated_by_speed_and_rate);
	tcase_add_test(tcase, plain_form_ignores_the_rate);
	tcase_add_test(tcase, uniform_gives_the_rest_to_different_workers_each_round);
	tcase_add_test(tcase, greedy_lets_everybody_start);
	tcase_add_test(tcase, given_means_are_allocated_by_ras);
	tcase_add_test(tcase, the_pooled_bound_equals_a_hand_computed_value);
	tcase_add_test(tcase, spread_is_shared_where_one_alone_has_few_samples);
	tcase_add_test(tcase, nobody_there_is_a_status);
	tcase_add_test(tcase, same_seed_and_samples_replay_the_same_run);
	tcase_add_test(tcase, a_configuration_that_makes_no_sense_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
