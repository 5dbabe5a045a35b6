/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/times.h"

#include <math.h>

#include "tests/test.h"

#define DRAWS 40000

static const double trace[] = { 1, 2, 4, 9 };

/* The mean and the variance of draws against theory; the standard error is measured with them. */
static void has_its_moments(const struct iso_law *law, struct iso_rng *rng)
{
	double mean = iso_law_mean(law), variance = iso_law_variance(law);
	double sum = 0, squares = 0, fourths = 0;

	ck_assert(iso_law_valid(law));
	for (uint64_t u = 0; u < DRAWS; u++) {
		double time = iso_law_draw(law, u, rng), off = time - mean;

		ck_assert(time >= law->base && time < HUGE_VAL);
		sum += off;
		squares += off * off;
		fourths += off * off * off * off;
	}
	squares /= DRAWS;
	fourths /= DRAWS;
	double tiny = 1e-9 * mean * mean;
	ck_assert_double_eq_tol(sum / DRAWS, 0, 5 * sqrt(squares / DRAWS) + tiny);
	ck_assert_double_eq_tol(squares, variance,
				6 * sqrt((fourths - squares * squares) / DRAWS) + tiny);
}

START_TEST(every_law_has_its_mean_and_variance)
{
	static const struct iso_law laws[] = {
		{ .kind = ISO_LAW_CONSTANT, .base = 3, .scale = 4 },
		{ .kind = ISO_LAW_EXPONENTIAL, .scale = 29 },
		{ .kind = ISO_LAW_EXPONENTIAL, .base = 29, .scale = 29 },
		{ .kind = ISO_LAW_UNIFORM, .base = 1, .scale = 2 },
		{ .kind = ISO_LAW_HALF_NORMAL, .base = 7, .scale = 2.5 },
		{ .kind = ISO_LAW_LOGNORMAL, .scale = 2, .shape = 0.5 },
		{ .kind = ISO_LAW_GAMMA, .scale = 2, .shape = 0.7 },
		{ .kind = ISO_LAW_GAMMA, .base = 1, .scale = 0.5, .shape = 9 },
		{ .kind = ISO_LAW_TRACE, .scale = 10, .trace = trace, .trace_count = 4 },
	};
	struct iso_rng rng = { test_seed_base() };

	for (size_t i = 0; i < sizeof(laws) / sizeof(*laws); i++)
		has_its_moments(&laws[i], &rng);
	ck_assert_double_eq(iso_law_mean(&laws[0]), 7);
	ck_assert_double_eq(iso_law_variance(&laws[0]), 0);
	ck_assert_double_eq(iso_law_mean(&laws[2]), 58);
	ck_assert_double_eq(iso_law_variance(&laws[2]), 29 * 29);
	ck_assert_double_eq(iso_law_mean(&laws[8]), 40);
	ck_assert_double_eq(iso_law_variance(&laws[8]), 950);
}
END_TEST

START_TEST(a_law_of_a_mean_has_that_mean)
{
	static const enum iso_law_kind kinds[] = { ISO_LAW_CONSTANT,	ISO_LAW_EXPONENTIAL,
						   ISO_LAW_UNIFORM,	ISO_LAW_HALF_NORMAL,
						   ISO_LAW_LOGNORMAL,	ISO_LAW_GAMMA };
	struct iso_rng rng = { test_seed_base() };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (double mean = 1.5; mean < 5000; mean *= 8) {
			struct iso_law law;

			ck_assert_ok(iso_law_of_mean(kinds[i], 3, mean, 0, &law));
			ck_assert_double_eq_tol(iso_law_mean(&law), 3 + mean, 1e-9 * mean);
			/* The tail of the paper's lognormal is too heavy for so few draws. */
			if (kinds[i] == ISO_LAW_LOGNORMAL)
				ck_assert_ok(iso_law_of_mean(kinds[i], 3, mean, 0.4, &law));
			has_its_moments(&law, &rng);
		}
}
END_TEST

