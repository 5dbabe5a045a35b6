/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/toy.h"
#include "lib/draw.h"
#include "lib/model/reference.h"
#include "tests/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NODES	 5u
#define EACH	 40u
#define SAMPLES	 (NODES * EACH)
#define FEATURES 3u
#define CLASSES	 3u
#define PARAMS	 (FEATURES * CLASSES)

static struct iso_smooth smooth;
static struct iso_samples parts[NODES];
static double x[SAMPLES * FEATURES], targets[SAMPLES], y[PARAMS], truth[FEATURES + 1];
static double *workspace;

static void make(enum iso_smooth_kind kind)
{
	bool is_svm = kind == ISO_SMOOTH_SVM, is_waves = kind == ISO_SMOOTH_WAVES;
	struct iso_rng rng = { test_seed_base() };

	smooth = (struct iso_smooth){
		.kind = kind,
		.features = is_waves ? 2 : FEATURES,
		.classes = kind == ISO_SMOOTH_SOFTMAX ? CLASSES : 0,
		.l2 = kind == ISO_SMOOTH_LOGISTIC || kind == ISO_SMOOTH_SOFTMAX ? 1e-3 : 0,
		.mu = is_svm ? 5 : 0,
		.c = is_svm ? 1 : 0,
	};
	iso_toy_regression(test_seed_base(), SAMPLES, FEATURES, 0.3, x, targets, truth);
	for (uint32_t j = 0; j < SAMPLES && kind != ISO_SMOOTH_REGRESSION; j++)
		targets[j] = targets[j] > 0 ? 1 : 0;
	for (uint32_t j = 0; j < SAMPLES && kind == ISO_SMOOTH_SOFTMAX; j++)
		targets[j] += targets[j] > 0 && iso_rng_below(&rng, 2) == 0;
	if (is_waves)
		iso_toy_waves(test_seed_base(), NODES, 6, x);
	for (uint32_t i = 0; i < NODES; i++)
		parts[i] = (struct iso_samples){
			.x = x + (is_waves ? 2 : EACH * FEATURES) * i,
			.targets = targets + EACH * i,
			.count = is_waves ? 1 : EACH,
			.weight = 1,
		};
	workspace = malloc(iso_reference_workspace(&smooth, parts, NODES) * sizeof(double));
	for (uint32_t i = 0; i < PARAMS; i++)
		y[i] = 3 * iso_draw_normal(&rng);
}

static void teardown(void)
{
	free(workspace);
	workspace = NULL;
}

static const enum iso_smooth_kind kinds[] = { ISO_SMOOTH_REGRESSION, ISO_SMOOTH_LOGISTIC,
					      ISO_SMOOTH_SOFTMAX, ISO_SMOOTH_SVM,
					      ISO_SMOOTH_WAVES };
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

/* The gradient is 0 there, and all around the value is larger. */
START_TEST(finds_the_minimum_from_anywhere)
{
	double gradient[PARAMS], at[PARAMS], square = 0;
	struct iso_rng rng = { test_seed_base() };

	make(kinds[_i]);
	uint32_t params = iso_smooth_params(&smooth);
	struct iso_reference best = iso_reference_solve(&smooth, parts, NODES, 1e-12, workspace, y);
	ck_assert_double_le(best.gradient_norm, 1e-12);
	ck_assert_uint_le(best.steps, 30);
	double value = iso_reference_mean(&smooth, parts, NODES, y, workspace, gradient);
	ck_assert_double_eq_tol(value, best.value, 1e-14 * fmax(1, value));
	ck_assert_double_eq(value, iso_reference_mean(&smooth, parts, NODES, y, workspace, NULL));
	for (uint32_t i = 0; i < params; i++)
		square += gradient[i] * gradient[i];
	ck_assert_double_eq_tol(sqrt(square), best.gradient_norm, 1e-15);
	for (int run = 0; run < 50; run++) {
		for (uint32_t i = 0; i < params; i++)
			at[i] = y[i] + 0.1 * iso_draw_normal(&rng);
		ck_assert_double_gt(iso_reference_mean(&smooth, parts, NODES, at, workspace, NULL),
				    value);
	}
}
END_TEST

/* The normal equations of (x, -1), by elimination. */
static void least_squares(double *ret_y)
{
	double matrix[FEATURES + 1][FEATURES + 2] = { 0 };

	for (uint32_t j = 0; j < SAMPLES; j++) {
		double row[FEATURES + 2];

		memcpy(row, x + FEATURES * j, FEATURES * sizeof(*row));
		row[FEATURES] = -1;
		row[FEATURES + 1] = targets[j];
		for (uint32_t a = 0; a <= FEATURES; a++)
			for (uint32_t b = 0; b < FEATURES + 2; b++)
				matrix[a][b] += row[a] * row[b];
	}
	for (uint32_t a = 0; a <= FEATURES; a++)
		for (uint32_t r = 0; r <= FEATURES; r++) {
			double times = matrix[r][a] / matrix[a][a];

			for (uint32_t b = 0; b < FEATURES + 2 && r != a; b++)
				matrix[r][b] -= times * matrix[a][b];
		}
	for (uint32_t a = 0; a <= FEATURES; a++)
		ret_y[a] = matrix[a][FEATURES + 1] / matrix[a][a];
}

START_TEST(regression_is_least_squares)
{
	double expected[FEATURES + 1];

	make(ISO_SMOOTH_REGRESSION);
	(void)iso_reference_solve(&smooth, parts, NODES, 1e-13, workspace, y);
	least_squares(expected);
	for (uint32_t i = 0; i <= FEATURES; i++) {
		ck_assert_double_eq_tol(y[i], expected[i], 1e-12);
		/* 200 samples of noise 0.3: five standard errors. */
		ck_assert_double_eq_tol(y[i], truth[i], 5 * 0.3 / sqrt(SAMPLES));
	}
}
END_TEST

/* a and b sum to 0: what is left is 4 y^2 + 3 sin^2 y, though most nodes are not convex. */
START_TEST(waves_have_their_minimum_at_zero)
{
	make(ISO_SMOOTH_WAVES);
	(void)iso_reference_solve(&smooth, parts, NODES, 1e-13, workspace, y);
	ck_assert_double_eq_tol(y[0], 0, 1e-13);
}
END_TEST

/* No tolerance: goes on until rounding stops it, and says how far it came. */
START_TEST(ends_where_rounding_does)
{
	make(kinds[_i]);
	struct iso_reference best = iso_reference_solve(&smooth, parts, NODES, 0, workspace, y);
	ck_assert_double_le(best.gradient_norm, 1e-13);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("reference");
	TCase *tcase = tcase_create("optimum");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_loop_test(tcase, finds_the_minimum_from_anywhere, 0, KINDS);
	tcase_add_test(tcase, regression_is_least_squares);
	tcase_add_test(tcase, waves_have_their_minimum_at_zero);
	tcase_add_loop_test(tcase, ends_where_rounding_does, 0, KINDS);
	suite_add_tcase(suite, tcase);
	return suite;
}
