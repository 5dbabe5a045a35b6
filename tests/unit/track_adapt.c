/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/track/adapt.h"

#include <math.h>
#include <string.h>

#include "lib/track/flow.h"
#include "tests/test.h"
#include "tests/unit/trackfield.h"

#define M    TRACKFIELD_M
#define STEP 0.5

static const struct iso_track_adapt_config usual = {
	.alpha_first = 1.0 / 32,
	.alpha_min = 0x1p-15,
	.alpha_max = 1,
	.window = 16,
};

static struct trackfield field;

static double feed_round(struct iso_track_adapt *adapt, double unrest)
{
	struct iso_track_motion motion = {
		.step = STEP,
		.curvature = 1,
		.z_square = unrest * unrest,
	};

	return iso_track_adapt_round(adapt, &motion);
}

static void feed(struct iso_track_adapt *adapt, double unrest)
{
	for (uint32_t k = 0; k < adapt->config.window; k++)
		feed_round(adapt, unrest);
}

START_TEST(configuration_is_checked)
{
	struct iso_track_adapt adapt = { .alpha = 77 };
	struct iso_track_adapt_config config = usual;

	config.alpha_min = 0;
	ck_assert_int_eq(iso_track_adapt_init(&config, &adapt), ISO_E_RANGE);
	config = usual;
	config.alpha_first = 2;
	ck_assert_int_eq(iso_track_adapt_init(&config, &adapt), ISO_E_RANGE);
	config = usual;
	config.alpha_max = INFINITY;
	ck_assert_int_eq(iso_track_adapt_init(&config, &adapt), ISO_E_RANGE);
	config = usual;
	config.window = 1;
	ck_assert_int_eq(iso_track_adapt_init(&config, &adapt), ISO_E_RANGE);
	ck_assert_double_eq(adapt.alpha, 77);
}
END_TEST

START_TEST(doubles_while_it_falls_and_halves_when_it_rises)
{
	struct iso_track_adapt adapt;

	ck_assert_ok(iso_track_adapt_init(&usual, &adapt));
	feed(&adapt, 8);
	ck_assert_double_eq(adapt.alpha, 1.0 / 32);
	feed(&adapt, 7);
	ck_assert_double_eq(adapt.alpha, 1.0 / 16);
	feed(&adapt, 7);
	ck_assert_double_eq(adapt.alpha, 1.0 / 16);
	feed(&adapt, 6);
	ck_assert_double_eq(adapt.alpha, 1.0 / 8);
	feed(&adapt, 13); /* more than twice: at once */
	ck_assert_double_eq(adapt.alpha, 1.0 / 16);
	feed(&adapt, 13);
	feed(&adapt, 12);
	ck_assert_double_eq(adapt.alpha, 1.0 / 16); /* the ceiling now */
	feed(&adapt, 14);
	ck_assert_double_eq(adapt.alpha, 1.0 / 16);
	feed(&adapt, 16); /* the second rise */
	ck_assert_double_eq(adapt.alpha, 1.0 / 32);
	ck_assert_uint_eq(adapt.backed_off, 2);
	for (int k = 0; k < 200; k++)
		feed(&adapt, 10 - k * 0.01);
	ck_assert_double_gt(adapt.alpha, 1.0 / 16); /* the ceiling is tried again */
}
END_TEST

START_TEST(backs_off_at_once_from_what_is_not_finite)
{
	struct iso_track_adapt adapt;

	ck_assert_ok(iso_track_adapt_init(&usual, &adapt));
	ck_assert_double_eq(feed_round(&adapt, INFINITY), 1.0 / 64);
	for (int k = 0; k < 100; k++)
		feed_round(&adapt, NAN);
	ck_assert_double_eq(adapt.alpha, usual.alpha_min);
}
END_TEST

/* By 2 % a window: no window is much worse than the one before. */
START_TEST(backs_off_from_what_grows_slowly)
{
	struct iso_track_adapt adapt;
	double unrest = 1;
	unsigned windows = 0;

	ck_assert_ok(iso_track_adapt_init(&usual, &adapt));
	for (; adapt.backed_off == 0 && windows < 1000; windows++) {
		unrest *= 1.02;
		feed(&adapt, unrest);
	}
	ck_assert_double_gt(unrest, 4);
	ck_assert_double_lt(unrest, 4.2);
	ck_assert_double_eq(adapt.alpha, 1.0 / 64);
}
END_TEST

/* An unrest below 2^-20 of gradients that are floats is noise, however it swings. */
START_TEST(noise_says_nothing)
{
	struct iso_track_motion motion = { .step = STEP, .curvature = 1, .gradient_square = 1e12 };
	struct iso_track_adapt adapt;
	struct iso_rng rng = { test_seed_base() };

	ck_assert_ok(iso_track_adapt_init(&usual, &adapt));
	for (unsigned k = 0; k < 10000; k++) {
		motion.z_square = 0.9 * pow(iso_rng_unit(&rng), k / 16 % 2 ? 1 : 12);
		ck_assert_double_eq(iso_track_adapt_round(&adapt, &motion), 1.0 / 32);
	}
	motion.gradient_square = 0;
	for (unsigned k = 0; k < 10000; k++) {
		motion.z_square = 0.9 * pow(iso_rng_unit(&rng), k / 16 % 2 ? 1 : 12);
		iso_track_adapt_round(&adapt, &motion);
	}
	ck_assert_double_ne(adapt.alpha, 1.0 / 32);
}
END_TEST

