/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/csv.h"
#include "lib/data/libsvm.h"
#include "tests/test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 16u

static uint32_t columns[ROOM];
static float values[ROOM];

static float number(const char *text)
{
	float value = 0;
	size_t used = 77;

	ck_assert_msg(iso_text_number(text, strlen(text), &value, &used) == ISO_TEXT_FINE, "%s",
		      text);
	ck_assert_msg(used == strlen(text), "%s: %zu", text, used);
	return value;
}

START_TEST(numbers_are_what_they_say)
{
	static const struct {
		const char *text;
		float value;
	} cases[] = {
		{ "0", 0 },
		{ "-0.0", -0.0f },
		{ "+1", 1 },
		{ "1.", 1 },
		{ ".5", 0.5f },
		{ "-12.75e0", -12.75f },
		{ "1e3", 1000 },
		{ "1E+3", 1000 },
		{ "25e-2", 0.25f },
		{ "0.708333", 0.708333f },
		{ "16777217", 16777216 },
		{ "16777219", 16777220 },
		{ "3.4028235e38", FLT_MAX },
		{ "340282346638528859811704183484516925440", FLT_MAX },
		{ "1e-45", FLT_TRUE_MIN },
		{ "1e-400", 0 },
		{ "0e999999999999999999999", 0 },
		{ "0.000000000000000000000000000000000000000000001", FLT_TRUE_MIN },
		{ "100000000000000000000000000000000000000e-38", 1 },
		{ "1.00000000000000000000000000000000000000000000000000", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		float value = number(cases[i].text);

		ck_assert_msg(memcmp(&value, &cases[i].value, 4) == 0, "%s: %a", cases[i].text,
			      (double)value);
	}
}
END_TEST

/* Against the C library, whatever the digits. */
START_TEST(numbers_are_read_as_by_strtof)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(20000); run++) {
		char text[64];
		int digits = 1 + (int)iso_rng_below(&rng, 17);
		double value =
		    (iso_rng_unit(&rng) - 0.5) * pow(10, (double)iso_rng_below(&rng, 70) - 38);

		snprintf(text, sizeof(text), "%.*g", digits, value);
		double exact = strtod(text, NULL);
		if (fabs(exact) > (double)FLT_MAX)
			continue;
		/* Within 2^-50 of the exact one: the same float but for one case in 10^7. */
		float expected = (float)exact, got = number(text);
		ck_assert_msg(memcmp(&got, &expected, sizeof(got)) == 0, "%s: %a, not %a", text,
			      (double)got, (double)expected);
	}
}
END_TEST