/* Appendix A.2 of ATA: Uniform(m/2, 3m/2), |N(0, m sqrt(pi/2))|, Lognormal(ln(m)/2, sqrt(ln m)),
 * Gamma(m^2, 1/m).
 */
START_TEST(the_default_spreads_are_those_of_the_paper)
{
	const double m = 174;
	struct iso_law law;

	ck_assert_ok(iso_law_of_mean(ISO_LAW_UNIFORM, m, m, 0, &law));
	ck_assert_double_eq_tol(law.base, m + m / 2, 1e-9);
	ck_assert_double_eq_tol(law.scale, m, 1e-9);
	ck_assert_ok(iso_law_of_mean(ISO_LAW_HALF_NORMAL, 0, m, 0, &law));
	ck_assert_double_eq_tol(law.scale, m * sqrt(acos(-1) / 2), 1e-9);
	ck_assert_ok(iso_law_of_mean(ISO_LAW_LOGNORMAL, 0, m, 0, &law));
	ck_assert_double_eq_tol(log(law.scale), log(m) / 2, 1e-12);
	ck_assert_double_eq_tol(law.shape, sqrt(log(m)), 1e-12);
	ck_assert_ok(iso_law_of_mean(ISO_LAW_GAMMA, 0, m, 0, &law));
	ck_assert_double_eq_tol(law.shape, m * m, 1e-6);
	ck_assert_double_eq_tol(law.scale, 1 / m, 1e-12);
	/* Ringmaster: i + |N(0, i)|, i the variance. */
	ck_assert_ok(iso_law_of_mean(ISO_LAW_HALF_NORMAL, 49, 49, 1, &law));
	ck_assert_double_eq(law.base, 49);
	ck_assert_double_eq(law.scale, 7);
}
END_TEST

START_TEST(a_trace_is_replayed_in_order)
{
	struct iso_law law = {
		.kind = ISO_LAW_TRACE, .base = 1, .scale = 2, .trace = trace, .trace_count = 4
	};
	struct iso_rng rng = { 5 };

	for (uint64_t u = 0; u < 9; u++)
		ck_assert_double_eq(iso_law_draw(&law, u, &rng), 1 + 2 * trace[u % 4]);
	law.trace_from = 2;
	for (uint64_t u = 0; u < 9; u++)
		ck_assert_double_eq(iso_law_draw(&law, u, &rng), 1 + 2 * trace[(u + 2) % 4]);
	ck_assert_uint_eq(rng.state, 5);
}
END_TEST

START_TEST(what_is_no_law_is_refused)
{
	struct iso_law law = { .kind = ISO_LAW_EXPONENTIAL, .scale = 1 }, untouched = law;
	static const double zero[] = { 1, 0 };

	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_EXPONENTIAL, 0, 0, 0, &law), ISO_E_RANGE);
	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_EXPONENTIAL, -1, 1, 0, &law), ISO_E_RANGE);
	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_EXPONENTIAL, NAN, 1, 0, &law), ISO_E_RANGE);
	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_UNIFORM, 0, 1, 1.5, &law), ISO_E_RANGE);
	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_LOGNORMAL, 0, 1, 0, &law), ISO_E_RANGE);
	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_LOGNORMAL, 0, 0.5, 0, &law), ISO_E_RANGE);
	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_GAMMA, 0, 1, -1, &law), ISO_E_RANGE);
	ck_assert_int_eq(iso_law_of_mean(ISO_LAW_TRACE, 0, 1, 0, &law), ISO_E_RANGE);
	ck_assert_mem_eq(&law, &untouched, sizeof(law));
	ck_assert(!iso_law_valid(&(struct iso_law){ .kind = ISO_LAW_TRACE, .scale = 1 }));
	ck_assert(!iso_law_valid(&(struct iso_law){
	    .kind = ISO_LAW_TRACE, .scale = 1, .trace = zero, .trace_count = 2 }));
	ck_assert(!iso_law_valid(&(struct iso_law){ .scale = 1 }));
	ck_assert(!iso_law_valid(&(struct iso_law){ .kind = ISO_LAW_GAMMA, .scale = 1 }));
}
END_TEST

