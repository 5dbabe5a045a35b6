/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static double learnt(uint32_t worker)
{
	return iso_strategy_samples(run->strategy, worker).count;
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

/* The same allocation, of fewer tasks: what is known of the workers is as true as before. */
START_TEST(with_other_tasks_per_round_nothing_is_learnt_anew)
{
	const uint64_t times[3] = { 10 * MS, 12 * MS, 14 * MS };

	open_run(FEW "}\nallocation { strategy = uta }");
	compute(times);
	ck_assert_double_eq(learnt(1), 1);
	end_run();
	for (unsigned batch = 1; batch < 20; batch += 9) {
		char text[128];

		snprintf(text, sizeof(text),
			 "training { tasks-per-round = %u start-after = 0s }\n"
			 "allocation { strategy = uta every-rounds = 5 }",
			 batch);
		open_run(text);
		ck_assert_double_eq(learnt(1), 1);
		uint32_t given = 0;
		for (uint32_t i = 0; i < 3; i++)
			given += run_worker_view(run, i).allocation;
		ck_assert_uint_eq(given, batch);
		end_run();
	}
}
END_TEST

/* Times of other tasks, or taken otherwise, say nothing of these. */
START_TEST(times_of_another_kind_are_not_used)
{
	static const char *const others[] = {
		FEW "samples-per-task = 64 }\nallocation { strategy = uta }",
		FEW "}\nallocation { strategy = uta share-normalised = no }",
		FEW "}\nallocation { strategy = uta cost-normalised = no }",
	};
	const uint64_t times[3] = { 10 * MS, 12 * MS, 14 * MS };
	char path[100];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		open_run(FEW "}\nallocation { strategy = uta }");
		compute(times);
		end_run();
		open_run(FEW "}\nallocation { strategy = uta }");
		ck_assert_double_ge(learnt(0), 1);
		end_run();
		open_run(others[i]);
		ck_assert_double_eq(learnt(0), 0);
		run = run_close(run);
		snprintf(path, sizeof(path), "%s/checkpoint", folder);
		ck_assert_int_eq(unlink(path), 0);
	}
}
END_TEST

/* Of the last worker alone; the first one's is taken before that is seen. */
static void spoil_checkpoint(void)
{
	struct checkpoint from;

	ck_assert_msg(checkpoint_read(folder, &from, &run_error) == 0, "%s", run_error.text);
	ck_assert_uint_eq(from.workers_count, 3);
	memset(from.worker_states + 2 * (size_t)from.worker_bytes, 0xff, from.worker_bytes);
	ck_assert_int_eq(checkpoint_write(folder, &from, &run_error), 0);
	checkpoint_free(&from);
}

START_TEST(what_is_learnt_anew_is_so_of_every_worker)
{
	const uint64_t times[3] = { 10 * MS, 12 * MS, 14 * MS };
	const char text[] = FEW "}\nallocation { strategy = ata explore-tasks = 1 }";

	open_run(text);
	compute(times);
	ck_assert_double_eq(learnt(0), 1);
	double started = (double)run_worker_view(run, 0).ledger.started;
	end_run();
	spoil_checkpoint();
	open_run(text);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_double_eq(learnt(i), 0);
	ck_assert(run_view(run, now_ns).exploring);
	/* What became of the tasks is no matter of the allocation. */
	ck_assert_double_ge((double)run_worker_view(run, 0).ledger.started, started);
	run = run_close(run);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("run_resume");
	TCase *tcase = tcase_create("run");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, a_new_profile_of_ofta_holds);
	tcase_add_test(tcase, with_other_tasks_per_round_nothing_is_learnt_anew);
	tcase_add_test(tcase, times_of_another_kind_are_not_used);
	tcase_add_test(tcase, what_is_learnt_anew_is_so_of_every_worker);
	suite_add_tcase(suite, tcase);
	return suite;
}
