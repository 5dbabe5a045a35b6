/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/quantity.h"
#include "tests/test.h"

#define UNTOUCHED 0xdeadu

static void cpu_is(const char *text, uint64_t ucpu)
{
	uint64_t value = UNTOUCHED;

	ck_assert_msg(iso_quantity_cpu(text, &value) == ISO_OK, "%s", text);
	ck_assert_uint_eq(value, ucpu);
}

static void cpu_fails(const char *text, enum iso_status expected)
{
	uint64_t value = UNTOUCHED;

	ck_assert_msg(iso_quantity_cpu(text, &value) == expected, "%s", text);
	ck_assert_uint_eq(value, UNTOUCHED);
}

START_TEST(reads_cpu)
{
	cpu_is("1.5cpu", 1500000);
	cpu_is("0.000001cpu", 1);
	cpu_is("250mcpu", 250000);
	cpu_is("37500ucpu", 37500);
	cpu_is("150%", 1500000);
	cpu_is("0.5%", 5000);
	cpu_is("1.50000000cpu", 1500000);
	cpu_is("0cpu", 0);
}
END_TEST

START_TEST(refuses_what_is_not_cpu)
{
	cpu_fails("1.5", ISO_E_UNIT);
	cpu_fails("100ms", ISO_E_UNIT);
	cpu_fails("1 cpu", ISO_E_UNIT);
	cpu_fails("1cpus", ISO_E_UNIT);
	cpu_fails("", ISO_E_SYNTAX);
	cpu_fails("cpu", ISO_E_SYNTAX);
	cpu_fails("-1cpu", ISO_E_SYNTAX);
	cpu_fails("1.cpu", ISO_E_SYNTAX);
	cpu_fails(".5cpu", ISO_E_SYNTAX);
	cpu_fails("1,5cpu", ISO_E_UNIT);
	cpu_fails("1e3cpu", ISO_E_UNIT);
	cpu_fails("0.0000001cpu", ISO_E_RANGE);
	cpu_fails("0.5ucpu", ISO_E_RANGE);
	cpu_fails("99999999999999999999cpu", ISO_E_RANGE);
	cpu_fails("18446744073709551615cpu", ISO_E_RANGE);
}
END_TEST

START_TEST(reads_durations)
{
	static const struct { const char *text; uint64_t ns; } cases[] = {
		{ "100ms", 100000000 }, { "0.5s", 500000000 },	    { "1us", 1000 },
		{ "2min", 120000000000 }, { "1h", 3600000000000 }, { "7ns", 7 },
	};
	uint64_t value;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_ok(iso_quantity_duration(cases[i].text, &value));
		ck_assert_uint_eq(value, cases[i].ns);
	}
	ck_assert_int_eq(iso_quantity_duration("100", &value), ISO_E_UNIT);
	ck_assert_int_eq(iso_quantity_duration("1.5ns", &value), ISO_E_RANGE);
}
END_TEST

START_TEST(spells_what_it_reads)
{
	struct iso_rng rng = { test_seed_base() };
	char text[ISO_QUANTITY_BYTES];

	iso_quantity_cpu_format(1500000, text);
	ck_assert_str_eq(text, "1.5cpu");
	iso_quantity_cpu_format(0, text);
	ck_assert_str_eq(text, "0cpu");
	iso_quantity_cpu_format(UINT64_MAX, text);
	cpu_is(text, UINT64_MAX);
	for (int i = 0; i < test_runs(10000); i++) {
		uint64_t ucpu = iso_rng_next(&rng) >> iso_rng_below(&rng, 64);

		iso_quantity_cpu_format(ucpu, text);
		cpu_is(text, ucpu);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("quantity");
	TCase *tcase = tcase_create("text");

	tcase_add_test(tcase, reads_cpu);
	tcase_add_test(tcase, refuses_what_is_not_cpu);
	tcase_add_test(tcase, reads_durations);
	tcase_add_test(tcase, spells_what_it_reads);
	suite_add_tcase(suite, tcase);
	return suite;
}
