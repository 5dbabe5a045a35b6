/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/binary.h"
#include "lib/data/toy.h"
#include "lib/model/reference.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 400u

static double points[2 * SAMPLES], x[3 * SAMPLES], targets[SAMPLES];

/* Share of the samples on the right side, of an SVM on them. */
static double accuracy(uint32_t features, const double *samples)
{
	const struct iso_smooth smooth = {
		.kind = ISO_SMOOTH_SVM,
		.features = features,
		.mu = 10,
		.c = 100,
	};
	const struct iso_samples part = {
		.x = samples,
		.targets = targets,
		.count = SAMPLES,
		.weight = 1,
	};
	double y[4] = { 0 }, right = 0;
	double *workspace = malloc(iso_reference_workspace(&smooth, &part, 1) * sizeof(double));

	(void)iso_reference_solve(&smooth, &part, 1, 1e-9, workspace, y);
	for (uint32_t j = 0; j < SAMPLES; j++) {
		double output = -y[features];

		for (uint32_t f = 0; f < features; f++)
			output += y[f] * samples[j * features + f];
		right += (output > 0) == (targets[j] > 0);
	}
	free(workspace);
	return right / SAMPLES;
}

START_TEST(a_plane_separates_the_ellipse_after_the_map_only)
{
	double inside = 0;

	iso_toy_ellipse(test_seed_base(), SAMPLES, 0.1, points, targets);
	iso_toy_map(points, SAMPLES, x);
	for (uint32_t j = 0; j < SAMPLES; j++) {
		ck_assert(fabs(points[2 * j]) <= 1.5 && fabs(points[2 * j + 1]) <= 1.5);
		inside += targets[j];
	}
	/* pi 1.4 0.8 of 9, less what the margin leaves out. */
	ck_assert_double_eq_tol(inside / SAMPLES, 0.39, 0.08);
	ck_assert_double_ge(accuracy(3, x), 1);
	ck_assert_double_le(accuracy(2, points), 0.75);
}
END_TEST

/* The inner product of two mapped points is the square of that of the points. */
START_TEST(the_map_squares_inner_products)
{
	iso_toy_ellipse(test_seed_base(), 2, 0, points, targets);
	iso_toy_map(points, 2, x);
	double inner = points[0] * points[2] + points[1] * points[3];
	ck_assert_double_eq_tol(x[0] * x[3] + x[1] * x[4] + x[2] * x[5], inner * inner, 1e-14);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_data)
{
	double again[2 * SAMPLES], classes[SAMPLES], truth[3];

	iso_toy_ellipse(7, SAMPLES, 0.1, points, targets);
	iso_toy_ellipse(7, SAMPLES, 0.1, again, classes);
	ck_assert_mem_eq(points, again, sizeof(points));
	ck_assert_mem_eq(targets, classes, sizeof(targets));
	iso_toy_ellipse(8, SAMPLES, 0.1, again, classes);
	ck_assert_mem_ne(points, again, sizeof(points));
	iso_toy_regression(7, SAMPLES, 2, 0.1, points, targets, truth);
	iso_toy_regression(7, SAMPLES, 2, 0.1, again, classes, truth);
	ck_assert_mem_eq(points, again, sizeof(points));
	ck_assert_mem_eq(targets, classes, sizeof(targets));
}
END_TEST

START_TEST(regression_is_its_truth_and_the_noise)
{
	double truth[3], square = 0;

	iso_toy_regression(test_seed_base(), SAMPLES, 2, 0.5, points, targets, truth);
	for (uint32_t j = 0; j < SAMPLES; j++) {
		double miss =
		    truth[0] * points[2 * j] + truth[1] * points[2 * j + 1] - truth[2] - targets[j];

		square += miss * miss;
	}
	ck_assert_double_eq_tol(sqrt(square / SAMPLES), 0.5, 0.1);
}
END_TEST

START_TEST(waves_sum_to_zero_and_some_are_not_convex)
{
	double sums[2] = { 0, 0 };
	uint32_t bent = 0;

	iso_toy_waves(test_seed_base(), SAMPLES, 5, points);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		sums[0] += points[2 * i];
		sums[1] += points[2 * i + 1];
		bent += fabs(points[2 * i]) > 2;
	}
	ck_assert_double_eq_tol(sums[0], 0, 1e-12);
	ck_assert_double_eq_tol(sums[1], 0, 1e-12);
	ck_assert_uint_gt(bent, SAMPLES / 3);
}
END_TEST

START_TEST(two_classes_are_picked_and_scaled_to_unit_norm)
{
	static const uint8_t labels[] = { 6, 3, 2, 6, 2, 6 };
	static const uint8_t pixels[] = { 255, 0, 9, 9, 0, 51, 255, 255, 0, 0, 1, 2 };
	uint32_t rows[4];
	double samples[12], classes[4];

	ck_assert_uint_eq(iso_binary_select(labels, 6, 6, 2, 4, rows), 4);
	ck_assert_uint_eq(rows[0], 0);
	ck_assert_uint_eq(rows[1], 2);
	ck_assert_uint_eq(rows[3], 4);
	iso_binary_fill(pixels, labels, 2, 2, rows, 4, samples, classes);
	ck_assert_double_eq(classes[0], 0);
	ck_assert_double_eq(classes[1], 1);
	ck_assert_double_eq_tol(samples[0], sqrt(0.5), 1e-15);
	ck_assert_double_eq(samples[1], 0);
	ck_assert_double_eq_tol(samples[4], 0.2 / sqrt(1.04), 1e-15);
	ck_assert_double_eq_tol(samples[5], 1 / sqrt(1.04), 1e-15);
	for (int j = 0; j < 4; j++) {
		const double *sample = samples + 3 * j;

		ck_assert_double_eq_tol(sample[0] * sample[0] + sample[1] * sample[1] +
					    sample[2] * sample[2],
					1, 1e-15);
	}
	ck_assert_uint_eq(iso_binary_select(labels, 6, 6, 3, 4, rows), 4);
	ck_assert_uint_eq(iso_binary_select(labels, 6, 2, 9, 4, rows), 2);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("toy");
	TCase *tcase = tcase_create("data");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_plane_separates_the_ellipse_after_the_map_only);
	tcase_add_test(tcase, the_map_squares_inner_products);
	tcase_add_test(tcase, the_same_seed_gives_the_same_data);
	tcase_add_test(tcase, regression_is_its_truth_and_the_noise);
	tcase_add_test(tcase, waves_sum_to_zero_and_some_are_not_convex);
	tcase_add_test(tcase, two_classes_are_picked_and_scaled_to_unit_norm);
	suite_add_tcase(suite, tcase);
	return suite;
}
