/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/course.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/test.h"

const struct combination course_combinations[] = {
	{ "ata", "", "strategy = ata", false },
	{ "ata-empirical", "", "strategy = ata-empirical", false },
	{ "uta", "", "strategy = uta", false },
	{ "gta", "", "strategy = gta", true },
};
const int course_combinations_count =
    (int)(sizeof(course_combinations) / sizeof(course_combinations[0]));

void course_open(struct course *course)
{
	crew_open(&course->crew);
}

void course_close(struct course *course)
{
	crew_close(&course->crew);
}

void course_configure(struct course *course, int combination, const char *more)
{
	char text[512];

	course->combination = &course_combinations[combination];
	snprintf(text, sizeof(text),
		 "lease { least = 300ms }\n"
		 "training { tasks-per-round = %d start-after = 1s partition = dirichlet %s %s }\n"
		 "allocation { %s }\n",
		 COURSE_BATCH, course->combination->training, more,
		 course->combination->allocation);
	cluster_configure(&course->crew.cluster, text);
}

double course_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	ck_assert_msg(json_is_number(value), "no number %s in the status", key);
	return json_number_value(value);
}

const json_t *course_worker(const json_t *status, unsigned index)
{
	return json_array_get(json_object_get(status, "workers"), index);
}

double course_used(const json_t *status)
{
	return course_number(json_object_get(status, "counters"), "accepted");
}

/* What must hold of each status, whatever happens. */
static void check(const struct combination *combination, const json_t *status)
{
	double round = course_number(status, "round"), tasks = 0, done = 0;
	double used = course_used(status);

	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		tasks += course_number(course_worker(status, i), "allocation");
		done += course_number(course_worker(status, i), "tasks_done");
	}
	ck_assert_double_eq(used, done);
	ck_assert_double_ge(used, COURSE_BATCH * round);
	/* Of each term a part of a round. */
	ck_assert_double_le(used, COURSE_BATCH * (round + course_number(status, "term")));
	if (!combination->greedy && json_is_true(json_object_get(status, "started")))
		ck_assert_double_eq(tasks, COURSE_BATCH);
}

json_t *course_look(struct course *course)
{
	json_t *status = NULL;

	for (unsigned ms = 0; status == NULL; ms += 20) {
		ck_assert_msg(ms < CLUSTER_WAIT_MS, "no answer; the coordinator said:\n%s",
			      cluster_said(&course->crew.cluster, "coordinator.log"));
		usleep(20000);
		status = cluster_status(&course->crew.cluster);
	}
	check(course->combination, status);
	crew_listen(&course->crew);
	return status;
}

json_t *course_end(struct course *course)
{
	struct cluster *cluster = &course->crew.cluster;
	char path[128];
	json_error_t error;

	ck_assert_int_eq(kill(cluster->coordinator, SIGTERM), 0);
	ck_assert_int_eq(cluster_wait(&cluster->coordinator), 0);
	snprintf(path, sizeof(path), "%s/report.json", cluster->folder);
	json_t *report = json_load_file(path, 0, &error);
	ck_assert_msg(report != NULL, "%s", error.text);
	check(course->combination, report);
	return report;
}

static double look_for(struct course *course, double (*what)(const json_t *status))
{
	json_t *status = course_look(course);
	double value = what(status);

	json_decref(status);
	return value;
}

void course_goes_on(struct course *course, double gradients, const char *when)
{
	double goal = look_for(course, course_used) + gradients;

	for (unsigned ms = 0; look_for(course, course_used) < goal; ms += 20)
		ck_assert_msg(ms < CLUSTER_WAIT_MS, "%s stands still %s; the coordinator said:\n%s",
			      course->combination->name, when,
			      cluster_said(&course->crew.cluster, "coordinator.log"));
}

double course_tasks(struct course *course, unsigned index)
{
	json_t *status = course_look(course);
	double done = course_number(course_worker(status, index), "tasks_done");

	json_decref(status);
	return done;
}

void course_takes_part(struct course *course, unsigned index, double before)
{
	for (unsigned ms = 0; course_tasks(course, index) <= before; ms += 20)
		ck_assert_msg(ms < CLUSTER_WAIT_MS, "%s: worker %u gets nothing to do",
			      course->combination->name, index);
}

void course_check_learnt(const json_t *report)
{
	const json_t *evaluations = json_object_get(report, "evaluations");
	const json_t *first = json_array_get(evaluations, 0);

	ck_assert_double_lt(course_number(report, "test_loss"), 0.7 * course_number(first, "loss"));
	ck_assert_double_gt(course_number(report, "test_accuracy"), 0.5);
}
