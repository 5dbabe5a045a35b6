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

static void feed(struct iso_track_adapt *adapt, double unrest)
{
	for (uint32_t k = 0; k < adapt->config.window; k++)
		iso_track_adapt_round(adapt, unrest);
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
	ck_assert_double_eq(iso_track_adapt_round(&adapt, INFINITY), 1.0 / 64);
	for (int k = 0; k < 100; k++)
		iso_track_adapt_round(&adapt, NAN);
	ck_assert_double_eq(adapt.alpha, usual.alpha_min);
}
END_TEST

START_TEST(halves_what_cancels_and_keeps_what_is_between)
{
	struct iso_track_adapt adapt;

	ck_assert_ok(iso_track_adapt_init(&usual, &adapt));
	feed(&adapt, 8);
	iso_track_adapt_balance(&adapt, 0.1, 1, 1);
	feed(&adapt, 7);
	ck_assert_double_eq(adapt.alpha, 1.0 / 64);
	iso_track_adapt_balance(&adapt, 0.4, 1, 1);
	feed(&adapt, 6);
	ck_assert_double_eq(adapt.alpha, 1.0 / 64);
	iso_track_adapt_balance(&adapt, 1.0, 1, 1);
	feed(&adapt, 5);
	ck_assert_double_eq(adapt.alpha, 1.0 / 32);
	iso_track_adapt_balance(&adapt, NAN, 1, 1);
	feed(&adapt, 4);
	ck_assert_double_eq(adapt.alpha, 1.0 / 16);
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

START_TEST(moved_is_what_move_adds)
{
	struct iso_rng rng = { test_seed_base() };
	double pull[21], z[21], y[21];

	for (uint32_t m = 0; m <= 21; m++) {
		for (uint32_t k = 0; k < m; k++) {
			pull[k] = iso_rng_unit(&rng) - 0.5;
			z[k] = iso_rng_unit(&rng) - 0.5;
			y[k] = 0;
		}
		iso_track_move(m, pull, 0.3, z, y);
		ck_assert_double_eq_tol(iso_track_moved(m, pull, 0.3, z), iso_track_square(m, y),
					1e-15);
	}
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
			double used = STEP * adapt.alpha;
			uint32_t all = field.graph.nodes * M;
			double gradient = used * used * iso_track_square(all, field.z[0]);
			static double z[TRACKFIELD_NODES][M];

			memcpy(z, field.z, sizeof(z));
			trackfield_step(&field, STEP, adapt.alpha);
			iso_track_adapt_balance(&adapt,
						iso_track_moved(all, field.pull[0], used, z[0]),
						iso_track_square(all, field.pull[0]), gradient);
			iso_track_adapt_round(&adapt, trackfield_unrest(&field, STEP));
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
		double pull = iso_track_square(M, field.pull[i]);
		double gradient = iso_track_square(M, z[i]);

		iso_track_move(M, nothing, used, z[i], field.y[i]);
		iso_track_adapt_balance(&adapt[i], iso_track_moved(M, field.pull[i], used, z[i]),
					pull, used * used * gradient);
		iso_track_adapt_round(&adapt[i], iso_track_unrest(gradient, pull, STEP, 1));
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
	tcase_add_test(tcase, halves_what_cancels_and_keeps_what_is_between);
	tcase_add_test(tcase, heeds_neighbours_that_backed_off);
	tcase_add_test(tcase, moved_is_what_move_adds);
	tcase_add_test(tcase, a_field_finds_its_alpha);
	tcase_add_test(tcase, nodes_find_an_alpha_each);
	suite_add_tcase(suite, tcase);
	return suite;
}
