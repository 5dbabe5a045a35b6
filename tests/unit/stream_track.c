/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/test.h"
#include "tests/tracked.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * What coding does to gradient tracking: ten nodes on a ring, each with a quadratic
 * of its own, g_i(y) = sum_k h_ik (y_k - c_ik)^2 / 2, whose optimum is in closed
 * form.  The components' sizes are spread over a factor of 50.
 */
#define NODES  10u
#define M      64u
#define ROUNDS 1500u

struct quadratics {
	double h[NODES][M], c[NODES][M], best[M];
};

static void gradient(void *context, uint32_t node, const double *y, double *ret_gradient)
{
	const struct quadratics *problem = context;

	for (uint32_t k = 0; k < M; k++)
		ret_gradient[k] = problem->h[node][k] * (y[k] - problem->c[node][k]);
}

static void draw(struct iso_rng *rng, struct quadratics *ret_problem)
{
	for (uint32_t k = 0; k < M; k++) {
		double size = exp(-4 * iso_rng_unit(rng)), sum = 0, weight = 0;

		for (uint32_t i = 0; i < NODES; i++) {
			double h = 0.5 + 1.5 * iso_rng_unit(rng);
			double c = size * (1 + iso_rng_unit(rng));

			ret_problem->h[i][k] = h;
			ret_problem->c[i][k] = c;
			sum += h * c;
			weight += h;
		}
		ret_problem->best[k] = sum / weight;
	}
}

/* How far a run came, and what it sent. */
struct course {
	double end;	/* distance at the end */
	double least;	/* the smallest distance of all rounds */
	double bits;	/* of a component, over all rounds */
	double to_gap;	/* bits that all nodes sent until the distance was `gap`; 0: never */
	unsigned round; /* when that was */
};

static struct course run(struct quadratics *problem, const struct iso_stream_config *coding,
			 double gap)
{
	static const uint32_t ring[] = { 1 };
	struct tracked tracked = {
		.nodes = NODES,
		.m = M,
		.hops = ring,
		.hop_count = 1,
		.gradient = gradient,
		.context = problem,
		.y_coding = *coding,
		.z_coding = *coding,
		.step = 0.8,
		.alpha = 0.05,
	};
	struct course course = { .least = 1 };

	tracked_open(&tracked);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		tracked_step(&tracked);
		course.end = tracked_distance(&tracked, problem->best);
		course.least = fmin(course.least, course.end);
		if (course.end > gap || course.round != 0)
			continue;
		course.round = round;
		course.to_gap = (double)tracked.bits;
	}
	course.bits = (double)tracked.bits / (2.0 * NODES * M * ROUNDS);
	tracked_close(&tracked);
	return course;
}

START_TEST(uniform_stalls_log_ends_in_its_band_and_innovation_arrives)
{
	const struct iso_stream_config uniform = { .mode = ISO_STREAM_UNIFORM,
						   .bits = 8,
						   .step = 1.0 / 32 };
	const struct iso_stream_config log_coding = { .mode = ISO_STREAM_LOG,
						      .bits = 8,
						      .rho = 0.125 };
	const struct iso_stream_config innovation = { .mode = ISO_STREAM_INNOVATION,
						      .bits = 8,
						      .rho = 0.125 };
	const struct iso_stream_config none = { .mode = ISO_STREAM_NONE };
	struct quadratics problem;
	struct iso_rng rng = { test_seed_base() + (uint64_t)_i };

	draw(&rng, &problem);
	struct course with_none = run(&problem, &none, 1e-10);
	struct course with_uniform = run(&problem, &uniform, 1e-10);
	struct course with_log = run(&problem, &log_coding, 1e-10);
	struct course with_innovation = run(&problem, &innovation, 1e-10);

	ck_assert_double_le(with_none.end, 1e-12);
	/* At its step, which is larger than half of the components. */
	ck_assert_uint_eq(with_uniform.round, 0);
	ck_assert_double_ge(with_uniform.end, 2e-3);
	/* Within the width of a bin, and not much better. */
	ck_assert_uint_eq(with_log.round, 0);
	ck_assert_double_le(with_log.end, exp(0.125) - 1);
	ck_assert_double_ge(with_log.end, 1e-3);
	/* As far as without any coding, as soon, and with no more bits than the others. */
	ck_assert_double_le(with_innovation.end, 1e-12);
	ck_assert_uint_ge(with_none.round, 100);
	ck_assert_uint_le(with_innovation.round, with_none.round + with_none.round / 50);
	ck_assert_double_le(with_innovation.bits, with_uniform.bits);
	ck_assert_double_le(with_innovation.bits, with_log.bits);
}
END_TEST

START_TEST(few_bits_are_enough_for_innovation)
{
	const struct iso_stream_config few[] = {
		{ .mode = ISO_STREAM_INNOVATION, .bits = 2, .rho = 0.875 },
		{ .mode = ISO_STREAM_INNOVATION, .bits = 3, .rho = 0.75 },
		{ .mode = ISO_STREAM_INNOVATION, .bits = 4, .rho = 0.5 },
	};
	const struct iso_stream_config none = { .mode = ISO_STREAM_NONE };
	struct quadratics problem;
	struct iso_rng rng = { test_seed_base() };

	draw(&rng, &problem);
	struct course with_none = run(&problem, &none, 1e-10);
	struct course course = run(&problem, &few[_i], 1e-10);
	ck_assert_double_le(course.end, 1e-12);
	ck_assert_uint_le(course.round, with_none.round + with_none.round / 50);
	/* A head of 12 bytes is 1.5 bits of each of 64. */
	ck_assert_double_eq_tol(course.bits, few[_i].bits + 1.5, 1e-9);
	ck_assert_double_le(course.to_gap, with_none.to_gap / 9);
}
END_TEST

START_TEST(adaptive_rho_pays)
{
	const struct iso_stream_config fine = { .mode = ISO_STREAM_LOG,
						.bits = 12,
						.rho = 1.0 / 128 };
	struct iso_stream_config adaptive = fine;
	struct quadratics problem;
	struct iso_rng rng = { test_seed_base() + (uint64_t)_i };

	adaptive.coarser = 6;
	draw(&rng, &problem);
	struct course with_fine = run(&problem, &fine, 0.01);
	struct course with_adaptive = run(&problem, &adaptive, 0.01);
	ck_assert_uint_gt(with_fine.round, 0);
	ck_assert_uint_gt(with_adaptive.round, 0);
	ck_assert_double_le(with_adaptive.to_gap, 0.85 * with_fine.to_gap);
	/* And ends as near. */
	ck_assert_double_le(with_adaptive.least, 1.5 * with_fine.least);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("stream_track");
	TCase *tcase = tcase_create("tracking");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, uniform_stalls_log_ends_in_its_band_and_innovation_arrives, 0,
			    3);
	tcase_add_loop_test(tcase, few_bits_are_enough_for_innovation, 0, 3);
	tcase_add_loop_test(tcase, adaptive_rho_pays, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite;
}
