/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/track/step.h"

#include <math.h>
#include <string.h>

#include "lib/graph/switching.h"
#include "tests/test.h"
#include "tests/unit/trackfield.h"

#define M TRACKFIELD_M

enum shape { LINE, RING, STAR, COMPLETE, EXPONENTIAL, GRID, RANDOM, BARBELL, LOLLIPOP, SHAPES };

/* Objectives: rank 1..3 of M directions a node, or convex in the sum only. */
enum task { BENT, RANK_1, RANK_2, RANK_3, TASKS };

static struct trackfield field;

static void join(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		for (uint32_t j = first; j < i; j++)
			ck_assert_ok(iso_graph_add(&field.graph, i, j));
}

static void add_edges(enum shape shape, uint32_t n, struct iso_rng *rng)
{
	switch (shape) {
	case LINE: ck_assert_ok(iso_graph_line(&field.graph)); return;
	case RING: ck_assert_ok(iso_graph_ring(&field.graph)); return;
	case STAR: ck_assert_ok(iso_graph_star(&field.graph)); return;
	case COMPLETE: ck_assert_ok(iso_graph_complete(&field.graph)); return;
	case EXPONENTIAL: ck_assert_ok(iso_graph_exponential(&field.graph)); return;
	case GRID: ck_assert_ok(iso_graph_grid(&field.graph, 2, n / 2)); return;
	case RANDOM: ck_assert_ok(iso_graph_random(&field.graph, n / 2, rng)); return;
	case BARBELL:
		join(0, n / 2);
		join(n / 2, n / 2);
		ck_assert_ok(iso_graph_add(&field.graph, 0, n - 1));
		return;
	case LOLLIPOP:
		join(0, n / 2);
		for (uint32_t i = n / 2; i < n; i++)
			ck_assert_ok(iso_graph_add(&field.graph, i - 1, i));
		return;
	case SHAPES: break;
	}
	ck_abort();
}

static void make_field(enum shape shape, enum task task, uint32_t n, struct iso_rng *rng)
{
	trackfield_init(&field, n);
	add_edges(shape, n, rng);
	trackfield_weigh(&field);
	if (task == BENT)
		trackfield_draw_bent(&field, rng);
	else
		trackfield_draw(&field, task, rng);
	trackfield_gather(&field);
}

/* Rounds until the error is 1e-6 of the first, or rounds_max. */
static uint32_t run(struct iso_track_rates rates, uint32_t rounds_max)
{
	double first = trackfield_error(&field);

	for (uint32_t k = 0; k < rounds_max; k++) {
		double error = trackfield_error(&field);

		if (error < 1e-6 * first)
			return k;
		if (!(error < 1e9 * first))
			break;
		trackfield_step(&field, rates.step, rates.alpha);
	}
	return rounds_max;
}

START_TEST(sector_is_exact)
{
	ck_assert_double_eq(iso_track_sector(0), 1);
	ck_assert_double_eq_tol(iso_track_sector(0.25), 1.1331484530668263, 1e-15);
}
END_TEST

START_TEST(facts_are_checked)
{
	const struct iso_track_facts good = { 0.1, 1.5, 2, 0.25 };
	struct iso_track_facts facts = good;

	ck_assert_ok(iso_track_facts_check(&facts));
	facts.lambda2 = 0;
	ck_assert_int_eq(iso_track_facts_check(&facts), ISO_E_RANGE);
	facts.lambda2 = 1.6;
	ck_assert_int_eq(iso_track_facts_check(&facts), ISO_E_RANGE);
	facts = good;
	facts.lambda_max = INFINITY;
	ck_assert_int_eq(iso_track_facts_check(&facts), ISO_E_RANGE);
	facts = good;
	facts.curvature = NAN;
	ck_assert_int_eq(iso_track_facts_check(&facts), ISO_E_RANGE);
	facts = good;
	facts.rho = -0.1;
	ck_assert_int_eq(iso_track_facts_check(&facts), ISO_E_RANGE);
	facts.rho = 9;
	ck_assert_int_eq(iso_track_facts_check(&facts), ISO_E_RANGE);
}
END_TEST

