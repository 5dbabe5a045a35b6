/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/site.h"

#include <math.h>

#include "tests/test.h"

#define COUNT 40

static struct iso_site sites[COUNT];

static int64_t draw_all(enum iso_site_load load, enum iso_cost_kind kind, uint64_t seed)
{
	struct iso_rng rng = { seed };
	int64_t ceilings = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		sites[i] = iso_site_draw(load, kind, i, COUNT, &rng);
		ck_assert_ok(iso_cost_check(&sites[i].cost));
		ck_assert_int_le(sites[i].box.floor_ucpu, sites[i].box.ceiling_ucpu);
		ceilings += sites[i].box.ceiling_ucpu;
	}
	return ceilings;
}

/* The optimum is feasible, and no transfer between any two improves it. */
START_TEST(no_transfer_improves_the_optimum)
{
	static const enum iso_cost_kind kinds[] = { ISO_COST_QUADRATIC, ISO_COST_LATENCY,
						    ISO_COST_PROPORTIONAL };

	for (int run = 0; run < test_runs(30); run++) {
		int64_t budget = 500000 * COUNT, shares[COUNT];
		double sum = 0;

		draw_all(run % 2 == 0 ? ISO_SITE_HALVES : ISO_SITE_SCATTERED, kinds[run % 3],
			 test_seed_base() + (uint64_t)run);
		struct iso_site_optimum best = iso_site_optimum(sites, COUNT, budget);

		for (uint32_t i = 0; i < COUNT; i++) {
			double share = iso_site_share_at(&sites[i], best.lambda);

			ck_assert_double_ge(share, (double)sites[i].box.floor_ucpu);
			ck_assert_double_le(share, (double)sites[i].box.ceiling_ucpu);
			shares[i] = (int64_t)share;
			sum += share;
		}
		ck_assert_double_eq_tol(sum, (double)budget, 1);
		for (uint32_t i = 0; i < COUNT; i++)
			for (uint32_t j = 0; j < COUNT; j++) {
				int64_t moved = 1000;

				if (i == j || shares[i] - moved < sites[i].box.floor_ucpu ||
				    shares[j] + moved > sites[j].box.ceiling_ucpu)
					continue;
				double before = iso_site_cost(&sites[i], shares[i]) +
						iso_site_cost(&sites[j], shares[j]);
				double after = iso_site_cost(&sites[i], shares[i] - moved) +
					       iso_site_cost(&sites[j], shares[j] + moved);

				ck_assert_double_ge(after, before);
			}
	}
}
END_TEST

START_TEST(too_much_budget_fills_every_ceiling)
{
	int64_t ceilings = draw_all(ISO_SITE_HALVES, ISO_COST_LATENCY, test_seed_base());
	struct iso_site_optimum best = iso_site_optimum(sites, COUNT, ceilings + 1000000);

	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_double_eq(iso_site_share_at(&sites[i], best.lambda),
				    (double)sites[i].box.ceiling_ucpu);
}
END_TEST

START_TEST(half_of_the_nodes_is_busy)
{
	draw_all(ISO_SITE_HALVES, ISO_COST_QUADRATIC, test_seed_base());
	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_int_eq(sites[i].cost.demand_ucpu >= 900000, i < COUNT / 2);
	/* Every node would rather have more. */
	ck_assert_double_lt(iso_site_optimum(sites, COUNT, 500000 * COUNT).lambda, -0.01);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("site");
	TCase *tcase = tcase_create("optimum");

	tcase_add_test(tcase, no_transfer_improves_the_optimum);
	tcase_add_test(tcase, too_much_budget_fills_every_ceiling);
	tcase_add_test(tcase, half_of_the_nodes_is_busy);
	suite_add_tcase(suite, tcase);
	return suite;
}
