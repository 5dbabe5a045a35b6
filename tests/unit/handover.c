/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/handover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/test.h"

#define S 1000000000ull

static struct conf conf; /* too large for the stack */
static char order[64];

static void setup(void)
{
	snprintf(conf.run_directory, sizeof(conf.run_directory), "/tmp/isobar-handover-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(conf.run_directory));
	snprintf(order, sizeof(order), "%.40s/keep-limit", conf.run_directory);
}

static void teardown(void)
{
	handover_done(&conf);
	ck_assert_int_eq(rmdir(conf.run_directory), 0);
}

static void write_order(const char *text)
{
	FILE *file = fopen(order, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void write_time(uint64_t at_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", at_ns);
	write_order(text);
}

START_TEST(an_order_holds_until_somebody_has_taken_over)
{
	ck_assert(!handover_is_asked(&conf));
	ck_assert_int_eq(handover_ask(&conf, NULL), 0);
	ck_assert(handover_is_asked(&conf));
	handover_done(&conf);
	ck_assert(!handover_is_asked(&conf));
}
END_TEST

START_TEST(an_order_holds_for_five_minutes)
{
	uint64_t now_ns = clock_boot_ns();

	if (now_ns > 301 * S) {
		write_time(now_ns - 200 * S);
		ck_assert(handover_is_asked(&conf));
		write_time(now_ns - 300 * S);
		ck_assert(!handover_is_asked(&conf));
	}
	/* Of another boot. */
	write_time(now_ns + 3600 * S);
	ck_assert(!handover_is_asked(&conf));
	/* Given again, it is a new one. */
	ck_assert_int_eq(handover_ask(&conf, NULL), 0);
	ck_assert(handover_is_asked(&conf));
}
END_TEST

START_TEST(what_is_no_time_is_no_order)
{
	static const char *const texts[] = { "", "\n", "now", "-1", "99999999999999999999999999" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_order(texts[i]);
		ck_assert_msg(!handover_is_asked(&conf), "'%s'", texts[i]);
	}
}
END_TEST

START_TEST(without_a_run_directory_there_is_nobody_to_tell)
{
	struct error error = { 0 };

	ck_assert_int_eq(rmdir(conf.run_directory), 0);
	ck_assert_int_eq(handover_ask(&conf, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, order));
	setup();
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("handover");
	TCase *tcase = tcase_create("order");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_order_holds_until_somebody_has_taken_over);
	tcase_add_test(tcase, an_order_holds_for_five_minutes);
	tcase_add_test(tcase, what_is_no_time_is_no_order);
	tcase_add_test(tcase, without_a_run_directory_there_is_nobody_to_tell);
	suite_add_tcase(suite, tcase);
	return suite;
}
