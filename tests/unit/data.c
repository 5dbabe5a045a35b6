/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/batch.h"
#include "lib/data/idx.h"
#include "lib/data/partition.h"
#include "tests/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 6007
#define PARTS   20
#define CLASSES 10

static uint8_t labels[SAMPLES];
static uint32_t order[SAMPLES], workspace[SAMPLES];

/* A header of 2 x 3 x 4 bytes. */
static const uint8_t header[16] = { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4 };

START_TEST(idx_headers_give_their_sizes)
{
	struct iso_idx idx;
	size_t bad_offset = 77;

	ck_assert_ok(iso_idx_decode(header, 16, 24, &idx, &bad_offset));
	ck_assert_uint_eq(idx.dims, 3);
	ck_assert_uint_eq(idx.size[0], 2);
	ck_assert_uint_eq(idx.size[2], 4);
	ck_assert_uint_eq(idx.size[3], 1);
	ck_assert_uint_eq(idx.data_offset, 16);
	ck_assert_uint_eq(idx.data_bytes, 24);
	ck_assert_ok(iso_idx_check(&idx, 40, &bad_offset));
	ck_assert_uint_eq(bad_offset, 77);
	ck_assert_int_eq(iso_idx_check(&idx, 39, &bad_offset), ISO_E_SHORT);
	ck_assert_uint_eq(bad_offset, 39);
	ck_assert_int_eq(iso_idx_check(&idx, 45, &bad_offset), ISO_E_LONG);
	ck_assert_uint_eq(bad_offset, 40);
}
END_TEST

START_TEST(bad_idx_headers_are_told_apart_with_their_offset)
{
	static const struct {
		uint8_t offset, value;
		enum iso_status status;
		size_t bad_offset;
	} cases[] = {
		{ 0, 1, ISO_E_MALFORMED, 0 },  { 1, 8, ISO_E_MALFORMED, 1 },
		{ 2, 0x0d, ISO_E_VERSION, 2 }, { 3, 0, ISO_E_RANGE, 3 },
		{ 3, 5, ISO_E_RANGE, 3 },      { 7, 0, ISO_E_RANGE, 4 },
		{ 11, 0, ISO_E_RANGE, 8 },     { 15, 5, ISO_E_RANGE, 12 },
		{ 4, 255, ISO_E_RANGE, 4 },
	};
	struct iso_idx idx, before;
	size_t bad_offset;

	memset(&idx, 0x5a, sizeof(idx));
	before = idx;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t bytes[16];

		memcpy(bytes, header, 16);
		bytes[cases[i].offset] = cases[i].value;
		ck_assert_int_eq(iso_idx_decode(bytes, 16, 24, &idx, &bad_offset),
				 cases[i].status);
		ck_assert_uint_eq(bad_offset, cases[i].bad_offset);
	}
	for (size_t size = 0; size < 16; size++) {
		ck_assert_int_eq(iso_idx_decode(header, size, 24, &idx, &bad_offset), ISO_E_SHORT);
		ck_assert_uint_eq(bad_offset, size);
	}
	ck_assert_mem_eq(&idx, &before, sizeof(idx));
}
END_TEST

/* Class c has about (c + 1) / 55 of the samples. */
static void make_labels(void)
{
	struct iso_rng rng = { test_seed_base() };

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t draw = iso_rng_below(&rng, 55);

		labels[i] = 0;
		for (uint64_t sum = 1; draw >= sum; sum += labels[i] + 1u)
			labels[i]++;
		ck_assert_uint_lt(labels[i], CLASSES);
	}
}

static struct iso_partition_config partition(enum iso_partition_kind kind, double alpha)
{
	return (struct iso_partition_config){ .kind = kind, .parts = PARTS, .classes = CLASSES,
					      .alpha = alpha, .seed = test_seed_base() };
}

static void check_disjoint(uint32_t used)
{
	static bool seen[SAMPLES];

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < used; i++) {
		ck_assert_uint_lt(order[i], SAMPLES);
		ck_assert(!seen[order[i]]);
		seen[order[i]] = true;
	}
}

/* Mean over the parts of the largest class's proportion. */
static double one_sidedness(const struct iso_partition_config *config)
{
	uint32_t size = iso_partition_least(config, SAMPLES);
	double sum = 0;

	ck_assert_ok(iso_partition(config, labels, SAMPLES, workspace, order));
	check_disjoint(size * PARTS);
	for (uint32_t j = 0; j < PARTS; j++) {
		uint32_t counts[CLASSES] = { 0 }, largest = 0;

		for (uint32_t i = 0; i < size; i++)
			counts[labels[order[j * size + i]]]++;
		for (int c = 0; c < CLASSES; c++)
			largest = counts[c] > largest ? counts[c] : largest;
		sum += (double)largest / size;
	}
	return sum / PARTS;
}

