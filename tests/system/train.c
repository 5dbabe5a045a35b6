/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/crew.h"
#include "tests/test.h"

/*
 * Every method and allocation with the real programs: a worker that is slowed
 * down, one that is killed and comes back and one that comes late do no harm,
 * and every gradient is accounted for.
 */

#define BATCH	   16
#define SHARE_UCPU 400000u

static const struct combination {
	const char *name;
	const char *training;	/* what section training says of it */
	const char *allocation; /* section allocation */
	bool greedy;		/* computes without a limit to the tasks of a round */
} combinations[] = {
	{ "ata", "", "strategy = ata", false },
	{ "ata-empirical", "", "strategy = ata-empirical", false },
	{ "uta", "", "strategy = uta", false },
	{ "gta", "", "strategy = gta", true },
};

static struct crew crew;

static void open_crew(void)
{
	crew_open(&crew);
}

static void close_crew(void)
{
	crew_close(&crew);
}

static void configure(const struct combination *combination, const char *more)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "lease { least = 300ms }\n"
		 "training { tasks-per-round = %d start-after = 1s partition = dirichlet %s %s }\n"
		 "allocation { %s }\n",
		 BATCH, combination->training, more, combination->allocation);
	cluster_configure(&crew.cluster, text);
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	ck_assert_msg(json_is_number(value), "no number %s in the status", key);
	return json_number_value(value);
}

static const json_t *worker_of(const json_t *status, unsigned index)
{
	return json_array_get(json_object_get(status, "workers"), index);
}

/* What must hold of each status, whatever happens. */
static void check_status(const struct combination *combination, const json_t *status)
{
	double round = number(status, "round"), tasks = 0, done = 0;
	double accepted = number(json_object_get(status, "counters"), "accepted");

	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		tasks += number(worker_of(status, i), "allocation");
		done += number(worker_of(status, i), "tasks_done");
	}
	ck_assert_double_eq(accepted, done);
	ck_assert_double_ge(accepted, BATCH * round);
	ck_assert_double_le(accepted, BATCH * (round + 1));
	if (!combination->greedy && json_is_true(json_object_get(status, "started")))
		ck_assert_double_eq(tasks, BATCH);
}

static json_t *look(const struct combination *combination)
{
	json_t *status = NULL;

	for (unsigned ms = 0; status == NULL; ms += 20) {
		ck_assert_msg(ms < CLUSTER_WAIT_MS, "no answer; the coordinator said:\n%s",
			      cluster_said(&crew.cluster, "coordinator.log"));
		usleep(20000);
		status = cluster_status(&crew.cluster);
	}
	check_status(combination, status);
	crew_listen(&crew);
	return status;
}

static double gradients_used(const struct combination *combination)
{
	json_t *status = look(combination);
	double used = number(json_object_get(status, "counters"), "accepted");

	json_decref(status);
	return used;
}

/* Waits until so many more gradients have been used: nothing hangs. */
static void goes_on(const struct combination *combination, double gradients, const char *when)
{
	double goal = gradients_used(combination) + gradients;

	for (unsigned ms = 0; gradients_used(combination) < goal; ms += 20)
		ck_assert_msg(ms < CLUSTER_WAIT_MS, "%s stands still %s; the coordinator said:\n%s",
			      combination->name, when,
			      cluster_said(&crew.cluster, "coordinator.log"));
}

static double tasks_done(const struct combination *combination, unsigned index)
{
	json_t *status = look(combination);
	double done = number(worker_of(status, index), "tasks_done");

	json_decref(status);
	return done;
}

static void takes_part(const struct combination *combination, unsigned index, double before)
{
	for (unsigned ms = 0; tasks_done(combination, index) <= before; ms += 20)
		ck_assert_msg(ms < CLUSTER_WAIT_MS, "%s: worker %u gets nothing to do",
			      combination->name, index);
}

static json_t *end_of_run(const struct combination *combination)
{
	char path[128];
	json_error_t error;

	ck_assert_int_eq(kill(crew.cluster.coordinator, SIGTERM), 0);
	ck_assert_int_eq(cluster_wait(&crew.cluster.coordinator), 0);
	snprintf(path, sizeof(path), "%s/report.json", crew.cluster.folder);
	json_t *report = json_load_file(path, 0, &error);
	ck_assert_msg(report != NULL, "%s", error.text);
	check_status(combination, report);
	return report;
}

/*
 * By the workers' own count, which they give once a second: the coordinator
 * has not counted what nobody did.  Worker 0 was killed before it could tell.
 */
static void check_computed(const json_t *report)
{
	for (unsigned i = 1; i < CLUSTER_WORKERS; i++) {
		double done = number(worker_of(report, i), "tasks_done");

		for (unsigned ms = 0; (double)crew_done(&crew, i) < done; ms += 20) {
			ck_assert_msg(ms < CLUSTER_WAIT_MS,
				      "worker %u has done %ju tasks, not %.0f", i,
				      (uintmax_t)crew_done(&crew, i), done);
			usleep(20000);
			crew_listen(&crew);
		}
	}
}

static void check_learnt(const json_t *report)
{
	const json_t *evaluations = json_object_get(report, "evaluations");
	const json_t *first = json_array_get(evaluations, 0);

	ck_assert_double_lt(number(report, "test_loss"), 0.7 * number(first, "loss"));
	ck_assert_double_gt(number(report, "test_accuracy"), 0.5);
}

START_TEST(a_slow_a_killed_and_a_late_worker_do_no_harm)
{
	const struct combination *combination = &combinations[_i];
	double before;

	configure(combination, "");
	cluster_start_coordinator(&crew.cluster, NULL);
	crew_start(&crew, 0, SHARE_UCPU);
	crew_start(&crew, 1, SHARE_UCPU);
	goes_on(combination, 10 * BATCH, "with two of three");

	crew_limit(&crew, 1, SHARE_UCPU / 10);
	goes_on(combination, 10 * BATCH, "with a slow worker");

	before = tasks_done(combination, 0);
	crew_end(&crew, 0, SIGKILL);
	goes_on(combination, 4 * BATCH, "without a killed worker");
	crew_start(&crew, 0, SHARE_UCPU);
	takes_part(combination, 0, before);

	crew_start(&crew, 2, SHARE_UCPU);
	takes_part(combination, 2, 0);
	crew_limit(&crew, 1, SHARE_UCPU);
	goes_on(combination, 20 * BATCH, "with all three");

	json_t *report = end_of_run(combination);
	check_learnt(report);
	check_computed(report);
	json_decref(report);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("train");
	TCase *tcase = tcase_create("methods");

	crew_prepare();
	tcase_add_unchecked_fixture(tcase, NULL, crew_finish);
	tcase_add_checked_fixture(tcase, open_crew, close_crew);
	tcase_set_timeout(tcase, 180);
	tcase_add_loop_test(tcase, a_slow_a_killed_and_a_late_worker_do_no_harm, 0,
			    (int)(sizeof(combinations) / sizeof(combinations[0])));
	suite_add_tcase(suite, tcase);
	return suite;
}
