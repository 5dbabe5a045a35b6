/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/test.h"
#include "tests/unit/small_run.h"

/* What a run has learnt of its workers, and what of it the next one may use. */

#define FEW "training { tasks-per-round = 6 start-after = 0s "

/* As if the process had ended after a checkpoint. */
static void end_run(void)
{
	ck_assert_msg(run_checkpoint(run, now_ns, true, &run_error) == 0, "%s", run_error.text);
	run = run_close(run);
}

static void write_profile(double mean_a_s)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/p", folder);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"{ \"isobar-profile\": 1, \"task\": \"softmax 3x2, 256 samples\",\n"
		"\"time\": \"on-cpu\", \"per-cost\": true, \"workers\": [\n"
		"{ \"name\": \"a\", \"tasks\": 100, \"mean_s\": %g },\n"
		"{ \"name\": \"b\", \"tasks\": 100, \"mean_s\": 1 } ] }\n",
		mean_a_s);
	ck_assert_int_eq(fclose(file), 0);
}

/* The oracle goes by what it is given, also after the checkpoint of a run with other means. */
START_TEST(a_new_profile_of_ofta_holds)
{
	char text[200];

	snprintf(text, sizeof(text), FEW "}\nallocation { strategy = ofta profile = %s/p }",
		 folder);
	write_profile(0.01);
	open_run(text);
	ck_assert_uint_eq(run_worker_view(run, 0).allocation, 6);
	end_run();
	write_profile(100);
	open_run(text);
	ck_assert_uint_eq(run_worker_view(run, 0).allocation, 0);
	ck_assert_uint_eq(run_worker_view(run, 1).allocation, 6);
	run = run_close(run);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("run_resume");
	TCase *tcase = tcase_create("run");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, a_new_profile_of_ofta_holds);
	suite_add_tcase(suite, tcase);
	return suite;
}
