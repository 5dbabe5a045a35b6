/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <signal.h>

#include "lib/enforce/property.h"
#include "lib/rng.h"
#include "tests/test.h"

#define S    1000000000ull
#define MCPU 1000ull

START_TEST(value_is_in_whole_hundredths_and_never_none)
{
	ck_assert_uint_eq(iso_property_of(354321), 350000);
	ck_assert_uint_eq(iso_property_of(10000), 10000);
	ck_assert_uint_eq(iso_property_of(19999), 10000);
	/* "0%" would lift the limit. */
	ck_assert_uint_eq(iso_property_of(1), 10000);
}
END_TEST

START_TEST(unknown_is_unlimited_and_lowered_at_once)
{
	struct iso_property property;

	iso_property_init(&property);
	ck_assert_uint_eq(property.bound_ucpu, ISO_PROPERTY_UNLIMITED);
	ck_assert_int_eq(iso_property_wish(&property, 0, 500 * MCPU), ISO_PROPERTY_LOWER);
}
END_TEST

START_TEST(lowering_is_never_delayed_and_small_ones_need_no_call)
{
	struct iso_property property;

	iso_property_init(&property);
	iso_property_confirm(&property, 500 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, 0, 505 * MCPU), ISO_PROPERTY_KEEP);
	ck_assert_int_eq(iso_property_wish(&property, 0, 500 * MCPU), ISO_PROPERTY_KEEP);
	ck_assert_int_eq(iso_property_wish(&property, 0, 500 * MCPU - 1), ISO_PROPERTY_LOWER);
	iso_property_tell(&property, 0, 490 * MCPU);
	iso_property_confirm(&property, 490 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, 1, 489 * MCPU), ISO_PROPERTY_LOWER);
}
END_TEST

START_TEST(raising_waits_for_a_second_and_for_enough)
{
	struct iso_property property;

	iso_property_init(&property);
	iso_property_confirm(&property, 500 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, 0, 519 * MCPU), ISO_PROPERTY_RAISE);
	iso_property_tell(&property, 0, 510 * MCPU);
	iso_property_confirm(&property, 510 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, S - 1, 900 * MCPU), ISO_PROPERTY_KEEP);
	ck_assert_int_eq(iso_property_wish(&property, S, 900 * MCPU), ISO_PROPERTY_RAISE);
	/* Of 16 CPUs ten thousandths are little. */
	iso_property_confirm(&property, 16000 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, 9 * S, 16200 * MCPU), ISO_PROPERTY_KEEP);
	ck_assert_int_eq(iso_property_wish(&property, 9 * S, 16300 * MCPU), ISO_PROPERTY_RAISE);
}
END_TEST

START_TEST(without_an_answer_the_higher_one_counts)
{
	struct iso_property property;

	iso_property_init(&property);
	iso_property_confirm(&property, 500 * MCPU);
	iso_property_tell(&property, 0, 300 * MCPU);
	iso_property_fail(&property, 0);
	ck_assert_uint_eq(property.bound_ucpu, 500 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, S - 1, 300 * MCPU), ISO_PROPERTY_WAIT);
	ck_assert_int_eq(iso_property_wish(&property, S, 300 * MCPU), ISO_PROPERTY_LOWER);
	/* A raise that was not answered may have been carried out all the same. */
	iso_property_tell(&property, S, 800 * MCPU);
	iso_property_fail(&property, S);
	ck_assert_uint_eq(property.bound_ucpu, 800 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, 3 * S - 1, 500 * MCPU), ISO_PROPERTY_WAIT);
	ck_assert_int_eq(iso_property_wish(&property, 3 * S, 500 * MCPU), ISO_PROPERTY_LOWER);
	iso_property_confirm(&property, 500 * MCPU);
	ck_assert_uint_eq(property.bound_ucpu, 500 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, 3 * S, 500 * MCPU), ISO_PROPERTY_KEEP);
}
END_TEST

START_TEST(what_others_may_have_set_is_lowered_however_low_it_was)
{
	struct iso_property property;

	iso_property_init(&property);
	iso_property_confirm(&property, 300 * MCPU);
	iso_property_doubt(&property);
	ck_assert_uint_eq(property.bound_ucpu, ISO_PROPERTY_UNLIMITED);
	ck_assert_int_eq(iso_property_wish(&property, 0, 500 * MCPU), ISO_PROPERTY_LOWER);
	iso_property_fail(&property, 0);
	ck_assert_int_eq(iso_property_wish(&property, 0, 500 * MCPU), ISO_PROPERTY_WAIT);
	ck_assert_int_eq(iso_property_wish(&property, S, 500 * MCPU), ISO_PROPERTY_LOWER);
	iso_property_confirm(&property, 500 * MCPU);
	ck_assert_int_eq(iso_property_wish(&property, S, 500 * MCPU), ISO_PROPERTY_KEEP);
}
END_TEST

