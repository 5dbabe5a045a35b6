/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/track/flow.h"
#include "tests/test.h"
#include "tests/unit/trackfield.h"

#define M TRACKFIELD_M

static struct trackfield field;

static void make_field(uint32_t nodes, uint32_t chords, struct iso_rng *rng)
{
	trackfield_init(&field, nodes);
	ck_assert_ok(iso_graph_random(&field.graph, chords, rng));
	trackfield_weigh(&field);
	trackfield_draw(&field, 1, rng);
}

START_TEST(flow_is_odd_bit_for_bit)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(200); run++) {
		double a[19], b[19], there[19], back[19];
		double weight = iso_rng_unit(&rng);

		for (uint32_t k = 0; k < 19; k++) {
			a[k] = ldexp(2 * iso_rng_unit(&rng) - 1, (int)iso_rng_below(&rng, 40));
			b[k] = ldexp(2 * iso_rng_unit(&rng) - 1, (int)iso_rng_below(&rng, 40));
			there[k] = a[k] * b[k] / 3;
			back[k] = -there[k];
		}
		iso_track_flow(19, weight, a, b, there);
		iso_track_flow(19, weight, b, a, back);
		for (uint32_t k = 0; k < 19; k++)
			ck_assert(there[k] == -back[k]);
	}
}
END_TEST

START_TEST(square_is_exact_on_integers_of_any_length)
{
	double vector[40];

	for (uint32_t m = 0; m <= 40; m++) {
		double sum = 0;

		for (uint32_t k = 0; k < m; k++) {
			vector[k] = (double)k - 7;
			sum += vector[k] * vector[k];
		}
		ck_assert(iso_track_square(m, vector) == sum);
	}
}
END_TEST

START_TEST(every_node_reaches_the_optimum_of_the_sum)
{
	struct iso_rng rng = { test_seed_base() };

	make_field(20, 20, &rng);
	trackfield_gather(&field);
	for (int k = 0; k < 20000; k++)
		trackfield_step(&field, 0.5, 0.1);
	ck_assert_double_lt(trackfield_error(&field), 1e-12);
}
END_TEST

START_TEST(sum_of_z_is_the_sum_of_gradients_at_every_step)
{
	struct iso_rng rng = { test_seed_base() };
	double worst = 0;

	make_field(20, 20, &rng);
	trackfield_gather(&field);
	ck_assert_double_lt(trackfield_leak(&field), 1e-13);
	for (int k = 0; k < 40000; k++) {
		trackfield_step(&field, 0.5, 0.1);
		worst = fmax(worst, trackfield_leak(&field));
	}
	ck_assert_double_lt(worst, 1e-12);
}
END_TEST

/*
 * A third of the edges down at any time, others new: forgetting F is all that
 * dropping takes.  The weights follow, as in a real network.
 */
static void shake_edges(struct iso_rng *rng)
{
	for (uint32_t e = 0; e < field.graph.edge_count; e++) {
		bool down = iso_rng_below(rng, 3) == 0;

		if (down)
			memset(field.flux[e], 0, sizeof(field.flux[e]));
		field.weight[e] = down ? 0 : 0.05 + 0.1 * iso_rng_unit(rng);
	}
	trackfield_gather(&field);
}

START_TEST(identity_survives_edges_that_come_and_go)
{
	struct iso_rng rng = { test_seed_base() };
	double worst = 0;

	make_field(20, 20, &rng);
	trackfield_gather(&field);
	for (int k = 0; k < 10000; k++) {
		if (k % 50 == 0)
			shake_edges(&rng);
		trackfield_step(&field, 0.5, 0.1);
		worst = fmax(worst, trackfield_leak(&field));
	}
	ck_assert_double_lt(worst, 1e-12);
	/* What flowed over edges that are forgotten has done no harm. */
	trackfield_weigh(&field);
	for (int k = 0; k < 20000; k++)
		trackfield_step(&field, 0.5, 0.1);
	ck_assert_double_lt(trackfield_error(&field), 1e-12);
}
END_TEST

