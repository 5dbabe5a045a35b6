/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/enforce/telling.h"
#include "tests/test.h"

#define S 1000000000ull

enum { FINE, GONE, CONFLICT };

static struct iso_telling telling;
static uint64_t now_ns;
static uint32_t untold;

static void setup(void)
{
	telling = (struct iso_telling){ 0 };
	now_ns = 1000 * S;
	untold = 99;
}

/* A second later. */
static enum iso_tell look(unsigned state)
{
	now_ns += S;
	return iso_telling_look(&telling, now_ns, state, &untold);
}

START_TEST(a_state_is_told_when_it_begins_and_when_it_ends)
{
	ck_assert_int_eq(look(FINE), ISO_TELL_NOTHING);
	ck_assert_int_eq(look(GONE), ISO_TELL_BEGIN);
	ck_assert_uint_eq(untold, 0);
	ck_assert_int_eq(look(GONE), ISO_TELL_NOTHING);
	/* Another one is another matter. */
	ck_assert_int_eq(look(CONFLICT), ISO_TELL_BEGIN);
	ck_assert_int_eq(look(FINE), ISO_TELL_END);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(look(FINE), ISO_TELL_NOTHING);
	ck_assert_int_eq(look(GONE), ISO_TELL_BEGIN);
	ck_assert_uint_eq(untold, 0);
}
END_TEST

START_TEST(what_was_there_at_the_start_is_told_when_it_ends)
{
	ck_assert_int_eq(look(GONE), ISO_TELL_NOTHING);
	ck_assert_int_eq(look(GONE), ISO_TELL_NOTHING);
	ck_assert_int_eq(look(FINE), ISO_TELL_END);
	ck_assert_int_eq(look(GONE), ISO_TELL_BEGIN);
}
END_TEST

START_TEST(what_comes_and_goes_is_told_once_a_minute_with_how_often)
{
	unsigned begins = 0, ends = 0, counted = 0;

	(void)look(FINE);
	for (int i = 0; i < 600; i++) {
		enum iso_tell tell = look(i % 2 == 0 ? GONE : FINE);

		ck_assert_int_ne(tell, ISO_TELL_COUNT);
		begins += tell == ISO_TELL_BEGIN;
		ends += tell == ISO_TELL_END;
		counted += tell == ISO_TELL_BEGIN ? untold : 0;
	}
	ck_assert_uint_eq(begins, 10);
	ck_assert_uint_eq(ends, 10);
	ck_assert_uint_eq(counted, 9 * 29);

	/* It ends: what was not told yet is, when that has lasted. */
	unsigned looks = 1;
	while (look(FINE) != ISO_TELL_COUNT)
		looks++;
	ck_assert_uint_eq(untold, 29);
	ck_assert_uint_eq(looks, 59);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(look(FINE), ISO_TELL_NOTHING);
}
END_TEST

START_TEST(one_that_stays_is_told_when_the_minute_is_over)
{
	unsigned looks = 1;

	(void)look(FINE);
	ck_assert_int_eq(look(GONE), ISO_TELL_BEGIN);
	ck_assert_int_eq(look(FINE), ISO_TELL_END);
	ck_assert_int_eq(look(GONE), ISO_TELL_NOTHING);
	ck_assert_int_eq(look(FINE), ISO_TELL_NOTHING);
	while (look(GONE) != ISO_TELL_BEGIN)
		looks++;
	ck_assert_uint_eq(looks, 57);
	/* The other one that was not told; this one is. */
	ck_assert_uint_eq(untold, 1);
	ck_assert_int_eq(look(FINE), ISO_TELL_END);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("telling");
	TCase *tcase = tcase_create("states");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_state_is_told_when_it_begins_and_when_it_ends);
	tcase_add_test(tcase, what_was_there_at_the_start_is_told_when_it_ends);
	tcase_add_test(tcase, what_comes_and_goes_is_told_once_a_minute_with_how_often);
	tcase_add_test(tcase, one_that_stays_is_told_when_the_minute_is_over);
	suite_add_tcase(suite, tcase);
	return suite;
}