START_TEST(bounds_are_the_formulas)
{
	const struct iso_track_facts facts = { 0.1, 1.5, 2, 0.25 };
	const struct iso_track_facts blind = { 0.1, 2, 3, 0 };
	struct iso_track_rates rates;

	ck_assert_double_eq_tol(iso_track_alpha_max(&facts), 0.05 / exp(0.125), 1e-15);
	/* Without gradients it is that of plain averaging. */
	ck_assert_double_eq_tol(iso_track_step_max(&facts, 0), 2 / (1.5 * exp(0.125)), 1e-15);
	for (double alpha = 0.01; alpha < 100; alpha *= 3) {
		double step = iso_track_step_max(&facts, alpha);

		ck_assert_double_eq_tol(iso_track_alpha_ceiling(&facts, step) / alpha, 1, 1e-9);
	}
	ck_assert_double_eq_tol(iso_track_alpha_ceiling(&blind, 0.5), 1.0 / 3, 1e-15);
	ck_assert_double_eq(iso_track_alpha_ceiling(&blind, 1.5), 0);
	iso_track_rates_safe(&facts, &rates);
	ck_assert_double_lt(rates.alpha, iso_track_alpha_max(&facts));
	ck_assert_double_lt(rates.step, iso_track_step_max(&facts, rates.alpha));
}
END_TEST

START_TEST(safe_rates_converge_on_every_graph_and_problem)
{
	struct iso_rng rng = { test_seed_base() };

	for (uint32_t n = 4; n <= 16; n *= 2)
		for (int shape = 0; shape < SHAPES; shape++)
			for (int task = 0; task < TASKS; task++) {
				struct iso_track_facts facts;
				struct iso_track_rates rates;

				make_field(shape, task, n, &rng);
				facts = trackfield_facts(&field);
				iso_track_rates_safe(&facts, &rates);
				ck_assert_msg(run(rates, 40000) < 40000,
					      "n %u, shape %d, task %d: error %g", n, shape, task,
					      trackfield_error(&field));
			}
}
END_TEST

/* Beyond the paper's bound they diverge, where not all are convex: the bound is no mere caution. */
START_TEST(alpha_beyond_the_bound_diverges_where_the_sum_alone_is_convex)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_track_rates rates;
	struct iso_track_facts facts;

	make_field(COMPLETE, BENT, 16, &rng);
	facts = trackfield_facts(&field);
	rates.alpha = 1.6 * iso_track_alpha_max(&facts);
	rates.step = 0.8 * iso_track_step_max(&facts, rates.alpha);
	ck_assert_uint_eq(run(rates, 20000), 20000);
	ck_assert_double_gt(trackfield_error(&field), 1e6);
}
END_TEST

static double peak_unrest(struct iso_track_rates rates, int rounds)
{
	double peak = 0;

	for (int k = 0; k < rounds; k++) {
		trackfield_step(&field, rates.step, rates.alpha);
		struct iso_track_motion motion = trackfield_motion(&field, rates.step);

		peak = fmax(peak, iso_track_unrest(&motion));
	}
	return peak;
}

START_TEST(convex_objectives_bear_any_alpha_below_the_largest_step)
{
	static const double times[] = { 1, 10, 100 };
	struct iso_rng rng = { test_seed_base() };

	for (int shape = 0; shape < SHAPES; shape++)
		for (int i = 0; i < 3; i++) {
			struct iso_track_facts facts;
			struct iso_track_rates rates;
			double first;

			make_field(shape, RANK_1, 8, &rng);
			facts = trackfield_facts(&field);
			rates.alpha = times[i] * iso_track_alpha_max(&facts);
			rates.step = 0.98 * iso_track_step_max(&facts, rates.alpha);
			first = peak_unrest(rates, 2000);
			ck_assert_double_lt(peak_unrest(rates, 4000), first);
		}
}
END_TEST

START_TEST(a_step_beyond_the_largest_diverges)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_track_rates rates = { .alpha = 0.5 };
	struct iso_track_facts facts;

	make_field(RING, RANK_3, 8, &rng);
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t k = 0; k < M; k++)
			for (uint32_t l = 0; l < M; l++)
				field.hessian[i][k][l] = k == l;
	trackfield_gather(&field);
	facts = trackfield_facts(&field);
	rates.step = 1.02 * iso_track_step_max(&facts, rates.alpha);
	ck_assert_uint_eq(run(rates, 20000), 20000);
	ck_assert_double_gt(trackfield_error(&field), 1e6);
}
END_TEST

/* The mean of many Hessians of one direction each has a curvature of 1/M, or somewhat less. */
START_TEST(rates_for_convex_objectives_need_no_more_rounds)
{
	struct iso_rng rng = { test_seed_base() };
	double product = 1;

	for (int shape = 0; shape < SHAPES; shape++) {
		struct iso_track_rates safe, convex;
		struct iso_track_facts facts;
		struct trackfield start;
		uint32_t rounds;

		make_field(shape, RANK_1, 16, &rng);
		start = field;
		facts = trackfield_facts(&field);
		iso_track_rates_safe(&facts, &safe);
		iso_track_rates_convex(&facts, 0.2, &convex);
		rounds = run(convex, 40000);
		ck_assert_uint_lt(rounds, 40000);
		field = start;
		product *= (double)rounds / run(safe, 40000);
	}
	ck_assert_double_lt(product, 1);
}
END_TEST

