/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/model/softmax.h"
#include "lib/sgd/step.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEATURES 13
#define CLASSES  4
#define COUNT    9
#define PARAMS   (CLASSES * (FEATURES + 1))

static const struct iso_softmax model = { FEATURES, CLASSES, 0.05f };

static float params[PARAMS], x[COUNT * FEATURES], gradient[PARAMS];
static uint8_t labels[COUNT];
static float *workspace;

static float noise(struct iso_rng *rng)
{
	return (float)(2 * iso_rng_unit(rng) - 1);
}

static void setup(void)
{
	struct iso_rng rng = { test_seed_base() };

	ck_assert_uint_eq(iso_softmax_params(&model), PARAMS);
	for (int i = 0; i < PARAMS; i++)
		params[i] = noise(&rng);
	for (int i = 0; i < COUNT * FEATURES; i++)
		x[i] = noise(&rng);
	for (int j = 0; j < COUNT; j++)
		labels[j] = (uint8_t)iso_rng_below(&rng, CLASSES);
	/* No larger than promised, so that a sanitizer sees an overrun. */
	workspace = malloc(iso_softmax_workspace_floats(&model, COUNT) * sizeof(float));
}

static void teardown(void)
{
	free(workspace);
}

/* The definition in the header, in double and without any trick. */
static double naive(const float *at, double *ret_gradient)
{
	double loss = 0;

	memset(ret_gradient, 0, PARAMS * sizeof(double));
	for (int j = 0; j < COUNT; j++) {
		double logits[CLASSES], sum = 0;

		for (int c = 0; c < CLASSES; c++) {
			logits[c] = (double)at[CLASSES * FEATURES + c];
			for (int f = 0; f < FEATURES; f++)
				logits[c] += (double)at[c * FEATURES + f] *
					     (double)x[j * FEATURES + f];
			sum += exp(logits[c]);
		}
		loss += (log(sum) - logits[labels[j]]) / COUNT;
		for (int c = 0; c < CLASSES; c++) {
			double residual = (exp(logits[c]) / sum - (c == labels[j])) / COUNT;

			for (int f = 0; f < FEATURES; f++)
				ret_gradient[c * FEATURES + f] +=
					residual * (double)x[j * FEATURES + f];
			ret_gradient[CLASSES * FEATURES + c] += residual;
		}
	}
	for (int w = 0; w < CLASSES * FEATURES; w++) {
		loss += 0.5 * (double)model.l2 * (double)at[w] * (double)at[w];
		ret_gradient[w] += (double)model.l2 * (double)at[w];
	}
	return loss;
}

START_TEST(equals_the_naive_loop)
{
	double expected[PARAMS];
	double loss = naive(params, expected);

	ck_assert_double_eq_tol(
		iso_softmax_gradient(&model, params, x, labels, COUNT, workspace, gradient), loss,
		1e-5);
	for (int i = 0; i < PARAMS; i++)
		ck_assert_double_eq_tol((double)gradient[i], expected[i], 1e-6);
	ck_assert_double_eq_tol(
		iso_softmax_loss(&model, params, x, labels, COUNT, workspace, NULL), loss, 1e-5);
}
END_TEST

START_TEST(equals_finite_differences_of_the_loss)
{
	(void)iso_softmax_gradient(&model, params, x, labels, COUNT, workspace, gradient);
	for (int i = 0; i < PARAMS; i++) {
		const float step = 1.0f / 128, before = params[i];

		params[i] = before + step;
		double above = iso_softmax_loss(&model, params, x, labels, COUNT, workspace, NULL);
		params[i] = before - step;
		double below = iso_softmax_loss(&model, params, x, labels, COUNT, workspace, NULL);
		params[i] = before;
		/* Rounding 1e-7 / step, truncation step^2. */
		ck_assert_double_eq_tol((above - below) / (2 * (double)step), (double)gradient[i],
					1e-4);
	}
}
END_TEST

START_TEST(huge_logits_are_safe)
{
	for (int i = 0; i < PARAMS; i++)
		params[i] *= 1e30f;
	const struct iso_softmax plain = { FEATURES, CLASSES, 0 };
	double loss = iso_softmax_gradient(&plain, params, x, labels, COUNT, workspace, gradient);

	ck_assert(loss > 1e28 && loss < 1e32);
	ck_assert(iso_sgd_finite(gradient, PARAMS));
	/* Far on the right side of every boundary: no loss and no gradient. */
	memset(params, 0, sizeof(params));
	memset(labels, 2, sizeof(labels));
	params[CLASSES * FEATURES + 2] = 1e4f;
	loss = iso_softmax_gradient(&plain, params, x, labels, COUNT, workspace, gradient);
	ck_assert_double_eq(loss, 0);
	for (int i = 0; i < PARAMS; i++)
		ck_assert_double_eq((double)gradient[i], 0);
}
END_TEST

START_TEST(correct_ones_are_counted_and_ties_go_to_the_lowest_class)
{
	uint32_t correct = 99;

	memset(params, 0, sizeof(params));
	memset(labels, 0, sizeof(labels));
	labels[3] = 1;
	double loss = iso_softmax_loss(&model, params, x, labels, COUNT, workspace, &correct);
	ck_assert_double_eq_tol(loss, log(CLASSES), 1e-6);
	ck_assert_uint_eq(correct, COUNT - 1);
	params[CLASSES * FEATURES + 1] = 1;
	(void)iso_softmax_loss(&model, params, x, labels, COUNT, workspace, &correct);
	ck_assert_uint_eq(correct, 1);
}
END_TEST

START_TEST(descent_finds_the_classes_of_separable_data)
{
	uint32_t correct = 0;

	for (int j = 0; j < COUNT; j++)
		x[j * FEATURES + labels[j]] += 4;
	for (int k = 0; k < 100; k++) {
		(void)iso_softmax_gradient(&model, params, x, labels, COUNT, workspace, gradient);
		iso_sgd_step(params, gradient, PARAMS, 0.5f);
	}
	(void)iso_softmax_loss(&model, params, x, labels, COUNT, workspace, &correct);
	ck_assert_uint_eq(correct, COUNT);
}
END_TEST

START_TEST(steps_and_sums_are_exact_and_infinities_seen)
{
	float sum[5] = { 1, 2, 3, 4, 5 };
	const float add[5] = { 0.5f, -2, 0, 8, 1 };

	iso_sgd_add(sum, add, 5);
	ck_assert_double_eq((double)sum[0], 1.5);
	ck_assert_double_eq((double)sum[3], 12);
	iso_sgd_step(sum, add, 5, 2);
	ck_assert_double_eq((double)sum[1], 4);
	ck_assert_double_eq((double)sum[4], 4);
	float values[4] = { 0, -FLT_MAX, FLT_TRUE_MIN, FLT_MAX };
	ck_assert(iso_sgd_finite(values, 4));
	ck_assert(iso_sgd_finite(values, 0));
	for (int i = 0; i < 3; i++) {
		values[2] = (const float[]){ NAN, INFINITY, -INFINITY }[i];
		ck_assert(!iso_sgd_finite(values, 4));
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("softmax");
	TCase *tcase = tcase_create("gradient");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, equals_the_naive_loop);
	tcase_add_test(tcase, equals_finite_differences_of_the_loss);
	tcase_add_test(tcase, huge_logits_are_safe);
	tcase_add_test(tcase, correct_ones_are_counted_and_ties_go_to_the_lowest_class);
	tcase_add_test(tcase, descent_finds_the_classes_of_separable_data);
	tcase_add_test(tcase, steps_and_sums_are_exact_and_infinities_seen);
	suite_add_tcase(suite, tcase);
	return suite;
}