START_TEST(a_locale_changes_nothing)
{
	/* Where it is not installed there is nothing to see. */
	(void)setlocale(LC_ALL, "de_DE.UTF-8");
	ck_assert_double_eq((double)number("1.5"), 1.5);
	(void)setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(what_is_no_number_is_told_apart)
{
	static const struct {
		const char *text;
		enum iso_text_reason reason;
	} cases[] = {
		{ "", ISO_TEXT_NOT_A_NUMBER },
		{ "-", ISO_TEXT_NOT_A_NUMBER },
		{ ".", ISO_TEXT_NOT_A_NUMBER },
		{ "e5", ISO_TEXT_NOT_A_NUMBER },
		{ "x", ISO_TEXT_NOT_A_NUMBER },
		{ "--1", ISO_TEXT_NOT_A_NUMBER },
		{ "nan", ISO_TEXT_NOT_FINITE },
		{ "-NaN", ISO_TEXT_NOT_FINITE },
		{ "inf", ISO_TEXT_NOT_FINITE },
		{ "+Infinity", ISO_TEXT_NOT_FINITE },
		{ "inf,1", ISO_TEXT_NOT_FINITE },
		{ "information", ISO_TEXT_NOT_A_NUMBER },
		{ "Nancy", ISO_TEXT_NOT_A_NUMBER },
		{ "nan0", ISO_TEXT_NOT_A_NUMBER },
		{ "infinite", ISO_TEXT_NOT_A_NUMBER },
		{ "1e39", ISO_TEXT_TOO_LARGE },
		{ "-3.4028237e38", ISO_TEXT_TOO_LARGE },
		{ "1e999999999999", ISO_TEXT_TOO_LARGE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		float value = 5;
		size_t used = 77;
		enum iso_text_reason reason =
		    iso_text_number(cases[i].text, strlen(cases[i].text), &value, &used);

		ck_assert_msg(reason == cases[i].reason, "%s: %s", cases[i].text,
			      iso_text_reason_text(reason));
		ck_assert_uint_eq(used, 77);
		ck_assert_double_eq((double)value, 5);
	}
}
END_TEST

START_TEST(a_number_ends_where_it_ends)
{
	static const struct {
		const char *text;
		size_t used;
	} cases[] = { { "1:2", 1 },   { "1e", 1 },    { "1e+", 1 },
		      { "2.5ex", 3 }, { "1.2.3", 3 }, { "0x10", 1 } };
	float value;
	size_t used;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(
		    iso_text_number(cases[i].text, strlen(cases[i].text), &value, &used),
		    ISO_TEXT_FINE);
		ck_assert_msg(used == cases[i].used, "%s: %zu", cases[i].text, used);
	}
	/* No byte behind the length is looked at. */
	ck_assert_int_eq(iso_text_number("12", 1, &value, &used), ISO_TEXT_FINE);
	ck_assert_double_eq((double)value, 1);
}
END_TEST

START_TEST(libsvm_samples_come_one_by_one)
{
	static const char text[] = "# a comment\n"
				   "\n"
				   "+1 1:0.5 3:-2 # and another\r\n"
				   " 1:7\t\n"
				   "-1\n"
				   "2.5 16:1";
	struct iso_libsvm libsvm = { 0 };
	struct iso_libsvm_row row = { .columns = columns, .values = values, .capacity = ROOM };
	struct iso_text_error error;
	size_t at = 0, used;

	ck_assert_ok(iso_libsvm_row(&libsvm, text, sizeof(text) - 1, true, &row, &used, &error));
	at += used;
	ck_assert_uint_eq(libsvm.line, 3);
	ck_assert(row.has_label);
	ck_assert_double_eq((double)row.label, 1);
	ck_assert_uint_eq(row.count, 2);
	ck_assert_uint_eq(columns[0], 0);
	ck_assert_uint_eq(columns[1], 2);
	ck_assert_double_eq((double)values[1], -2);
	ck_assert_ok(
	    iso_libsvm_row(&libsvm, text + at, sizeof(text) - 1 - at, true, &row, &used, &error));
	at += used;
	ck_assert(!row.has_label);
	ck_assert_uint_eq(row.count, 1);
	ck_assert_double_eq((double)values[0], 7);
	ck_assert_ok(
	    iso_libsvm_row(&libsvm, text + at, sizeof(text) - 1 - at, true, &row, &used, &error));
	at += used;
	ck_assert_double_eq((double)row.label, -1);
	ck_assert_uint_eq(row.count, 0);
	/* The last line has no end: it may go on. */
	ck_assert_int_eq(
	    iso_libsvm_row(&libsvm, text + at, sizeof(text) - 1 - at, false, &row, &used, &error),
	    ISO_E_SHORT);
	ck_assert_uint_eq(used, 0);
	ck_assert_ok(
	    iso_libsvm_row(&libsvm, text + at, sizeof(text) - 1 - at, true, &row, &used, &error));
	at += used;
	ck_assert_uint_eq(columns[0], 15);
	ck_assert_uint_eq(at, sizeof(text) - 1);
	ck_assert_int_eq(iso_libsvm_row(&libsvm, text + at, 0, true, &row, &used, &error),
			 ISO_E_SHORT);
}
END_TEST

START_TEST(bad_libsvm_lines_are_named_with_column_and_reason)
{
	static const struct {
		const char *line;
		enum iso_text_reason reason;
		uint64_t column;
	} cases[] = {
		{ "x 1:2", ISO_TEXT_NOT_A_NUMBER, 1 },
		{ "1x 1:2", ISO_TEXT_NOT_A_NUMBER, 2 },
		{ "nan 1:2", ISO_TEXT_NOT_FINITE, 1 },
		{ "1,3 1:2", ISO_TEXT_MANY_LABELS, 2 },
		{ "1 1:2 2", ISO_TEXT_NOT_AN_INDEX, 7 },
		{ "1 1:2 :5", ISO_TEXT_NOT_AN_INDEX, 7 },
		{ "1 qid:1 1:5", ISO_TEXT_NOT_AN_INDEX, 3 },
		{ "1 -1:2", ISO_TEXT_NOT_AN_INDEX, 3 },
		{ "1 1.5:2", ISO_TEXT_NOT_AN_INDEX, 3 },
		{ "1 0:2", ISO_TEXT_INDEX_ZERO, 3 },
		{ "1 3:2 2:2", ISO_TEXT_INDEX_ORDER, 7 },
		{ "1 3:2  3:2", ISO_TEXT_INDEX_ORDER, 8 },
		{ "1 268435457:2", ISO_TEXT_INDEX_LARGE, 3 },
		{ "1 99999999999999999999999:2", ISO_TEXT_INDEX_LARGE, 3 },
		{ "1 1:", ISO_TEXT_MISSING_VALUE, 5 },
		{ "1 1: 2", ISO_TEXT_MISSING_VALUE, 5 },
		{ "1 1:#", ISO_TEXT_MISSING_VALUE, 5 },
		{ "1 1:x", ISO_TEXT_NOT_A_NUMBER, 5 },
		{ "1 1:2x", ISO_TEXT_NOT_A_NUMBER, 6 },
		{ "1 1:2:3", ISO_TEXT_NOT_A_NUMBER, 6 },
		{ "1 1:inf", ISO_TEXT_NOT_FINITE, 5 },
		{ "1 1:1e99", ISO_TEXT_TOO_LARGE, 5 },
		{ "1e99 1:1", ISO_TEXT_TOO_LARGE, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];
		struct iso_libsvm libsvm = { 0 };
		struct iso_libsvm_row row = { .columns = columns,
					      .values = values,
					      .capacity = ROOM };
		struct iso_text_error error = { 0 };
		size_t used;
		int length = snprintf(text, sizeof(text), "# one\n%s\n", cases[i].line);

		ck_assert_int_eq(
		    iso_libsvm_row(&libsvm, text, (size_t)length, true, &row, &used, &error),
		    ISO_E_MALFORMED);
		ck_assert_msg(error.reason == cases[i].reason, "%s: %s", cases[i].line,
			      iso_text_reason_text(error.reason));
		ck_assert_uint_eq(error.line, 2);
		ck_assert_msg(error.column == cases[i].column, "%s: column %d", cases[i].line,
			      (int)error.column);
		ck_assert_uint_eq(used, (size_t)length);
	}
}
END_TEST

START_TEST(a_row_without_room_is_asked_for_again)
{
	static const char text[] = "\n1 1:1 2:2 3:3\n";
	struct iso_libsvm libsvm = { 0 };
	struct iso_libsvm_row row = { .columns = columns, .values = values, .capacity = 2 };
	struct iso_text_error error;
	size_t used;

	ck_assert_int_eq(
	    iso_libsvm_row(&libsvm, text, sizeof(text) - 1, false, &row, &used, &error),
	    ISO_E_FULL);
	ck_assert_uint_eq(used, 1);
	row.capacity = 3;
	ck_assert_ok(
	    iso_libsvm_row(&libsvm, text + 1, sizeof(text) - 2, false, &row, &used, &error));
	ck_assert_uint_eq(row.count, 3);
	ck_assert_uint_eq(libsvm.line, 2);
}
END_TEST

static enum iso_status header(const char *text, const char *label, struct iso_csv *csv,
			      size_t *ret_used, struct iso_text_error *error)
{
	return iso_csv_header(',', label, text, strlen(text), true, csv, ret_used, error);
}

START_TEST(csv_samples_come_one_by_one)
{
	static const char text[] = "\xef\xbb\xbf\"first, name\", second ,\"th\"\"ird\"\r\n"
				   "1,2,3\r\n"
				   " 4 , \"5\" ,6\n"
				   "\n"
				   "7,8,\n"
				   "9,?,1\n";
	struct iso_csv csv;
	struct iso_csv_row row = { .values = values };
	struct iso_text_error error;
	size_t at, used;

	ck_assert_ok(header(text, "second", &csv, &at, &error));
	ck_assert_uint_eq(csv.label, 1);
	ck_assert_ok(header(text, "first, name", &csv, &at, &error));
	ck_assert_uint_eq(csv.label, 0);
	ck_assert_ok(header(text, "th\"ird", &csv, &at, &error));
	ck_assert_uint_eq(csv.label, 2);
	ck_assert_ok(header(text, NULL, &csv, &at, &error));
	ck_assert_uint_eq(csv.label, 2);
	ck_assert_uint_eq(csv.columns, 3);

	ck_assert_ok(
	    iso_csv_row(&csv, text + at, sizeof(text) - 1 - at, true, &row, &used, &error));
	at += used;
	ck_assert_double_eq((double)values[0], 1);
	ck_assert_double_eq((double)values[1], 2);
	ck_assert_double_eq((double)row.label, 3);
	ck_assert_ok(
	    iso_csv_row(&csv, text + at, sizeof(text) - 1 - at, true, &row, &used, &error));
	at += used;
	ck_assert_double_eq((double)values[0], 4);
	ck_assert_double_eq((double)values[1], 5);
	ck_assert(row.has_label);
	ck_assert_ok(
	    iso_csv_row(&csv, text + at, sizeof(text) - 1 - at, true, &row, &used, &error));
	at += used;
	ck_assert_uint_eq(csv.line, 5);
	ck_assert(!row.has_label);
	ck_assert_double_eq((double)values[1], 8);
	ck_assert_int_eq(
	    iso_csv_row(&csv, text + at, sizeof(text) - 1 - at, true, &row, &used, &error),
	    ISO_E_MALFORMED);
	ck_assert_int_eq(error.reason, ISO_TEXT_MISSING_VALUE);
	ck_assert_uint_eq(error.line, 6);
	ck_assert_uint_eq(error.column, 3);
}
END_TEST

START_TEST(bad_csv_headers_are_named_with_column_and_reason)
{
	static const struct {
		const char *text, *label;
		enum iso_text_reason reason;
		uint64_t column;
	} cases[] = {
		{ "1,2,3\n", NULL, ISO_TEXT_NO_HEADER, 1 },
		{ "a\n", NULL, ISO_TEXT_ONE_COLUMN, 1 },
		{ "a,b\n", "c", ISO_TEXT_NO_LABEL_COLUMN, 1 },
		{ "a,b\n", "", ISO_TEXT_NO_LABEL_COLUMN, 1 },
		{ "a,b,a\n", "a", ISO_TEXT_TWO_LABEL_COLUMNS, 5 },
		{ ",b\n", NULL, ISO_TEXT_NO_NAME, 1 },
		{ "a,\"\"\n", NULL, ISO_TEXT_NO_NAME, 3 },
		{ "a,b,\n", NULL, ISO_TEXT_NO_NAME, 5 },
		{ "a,\"b\n", NULL, ISO_TEXT_OPEN_QUOTE, 3 },
		{ "a,\"b\"c\n", NULL, ISO_TEXT_STRAY_QUOTE, 3 },
		{ "a,b\"c\n", NULL, ISO_TEXT_STRAY_QUOTE, 3 },
		{ "\xef\xbb\xbf"
		  "a,b,a\n",
		  "a", ISO_TEXT_TWO_LABEL_COLUMNS, 8 },
		{ "\xef\xbb\xbf,b\n", NULL, ISO_TEXT_NO_NAME, 4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct iso_csv csv, before;
		struct iso_text_error error = { 0 };
		size_t used = 77;

		memset(&csv, 0x5a, sizeof(csv));
		before = csv;
		ck_assert_int_eq(header(cases[i].text, cases[i].label, &csv, &used, &error),
				 ISO_E_MALFORMED);
		ck_assert_msg(error.reason == cases[i].reason, "%s: %s", cases[i].text,
			      iso_text_reason_text(error.reason));
		ck_assert_msg(error.column == cases[i].column, "%s: column %d", cases[i].text,
			      (int)error.column);
		ck_assert_uint_eq(error.line, 1);
		ck_assert_mem_eq(&csv, &before, sizeof(csv));
		ck_assert_uint_eq(used, 77);
	}
	struct iso_csv csv;
	struct iso_text_error error;
	size_t used;
	ck_assert_int_eq(header("\xef\xbb\xbf\na,b,a\n", "a", &csv, &used, &error),
			 ISO_E_MALFORMED);
	ck_assert_uint_eq(error.line, 2);
	ck_assert_uint_eq(error.column, 5);
	ck_assert_int_eq(header("\n\n", NULL, &csv, &used, &error), ISO_E_SHORT);
}
END_TEST

START_TEST(bad_csv_lines_are_named_with_column_and_reason)
{
	static const struct {
		const char *line;
		enum iso_text_reason reason;
		uint64_t column;
	} cases[] = {
		{ "1,2", ISO_TEXT_FEW_FIELDS, 4 },
		{ "1,2,3,4", ISO_TEXT_MANY_FIELDS, 7 },
		{ "1,2,3,", ISO_TEXT_MANY_FIELDS, 7 },
		{ ",2,3", ISO_TEXT_MISSING_VALUE, 1 },
		{ "1, ,3", ISO_TEXT_MISSING_VALUE, 4 },
		{ "1,NA,3", ISO_TEXT_MISSING_VALUE, 3 },
		{ "1,\"\",3", ISO_TEXT_MISSING_VALUE, 3 },
		{ "1,nan,3", ISO_TEXT_NOT_FINITE, 3 },
		{ "1,2,inf", ISO_TEXT_NOT_FINITE, 5 },
		{ "1,2 3,3", ISO_TEXT_NOT_A_NUMBER, 3 },
		{ "1,cat,3", ISO_TEXT_NOT_A_NUMBER, 3 },
		{ "1,infant,3", ISO_TEXT_NOT_A_NUMBER, 3 },
		{ "1;2;3", ISO_TEXT_NOT_A_NUMBER, 1 },
		{ "1,2,dog", ISO_TEXT_NOT_A_NUMBER, 5 },
		{ "1,\"2,3", ISO_TEXT_OPEN_QUOTE, 3 },
		{ "1,\"2\"\"\",3", ISO_TEXT_NOT_A_NUMBER, 3 },
		{ "1,\"2\"5,3", ISO_TEXT_STRAY_QUOTE, 3 },
		{ "1,2\",3", ISO_TEXT_STRAY_QUOTE, 3 },
		{ "1,1e40,3", ISO_TEXT_TOO_LARGE, 3 },
	};
	struct iso_csv csv;
	struct iso_text_error error;
	size_t used;

	ck_assert_ok(header("a,b,c\n", NULL, &csv, &used, &error));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct iso_csv_row row = { .values = values };

		ck_assert_int_eq(iso_csv_row(&csv, cases[i].line, strlen(cases[i].line), true, &row,
					     &used, &error),
				 ISO_E_MALFORMED);
		ck_assert_msg(error.reason == cases[i].reason, "%s: %s", cases[i].line,
			      iso_text_reason_text(error.reason));
		ck_assert_msg(error.column == cases[i].column, "%s: column %d", cases[i].line,
			      (int)error.column);
		ck_assert_uint_eq(error.line, i + 2);
	}
}
END_TEST

START_TEST(a_tab_separates_where_it_is_asked_to)
{
	static const char text[] = "a\tb\n1 \t 2\n\t3\n";
	struct iso_csv csv;
	struct iso_csv_row row = { .values = values };
	struct iso_text_error error;
	size_t at, used;

	ck_assert_ok(iso_csv_header('\t', NULL, text, sizeof(text) - 1, true, &csv, &at, &error));
	ck_assert_ok(
	    iso_csv_row(&csv, text + at, sizeof(text) - 1 - at, true, &row, &used, &error));
	at += used;
	ck_assert_double_eq((double)values[0], 1);
	ck_assert_double_eq((double)row.label, 2);
	ck_assert_int_eq(
	    iso_csv_row(&csv, text + at, sizeof(text) - 1 - at, true, &row, &used, &error),
	    ISO_E_MALFORMED);
	ck_assert_int_eq(error.reason, ISO_TEXT_MISSING_VALUE);
	ck_assert_uint_eq(error.column, 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("textdata");
	TCase *tcase = tcase_create("decoders");

	tcase_add_test(tcase, numbers_are_what_they_say);
	tcase_add_test(tcase, numbers_are_read_as_by_strtof);
	tcase_add_test(tcase, a_locale_changes_nothing);
	tcase_add_test(tcase, what_is_no_number_is_told_apart);
	tcase_add_test(tcase, a_number_ends_where_it_ends);
	tcase_add_test(tcase, libsvm_samples_come_one_by_one);
	tcase_add_test(tcase, bad_libsvm_lines_are_named_with_column_and_reason);
	tcase_add_test(tcase, a_row_without_room_is_asked_for_again);
	tcase_add_test(tcase, csv_samples_come_one_by_one);
	tcase_add_test(tcase, bad_csv_headers_are_named_with_column_and_reason);
	tcase_add_test(tcase, bad_csv_lines_are_named_with_column_and_reason);
	tcase_add_test(tcase, a_tab_separates_where_it_is_asked_to);
	suite_add_tcase(suite, tcase);
	return suite;
}