START_TEST(parts_are_equal_disjoint_and_as_one_sided_as_asked)
{
	struct iso_partition_config iid = partition(ISO_PARTITION_IID, 0);
	struct iso_partition_config even = partition(ISO_PARTITION_DIRICHLET, 1e6);
	struct iso_partition_config some = partition(ISO_PARTITION_DIRICHLET, 1);
	struct iso_partition_config harsh = partition(ISO_PARTITION_DIRICHLET, 0.02);

	make_labels();
	ck_assert_uint_eq(iso_partition_least(&iid, SAMPLES), 300);
	/* The largest class has 10/55 of all. */
	ck_assert_double_eq_tol(one_sidedness(&iid), 0.19, 0.03);
	/* Equal proportions of unequal classes: the small pools run dry, the large fill in. */
	ck_assert_double_lt(one_sidedness(&even), 0.45);
	ck_assert_double_gt(one_sidedness(&harsh), 0.6);
	ck_assert_double_gt(one_sidedness(&some), one_sidedness(&iid) + 0.05);
	ck_assert_double_gt(one_sidedness(&harsh), one_sidedness(&some) + 0.1);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_partition)
{
	struct iso_partition_config config = partition(ISO_PARTITION_DIRICHLET, 0.1);
	static uint32_t again[SAMPLES];

	make_labels();
	ck_assert_ok(iso_partition(&config, labels, SAMPLES, workspace, order));
	memset(workspace, 0xff, sizeof(workspace));
	ck_assert_ok(iso_partition(&config, labels, SAMPLES, workspace, again));
	ck_assert_mem_eq(order, again, 300 * PARTS * sizeof(*order));
	config.seed++;
	ck_assert_ok(iso_partition(&config, labels, SAMPLES, workspace, again));
	ck_assert_mem_ne(order, again, 300 * PARTS * sizeof(*order));
}
END_TEST

START_TEST(partitions_work_for_any_size_and_alpha)
{
	struct iso_rng rng = { test_seed_base() };

	make_labels();
	for (int run = 0; run < test_runs(400); run++) {
		uint32_t samples = 1 + (uint32_t)iso_rng_below(&rng, 500);
		struct iso_partition_config config = {
			.kind = ISO_PARTITION_DIRICHLET, .classes = CLASSES, .seed = (uint64_t)run,
			.parts = 1 + (uint32_t)iso_rng_below(&rng, samples),
			.alpha = exp(20 * (iso_rng_unit(&rng) - 0.5)),
		};

		ck_assert_ok(iso_partition(&config, labels, samples, workspace, order));
		check_disjoint(iso_partition_used(&config, samples));
		ck_assert_uint_eq(iso_partition_used(&config, samples),
				  samples / config.parts * config.parts);
	}
}
END_TEST

START_TEST(a_partition_that_makes_no_sense_is_refused)
{
	make_labels();
	for (int i = 0; i < 7; i++) {
		struct iso_partition_config config = partition(ISO_PARTITION_DIRICHLET, 0.1);

		switch (i) {
		case 0: config.parts = 0; break;
		case 1: config.parts = SAMPLES + 1; break;
		case 2: config.classes = 9; break; /* a label is 9 */
		case 3: config.alpha = 0; break;
		case 4: config.alpha = NAN; break;
		case 5: config.classes = 257; break;
		case 6: config.kind = (enum iso_partition_kind)0; break;
		}
		ck_assert_int_eq(iso_partition(&config, labels, SAMPLES, workspace, order),
				 ISO_E_RANGE);
	}
}
END_TEST

START_TEST(a_drawn_batch_depends_on_its_seed_only_and_has_no_repeats)
{
	static uint32_t part[5000], drawn[ISO_BATCH_MAX], again[ISO_BATCH_MAX];
	static bool seen[5000];
	static unsigned counts[64];

	for (uint32_t i = 0; i < 5000; i++)
		part[i] = 4999 - i;
	iso_batch_draw(5, part, 5000, ISO_BATCH_MAX, drawn);
	iso_batch_draw(5, part, 5000, ISO_BATCH_MAX, again);
	ck_assert_mem_eq(drawn, again, sizeof(drawn));
	for (uint32_t i = 0; i < ISO_BATCH_MAX; i++) {
		ck_assert(!seen[drawn[i]]);
		seen[drawn[i]] = true;
	}
	iso_batch_draw(6, part, 5000, ISO_BATCH_MAX, again);
	ck_assert_mem_ne(drawn, again, sizeof(drawn));
	/* All of a part, and every member equally often. */
	iso_batch_draw(7, part, 64, 64, drawn);
	for (uint64_t seed = 0; seed < 2000; seed++) {
		iso_batch_draw(seed, part + 4936, 64, 16, drawn);
		for (int i = 0; i < 16; i++)
			counts[drawn[i]]++;
	}
	for (int i = 0; i < 64; i++)
		ck_assert_uint_gt(counts[i], 400); /* 500 expected, sd 19 */
}
END_TEST

START_TEST(gathered_rows_are_scaled)
{
	const uint8_t pixels[6] = { 0, 51, 255, 1, 2, 3 };
	const uint32_t samples[2] = { 2, 0 };
	float rows[4];

	iso_batch_gather(pixels, 2, samples, 2, 1.0f / 255, rows);
	ck_assert_double_eq_tol((double)rows[0], 2 / 255.0, 1e-7);
	ck_assert_double_eq_tol((double)rows[3], 0.2, 1e-7);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("data");
	TCase *tcase = tcase_create("sets and batches");

	tcase_add_test(tcase, idx_headers_give_their_sizes);
	tcase_add_test(tcase, bad_idx_headers_are_told_apart_with_their_offset);
	tcase_add_test(tcase, parts_are_equal_disjoint_and_as_one_sided_as_asked);
	tcase_add_test(tcase, the_same_seed_gives_the_same_partition);
	tcase_add_test(tcase, partitions_work_for_any_size_and_alpha);
	tcase_add_test(tcase, a_partition_that_makes_no_sense_is_refused);
	tcase_add_test(tcase, a_drawn_batch_depends_on_its_seed_only_and_has_no_repeats);
	tcase_add_test(tcase, gathered_rows_are_scaled);
	suite_add_tcase(suite, tcase);
	return suite;
}
