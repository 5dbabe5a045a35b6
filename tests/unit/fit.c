/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/repro/fit.h"

#include <math.h>
#include <stdbool.h>

#include "tests/test.h"

enum { COUNT = 12 };
static double x[COUNT], y[COUNT];

static void fill(double a, double b, bool power)
{
	for (int i = 0; i < COUNT; i++) {
		x[i] = 100 * pow(1.5, i);
		y[i] = power ? a * pow(x[i], b) : a + b * log(x[i]);
	}
}

START_TEST(finds_what_grows_logarithmically)
{
	fill(-300, 140, false);
	struct fit line = fit_log(x, y, COUNT), power = fit_power(x, y, COUNT);

	ck_assert_double_eq_tol(line.a, -300, 1e-6);
	ck_assert_double_eq_tol(line.b, 140, 1e-8);
	ck_assert_double_eq_tol(line.r2, 1, 1e-9);
	ck_assert_double_lt(power.r2, 0.999);
}
END_TEST

START_TEST(finds_a_power)
{
	fill(3, 0.5, true);
	struct fit line = fit_log(x, y, COUNT), power = fit_power(x, y, COUNT);

	ck_assert_double_eq_tol(exp(power.a), 3, 1e-9);
	ck_assert_double_eq_tol(power.b, 0.5, 1e-9);
	ck_assert_double_eq_tol(power.r2, 1, 1e-9);
	ck_assert_double_lt(line.r2, 0.99);
}
END_TEST

START_TEST(explains_nothing_of_noise)
{
	for (int i = 0; i < COUNT; i++) {
		x[i] = i + 1;
		y[i] = i % 2 == 0 ? 1 : 2;
	}
	ck_assert_double_lt(fabs(fit_log(x, y, COUNT).r2), 0.2);
}
END_TEST

START_TEST(finds_quantiles)
{
	double values[] = { 5, 1, 4, 2, 3 };

	ck_assert_double_eq(fit_quantile(values, 5, 0.5), 3);
	ck_assert_double_eq(fit_quantile(values, 5, 0), 1);
	ck_assert_double_eq(fit_quantile(values, 5, 1), 5);
	ck_assert_double_eq(fit_quantile(values, 5, 0.125), 1.5);
	ck_assert_double_eq(fit_quantile(values, 1, 0.25), 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("fit");
	TCase *tcase = tcase_create("growth");

	tcase_add_test(tcase, finds_what_grows_logarithmically);
	tcase_add_test(tcase, finds_a_power);
	tcase_add_test(tcase, explains_nothing_of_noise);
	tcase_add_test(tcase, finds_quantiles);
	suite_add_tcase(suite, tcase);
	return suite;
}
