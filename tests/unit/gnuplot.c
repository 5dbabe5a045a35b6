/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/gnuplot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test.h"

static char directory[] = "/tmp/isobar-gnuplot-XXXXXX";
static char file[64];

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(file, sizeof(file), "%s/it's.svg", directory);
}

static void teardown(void)
{
	unlink(file);
	ck_assert_int_eq(rmdir(directory), 0);
}

static const double x[] = { 1, 10, 100, 1000 };
static const double y[] = { 0.5, 0, NAN, 2 };

static const struct chart_curve curves[] = {
	{ .title = "nobody's", .x = x, .y = y, .count = 4, .style = CHART_LINES_POINTS },
	{ .title = "the \"other\"", .x = x, .y = x, .count = 4, .style = CHART_DASHED },
	{ .title = "nothing of this", .x = x, .y = y + 1, .count = 2 },
};

static const struct chart chart = {
	.title = "it's one",
	.x_label = "x",
	.y_label = "y",
	.x_log = true,
	.y_log = true,
	.curves = curves,
	.count = 3,
};

static bool has_gnuplot(void)
{
	return system("command -v gnuplot >/dev/null") == 0;
}

START_TEST(draws_what_can_be_drawn)
{
	struct chart two[] = { chart, chart };
	struct error error;
	char text[1 << 16] = "";
	FILE *in;

	if (!has_gnuplot())
		return;
	two[1].title = "another";
	ck_assert_msg(chart_draw(file, "all of it", two, 2, 2, &error) == 0, "%s", error.text);
	in = fopen(file, "re");
	ck_assert_ptr_nonnull(in);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, in), 1000);
	fclose(in);
	ck_assert_ptr_nonnull(strstr(text, "<svg"));
	ck_assert_ptr_nonnull(strstr(text, "nobody"));
	ck_assert_ptr_nonnull(strstr(text, "another"));
	/* A key without a curve would be a claim. */
	ck_assert_ptr_null(strstr(text, "nothing of this"));
}
END_TEST

/* A title is what somebody has called it, and no formula. */
START_TEST(titles_are_drawn_as_they_are_written)
{
	struct chart_curve curve = curves[0];
	struct chart titled = chart;
	struct error error;
	char text[1 << 16] = "";
	FILE *in;

	if (!has_gnuplot())
		return;
	curve.title = "a_curve^2";
	titled.curves = &curve;
	titled.count = 1;
	titled.title = "a_chart@{x}";
	ck_assert_msg(chart_draw(file, "all_of_{it}", &titled, 1, 1, &error) == 0, "%s",
		      error.text);
	in = fopen(file, "re");
	ck_assert_ptr_nonnull(in);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, in), 1000);
	fclose(in);
	ck_assert_ptr_nonnull(strstr(text, "a_curve^2"));
	ck_assert_ptr_nonnull(strstr(text, "a_chart@{x}"));
	ck_assert_ptr_nonnull(strstr(text, "all_of_{it}"));
}
END_TEST

/* The height of the drawing with a key of so many long lines below each of two charts. */
static unsigned height_with(size_t count)
{
	static const char title[] = "a curve that has a long title";
	struct chart_curve many[9];
	struct chart keyed = chart, two[2];
	struct error error;
	char text[4096] = "";
	unsigned height = 0;

	for (size_t i = 0; i < count; i++) {
		many[i] = curves[0];
		many[i].title = title;
	}
	keyed.curves = many;
	keyed.count = count;
	two[0] = two[1] = keyed;
	ck_assert_msg(chart_draw(file, "keys", two, 2, 2, &error) == 0, "%s", error.text);
	FILE *in = fopen(file, "re");

	ck_assert_ptr_nonnull(in);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, in), 1000);
	fclose(in);
	const char *at = strstr(text, "height=\"");

	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(sscanf(at, "height=\"%u", &height), 1);
	return height;
}

/* Nine lines lay over the numbers of the axis. */
START_TEST(a_long_key_makes_room_for_itself)
{
	if (!has_gnuplot())
		return;
	ck_assert_uint_eq(height_with(1), height_with(3));
	ck_assert_uint_eq(height_with(9), height_with(3) + 6 * 18);
}
END_TEST

START_TEST(says_that_there_is_nothing_to_draw)
{
	struct chart empty = chart;
	struct error error;

	if (!has_gnuplot())
		return;
	empty.curves = &curves[2];
	empty.count = 1;
	ck_assert_int_eq(chart_draw(file, "none", &empty, 1, 1, &error), -ENODATA);
	ck_assert_ptr_nonnull(strstr(error.text, "nothing to draw"));
}
END_TEST

/* More than a pipe holds, so that writing fails as well. */
START_TEST(survives_without_gnuplot)
{
	enum { MANY = 20000 };
	double *many = calloc(MANY, sizeof(*many));
	struct chart_curve curve = { .title = "many", .x = many, .y = many, .count = MANY };
	struct chart long_one = {
		.title = "", .x_label = "", .y_label = "", .curves = &curve, .count = 1
	};
	struct error error;

	ck_assert_int_eq(setenv("PATH", directory, 1), 0);
	ck_assert_int_eq(chart_draw(file, "none", &long_one, 1, 1, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, "install gnuplot-nox"));
	free(many);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("gnuplot");
	TCase *tcase = tcase_create("charts");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, draws_what_can_be_drawn);
	tcase_add_test(tcase, titles_are_drawn_as_they_are_written);
	tcase_add_test(tcase, a_long_key_makes_room_for_itself);
	tcase_add_test(tcase, says_that_there_is_nothing_to_draw);
	tcase_add_test(tcase, survives_without_gnuplot);
	suite_add_tcase(suite, tcase);
	return suite;
}