/* Links fail, every round anew; lambda2 is the least of what the network has been. */
START_TEST(safe_rates_converge_while_the_network_switches)
{
	static const enum iso_switching_promise promises[] = { ISO_SWITCHING_CONNECTED,
							       ISO_SWITCHING_UNION };
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < 4; run++) {
		struct iso_switching switching = {
			.seed = iso_rng_next(&rng),
			.up = 0.5,
			.dwell = 1 + (uint32_t)run % 2,
			.promise = promises[run / 2],
			.turns = 4,
		};
		bool up[TRACKFIELD_EDGES];
		uint32_t scratch[TRACKFIELD_NODES];
		struct iso_track_facts facts = { .lambda2 = 2, .curvature = 1 };
		struct iso_track_rates rates;
		double first;

		make_field(RANDOM, run % 2 ? BENT : RANK_1, 12, &rng);
		if (switching.promise == ISO_SWITCHING_UNION)
			facts = trackfield_facts(&field);
		for (uint64_t k = 0; k < 200 && switching.promise == ISO_SWITCHING_CONNECTED; k++) {
			struct iso_track_facts now;

			iso_switching_edges(&switching, &field.graph, k, scratch, up);
			iso_switching_weights(&field.graph, up, ISO_WEIGHTS_METROPOLIS, scratch,
					      field.weight);
			now = trackfield_facts(&field);
			facts.lambda2 = fmin(facts.lambda2, now.lambda2);
			facts.lambda_max = fmax(facts.lambda_max, now.lambda_max);
		}
		/* Not connected in a round, but over some: a share of the whole one's lambda2. */
		if (switching.promise == ISO_SWITCHING_UNION) {
			facts.lambda2 *= 0.25;
			facts.lambda_max = 2;
		}
		iso_track_rates_safe(&facts, &rates);
		first = trackfield_error(&field);
		for (uint64_t k = 0; k < 30000; k++) {
			iso_switching_edges(&switching, &field.graph, k, scratch, up);
			iso_switching_weights(&field.graph, up, ISO_WEIGHTS_METROPOLIS, scratch,
					      field.weight);
			trackfield_step(&field, rates.step, rates.alpha);
		}
		ck_assert_double_lt(trackfield_error(&field), 1e-6 * first);
	}
}
END_TEST

/*
 * An innovation stream converges as doubles do; a log stream ends in a band of its bins,
 * and does not leave it.
 */
START_TEST(safe_rates_bear_quantised_vectors)
{
	struct iso_rng rng = { test_seed_base() };
	const double rho = 0.25;

	for (int shape = 0; shape < SHAPES; shape++)
		for (int task = 0; task < TASKS; task++) {
			struct iso_track_facts facts;
			struct iso_track_rates rates;
			double size = 0;

			make_field(shape, task, 8, &rng);
			facts = trackfield_facts(&field);
			field.stream = (struct iso_stream_config){
				.mode = ISO_STREAM_INNOVATION, .n = M, .bits = 6, .rho = rho
			};
			iso_track_rates_safe(&facts, &rates);
			ck_assert_msg(run(rates, 40000) < 40000, "innovation: shape %d, task %d",
				      shape, task);
			make_field(shape, task, 8, &rng);
			field.stream = (struct iso_stream_config){
				.mode = ISO_STREAM_LOG, .n = M, .bits = 8, .rho = rho
			};
			facts.rho = rho;
			iso_track_rates_safe(&facts, &rates);
			for (uint32_t k = 0; k < M; k++)
				size = fmax(size, fabs(field.optimum[k]));
			run(rates, 20000);
			ck_assert_msg(trackfield_error(&field) < 4 * (exp(rho) - 1) * size,
				      "log: shape %d, task %d: error %g of %g", shape, task,
				      trackfield_error(&field), size);
		}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("track_step");
	TCase *tcase = tcase_create("bounds");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, sector_is_exact);
	tcase_add_test(tcase, facts_are_checked);
	tcase_add_test(tcase, bounds_are_the_formulas);
	tcase_add_test(tcase, safe_rates_converge_on_every_graph_and_problem);
	tcase_add_test(tcase, alpha_beyond_the_bound_diverges_where_the_sum_alone_is_convex);
	tcase_add_test(tcase, convex_objectives_bear_any_alpha_below_the_largest_step);
	tcase_add_test(tcase, a_step_beyond_the_largest_diverges);
	tcase_add_test(tcase, rates_for_convex_objectives_need_no_more_rounds);
	tcase_add_test(tcase, safe_rates_converge_while_the_network_switches);
	tcase_add_test(tcase, safe_rates_bear_quantised_vectors);
	suite_add_tcase(suite, tcase);
	return suite;
}
