/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/course.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/test.h"

#define N CLUSTER_WORKERS

/* clang-format off */
const struct combination course_combinations[] = {
	{ .name = "minibatch + ata", .training = "",
	  .allocation = "strategy = ata", .allots = true },
	{ .name = "minibatch + ata-empirical", .training = "",
	  .allocation = "strategy = ata-empirical", .allots = true },
	{ .name = "minibatch + ata-pooled", .training = "",
	  .allocation = "strategy = ata-pooled", .allots = true },
	{ .name = "minibatch + uta", .training = "",
	  .allocation = "strategy = uta", .allots = true },
	{ .name = "minibatch + ofta", .training = "",
	  .allocation = "strategy = ofta", .knows_means = true, .allots = true },
	{ .name = "minibatch + gta", .training = "",
	  .allocation = "strategy = gta" },
	{ .name = "rennala", .training = "method = rennala",
	  .allocation = "" },
	{ .name = "malenia", .training = "method = malenia",
	  .allocation = "" },
	{ .name = "sgd-ata", .training = "method = sgd-ata",
	  .allocation = "strategy = ata", .allots = true, .extra = N },
	{ .name = "sgd-ata + uta", .training = "method = sgd-ata",
	  .allocation = "strategy = uta", .allots = true, .extra = N },
	{ .name = "sgd-ata + ofta", .training = "method = sgd-ata",
	  .allocation = "strategy = ofta", .knows_means = true, .allots = true, .extra = N },
	{ .name = "asgd", .training = "method = asgd learning-rate = 0.05",
	  .allocation = "" },
	{ .name = "asgd + ata", .training = "method = asgd learning-rate = 0.05",
	  .allocation = "strategy = ata", .allots = true },
	{ .name = "delay-adaptive", .training = "method = delay-adaptive learning-rate = 0.05",
	  .allocation = "" },
	{ .name = "delay-adaptive + ata",
	  .training = "method = delay-adaptive learning-rate = 0.05",
	  .allocation = "strategy = ata", .allots = true },
	{ .name = "naive-optimal", .training = "method = naive-optimal learning-rate = 0.05",
	  .allocation = "", .leaves_out = true },
	{ .name = "ringmaster",
	  .training = "method = ringmaster delay-max = 3 learning-rate = 0.05",
	  .allocation = "", .delay_max = 2 },
	{ .name = "ringmaster + ata",
	  .training = "method = ringmaster delay-max = 3 learning-rate = 0.05",
	  .allocation = "strategy = ata", .delay_max = 2, .allots = true },
	{ .name = "ringmaster-stops",
	  .training = "method = ringmaster-stops delay-max = 3 learning-rate = 0.05",
	  .allocation = "", .delay_max = 2 },
	{ .name = "ringmaster-stops + ata",
	  .training = "method = ringmaster-stops delay-max = 3 learning-rate = 0.05",
	  .allocation = "strategy = ata", .delay_max = 2, .allots = true },
	{ .name = "ringleader", .training = "method = ringleader learning-rate = 0.05",
	  .allocation = "", .delay_max = 2 * N - 2 },
	{ .name = "ringleader + ata", .training = "method = ringleader learning-rate = 0.05",
	  .allocation = "strategy = ata", .delay_max = 2 * N - 2 },
	{ .name = "ia2sgd", .training = "method = ia2sgd learning-rate = 0.05",
	  .allocation = "" },
};
/* clang-format on */

const int course_combinations_count =
    (int)(sizeof(course_combinations) / sizeof(course_combinations[0]));

struct course course_shared;

static void open_course(void)
{
	crew_open(&course_shared.crew);
}

static void close_course(void)
{
	crew_close(&course_shared.crew);
}

TCase *course_tcase_create(const char *name)
{
	TCase *tcase = tcase_create(name);

	crew_prepare();
	tcase_add_unchecked_fixture(tcase, NULL, crew_finish);
	tcase_add_checked_fixture(tcase, open_course, close_course);
	tcase_set_timeout(tcase, 180);
	return tcase;
}

static void configure(struct course *course, const char *more, const char *allocation)
{
	char text[768];

	snprintf(text, sizeof(text),
		 "lease { least = 300ms }\n"
		 "training { tasks-per-round = %d start-after = 1s %s %s }\n"
		 "allocation { %s }\n",
		 COURSE_BATCH, course->combination->training, more, allocation);
	cluster_configure(&course->crew.cluster, text);
}

