/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ata/strategy.h"
#include "tests/test.h"
#include "tests/unit/pupil.h"

#include <stdlib.h>
#include <string.h>

/* What a strategy with options saves, and goes on from. */

/* Everything at once, so that everything has a state to forget. */
static const struct iso_ata_options all_options = {
	.explore_tasks = 3,
	.discount = 0.999,
	.smoothing = 0.5,
	.every_rounds = 3,
	.by_round = true,
	.by_cost = true,
	.calibrate_tasks = 8,
	.cluster = 0.2,
	.drift = 24,
	.probe_rounds = 11,
};

static void play(struct iso_strategy *strategy, struct iso_rng *rng, uint64_t round,
		 uint32_t *tasks)
{
	pupil_allocate(strategy, round, tasks);
	for (uint32_t i = 0; i < PUPILS; i++) {
		/* Worker 1 becomes slow. */
		double mean_s = i == 1 && round > 100 ? 20 : i + 1;

		for (uint32_t u = 0; u < tasks[i]; u++) {
			struct iso_ata_task task = { 0, 2, round };

			task.time_s = mean_s * (0.5 + iso_rng_unit(rng));
			iso_strategy_observe(strategy, i, &task);
		}
	}
}

static void same_states(const struct iso_strategy *a, const struct iso_strategy *b)
{
	uint8_t of_a[1024], of_b[1024];

	iso_strategy_save(a, of_a);
	iso_strategy_save(b, of_b);
	ck_assert_mem_eq(of_a, of_b, iso_strategy_state_bytes(a));
	for (uint32_t i = 0; i < PUPILS; i++) {
		iso_strategy_save_worker(a, i, of_a);
		iso_strategy_save_worker(b, i, of_b);
		ck_assert_mem_eq(of_a, of_b, iso_strategy_worker_bytes(a));
	}
}

START_TEST(a_restored_strategy_goes_on_bit_for_bit)
{
	const enum iso_strategy_kind kinds[] = { ISO_STRATEGY_ATA, ISO_STRATEGY_ATA_EMPIRICAL,
						 ISO_STRATEGY_ATA_POOLED };

	for (int kind = 0; kind < 3; kind++) {
		for (uint64_t stop = 1; stop <= 300; stop += 13) {
			struct iso_strategy *a = pupil_with(kinds[kind], 7, &all_options), *b;
			struct iso_rng rng = { 5 }, again;
			uint32_t tasks[PUPILS], other[PUPILS];
			uint8_t bytes[1024];

			for (uint64_t round = 1; round <= stop; round++)
				play(a, &rng, round, tasks);
			b = pupil_with(kinds[kind], 7, &all_options);
			ck_assert_uint_le(iso_strategy_worker_bytes(a), sizeof(bytes));
			ck_assert_uint_eq(iso_strategy_worker_bytes(a),
					  iso_strategy_worker_bytes(b));
			iso_strategy_save(a, bytes);
			ck_assert_ok(iso_strategy_restore(b, bytes));
			for (uint32_t i = 0; i < PUPILS; i++) {
				iso_strategy_save_worker(a, i, bytes);
				ck_assert_ok(iso_strategy_restore_worker(b, i, bytes));
			}
			same_states(a, b);
			again = rng;
			for (uint64_t round = stop + 1; round <= stop + 60; round++) {
				play(a, &rng, round, tasks);
				play(b, &again, round, other);
				ck_assert_mem_eq(tasks, other, sizeof(tasks));
				ck_assert_mem_eq(iso_strategy_scores(a), iso_strategy_scores(b),
						 PUPILS * sizeof(double));
				ck_assert_int_eq(iso_strategy_changed(a), iso_strategy_changed(b));
			}
			same_states(a, b);
			free(a);
			free(b);
		}
	}
}
END_TEST

START_TEST(damaged_state_is_refused_and_changes_nothing)
{
	struct iso_strategy *strategy = pupil_with(ISO_STRATEGY_ATA, 7, &all_options);
	struct iso_rng rng = { 5 };
	uint32_t tasks[PUPILS];
	uint8_t good[1024], bad[1024], after[1024];
	size_t size = iso_strategy_worker_bytes(strategy);
	unsigned refused = 0;

	for (uint64_t round = 1; round <= 30; round++)
		play(strategy, &rng, round, tasks);
	iso_strategy_save_worker(strategy, 1, good);
	/* The highest bits of each number: a negative, infinite or enormous one. */
	for (size_t at = 7; at < size; at += 8) {
		memcpy(bad, good, size);
		memset(bad + at - 1, 0xff, 2);
		if (iso_strategy_restore_worker(strategy, 1, bad) == ISO_OK) {
			/* Counts of what was seen may be anything. */
			ck_assert(at / 8 == 3 || at / 8 == 4);
			ck_assert_ok(iso_strategy_restore_worker(strategy, 1, good));
			continue;
		}
		refused++;
		iso_strategy_save_worker(strategy, 1, after);
		ck_assert_mem_eq(after, good, size);
	}
	ck_assert_uint_eq(refused, size / 8 - 2);
	iso_strategy_save(strategy, good);
	for (size_t at = 0; at < iso_strategy_state_bytes(strategy); at += 8) {
		memcpy(bad, good, sizeof(bad));
		memset(bad + at, 0xff, 8);
		/* The generator, and how many were seen, may be anything; round may be later. */
		if (at == 8 || at == 16 || at == 32)
			continue;
		ck_assert_int_eq(iso_strategy_restore(strategy, bad), ISO_E_MALFORMED);
		iso_strategy_save(strategy, after);
		ck_assert_mem_eq(after, good, iso_strategy_state_bytes(strategy));
	}
	free(strategy);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("options_state");
	TCase *tcase = tcase_create("state");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_restored_strategy_goes_on_bit_for_bit);
	tcase_add_test(tcase, damaged_state_is_refused_and_changes_nothing);
	suite_add_tcase(suite, tcase);
	return suite;
}
