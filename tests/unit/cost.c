/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/trade/cost.h"

#include <math.h>
#include <signal.h>

#include "tests/test.h"

static const struct iso_box box = { 50000, 2000000 };

static struct iso_cost cost_of(enum iso_cost_kind kind, enum iso_penalty_kind penalty)
{
	return (struct iso_cost){
		.kind = kind,
		.penalty = penalty,
		.weight = 1.5,
		.kappa = 2,
		.penalty_eps = 0.01,
		.penalty_sigma = 10,
		.demand_ucpu = 800000,
	};
}

static double price(const struct iso_cost *cost, int64_t share_ucpu)
{
	return iso_price_real(iso_cost_marginal(cost, &box, share_ucpu).price_q32);
}

START_TEST(values_follow_their_formulas)
{
	struct iso_cost cost = cost_of(ISO_COST_QUADRATIC, ISO_PENALTY_NONE);

	ck_assert_double_eq_tol(iso_cost_value(&cost, 1000000), 1.5 * 0.04 / 4, 1e-12);
	ck_assert_double_eq_tol(price(&cost, 1000000), 1.5 * 0.2 / 2, 1e-9);
	ck_assert_double_eq_tol(price(&cost, 600000), -1.5 * 0.2 / 2, 1e-9);
	cost.kind = ISO_COST_LATENCY;
	ck_assert_double_eq_tol(iso_cost_value(&cost, 500000), 1.5 * 0.64 / 0.5, 1e-12);
	ck_assert_double_eq_tol(price(&cost, 500000), -1.5 * 0.64 / 0.25, 1e-9);
	cost.kind = ISO_COST_PROPORTIONAL;
	ck_assert_double_eq_tol(iso_cost_value(&cost, 500000), -1.2 * log(0.5), 1e-12);
	ck_assert_double_eq_tol(price(&cost, 500000), -1.2 / 0.5, 1e-9);
}
END_TEST

/* Price and curvature against differences of the value and of the price. */
START_TEST(derivatives_agree_with_differences)
{
	struct iso_rng rng = { test_seed_base() };

	for (int i = 0; i < test_runs(3000); i++) {
		struct iso_cost cost = cost_of((enum iso_cost_kind)(1 + iso_rng_below(&rng, 3)),
					       (enum iso_penalty_kind)(1 + iso_rng_below(&rng, 3)));
		int64_t x = 100000 + (int64_t)iso_rng_below(&rng, 1800000), h = 50;
		struct iso_marginal here = iso_cost_marginal(&cost, &box, x);
		double slope = (price(&cost, x + h) - price(&cost, x - h)) / (2e-6 * (double)h);
		double first = (iso_cost_value(&cost, x + h) - iso_cost_value(&cost, x - h)) /
			       (2e-6 * (double)h);

		if (cost.penalty == ISO_PENALTY_NONE)
			ck_assert_double_eq_tol(iso_price_real(here.price_q32), first,
						1e-4 * (1 + fabs(first)));
		ck_assert_double_eq_tol(here.curvature, slope, 1e-3 * (1 + fabs(slope)));
	}
}
END_TEST

/* The dearer side gives, so a price must not fall as the share grows. */
START_TEST(prices_rise_with_the_share)
{
	struct iso_rng rng = { test_seed_base() };

	for (int i = 0; i < test_runs(20000); i++) {
		struct iso_cost cost = cost_of((enum iso_cost_kind)(1 + iso_rng_below(&rng, 3)),
					       (enum iso_penalty_kind)(1 + iso_rng_below(&rng, 3)));
		/* Also far outside of the box, where credits may take a share. */
		int64_t a = (int64_t)iso_rng_below(&rng, 4000000);
		int64_t b = a + (int64_t)iso_rng_below(&rng, 10000);
		struct iso_marginal low = iso_cost_marginal(&cost, &box, a);
		struct iso_marginal high = iso_cost_marginal(&cost, &box, b);

		ck_assert_int_le(low.price_q32, high.price_q32);
		ck_assert(low.curvature >= ISO_CURVATURE_MIN && low.curvature <= ISO_CURVATURE_MAX);
	}
}
END_TEST

/* Real shares: the same formulas, and no curvature above the bound. */
START_TEST(a_real_share_costs_what_whole_units_do)
{
	struct iso_rng rng = { test_seed_base() };
	double most = 0;

	for (int i = 0; i < test_runs(20000); i++) {
		struct iso_cost cost = cost_of((enum iso_cost_kind)(1 + iso_rng_below(&rng, 3)),
					       (enum iso_penalty_kind)(1 + iso_rng_below(&rng, 3)));
		int64_t x = 50000 + (int64_t)iso_rng_below(&rng, 2000000);
		struct iso_cost_slope real = iso_cost_slope_real(&cost, &box, 1e-6 * (double)x);
		struct iso_marginal whole = iso_cost_marginal(&cost, &box, x);
		double bound = iso_cost_curvature_bound(&cost, &box);

		ck_assert_double_eq_tol(iso_cost_value_real(&cost, 1e-6 * (double)x),
					iso_cost_value(&cost, x), 1e-12);
		ck_assert_double_eq_tol(real.first, iso_price_real(whole.price_q32),
					1e-8 * (1 + fabs(real.first)));
		ck_assert_double_eq_tol(real.second, whole.curvature, 1e-8 * real.second);
		ck_assert_double_le(real.second, bound * (1 + 1e-12));
		if (cost.penalty == ISO_PENALTY_SOFTPLUS && cost.kind == ISO_COST_QUADRATIC)
			most = fmax(most, real.second / bound);
	}
	/* Half of the bound is for the other end of the box. */
	ck_assert_double_gt(most, 0.5);
}
END_TEST