/* By whoever knew the workers' means: they are alike. */
static void write_profile(const char *path)
{
	static const char *const workers[N] = { "alder", "birch", "cedar" };
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "{ \"isobar-profile\": 1, \"task\": \"softmax 784x10, 256 samples\",\n"
		      "  \"time\": \"on-cpu\", \"per-cost\": true, \"workers\": [");
	for (unsigned i = 0; i < N; i++)
		fprintf(file, "%s\n{ \"name\": \"%s\", \"tasks\": 100, \"mean_s\": 0.001 }",
			i > 0 ? "," : "", workers[i]);
	fprintf(file, "] }\n");
	ck_assert_int_eq(fclose(file), 0);
}

void course_configure(struct course *course, int combination, const char *more)
{
	char path[128], allocation[256];

	course->combination = &course_combinations[combination];
	if (!course->combination->knows_means) {
		configure(course, more, course->combination->allocation);
		return;
	}
	snprintf(path, sizeof(path), "%s/profile", course->crew.cluster.folder);
	write_profile(path);
	snprintf(allocation, sizeof(allocation), "%s profile = %s", course->combination->allocation,
		 path);
	configure(course, more, allocation);
}

void course_configure_allocation(struct course *course, const char *strategy,
				 const char *profile_path)
{
	static const struct combination minibatch = {
		.name = "minibatch", .training = "", .allocation = "", .allots = true
	};
	char allocation[256];

	snprintf(allocation, sizeof(allocation), "strategy = %s profile = %s", strategy,
		 profile_path);
	course->combination = &minibatch;
	configure(course, "", allocation);
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
	return course_number(json_object_get(status, "tasks"), "used");
}

static double sum_of(const json_t *object, const char *const *keys)
{
	double sum = 0;

	for (; *keys != NULL; keys++)
		sum += course_number(object, *keys);
	return sum;
}

/* Every gradient that was started has one fate, by the method's account and by each worker's. */
static void check_fates(const json_t *status)
{
	static const char *const fates[] = { "used", "buffered",  "ignored", "stopped",
					     "lost", "in_flight", NULL };
	static const char *const fates_of_worker[] = { "used", "buffered",   "ignored", "stopped",
						       "lost", "tasks_held", NULL };
	const json_t *tasks = json_object_get(status, "tasks");
	double started = 0;

	ck_assert_double_eq(course_number(tasks, "started"), sum_of(tasks, fates));
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		const json_t *worker = course_worker(status, i);

		started += course_number(worker, "started");
		ck_assert_double_eq(course_number(worker, "started"),
				    sum_of(worker, fates_of_worker));
	}
	ck_assert_double_eq(course_number(tasks, "started"), started);
}

static void check_waste(const json_t *status)
{
	const char *reason;
	json_t *value;
	double sum = 0;

	json_object_foreach (json_object_get(status, "discarded"), reason, value)
		sum += json_number_value(value);
	ck_assert_double_eq(course_number(status, "discarded_cpu_ns"), sum);
	ck_assert_double_le(sum, course_number(status, "worker_cpu_ns"));
}

/* What must hold of each status, whatever happens. */
static void check(const struct course *course, const json_t *status)
{
	const struct combination *combination = course->combination;
	const json_t *tasks = json_object_get(status, "tasks");
	/* Those that are over, the one that is open, and in each start before one that was cut. */
	double rounds = course_number(status, "rounds") + course->crew.cluster.starts;
	double most = (COURSE_BATCH + combination->extra) * rounds, allotted = 0;

	check_fates(status);
	check_waste(status);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		allotted += course_number(course_worker(status, i), "allocation");
	if (combination->allots && json_is_true(json_object_get(status, "started")))
		ck_assert_double_eq(allotted, COURSE_BATCH);
	if (combination->allots)
		ck_assert_double_le(course_number(tasks, "started"),
				    most + course_number(tasks, "lost"));
	if (combination->delay_max > 0)
		ck_assert_double_le(course_number(tasks, "delay_max"), combination->delay_max);
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
	check(course, status);
	crew_listen(&course->crew);
	return status;
}

json_t *course_end(struct course *course)
{
	struct cluster *cluster = &course->crew.cluster;

	ck_assert_int_eq(kill(cluster->coordinator, SIGTERM), 0);
	ck_assert_int_eq(cluster_wait(&cluster->coordinator), 0);
	json_t *report = cluster_load(cluster, "report.json");
	check(course, report);
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
