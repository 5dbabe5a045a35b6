/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/partition.h"
#include "tests/test.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Parts that are unequal or overlap; those of one size are in data.c. */
#define SAMPLES 1009u
#define CLASSES 10u
#define PARTS	7u

static uint8_t labels[SAMPLES];
static uint32_t order[2 * SAMPLES], workspace[SAMPLES], times[SAMPLES];

static void make_labels(struct iso_rng *rng)
{
	for (uint32_t i = 0; i < SAMPLES; i++)
		labels[i] = (uint8_t)iso_rng_below(rng, CLASSES);
}

/* How often each sample is in some part; none twice in the same. */
static void count_times(const struct iso_partition_config *config, uint32_t samples)
{
	memset(times, 0, sizeof(times));
	for (uint32_t j = 0; j < config->parts; j++) {
		struct iso_part part = iso_partition_part(config, samples, j);
		bool seen[SAMPLES] = { false };

		ck_assert_uint_gt(part.count, 0);
		ck_assert_uint_le(part.first + part.count, iso_partition_room(config, samples));
		for (uint32_t i = part.first; i < part.first + part.count; i++) {
			ck_assert_uint_lt(order[i], samples);
			ck_assert(!seen[order[i]]);
			seen[order[i]] = true;
			times[order[i]]++;
		}
	}
}

START_TEST(unequal_parts_are_disjoint_and_of_their_sizes)
{
	struct iso_rng rng = { test_seed_base() };

	make_labels(&rng);
	for (int run = 0; run < test_runs(50); run++) {
		uint32_t sizes[PARTS], samples = 100 + (uint32_t)iso_rng_below(&rng, SAMPLES - 99);
		struct iso_partition_config config = {
			.kind = run % 2 == 0 ? ISO_PARTITION_IID : ISO_PARTITION_DIRICHLET,
			.parts = 1 + (uint32_t)iso_rng_below(&rng, PARTS),
			.classes = CLASSES,
			.alpha = 0.3,
			.sizes = sizes,
			.seed = (uint64_t)run,
		};
		uint32_t sum = 0, used = 0, least = SAMPLES;

		for (uint32_t j = 0; j < config.parts; j++)
			sum += sizes[j] = 1 + (uint32_t)iso_rng_below(&rng, 9);
		ck_assert_ok(iso_partition(&config, labels, samples, workspace, order));
		count_times(&config, samples);
		for (uint32_t j = 0; j < config.parts; j++) {
			uint32_t count = iso_partition_part(&config, samples, j).count;

			ck_assert_uint_eq(count, samples * sizes[j] / sum);
			least = count < least ? count : least;
			used += count;
		}
		ck_assert_uint_eq(iso_partition_used(&config, samples), used);
		ck_assert_uint_eq(iso_partition_least(&config, samples), least);
		for (uint32_t i = 0; i < samples; i++)
			ck_assert_uint_le(times[i], 1);
	}
}
END_TEST

/* Also where the fraction of the samples is no whole number. */
START_TEST(overlapping_parts_see_their_fraction_and_all_samples_equally_often)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(50); run++) {
		uint32_t parts = 1 + (uint32_t)iso_rng_below(&rng, 30);
		uint32_t samples = parts + (uint32_t)iso_rng_below(&rng, SAMPLES - parts + 1);
		double least = 1.0 / parts;
		struct iso_partition_config config = {
			.kind = ISO_PARTITION_OVERLAP,
			.parts = parts,
			.seed = (uint64_t)run,
			.overlap = least + (1 - least) * iso_rng_unit(&rng) + 0.5 / samples,
		};

		if (config.overlap > 1)
			config.overlap = 1;
		ck_assert_ok(iso_partition(&config, NULL, samples, workspace, order));
		count_times(&config, samples);
		uint32_t count = iso_partition_part(&config, samples, 0).count;
		ck_assert_double_le(fabs(count - config.overlap * samples), 0.5 + 1e-9);
		for (uint32_t i = 0; i < samples; i++) {
			ck_assert_uint_ge(times[i], parts * count / samples);
			ck_assert_uint_le(times[i], parts * count / samples + 1);
		}
		ck_assert_uint_eq(iso_partition_used(&config, samples), samples);
		ck_assert_uint_eq(iso_partition_least(&config, samples), count);
	}
}
END_TEST

