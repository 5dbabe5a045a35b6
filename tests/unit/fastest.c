/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/fastest.h"
#include "tests/test.h"

#include <string.h>

#define WORKERS 4
#define MS	1000000ull
#define S	(1000 * MS)

/* sigma^2 / epsilon = 1: those who are far slower than the fastest do not help. */
static struct iso_fastest_worker of[WORKERS];
static double scratch_s[WORKERS], rates[WORKERS];
static struct iso_fastest fastest;
static uint64_t now_ns;

static void begin(void)
{
	memset(of, 0, sizeof(of));
	fastest = (struct iso_fastest){
		.workers = WORKERS, .variance = 1, .target = 1, .of = of, .scratch_s = scratch_s,
	};
	now_ns = 100 * S;
	for (int i = 0; i < WORKERS; i++)
		rates[i] = 1;
}

static void times(uint32_t worker, int count, uint64_t time_ns)
{
	for (int i = 0; i < count; i++)
		iso_fastest_add(&fastest, worker, time_ns);
}

static bool choose_after(uint64_t ns)
{
	now_ns += ns;
	return iso_fastest_choose(&fastest, now_ns, rates);
}

/* "x" for each worker that is out. */
static const char *out(void)
{
	static char text[WORKERS + 1];

	for (int i = 0; i < WORKERS; i++)
		text[i] = of[i].is_out ? 'x' : '.';
	return text;
}

static void three_are_fast(void)
{
	begin();
	for (uint32_t i = 0; i < 3; i++)
		times(i, 40, 10 * MS);
	times(3, 1, 10 * S);
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "...x");
}

START_TEST(whoever_has_not_delivered_may_be_one_of_them)
{
	begin();
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "....");
	times(0, 1, 10 * MS);
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "....");
	times(3, 1, 10 * S);
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "...x");
}
END_TEST

START_TEST(one_that_becomes_slow_is_left_out_soon)
{
	three_are_fast();
	/* The mean of the last 32: not of all 1000. */
	times(1, 1000, 10 * MS);
	times(1, 3, 20 * S);
	ck_assert(choose_after(S));
	ck_assert_str_eq(out(), ".x.x");
}
END_TEST

START_TEST(one_that_is_out_is_tried_again_in_time)
{
	three_are_fast();
	/* 20 of its tasks of 10 s are longer than 60 s. */
	ck_assert(!choose_after(200 * S - 1));
	ck_assert_str_eq(out(), "...x");
	ck_assert(choose_after(1));
	ck_assert_str_eq(out(), "....");
	/* Until it has delivered, and no longer. */
	times(3, 1, 10 * S);
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "...x");
	ck_assert(choose_after(200 * S));
	times(3, 1, 10 * MS);
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "....");
}
END_TEST

START_TEST(short_tasks_are_tried_once_a_minute)
{
	begin();
	for (uint32_t i = 0; i < 3; i++)
		times(i, 40, MS);
	times(3, 1, 100 * MS);
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "...x");
	ck_assert(!choose_after(60 * S - 1));
	ck_assert(choose_after(1));
	ck_assert_str_eq(out(), "....");
}
END_TEST

START_TEST(a_share_counts_at_once_and_the_absent_do_not)
{
	three_are_fast();
	rates[3] = 1000;
	times(0, 1, 10 * MS);
	ck_assert(choose_after(S));
	ck_assert_str_eq(out(), "....");
	rates[3] = 1;
	times(0, 1, 10 * MS);
	ck_assert(choose_after(S));
	ck_assert_str_eq(out(), "...x");
	/* It is all there is. */
	rates[0] = rates[1] = rates[2] = 0;
	ck_assert(choose_after(0));
	ck_assert_str_eq(out(), "....");
}
END_TEST

START_TEST(nobody_takes_turns_with_each_result)
{
	three_are_fast();
	for (int i = 0; i < 9; i++) {
		times(0, 1, 10 * MS);
		ck_assert(!choose_after(100 * MS));
	}
	ck_assert(choose_after(100 * MS));
	/* Nothing new, nothing to choose. */
	ck_assert(!choose_after(10 * S));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("fastest");
	TCase *tcase = tcase_create("workers");

	tcase_add_test(tcase, whoever_has_not_delivered_may_be_one_of_them);
	tcase_add_test(tcase, one_that_becomes_slow_is_left_out_soon);
	tcase_add_test(tcase, one_that_is_out_is_tried_again_in_time);
	tcase_add_test(tcase, short_tasks_are_tried_once_a_minute);
	tcase_add_test(tcase, a_share_counts_at_once_and_the_absent_do_not);
	tcase_add_test(tcase, nobody_takes_turns_with_each_result);
	suite_add_tcase(suite, tcase);
	return suite;
}