/* All edges into a node go for good: the others find the optimum without it, by the identity. */
START_TEST(each_component_keeps_its_own_identity)
{
	struct iso_rng rng = { test_seed_base() };
	double sum[M] = { 0 };

	make_field(12, 12, &rng);
	trackfield_gather(&field);
	for (int k = 0; k < 500; k++)
		trackfield_step(&field, 0.5, 0.1);
	for (uint32_t e = 0; e < field.graph.edge_count; e++)
		if (field.edges[e].low == 0) {
			field.weight[e] = 0;
			memset(field.flux[e], 0, sizeof(field.flux[e]));
		}
	trackfield_gather(&field);
	for (int k = 0; k < 5000; k++)
		trackfield_step(&field, 0.5, 0.1);
	for (uint32_t i = 1; i < 12; i++) {
		double gradient[M];

		trackfield_gradient(&field, i, gradient);
		iso_track_gain(M, field.z[i], sum);
		iso_track_lose(M, gradient, sum);
	}
	for (uint32_t k = 0; k < M; k++)
		ck_assert_double_lt(fabs(sum[k]), 1e-13);
}
END_TEST

/*
 * The form in articles: z itself is integrated, from `first`.  Started at 0 instead of at the
 * gradient it keeps sum z = sum grad - sum grad(0), and stops where that vanishes.
 */
static double integrate(bool from_gradient)
{
	static double z[TRACKFIELD_NODES][M], before[TRACKFIELD_NODES][M], flow[M];

	for (uint32_t i = 0; i < field.graph.nodes; i++) {
		trackfield_gradient(&field, i, before[i]);
		for (uint32_t k = 0; k < M; k++)
			z[i][k] = from_gradient ? before[i][k] : 0;
	}
	for (int step = 0; step < 20000; step++) {
		memcpy(field.z, z, sizeof(z));
		memset(field.pull, 0, sizeof(field.pull));
		for (uint32_t e = 0; e < field.graph.edge_count; e++) {
			uint32_t a = field.edges[e].low, b = field.edges[e].high;
			double weight = 0.5 * field.weight[e];

			memset(flow, 0, sizeof(flow));
			iso_track_flow(M, weight, field.z[a], field.z[b], flow);
			iso_track_gain(M, flow, z[a]);
			iso_track_lose(M, flow, z[b]);
			iso_track_flow(M, weight, field.y[a], field.y[b], field.pull[a]);
			iso_track_flow(M, weight, field.y[b], field.y[a], field.pull[b]);
		}
		for (uint32_t i = 0; i < field.graph.nodes; i++) {
			double after[M];

			iso_track_move(M, field.pull[i], 0.5 * 0.1, field.z[i], field.y[i]);
			trackfield_gradient(&field, i, after);
			iso_track_gain(M, after, z[i]);
			iso_track_lose(M, before[i], z[i]);
			memcpy(before[i], after, sizeof(after));
		}
	}
	return trackfield_error(&field);
}

START_TEST(z_that_starts_at_zero_ends_in_a_wrong_point)
{
	struct iso_rng rng = { test_seed_base() };
	struct trackfield start;

	make_field(20, 20, &rng);
	start = field;
	ck_assert_double_gt(integrate(false), 0.01);
	field = start;
	ck_assert_double_lt(integrate(true), 1e-11);
	/* This project's form cannot make the mistake: z is the gradient before anything flows. */
	field = start;
	trackfield_gather(&field);
	for (uint32_t i = 0; i < field.graph.nodes; i++) {
		double gradient[M];

		trackfield_gradient(&field, i, gradient);
		ck_assert_mem_eq(field.z[i], gradient, sizeof(gradient));
	}
	for (int k = 0; k < 20000; k++)
		trackfield_step(&field, 0.5, 0.1);
	ck_assert_double_lt(trackfield_error(&field), 1e-12);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("track");
	TCase *tcase = tcase_create("flow");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, flow_is_odd_bit_for_bit);
	tcase_add_test(tcase, square_is_exact_on_integers_of_any_length);
	tcase_add_test(tcase, every_node_reaches_the_optimum_of_the_sum);
	tcase_add_test(tcase, sum_of_z_is_the_sum_of_gradients_at_every_step);
	tcase_add_test(tcase, identity_survives_edges_that_come_and_go);
	tcase_add_test(tcase, each_component_keeps_its_own_identity);
	tcase_add_test(tcase, z_that_starts_at_zero_ends_in_a_wrong_point);
	suite_add_tcase(suite, tcase);
	return suite;
}
