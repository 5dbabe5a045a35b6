/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/split.h"

#include <math.h>

#include "tests/test.h"

#define COUNT 20

static struct iso_site sites[COUNT];
static double used[COUNT], shares[COUNT];

/* As the toy instance of the paper's comparison: kappa 1 to 5, wishes of 2 to 8 CPUs. */
static struct iso_split draw(uint64_t seed, enum iso_split_rule rule)
{
	struct iso_rng rng = { seed };
	int64_t wishes_ucpu = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		sites[i] = (struct iso_site){
			.cost = { .kind = ISO_COST_QUADRATIC,
				  .penalty = ISO_PENALTY_NONE,
				  .weight = 1,
				  .kappa = 1 + 4 * iso_rng_unit(&rng),
				  .demand_ucpu = 2000000 + (int64_t)iso_rng_below(&rng, 6000000) },
			.box = { 0, 20000000 },
		};
		used[i] = iso_rng_unit(&rng);
		wishes_ucpu += sites[i].cost.demand_ucpu;
	}
	return (struct iso_split){ .rule = rule,
				   .sites = sites,
				   .count = COUNT,
				   .budget_ucpu = wishes_ucpu / 5 * 6,
				   .used_cpu = used };
}

static double sum(void)
{
	double total = 0;

	for (uint32_t i = 0; i < COUNT; i++)
		total += shares[i];
	return total;
}

START_TEST(each_rule_spends_the_budget)
{
	for (int run = 0; run < test_runs(200); run++)
		for (int rule = ISO_SPLIT_EQUAL; rule <= ISO_SPLIT_OPTIMUM; rule++)
			for (int boxed = 0; boxed < 2; boxed++) {
				struct iso_split split = draw(test_seed_base() + (uint64_t)run,
							      (enum iso_split_rule)rule);

				split.within_box = boxed;
				for (uint32_t i = 0; i < COUNT && boxed; i++) {
					sites[i].box.floor_ucpu = 3000000;
					sites[i].box.ceiling_ucpu = 9000000;
				}
				ck_assert_ok(iso_split(&split, shares));
				ck_assert_double_eq_tol(sum(), 1e-6 * (double)split.budget_ucpu,
							1e-9);
				for (uint32_t i = 0; i < COUNT && boxed; i++)
					ck_assert(shares[i] >= 3 && shares[i] <= 9);
			}
}
END_TEST

START_TEST(each_rule_is_what_it_says)
{
	struct iso_split split = draw(test_seed_base(), ISO_SPLIT_EQUAL);

	ck_assert_ok(iso_split(&split, shares));
	for (uint32_t i = 1; i < COUNT; i++)
		ck_assert_double_eq(shares[i], shares[0]);
	split.rule = ISO_SPLIT_PROPORTIONAL;
	ck_assert_ok(iso_split(&split, shares));
	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_double_eq_tol(shares[i] / (1e-6 * (double)sites[i].cost.demand_ucpu), 1.2,
					1e-6);
	split.rule = ISO_SPLIT_BALANCE;
	ck_assert_ok(iso_split(&split, shares));
	for (uint32_t i = 1; i < COUNT; i++)
		ck_assert_double_eq_tol((shares[i] + used[i]) / sites[i].cost.kappa,
					(shares[0] + used[0]) / sites[0].cost.kappa, 1e-9);
	/* Without boxes in the way the optimum has a closed form: b_i + kappa_i (b - sum b) / sum
	 * kappa. */
	double kappas = 0, spare = 1e-6 * (double)split.budget_ucpu;

	for (uint32_t i = 0; i < COUNT; i++) {
		kappas += sites[i].cost.kappa;
		spare -= 1e-6 * (double)sites[i].cost.demand_ucpu;
	}
	split.rule = ISO_SPLIT_OPTIMUM;
	ck_assert_ok(iso_split(&split, shares));
	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_double_eq_tol(shares[i],
					1e-6 * (double)sites[i].cost.demand_ucpu +
					    sites[i].cost.kappa * spare / kappas,
					1e-9);
}
END_TEST

/* No split of the same budget within the same boxes costs less than the optimum. */
START_TEST(the_optimum_costs_least)
{
	for (int run = 0; run < test_runs(100); run++) {
		struct iso_split split = draw(test_seed_base() + (uint64_t)run, ISO_SPLIT_OPTIMUM);
		double least;

		split.within_box = true;
		ck_assert_ok(iso_split(&split, shares));
		least = iso_split_cost(sites, COUNT, shares);
		for (int rule = ISO_SPLIT_EQUAL; rule < ISO_SPLIT_OPTIMUM; rule++) {
			split.rule = (enum iso_split_rule)rule;
			ck_assert_ok(iso_split(&split, shares));
			ck_assert_double_gt(iso_split_cost(sites, COUNT, shares), least);
		}
	}
}
END_TEST

START_TEST(what_cannot_be_split_is_refused)
{
	struct iso_split split = draw(test_seed_base(), ISO_SPLIT_EQUAL);

	shares[0] = 42;
	split.within_box = true;
	split.budget_ucpu = 20000000ll * COUNT + 1;
	ck_assert_int_eq(iso_split(&split, shares), ISO_E_RANGE);
	split.rule = ISO_SPLIT_OPTIMUM;
	split.within_box = false;
	ck_assert_int_eq(iso_split(&split, shares), ISO_E_RANGE);
	split.rule = ISO_SPLIT_PROPORTIONAL;
	for (uint32_t i = 0; i < COUNT; i++)
		sites[i].cost.demand_ucpu = 0;
	ck_assert_int_eq(iso_split(&split, shares), ISO_E_RANGE);
	ck_assert_double_eq(shares[0], 42);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("split");
	TCase *tcase = tcase_create("rules");

	tcase_add_test(tcase, each_rule_spends_the_budget);
	tcase_add_test(tcase, each_rule_is_what_it_says);
	tcase_add_test(tcase, the_optimum_costs_least);
	tcase_add_test(tcase, what_cannot_be_split_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
