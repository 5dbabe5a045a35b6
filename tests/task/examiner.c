/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/examiner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/train/evaluate.h"
#include "tests/task/scene.h"
#include "tests/task/task_file.h"
#include "tests/test.h"

/* Evaluations by a child of what it does not survive, as a coordinator sees them. */

#define FEATURES SCENE_FEATURES
#define LIMIT_NS 300000000ull

static char folder[64], task[128], worker[256];
static struct dataset data;
static struct evaluation *evaluation;
static struct error error;
/* The clock as the coordinator gives it: pauses are passed by setting it. */
static uint64_t now_ns;

static void open_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-examiner.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(task, sizeof(task), "%s/task.so", folder);
	scene_worker_path(worker, sizeof(worker));
	scene_data(folder);
	ck_assert_int_eq(dataset_open(folder, DATASET_TEST, &data, &error), 0);
	now_ns = clock_now_ns();
	/* What it says is checked by its state. */
	scene_be_quiet();
}

static void close_folder(void)
{
	char command[100];

	evaluation = evaluation_close(evaluation);
	dataset_close(&data);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static int open_task(const char *name, const char *fault)
{
	const struct evaluation_config config = {
		.data = &data,
		.task = task,
		.folder = folder,
		.executable = worker,
		.limit_ns = LIMIT_NS,
	};

	task_file(name, fault, task);
	error.text[0] = '\0';
	return evaluation_open(&config, &evaluation, &error);
}

/* One evaluation to its end; whether there is a point of it. */
static bool evaluate(uint64_t round, const float *params)
{
	uint32_t before, after;

	(void)evaluation_points(evaluation, &before);
	evaluation_start(evaluation, params, round, round, now_ns);
	while (evaluation_is_running(evaluation)) {
		ck_assert_uint_le(evaluation_wake_ns(evaluation, now_ns), now_ns + 1000000000u);
		usleep(1000);
		(void)evaluation_step(evaluation, now_ns);
	}
	ck_assert_uint_eq(evaluation_wake_ns(evaluation, now_ns), UINT64_MAX);
	(void)evaluation_points(evaluation, &after);
	return after > before;
}

START_TEST(a_task_is_evaluated_without_being_run_here)
{
	float params[FEATURES];
	uint32_t count;

	ck_assert_msg(open_task("hostile", NULL) == 0, "%s", error.text);
	ck_assert_uint_eq(evaluation_params(evaluation), FEATURES);
	ck_assert_uint_ne(evaluation_user_task(evaluation), 0);
	ck_assert_str_eq(evaluation_task_name(evaluation), "hostile");
	ck_assert_int_eq(evaluation_init(evaluation, 5, params, &error), 0);
	for (uint32_t i = 0; i < FEATURES; i++)
		ck_assert(params[i] == 5 % 3);
	for (uint32_t i = 0; i < FEATURES; i++)
		params[i] = 0.5f;
	ck_assert(evaluate(7, params));
	ck_assert(evaluation_knows(evaluation, 7));
	params[0] = 3.5f;
	ck_assert(evaluate(8, params));
	const struct evaluation_point *points = evaluation_points(evaluation, &count);
	ck_assert_uint_eq(count, 2);
	/* Half the targets are 0 and half are 1: each feature adds 0.5^2 / 2. */
	ck_assert_double_eq_tol(points[0].loss, FEATURES * 0.125, 1e-9);
	ck_assert_double_eq_tol(points[1].loss, (FEATURES - 1) * 0.125 + 4.625, 1e-9);
	ck_assert_uint_eq(points[1].round, 8);
	ck_assert_str_eq(evaluation_state(evaluation), "running");
	/* All at once, for the end. */
	evaluation_start(evaluation, params, 9, 9, now_ns);
	evaluation_finish(evaluation);
	ck_assert(evaluation_knows(evaluation, 9));
}
END_TEST

static const struct {
	const char *name, *fault, *why;
} unfit[] = {
	{ "hostile", "check-crash", "task.so': signal 6 (Aborted) in check()" },
	{ "hostile", "check-endless", "s of CPU in one check()" },
	{ "hostile", "constructor", "signal 6 (Aborted) in none of its functions" },
	{ "hostile", "no-params", "the task has 0 parameters" },
	{ "hostile", "refuse", "it wants no more than 1?features" },
	{ "hostile-abi", NULL, "cannot be used; its process said why" },
	{ "hostile-symbol", NULL, "cannot be used; its process said why" },
};

START_TEST(one_that_cannot_start_is_no_evaluation)
{
	ck_assert_int_eq(open_task(unfit[_i].name, unfit[_i].fault), -ECHILD);
	ck_assert_msg(strstr(error.text, unfit[_i].why) != NULL, "%s", error.text);
}
END_TEST

static const struct {
	const char *fault, *why;
} firsts[] = {
	{ "init-crash", "signal 6 (Aborted) in init()" },
	{ "init-overrun", "wrote beyond its arrays in init()" },
	{ "init-nan", "parameter 1 of 9 is not finite at the start" },
};

START_TEST(bad_first_parameters_are_refused)
{
	float params[FEATURES] = { 7 };

	ck_assert_msg(open_task("hostile", firsts[_i].fault) == 0, "%s", error.text);
	ck_assert_int_lt(evaluation_init(evaluation, 1, params, &error), 0);
	ck_assert_msg(strstr(error.text, firsts[_i].why) != NULL, "%s", error.text);
	ck_assert(params[0] == 7);
}
END_TEST

START_TEST(one_that_crashes_rests_is_tried_again_and_is_given_up)
{
	static const float params[FEATURES];
	uint64_t pause_ns = 1000000000u;

	ck_assert_msg(open_task("hostile", "loss-crash") == 0, "%s", error.text);
	for (unsigned i = 1; i <= EXAMINER_FAILURES_MAX; i++) {
		ck_assert(!evaluate(i, params));
		ck_assert_str_eq(evaluation_state(evaluation),
				 i < EXAMINER_FAILURES_MAX
				     ? "failed: signal 6 (Aborted) in loss()"
				     : "given up: signal 6 (Aborted) in loss()");
		/* Not before the pause is over. */
		now_ns += pause_ns - 1;
		evaluation_start(evaluation, params, 100, 100, now_ns);
		ck_assert(!evaluation_is_running(evaluation));
		now_ns += 1;
		pause_ns *= 2;
	}
	now_ns += 3600000000000u;
	evaluation_start(evaluation, params, 100, 100, now_ns);
	ck_assert(!evaluation_is_running(evaluation));
	ck_assert(!evaluation_knows(evaluation, 100));
}
END_TEST

START_TEST(one_that_is_killed_is_back_at_the_next_evaluation)
{
	static const float params[FEATURES];
	/* The shell's parent is this process, and so is the child's. */
	const char *command = "kill -9 $(pgrep -P $PPID -x isobar-worker)";

	ck_assert_msg(open_task("hostile", NULL) == 0, "%s", error.text);
	ck_assert(evaluate(1, params));
	ck_assert_int_eq(system(command), 0);
	ck_assert(!evaluate(2, params));
	ck_assert_str_eq(evaluation_state(evaluation), "failed: signal 9 (Killed)");
	now_ns += 1000000000u;
	ck_assert(evaluate(3, params));
	ck_assert_str_eq(evaluation_state(evaluation), "running");

	/* Back with another file it is of no use. */
	ck_assert_int_eq(system(command), 0);
	ck_assert(!evaluate(4, params));
	task_file("hostile", "exit", task);
	now_ns += 1000000000u;
	ck_assert(!evaluate(5, params));
	ck_assert_str_eq(evaluation_state(evaluation),
			 "failed: the file is not the one that this run began with");
}
END_TEST

START_TEST(one_that_stands_still_is_not_waited_for)
{
	static const float params[FEATURES];

	ck_assert_msg(open_task("hostile", "loss-stopped") == 0, "%s", error.text);
	evaluation_start(evaluation, params, 1, 1, now_ns);
	/* All of it is stopped, the thread that watches included. */
	usleep(50000);
	(void)evaluation_step(evaluation, now_ns);
	ck_assert(evaluation_is_running(evaluation));
	now_ns += 11 * LIMIT_NS;
	ck_assert(!evaluation_step(evaluation, now_ns));
	ck_assert(!evaluation_is_running(evaluation));
	ck_assert_str_eq(evaluation_state(evaluation), "failed: no answer in time");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *test_suite(void)
{
	Suite *suite = suite_create("examiner");
	TCase *tcase = tcase_create("children");

	if (task_file_under_valgrind())
		test_skip_all("a crash would be valgrind's to report");
	tcase_add_checked_fixture(tcase, open_folder, close_folder);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_task_is_evaluated_without_being_run_here);
	tcase_add_loop_test(tcase, one_that_cannot_start_is_no_evaluation, 0, COUNT(unfit));
	tcase_add_loop_test(tcase, bad_first_parameters_are_refused, 0, COUNT(firsts));
	tcase_add_test(tcase, one_that_crashes_rests_is_tried_again_and_is_given_up);
	tcase_add_test(tcase, one_that_is_killed_is_back_at_the_next_evaluation);
	tcase_add_test(tcase, one_that_stands_still_is_not_waited_for);
	suite_add_tcase(suite, tcase);
	return suite;
}
