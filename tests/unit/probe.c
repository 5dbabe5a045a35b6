/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/probe.h"

#include <math.h>
#include <string.h>

#include "lib/draw.h"
#include "tests/test.h"

#define PARAMS 20u

static struct probe probe;

/* Of sum_i c_i y_i^2 / 2, with a gradient that is not 0 at y = 0 either. */
static void gradient_of(const double *curvatures, const double *y, double *ret_gradient)
{
	for (unsigned i = 0; i < PARAMS; i++)
		ret_gradient[i] = curvatures[i] * y[i] + 1;
}

static double find(const double *curvatures, const double *y, double bound)
{
	double gradient[PARAMS];
	unsigned gradients = 1;

	ck_assert_int_eq(probe_open(PARAMS, bound, &probe), 0);
	gradient_of(curvatures, y, gradient);
	for (const double *point = probe_begin(&probe, y, gradient, 0.5); point != NULL;) {
		gradient_of(curvatures, point, gradient);
		point = probe_next(&probe, gradient);
		gradients++;
	}
	ck_assert_uint_le(gradients, 10);
	ck_assert_double_eq(probe.base_loss, 0.5);
	double found = probe_curvature(&probe);
	probe_close(&probe);
	return found;
}

START_TEST(is_about_twice_the_largest_curvature)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(50); run++) {
		double curvatures[PARAMS], y[PARAMS];
		double largest = pow(10, 3 * iso_rng_unit(&rng));

		for (unsigned i = 0; i < PARAMS; i++) {
			/* One stands out, as with images. */
			curvatures[i] = i == 7 ? largest : 0.5 * largest * iso_rng_unit(&rng);
			y[i] = iso_draw_normal(&rng);
		}
		double found = find(curvatures, y, 1e4);
		ck_assert_double_le(found, 2 * largest * (1 + 1e-9));
		ck_assert_double_ge(found, largest);
	}
}
END_TEST

START_TEST(never_says_more_than_the_bound)
{
	double curvatures[PARAMS], y[PARAMS] = { 0 };

	for (unsigned i = 0; i < PARAMS; i++)
		curvatures[i] = 10;
	ck_assert_double_eq(find(curvatures, y, 15), 15);
}
END_TEST

START_TEST(where_there_is_no_slope_it_is_the_bound)
{
	const double y[PARAMS] = { 0 }, gradient[PARAMS] = { 0 };

	ck_assert_int_eq(probe_open(PARAMS, 3, &probe), 0);
	ck_assert_ptr_null(probe_begin(&probe, y, gradient, 0));
	ck_assert_double_eq(probe_curvature(&probe), 3);
	probe_close(&probe);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("probe");
	TCase *tcase = tcase_create("curvature");

	tcase_add_test(tcase, is_about_twice_the_largest_curvature);
	tcase_add_test(tcase, never_says_more_than_the_bound);
	tcase_add_test(tcase, where_there_is_no_slope_it_is_the_bound);
	suite_add_tcase(suite, tcase);
	return suite;
}