START_TEST(rules_give_each_worker_its_law)
{
	struct iso_law laws[15];
	struct iso_times_rule rule = { .growth = ISO_TIMES_POWER,
				       .scale = 29,
				       .power = 0.5,
				       .kind = ISO_LAW_EXPONENTIAL,
				       .shift = 1 };

	ck_assert_ok(iso_times_fill(&rule, 15, NULL, laws));
	for (uint32_t i = 0; i < 15; i++) {
		ck_assert_double_eq(laws[i].base, 29 * sqrt(i + 1));
		ck_assert_double_eq(iso_law_mean(&laws[i]), 2 * 29 * sqrt(i + 1));
	}
	rule.power = 1;
	ck_assert_ok(iso_times_fill(&rule, 15, NULL, laws));
	ck_assert_double_eq(iso_law_mean(&laws[14]), 2 * 29 * 15);
	/* A.2: c(5 g + 1), each of five workers of a group with another distribution. */
	rule.growth = ISO_TIMES_GROUPS;
	rule.mixed = true;
	ck_assert_ok(iso_times_fill(&rule, 15, NULL, laws));
	for (uint32_t i = 0; i < 15; i++)
		ck_assert_double_eq_tol(iso_law_mean(&laws[i]), 2 * 29 * (5 * (i / 5) + 1.0), 1e-6);
	ck_assert_int_eq(laws[5].kind, ISO_LAW_EXPONENTIAL);
	ck_assert_int_eq(laws[6].kind, ISO_LAW_UNIFORM);
	ck_assert_int_eq(laws[7].kind, ISO_LAW_HALF_NORMAL);
	ck_assert_int_eq(laws[8].kind, ISO_LAW_LOGNORMAL);
	ck_assert_int_eq(laws[9].kind, ISO_LAW_GAMMA);
	rule.scale = 0.5; /* a lognormal of mean 0.5 needs a shape */
	ck_assert_int_eq(iso_times_fill(&rule, 15, NULL, laws), ISO_E_RANGE);
}
END_TEST

START_TEST(a_shuffled_rule_gives_each_law_once)
{
	struct iso_law laws[100], again[100];
	uint32_t order[100], seen[101] = { 0 }, moved = 0;
	struct iso_times_rule rule = { .growth = ISO_TIMES_POWER,
				       .scale = 1,
				       .power = 1,
				       .kind = ISO_LAW_CONSTANT,
				       .shuffled = true,
				       .seed = test_seed_base() };

	ck_assert_ok(iso_times_fill(&rule, 100, order, laws));
	for (uint32_t i = 0; i < 100; i++) {
		seen[(uint32_t)iso_law_mean(&laws[i])]++;
		moved += iso_law_mean(&laws[i]) != i + 1.0;
	}
	for (uint32_t i = 1; i <= 100; i++)
		ck_assert_uint_eq(seen[i], 1);
	ck_assert_uint_gt(moved, 80);
	ck_assert_ok(iso_times_fill(&rule, 100, order, again));
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_double_eq(again[i].scale, laws[i].scale);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("times");
	TCase *tcase = tcase_create("laws");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, every_law_has_its_mean_and_variance);
	tcase_add_test(tcase, a_law_of_a_mean_has_that_mean);
	tcase_add_test(tcase, the_default_spreads_are_those_of_the_paper);
	tcase_add_test(tcase, a_trace_is_replayed_in_order);
	tcase_add_test(tcase, what_is_no_law_is_refused);
	tcase_add_test(tcase, rules_give_each_worker_its_law);
	tcase_add_test(tcase, a_shuffled_rule_gives_each_law_once);
	suite_add_tcase(suite, tcase);
	return suite;
}
