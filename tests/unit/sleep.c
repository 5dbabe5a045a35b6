/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/enforce/sleep.h"
#include "tests/test.h"

#define MS 1000000ull
#define S  1000000000ull

static struct iso_sleep state;
static uint64_t monotonic_ns, boot_ns;

static void setup(void)
{
	state = (struct iso_sleep){ 0 };
	monotonic_ns = 50 * S;
	boot_ns = 80 * S; /* it has slept before this process began */
}

static void pass(uint64_t ns)
{
	monotonic_ns += ns;
	boot_ns += ns;
}

/* Held up for so long before the second and before the third reading. */
static uint64_t look(uint64_t first_ns, uint64_t second_ns)
{
	uint64_t before_ns = monotonic_ns;

	pass(first_ns);
	uint64_t between_ns = boot_ns;
	pass(second_ns);
	return iso_sleep_look(&state, before_ns, between_ns, monotonic_ns);
}

START_TEST(a_sleep_is_seen_once)
{
	ck_assert_uint_eq(look(100, 100), 0);
	pass(S);
	ck_assert_uint_eq(look(0, 0), 0);
	boot_ns += 7 * S;
	ck_assert_uint_eq(look(0, 0), 7 * S);
	for (int i = 0; i < 100; i++) {
		pass(S);
		ck_assert_uint_eq(look(50, 50), 0);
	}
	boot_ns += 3 * S;
	pass(20 * S);
	ck_assert_uint_eq(look(0, 0), 3 * S);
	ck_assert_uint_eq(state.count, 2);
	ck_assert_uint_eq(state.total_ns, 10 * S);
}
END_TEST

START_TEST(short_ones_are_told_together)
{
	(void)look(0, 0);
	for (int i = 0; i < 3; i++) {
		boot_ns += 30 * MS;
		ck_assert_uint_eq(look(0, 0), 0);
	}
	boot_ns += 30 * MS;
	ck_assert_uint_eq(look(0, 0), 120 * MS);
}
END_TEST

/* A namespace may set it ahead of the boot time: unshare --time --monotonic N. */
START_TEST(the_monotonic_clock_may_be_ahead)
{
	monotonic_ns = boot_ns + 1000 * S;
	ck_assert_uint_eq(look(100, 100), 0);
	pass(S);
	ck_assert_uint_eq(look(S, S), 0);
	ck_assert_uint_eq(look(0, 0), 0);
	boot_ns += 7 * S;
	ck_assert_uint_eq(look(0, 0), 7 * S);
	/* The boot time overtakes it. */
	boot_ns += 2000 * S;
	ck_assert_uint_eq(look(0, 0), 2000 * S);
	ck_assert_uint_eq(state.count, 2);
}
END_TEST

/* However long it is held up, and between whichever readings. */
START_TEST(a_process_that_is_held_up_has_not_slept)
{
	struct iso_rng rng = { test_seed_base() + (uint64_t)_i };
	uint64_t slept_ns = 0, told_ns = 0;

	for (int i = 0; i < 1000; i++) {
		if (iso_rng_below(&rng, 50) == 0) {
			uint64_t ns = iso_rng_below(&rng, 20 * S);

			boot_ns += ns;
			slept_ns += ns;
		}
		pass(iso_rng_below(&rng, 2 * S));
		told_ns += look(iso_rng_below(&rng, 3) == 0 ? iso_rng_below(&rng, 9 * S) : 20,
				iso_rng_below(&rng, 3) == 0 ? iso_rng_below(&rng, 9 * S) : 20);
		ck_assert_uint_le(told_ns, slept_ns);
	}
	pass(S);
	told_ns += look(0, 0);
	ck_assert_uint_eq(told_ns, state.total_ns);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("sleep");
	TCase *tcase = tcase_create("clocks");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_sleep_is_seen_once);
	tcase_add_test(tcase, short_ones_are_told_together);
	tcase_add_test(tcase, the_monotonic_clock_may_be_ahead);
	tcase_add_loop_test(tcase, a_process_that_is_held_up_has_not_slept, 0, test_runs(20));
	suite_add_tcase(suite, tcase);
	return suite;
}