START_TEST(pause_doubles_up_to_its_most)
{
	struct iso_property property;
	uint64_t now_ns = 0, last_ns = 0;

	iso_property_init(&property);
	for (unsigned i = 0; i < 10; i++) {
		iso_property_fail(&property, now_ns);
		ck_assert_uint_ge(property.call_at_ns - now_ns, last_ns);
		last_ns = property.call_at_ns - now_ns;
		ck_assert_uint_le(last_ns, ISO_PROPERTY_PAUSE_NS_MAX);
		now_ns = property.call_at_ns;
	}
	ck_assert_uint_eq(last_ns, ISO_PROPERTY_PAUSE_NS_MAX);
	iso_property_confirm(&property, 10000);
	iso_property_fail(&property, now_ns);
	ck_assert_uint_eq(property.call_at_ns - now_ns, ISO_PROPERTY_PAUSE_NS_MIN);
}
END_TEST

/* A manager that carries out what it is told late, or never says that it has. */
START_TEST(whatever_the_manager_does_its_value_is_within_the_bound)
{
	struct iso_rng rng;
	struct iso_property property;
	uint64_t queue[16], value_ucpu = ISO_PROPERTY_UNLIMITED;
	unsigned queued = 0;

	rng.state = test_seed_base() + (uint64_t)_i;
	iso_property_init(&property);
	for (uint64_t now_ns = 0; now_ns < 300 * S; now_ns += S / 4) {
		uint64_t share_ucpu = 10000 + iso_rng_below(&rng, 4000 * MCPU);
		enum iso_property_wish wish;

		/* Somebody else's value, which is noticed at the kernel's file. */
		if (iso_rng_below(&rng, 16) == 0) {
			value_ucpu = ISO_PROPERTY_UNLIMITED;
			iso_property_doubt(&property);
		}
		wish = iso_property_wish(&property, now_ns, share_ucpu);
		if (wish == ISO_PROPERTY_LOWER || wish == ISO_PROPERTY_RAISE) {
			uint64_t told_ucpu = iso_property_of(share_ucpu);

			iso_property_tell(&property, now_ns, told_ucpu);
			queue[queued++] = told_ucpu;
			if (queued == 16 || iso_rng_below(&rng, 3) != 0) {
				value_ucpu = told_ucpu; /* in order, so the last one */
				queued = 0;
				iso_property_confirm(&property, value_ucpu);
			} else {
				iso_property_fail(&property, now_ns);
			}
		} else if (queued > 0 && iso_rng_below(&rng, 4) == 0) {
			value_ucpu = queue[0];
			queued--;
			for (unsigned i = 0; i < queued; i++)
				queue[i] = queue[i + 1];
		}
		ck_assert_uint_le(value_ucpu, property.bound_ucpu);
		if (wish == ISO_PROPERTY_KEEP)
			ck_assert_uint_le(value_ucpu, share_ucpu);
	}
}
END_TEST

START_TEST(dies_when_told_nothing)
{
	struct iso_property property;

	iso_property_init(&property);
	iso_property_tell(&property, 0, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("property");
	TCase *tcase = tcase_create("the manager's limit");

	tcase_add_test(tcase, value_is_in_whole_hundredths_and_never_none);
	tcase_add_test(tcase, unknown_is_unlimited_and_lowered_at_once);
	tcase_add_test(tcase, lowering_is_never_delayed_and_small_ones_need_no_call);
	tcase_add_test(tcase, raising_waits_for_a_second_and_for_enough);
	tcase_add_test(tcase, without_an_answer_the_higher_one_counts);
	tcase_add_test(tcase, what_others_may_have_set_is_lowered_however_low_it_was);
	tcase_add_test(tcase, pause_doubles_up_to_its_most);
	tcase_add_loop_test(tcase, whatever_the_manager_does_its_value_is_within_the_bound, 0,
			    test_runs(20));
	tcase_add_test_raise_signal(tcase, dies_when_told_nothing, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
