/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/draw.h"

#include <math.h>

#include "tests/test.h"

/* Gamma(a): mean a, variance a; ln Gamma(a) has mean psi(a), which reaches small a. */
START_TEST(gamma_variates_have_their_moments)
{
	static const struct {
		double shape, digamma, trigamma;
	} cases[] = {
		{ 0.01, -100.5608854578687, 10001.621213528313 },
		{ 0.5, -1.9635100260214235, 4.934802200544679 },
		{ 1, -0.5772156649015329, 1.6449340668482264 },
		{ 20, 2.9705239922421493, 0.05127082293520315 },
	};
	struct iso_rng rng = { test_seed_base() };
	const int draws = 40000;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double shape = cases[i].shape, sum = 0, log_sum = 0;

		for (int k = 0; k < draws; k++) {
			double value = iso_draw_log_gamma(&rng, shape);

			log_sum += value;
			sum += iso_draw_gamma(&rng, shape);
		}
		/* Five standard errors. */
		ck_assert_double_eq_tol(sum / draws, shape, 5 * sqrt(shape / draws));
		ck_assert_double_eq_tol(log_sum / draws, cases[i].digamma,
					5 * sqrt(cases[i].trigamma / draws));
	}
}
END_TEST

START_TEST(normal_variates_have_their_moments)
{
	struct iso_rng rng = { test_seed_base() };
	double moments[5] = { 0 };
	const int draws = 40000;

	for (int k = 0; k < draws; k++) {
		double value = iso_draw_normal(&rng), power = 1;

		for (int m = 0; m < 5; m++, power *= value)
			moments[m] += power / draws;
	}
	/* Five standard errors: sd of x^2 is sqrt 2, of x^3 sqrt 15, of x^4 sqrt 96. */
	ck_assert_double_eq_tol(moments[1], 0, 0.025);
	ck_assert_double_eq_tol(moments[2], 1, 0.036);
	ck_assert_double_eq_tol(moments[3], 0, 0.097);
	ck_assert_double_eq_tol(moments[4], 3, 0.245);
}
END_TEST

START_TEST(exponential_variates_have_their_moments)
{
	struct iso_rng rng = { test_seed_base() };
	double sum = 0, squares = 0;
	const int draws = 40000;

	for (int k = 0; k < draws; k++) {
		double value = iso_draw_exponential(&rng);

		ck_assert(value >= 0 && value < HUGE_VAL);
		sum += value;
		squares += value * value;
	}
	/* Five standard errors: sd of x is 1, of x^2 sqrt 20. */
	ck_assert_double_eq_tol(sum / draws, 1, 0.025);
	ck_assert_double_eq_tol(squares / draws, 2, 0.112);
}
END_TEST

/* Each of the 24 orders of four as often as the others. */
START_TEST(a_shuffle_favours_no_order)
{
	struct iso_rng rng = { test_seed_base() };
	unsigned seen[256] = { 0 }, orders = 0;

	for (int k = 0; k < 24000; k++) {
		uint32_t values[4] = { 0, 1, 2, 3 };

		iso_draw_shuffle(&rng, values, 4);
		seen[values[0] << 6 | values[1] << 4 | values[2] << 2 | values[3]]++;
	}
	for (unsigned i = 0; i < 256; i++) {
		orders += seen[i] > 0;
		ck_assert(seen[i] == 0 || (seen[i] > 830 && seen[i] < 1170)); /* sd 31 */
	}
	ck_assert_uint_eq(orders, 24);
	iso_draw_shuffle(&rng, NULL, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("draw");
	TCase *tcase = tcase_create("variates");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, gamma_variates_have_their_moments);
	tcase_add_test(tcase, normal_variates_have_their_moments);
	tcase_add_test(tcase, exponential_variates_have_their_moments);
	tcase_add_test(tcase, a_shuffle_favours_no_order);
	suite_add_tcase(suite, tcase);
	return suite;
}