START_TEST(what_is_usual_is_scaled)
{
	struct iso_track_adapt_config config = iso_track_adapt_usual(0.25, 8);
	struct iso_track_adapt adapt;

	ck_assert_ok(iso_track_adapt_init(&config, &adapt));
	ck_assert_double_eq(config.alpha_first, 1.0 / 256);
	ck_assert_double_eq(config.alpha_max, 0.25); /* half of 1 / (T L) */
	ck_assert_double_eq(iso_track_adapt_usual(0.5, 8).alpha_max, 0.125);
}
END_TEST

START_TEST(heeds_neighbours_that_backed_off)
{
	struct iso_track_adapt adapt;

	ck_assert_ok(iso_track_adapt_init(&usual, &adapt));
	ck_assert_double_eq(iso_track_adapt_heed(&adapt, 0.5), 1.0 / 32);
	ck_assert_double_eq(iso_track_adapt_heed(&adapt, 1.0 / 256), 1.0 / 256);
	ck_assert_double_eq(adapt.alpha, 1.0 / 128);
}
END_TEST

/* Shapes from a well to a badly connected one; objectives convex, or in the sum only. */
static void make_field(int kind, struct iso_rng *rng)
{
	trackfield_init(&field, kind < 2 ? 16 : 8);
	if (kind < 2)
		ck_assert_ok(iso_graph_exponential(&field.graph));
	else if (kind < 4)
		ck_assert_ok(iso_graph_star(&field.graph));
	else
		ck_assert_ok(iso_graph_ring(&field.graph));
	trackfield_weigh(&field);
	if (kind % 2)
		trackfield_draw_bent(&field, rng);
	else
		trackfield_draw(&field, 1, rng);
	trackfield_gather(&field);
}

START_TEST(a_field_finds_its_alpha)
{
	struct iso_rng rng = { test_seed_base() };

	for (int kind = 0; kind < 6; kind++) {
		struct iso_track_adapt adapt;

		make_field(kind, &rng);
		ck_assert_ok(iso_track_adapt_init(&usual, &adapt));
		for (int k = 0; k < 30000 && trackfield_error(&field) > 1e-9; k++) {
			struct iso_track_motion motion;

			trackfield_step(&field, STEP, adapt.alpha);
			motion = trackfield_motion(&field, STEP);
			iso_track_adapt_round(&adapt, &motion);
		}
		ck_assert_msg(trackfield_error(&field) <= 1e-9, "kind %d: error %g, alpha %g", kind,
			      trackfield_error(&field), adapt.alpha);
	}
}
END_TEST

/* One for each node, as real nodes have it: the least of its own and its neighbours' wishes. */
static void step_apart(struct iso_track_adapt *adapt)
{
	double least[TRACKFIELD_NODES], z[TRACKFIELD_NODES][M];
	uint32_t n = field.graph.nodes;

	for (uint32_t i = 0; i < n; i++)
		least[i] = adapt[i].config.alpha_max;
	for (uint32_t e = 0; e < field.graph.edge_count; e++) {
		uint32_t a = field.edges[e].low, b = field.edges[e].high;

		least[a] = fmin(least[a], adapt[b].alpha);
		least[b] = fmin(least[b], adapt[a].alpha);
	}
	memcpy(z, field.z, sizeof(z));
	trackfield_step(&field, STEP, 0);
	for (uint32_t i = 0; i < n; i++) {
		static const double nothing[M];
		double used = STEP * iso_track_adapt_heed(&adapt[i], least[i]);
		struct iso_track_motion motion = {
			.step = STEP,
			.curvature = 1,
			.z_square = iso_track_square(M, z[i]),
			.pull_square = iso_track_square(M, field.pull[i]),
		};

		iso_track_move(M, nothing, used, z[i], field.y[i]);
		iso_track_adapt_round(&adapt[i], &motion);
	}
	trackfield_gather(&field);
}

START_TEST(nodes_find_an_alpha_each)
{
	struct iso_rng rng = { test_seed_base() };

	for (int kind = 0; kind < 6; kind++) {
		struct iso_track_adapt adapt[TRACKFIELD_NODES];
		double first, worst = 0;

		make_field(kind, &rng);
		first = trackfield_error(&field);
		for (uint32_t i = 0; i < field.graph.nodes; i++)
			ck_assert_ok(iso_track_adapt_init(&usual, &adapt[i]));
		for (int k = 0; k < 40000 && trackfield_error(&field) > 1e-9; k++) {
			step_apart(adapt);
			worst = fmax(worst, trackfield_leak(&field));
		}
		ck_assert_msg(trackfield_error(&field) <= 1e-9, "kind %d: error %g of %g", kind,
			      trackfield_error(&field), first);
		/* Weights that differ cost no identity. */
		ck_assert_double_lt(worst, 1e-9);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("track_adapt");
	TCase *tcase = tcase_create("adaptive alpha");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, configuration_is_checked);
	tcase_add_test(tcase, doubles_while_it_falls_and_halves_when_it_rises);
	tcase_add_test(tcase, backs_off_at_once_from_what_is_not_finite);
	tcase_add_test(tcase, backs_off_from_what_grows_slowly);
	tcase_add_test(tcase, noise_says_nothing);
	tcase_add_test(tcase, what_is_usual_is_scaled);
	tcase_add_test(tcase, heeds_neighbours_that_backed_off);
	tcase_add_test(tcase, a_field_finds_its_alpha);
	tcase_add_test(tcase, nodes_find_an_alpha_each);
	suite_add_tcase(suite, tcase);
	return suite;
}