START_TEST(an_idle_job_costs_nothing)
{
	for (int kind = ISO_COST_LATENCY; kind <= ISO_COST_PROPORTIONAL; kind++) {
		struct iso_cost cost = cost_of((enum iso_cost_kind)kind, ISO_PENALTY_NONE);

		cost.demand_ucpu = 0;
		ck_assert_int_eq(iso_cost_marginal(&cost, &box, 500000).price_q32, 0);
		ck_assert_double_eq(iso_cost_marginal(&cost, &box, 500000).curvature,
				    ISO_CURVATURE_MIN);
		ck_assert_double_eq(iso_cost_value(&cost, 500000), 0);
	}
}
END_TEST

START_TEST(a_share_of_nothing_has_a_finite_price)
{
	struct iso_cost cost = cost_of(ISO_COST_LATENCY, ISO_PENALTY_BARRIER);
	struct iso_box none = { 0, 2000000 };

	cost.demand_ucpu = 64000000;
	cost.weight = 100;
	ck_assert_int_eq(iso_cost_marginal(&cost, &none, 0).price_q32, -ISO_PRICE_MAX);
	ck_assert_double_eq(iso_cost_marginal(&cost, &none, 0).curvature, ISO_CURVATURE_MAX);
	ck_assert(isfinite(iso_cost_value(&cost, 0)));
	/* 64 CPUs of demand on the least share a kernel can enforce is still in range. */
	cost.weight = 1;
	ck_assert_int_gt(iso_cost_marginal(&cost, &box, 10000).price_q32, -ISO_PRICE_MAX);
}
END_TEST

START_TEST(penalties_follow_their_formulas)
{
	struct iso_cost cost = cost_of(ISO_COST_QUADRATIC, ISO_PENALTY_SOFTPLUS);
	struct iso_cost plain = cost_of(ISO_COST_QUADRATIC, ISO_PENALTY_NONE);
	double low = 1 / (1 + exp(-10 * (0.05 - 1))), high = 1 / (1 + exp(-10 * (1.0 - 2)));

	/* eps sigma [S(sigma (x-M)) - S(sigma (m-x))] at x = 1 */
	ck_assert_double_eq_tol(price(&cost, 1000000) - price(&plain, 1000000),
				0.01 * 10 * (high - low), 1e-9);
	cost.penalty = ISO_PENALTY_BARRIER;
	ck_assert_double_eq_tol(price(&cost, 1000000) - price(&plain, 1000000),
				0.01 * (-1 / 0.95 + 1 / 1.0), 1e-9);
	/* Outside the relaxed barrier pushes inward, without a jump at its seam. */
	ck_assert_double_lt(price(&cost, 40000) - price(&plain, 40000), -1);
	ck_assert_double_gt(price(&cost, 2100000) - price(&plain, 2100000), 1);
	int64_t seam = 2000000 - 1950000 / 1024;
	ck_assert_double_eq_tol(price(&cost, seam - 1), price(&cost, seam + 1), 0.02);
}
END_TEST

START_TEST(a_box_may_be_turned_around)
{
	struct iso_box turned = { 500000, 100000 };

	for (int kind = 1; kind <= 3; kind++)
		for (int penalty = 1; penalty <= 3; penalty++) {
			struct iso_cost cost =
			    cost_of((enum iso_cost_kind)kind, (enum iso_penalty_kind)penalty);
			struct iso_marginal at = iso_cost_marginal(&cost, &turned, 200000);

			ck_assert(at.curvature > 0);
			ck_assert_int_eq(at.price_q32, iso_price_clamp(at.price_q32));
		}
}
END_TEST

START_TEST(refuses_impossible_parameters)
{
	struct iso_cost cost = cost_of(ISO_COST_QUADRATIC, ISO_PENALTY_SOFTPLUS), bad;

	ck_assert_ok(iso_cost_check(&cost));
#define refused(field, value)                                                                      \
	do {                                                                                       \
		bad = cost;                                                                        \
		bad.field = (value);                                                               \
		ck_assert_int_eq(iso_cost_check(&bad), ISO_E_RANGE);                               \
	} while (0)
	refused(weight, 0);
	refused(weight, NAN);
	refused(weight, INFINITY);
	refused(kappa, -1);
	refused(penalty_eps, -0.1);
	refused(penalty_eps, NAN);
	refused(penalty_sigma, 0);
	refused(demand_ucpu, -1);
	refused(kind, (enum iso_cost_kind)0);
	refused(kind, (enum iso_cost_kind)4);
	refused(penalty, (enum iso_penalty_kind)0);
	refused(penalty, (enum iso_penalty_kind)4);
#undef refused
	cost.penalty = ISO_PENALTY_NONE;
	cost.penalty_sigma = 0;
	ck_assert_ok(iso_cost_check(&cost));
}
END_TEST

START_TEST(dies_of_an_unchecked_cost)
{
	struct iso_cost cost = cost_of(ISO_COST_LATENCY, ISO_PENALTY_NONE);

	cost.weight = -1;
	iso_cost_marginal(&cost, &box, 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("cost");
	TCase *tcase = tcase_create("formulas");

	tcase_add_test(tcase, values_follow_their_formulas);
	tcase_add_test(tcase, derivatives_agree_with_differences);
	tcase_add_test(tcase, prices_rise_with_the_share);
	tcase_add_test(tcase, a_real_share_costs_what_whole_units_do);
	tcase_add_test(tcase, an_idle_job_costs_nothing);
	tcase_add_test(tcase, a_share_of_nothing_has_a_finite_price);
	tcase_add_test(tcase, penalties_follow_their_formulas);
	tcase_add_test(tcase, a_box_may_be_turned_around);
	tcase_add_test(tcase, refuses_impossible_parameters);
	tcase_add_test_raise_signal(tcase, dies_of_an_unchecked_cost, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
