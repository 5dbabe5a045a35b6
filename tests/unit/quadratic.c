/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/model/quadratic.h"
#include "tests/test.h"

#include <math.h>

#define N_MAX 2000u

static float x[N_MAX], gradient[N_MAX];

/* The definition, with the whole matrix. */
static double naive(uint32_t n, const double *at)
{
	double value = at[0] / 4;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++) {
			double a = i == j ? 0.5 : (i + 1 == j || j + 1 == i) ? -0.25 : 0;

			value += a * at[i] * at[j] / 2;
		}
	return value;
}

static void draw(struct iso_rng *rng, uint32_t n, double *at)
{
	for (uint32_t i = 0; i < n; i++) {
		x[i] = (float)(4 * iso_rng_unit(rng) - 2);
		at[i] = (double)x[i];
	}
}

START_TEST(gradient_and_gap_equal_the_definition)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(60); run++) {
		uint32_t n = 1 + (uint32_t)iso_rng_below(&rng, 20);
		double at[20], square = 0;

		draw(&rng, n, at);
		ck_assert_double_eq_tol(iso_quadratic_gap(n, x) + iso_quadratic_minimum(n),
					naive(n, at), 1e-9);
		iso_quadratic_gradient(n, x, 0.25, gradient);
		for (uint32_t i = 0; i < n; i++) {
			double before = at[i];

			at[i] = before + 1;
			double above = naive(n, at);
			at[i] = before - 1;
			/* Of a quadratic, central differences are exact whatever the step. */
			double slope = (above - naive(n, at)) / 2;
			at[i] = before;
			ck_assert_double_eq_tol((double)gradient[i], slope + 0.25, 1e-6);
			square += slope * slope;
		}
		ck_assert_double_eq_tol(iso_quadratic_gradient_square(n, x), square, 1e-9);
	}
}
END_TEST

/* Known values: f(x0) - f* = 27.62 and ||grad f(x0)||^2 = 33.8 for n = 100, 550.8 for 1729. */
START_TEST(starts_where_the_experiments_do)
{
	iso_quadratic_start(100, x);
	ck_assert_double_eq_tol(iso_quadratic_gap(100, x), 27.62, 5e-3);
	ck_assert_double_eq_tol(iso_quadratic_gradient_square(100, x), 33.8, 5e-2);
	ck_assert_double_eq_tol(iso_quadratic_minimum(100), -0.12376, 5e-6);
	iso_quadratic_start(1729, x);
	ck_assert_double_eq_tol(iso_quadratic_gradient_square(1729, x), 550.8, 5e-2);
}
END_TEST

START_TEST(the_minimum_is_where_it_is_said_to_be)
{
	static const uint32_t sizes[] = { 1, 2, 3, 100, N_MAX };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint32_t n = sizes[k];

		iso_quadratic_argmin(n, x);
		ck_assert_double_eq_tol(iso_quadratic_gap(n, x), 0, 1e-12);
		ck_assert_double_eq_tol(iso_quadratic_gradient_square(n, x), 0, 1e-12);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("quadratic");
	TCase *tcase = tcase_create("function");

	tcase_add_test(tcase, gradient_and_gap_equal_the_definition);
	tcase_add_test(tcase, starts_where_the_experiments_do);
	tcase_add_test(tcase, the_minimum_is_where_it_is_said_to_be);
	suite_add_tcase(suite, tcase);
	return suite;
}