/* Three quarters each, four times: each sample is in three parts. */
START_TEST(parts_of_three_quarters)
{
	struct iso_partition_config config = {
		.kind = ISO_PARTITION_OVERLAP,
		.parts = 4,
		.overlap = 0.75,
		.seed = 5,
	};

	ck_assert_ok(iso_partition(&config, NULL, 1000, workspace, order));
	count_times(&config, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(times[i], 3);
}
END_TEST

START_TEST(blocks_are_the_samples_as_they_come)
{
	static const uint32_t sizes[] = { 2, 1, 3 };
	struct iso_partition_config config = {
		.kind = ISO_PARTITION_BLOCKS,
		.parts = 3,
		.seed = 5,
	};

	ck_assert_ok(iso_partition(&config, NULL, 100, workspace, order));
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_uint_eq(order[i], i);
	ck_assert_uint_eq(iso_partition_part(&config, 100, 2).first, 66);
	config.sizes = sizes;
	ck_assert_ok(iso_partition(&config, NULL, 100, workspace, order));
	ck_assert_uint_eq(iso_partition_part(&config, 100, 2).first, 33 + 16);
	ck_assert_uint_eq(iso_partition_part(&config, 100, 2).count, 50);
	ck_assert_uint_eq(order[49], 49);
}
END_TEST

START_TEST(what_leaves_a_part_without_samples_is_refused)
{
	static const uint32_t none[] = { 3, 0, 2 }, zeros[] = { 0, 0, 0 }, scanty[] = { 1, 1, 400 },
			      fine[] = { 1, 2, 3 };
	struct iso_partition_config config = { .kind = ISO_PARTITION_IID, .parts = 3 };

	config.sizes = none;
	ck_assert_int_eq(iso_partition_check(&config, 300), ISO_E_RANGE);
	config.sizes = zeros;
	ck_assert_int_eq(iso_partition_check(&config, 300), ISO_E_RANGE);
	config.sizes = scanty;
	ck_assert_int_eq(iso_partition_check(&config, 401), ISO_E_RANGE);
	ck_assert_ok(iso_partition_check(&config, 402));
	config.sizes = fine;
	ck_assert_ok(iso_partition_check(&config, 300));
	config.kind = ISO_PARTITION_OVERLAP;
	config.overlap = 0.7;
	ck_assert_int_eq(iso_partition_check(&config, 300), ISO_E_RANGE);
	config.sizes = NULL;
	ck_assert_ok(iso_partition_check(&config, 300));
	static const double bad[] = { 0, -1, 0.3, 1.001, NAN };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		config.overlap = bad[i];
		ck_assert_int_eq(iso_partition_check(&config, 300), ISO_E_RANGE);
		ck_assert_int_eq(iso_partition(&config, NULL, 300, workspace, order), ISO_E_RANGE);
	}
	config.overlap = 1;
	ck_assert_ok(iso_partition_check(&config, 300));
	/* A third of 100 is 33, which would leave a gap. */
	config.overlap = 1.0 / 3;
	ck_assert_ok(iso_partition(&config, NULL, 100, workspace, order));
	ck_assert_uint_eq(iso_partition_least(&config, 100), 34);
	count_times(&config, 100);
	config.kind = ISO_PARTITION_KIND_LAST + 1;
	ck_assert_int_eq(iso_partition_check(&config, 300), ISO_E_RANGE);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("partition");
	TCase *tcase = tcase_create("parts");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, unequal_parts_are_disjoint_and_of_their_sizes);
	tcase_add_test(tcase, overlapping_parts_see_their_fraction_and_all_samples_equally_often);
	tcase_add_test(tcase, parts_of_three_quarters);
	tcase_add_test(tcase, blocks_are_the_samples_as_they_come);
	tcase_add_test(tcase, what_leaves_a_part_without_samples_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
