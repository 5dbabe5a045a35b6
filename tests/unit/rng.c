/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/rng.h"
#include "tests/test.h"

START_TEST(follows_the_reference)
{
	/* First outputs of splitmix64 for seed 1234567, as its authors publish them. */
	struct iso_rng rng = { 1234567 };

	ck_assert_uint_eq(iso_rng_next(&rng), 6457827717110365317u);
	ck_assert_uint_eq(iso_rng_next(&rng), 3203168211198807973u);
	ck_assert_uint_eq(iso_rng_next(&rng), 9817491932198370423u);
}
END_TEST

START_TEST(stays_below_the_limit)
{
	struct iso_rng rng = { test_seed_base() };
	unsigned seen[7] = { 0 };

	for (int i = 0; i < 7000; i++)
		seen[iso_rng_below(&rng, 7)]++;
	for (int i = 0; i < 7; i++)
		ck_assert_uint_gt(seen[i], 800); /* 1000 expected, sd 29 */
	ck_assert_uint_eq(iso_rng_below(&rng, 1), 0);
}
END_TEST

START_TEST(unit_is_in_its_interval)
{
	struct iso_rng rng = { test_seed_base() };
	double sum = 0;

	for (int i = 0; i < 10000; i++) {
		double u = iso_rng_unit(&rng);

		ck_assert(u >= 0 && u < 1);
		sum += u;
	}
	ck_assert_double_eq_tol(sum / 10000, 0.5, 0.02); /* sd 0.003 */
}
END_TEST

START_TEST(dies_of_an_empty_range)
{
	struct iso_rng rng = { 1 };

	iso_rng_below(&rng, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("rng");
	TCase *tcase = tcase_create("splitmix64");

	tcase_add_test(tcase, follows_the_reference);
	tcase_add_test(tcase, stays_below_the_limit);
	tcase_add_test(tcase, unit_is_in_its_interval);
	tcase_add_test_raise_signal(tcase, dies_of_an_empty_range, 6 /* SIGABRT */);
	suite_add_tcase(suite, tcase);
	return suite;
}
