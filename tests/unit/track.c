/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
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

	make_field(20, 20, &rng);
	trackfield_gather(&field);
	ck_assert_double_lt(trackfield_leak(&field), 1e-13);
	for (int k = 0; k < 40000; k++) {
		trackfield_step(&field, 0.5, 0.1);
		ck_assert_double_lt(trackfield_leak(&field), 1e-12);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("track");
	TCase *tcase = tcase_create("flow");

	tcase_add_test(tcase, flow_is_odd_bit_for_bit);
	tcase_add_test(tcase, square_is_exact_on_integers_of_any_length);
	tcase_add_test(tcase, every_node_reaches_the_optimum_of_the_sum);
	tcase_add_test(tcase, sum_of_z_is_the_sum_of_gradients_at_every_step);
	suite_add_tcase(suite, tcase);
	return suite;
}
