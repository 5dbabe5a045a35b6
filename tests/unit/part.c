/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_part.h"

#include "tests/test.h"

#define SAMPLES	 100u
#define FEATURES 3u
#define CLASSES	 4u

static uint8_t pixels[SAMPLES * FEATURES], labels[SAMPLES];
static struct dataset data = {
	.samples = SAMPLES,
	.features = FEATURES,
	.classes = CLASSES,
	.pixels = pixels,
	.labels = labels,
};

static struct iso_train_welcome welcome(void)
{
	return (struct iso_train_welcome){
		.term = 1,
		.worker = 1,
		.workers = 2,
		.model = ISO_TRAIN_SOFTMAX,
		.params = CLASSES * (FEATURES + 1),
		.features = FEATURES,
		.classes = CLASSES,
		.samples_max = 10,
		.partition = 1,
		.ping_ns = 1,
	};
}

START_TEST(takes_its_part)
{
	struct iso_train_welcome good = welcome();
	struct lesson lesson;
	struct part part = { 0 };

	for (uint32_t i = 0; i < SAMPLES; i++)
		labels[i] = (uint8_t)(i % CLASSES);
	ck_assert_ptr_null(part_take(&part, &good, &data, NULL, &lesson));
	ck_assert_uint_eq(lesson.part_samples, SAMPLES / 2);
	for (uint32_t i = 0; i < lesson.part_samples; i++)
		ck_assert_uint_lt(lesson.part[i], SAMPLES);
	part_close(&part);
}
END_TEST

/* 0.7 of all for each of two: they have 0.4 in common. */
START_TEST(takes_a_part_that_overlaps)
{
	struct iso_train_welcome good = welcome();
	struct lesson lesson;
	struct part part = { 0 };
	unsigned times[SAMPLES] = { 0 }, twice = 0;

	good.partition = 3;
	good.alpha = 0.7;
	good.samples_max = 70;
	for (good.worker = 0; good.worker < 2; good.worker++) {
		ck_assert_ptr_null(part_take(&part, &good, &data, NULL, &lesson));
		ck_assert_uint_eq(lesson.part_samples, 70);
		for (uint32_t i = 0; i < lesson.part_samples; i++)
			times[lesson.part[i]]++;
	}
	for (uint32_t i = 0; i < SAMPLES; i++) {
		ck_assert_uint_ge(times[i], 1);
		twice += times[i] == 2;
	}
	ck_assert_uint_eq(twice, 40);
	good.worker = 0;
	good.samples_max = 71;
	ck_assert_ptr_nonnull(part_take(&part, &good, &data, NULL, &lesson));
	good.alpha = 0.3;
	ck_assert_ptr_nonnull(part_take(&part, &good, &data, NULL, &lesson));
	part_close(&part);
}
END_TEST

/* Whatever a coordinator says, the worker is not to die of it. */
START_TEST(refuses_a_model_of_impossible_size)
{
	static const uint32_t classes[] = { CLASSES - 1, CLASSES + 1, 1u << 30, UINT32_MAX };
	struct lesson lesson;
	struct part part = { 0 };

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		struct iso_train_welcome bad = welcome();

		bad.classes = classes[i];
		ck_assert_ptr_nonnull(part_take(&part, &bad, &data, NULL, &lesson));
	}
	/* Data with one class only, and a coordinator that agrees. */
	struct iso_train_welcome single = welcome();
	single.classes = 1;
	single.params = FEATURES + 1;
	data.classes = 1;
	ck_assert_ptr_nonnull(part_take(&part, &single, &data, NULL, &lesson));
	data.classes = CLASSES;
	part_close(&part);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("part");
	TCase *tcase = tcase_create("welcome");

	tcase_add_test(tcase, takes_its_part);
	tcase_add_test(tcase, takes_a_part_that_overlaps);
	tcase_add_test(tcase, refuses_a_model_of_impossible_size);
	suite_add_tcase(suite, tcase);
	return suite;
}
