/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* The published tables, a run or two of each row that is quick: make sim-tables runs them all. */
#include <inttypes.h>
#include <stdio.h>

#include "tests/sim/scenario.h"
#include "tests/test.h"

#define CHAOS_EVENTS 200000u

static double biggest(double a, double b)
{
	return a > b ? a : b;
}

static void must_come_out(const struct scenario *scenario)
{
	struct scenario small = *scenario;
	double worst = 0;

	small.until_s = small.small_s;
	small.events = small.events != 0 ? CHAOS_EVENTS : 0;
	for (uint32_t n = 0; n < small.small_seeds; n++) {
		struct scenario_run run;

		scenario_run(&small, small.seed + n, &run);
		ck_assert_msg(run.violation[0] == '\0', "%s: %s", small.name, run.violation);
		worst = biggest(worst, run.gap_worst);
		printf("# %-34s gap %.1e, %" PRIu64 " events\n", small.name, run.gap_worst,
		       run.events);
	}
	if (small.events != 0)
		return;
	if (small.small_worst_least > 0)
		ck_assert_msg(worst >= small.small_worst_least, "%s: gap %.2g, expected %.2g",
			      small.name, worst, small.small_worst_least);
	else
		ck_assert_msg(worst <= 0.01, "%s: gap %.2g", small.name, worst);
}

START_TEST(agrees_with_the_published_table)
{
	const struct scenario_section *section = &scenario_sections[_i];

	for (const struct scenario *row = section->scenarios; row->name != NULL; row++)
		if (row->small_seeds > 0)
			must_come_out(row);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("published-tables");
	TCase *tcase = tcase_create("rows");
	int sections = 0;

	while (scenario_sections[sections].title != NULL)
		sections++;
	tcase_set_timeout(tcase, 0);
	tcase_add_loop_test(tcase, agrees_with_the_published_table, 0, sections);
	suite_add_tcase(suite, tcase);
	return suite;
}
