/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/node/host.h"
#include "agent/train/taskwatch.h"
#include "tests/cli/cluster.h"
#include "tests/task/scene.h"
#include "tests/task/task_file.h"
#include "tests/test.h"

/* Runs that train a user's task: a real coordinator, and workers that real agents' code hosts. */

#define FASHION_MNIST "/usr/share/datasets/fashion-mnist"
#define WAIT_NS	      30000000000ull

static const char *const names[CLUSTER_WORKERS] = { "alder", "birch", "cedar" };
/* The one with the fault. */
#define BIRCH 1

static struct cluster cluster;
static struct conf confs[CLUSTER_WORKERS];
static struct host *hosts[CLUSTER_WORKERS];
static struct loop loop;
static struct loop_source tick;
static char task[100];

static void on_tick(struct loop_source *source, short revents)
{
	(void)revents;
	timer_consume(source->fd);
	loop_quit(&loop);
}

/* A tick of three agents. */
static void turn(void)
{
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		if (hosts[i] != NULL)
			host_step(hosts[i], clock_now_ns(), 500000, 1);
	ck_assert_int_eq(timer_arm(tick.fd, clock_now_ns() + 10000000u), 0);
	ck_assert_int_eq(loop_run(&loop), 0);
}

#define wait_for(condition)                                                                        \
	do {                                                                                       \
		uint64_t until_ns = clock_now_ns() + WAIT_NS;                                      \
		while (!(condition)) {                                                             \
			ck_assert_msg(clock_now_ns() < until_ns,                                   \
				      "never: " #condition "; the coordinator said:\n%s",          \
				      cluster_said(&cluster, "coordinator.log"));                  \
			turn();                                                                    \
		}                                                                                  \
	} while (0)

static void open_all(void)
{
	scene_be_quiet();
	cluster_open(&cluster);
	ck_assert_int_eq(chmod(cluster.folder, 0755), 0);
	scene_data(cluster.folder);
	snprintf(task, sizeof(task), "%s/task.so", cluster.folder);
	tick = (struct loop_source){ .fd = timer_open(), .events = ZMQ_POLLIN, .fn = on_tick };
	ck_assert_int_eq(loop_add(&loop, &tick), 0);
}

static void close_all(void)
{
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		hosts[i] = host_close(hosts[i]);
	close(tick.fd);
	cluster_close(&cluster);
}

static void open_host(unsigned index, const char *data, const char *file)
{
	struct conf *conf = &confs[index];
	const struct host_config config = { .conf = conf, .loop = &loop };
	struct error error = { 0 };
	char public[128];

	memset(conf, 0, sizeof(*conf));
	snprintf(conf->node, sizeof(conf->node), "%s", names[index]);
	snprintf(conf->training.coordinator, sizeof(conf->training.coordinator), "%s",
		 cluster.endpoint);
	snprintf(public, sizeof(public), "%s/coordinator.pub", cluster.folder);
	ck_assert_int_eq(curve_public_read(public, conf->training.coordinator_key, &error), 0);
	snprintf(conf->training.worker_key, sizeof(conf->training.worker_key), "%s/%s.key",
		 cluster.folder, names[index]);
	scene_give_to_nobody(conf->training.worker_key);
	snprintf(conf->training.user, sizeof(conf->training.user), "nobody");
	snprintf(conf->training.data, sizeof(conf->training.data), "%s", data);
	snprintf(conf->training.task, sizeof(conf->training.task), "%s", file);
	scene_worker_path(conf->training.executable, sizeof(conf->training.executable));
	conf->training.task_limit_ns = 300000000u;
	conf->training.threads = 1;
	ck_assert_msg(host_open(&config, &hosts[index], &error) == 0, "%s", error.text);
}

static void configure_leases(const char *data, const char *more, const char *least)
{
	char text[1000], worker[256];

	scene_worker_path(worker, sizeof(worker));
	snprintf(text, sizeof(text),
		 "data = %s\n"
		 "lease { first = 60s least = %s }\n"
		 "training { model = user task = %s task-limit = 1s executable = %s %s }\n",
		 data, least, task, worker, more);
	cluster_configure(&cluster, text);
}

static void configure(const char *data, const char *more)
{
	configure_leases(data, more, "300ms");
}

static double steps(void)
{
	return cluster_number(&cluster, "round");
}

static void start_all(const char *data)
{
	cluster_start_coordinator(&cluster, NULL);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		open_host(i, data, task);
}

static const struct {
	const char *fault, *state;
} faults[] = {
	{ "crash:20@birch", "restarting: task: signal 11 (Segmentation fault) in gradient()" },
	{ "divide:20@birch",
	  "restarting: task: signal 8 (Floating point exception) in gradient()" },
	{ "stack:20@birch", "restarting: task: signal 11 (Segmentation fault) in gradient()" },
	{ "exit:20@birch", "restarting: task: exit(0) in gradient()" },
	{ "_exit:20@birch", "restarting: task: exit status 42, without a word" },
	{ "overrun:20@birch", "restarting: task: wrote beyond its arrays in gradient()" },
	{ "endless:20@birch", "s of CPU in one gradient()" },
	{ "asleep:20@birch", "restarting: task: asleep for " },
};
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

START_TEST(a_fault_ends_one_worker_and_the_run_goes_on)
{
	task_file("hostile", faults[_i].fault, task);
	configure(cluster.folder, "samples-per-task = 16 learning-rate = 0.1");
	start_all(cluster.folder);
	wait_for(host_status(hosts[BIRCH]).restarts > 0);
	/* The agent says what it was... */
	const char *state = host_status(hosts[BIRCH]).state;
	ck_assert_msg(strstr(state, faults[_i].state) != NULL, "%s", state);
	/* ...the others go on... */
	double before = steps();
	wait_for(steps() >= before + 5);
	/* ...and it comes back and computes again, until the next time. */
	double done = cluster_worker_number(&cluster, BIRCH, "tasks_done");
	wait_for(cluster_worker_number(&cluster, BIRCH, "tasks_done") > done);
	wait_for(steps() >= before + 10);
	ck_assert_int_eq(host_status(hosts[0]).restarts, 0);
	ck_assert_int_eq(host_status(hosts[2]).restarts, 0);
	/* Half the targets are 0, half are 1, and features times 1/8 is the least loss. */
	wait_for(cluster_number(&cluster, "test_loss") < SCENE_FEATURES * 0.2);
}
END_TEST

/* One that waits for rounds, one that stops what is in vain, one with tables of all workers. */
static const char *const methods[] = { "malenia", "ringmaster-stops", "ringleader" };

START_TEST(a_crash_does_no_harm_whatever_the_method)
{
	char more[160];

	task_file("hostile", "crash:20@birch", task);
	snprintf(more, sizeof(more), "samples-per-task = 16 learning-rate = 0.05 method = %s",
		 methods[_i]);
	configure(cluster.folder, more);
	start_all(cluster.folder);
	wait_for(host_status(hosts[BIRCH]).restarts > 0);
	double done = cluster_worker_number(&cluster, BIRCH, "tasks_done"), before = steps();
	wait_for(cluster_worker_number(&cluster, BIRCH, "tasks_done") > done);
	wait_for(steps() >= before + 10);
	ck_assert_int_eq(host_status(hosts[0]).restarts, 0);
	wait_for(cluster_number(&cluster, "test_loss") < SCENE_FEATURES * 0.2);
}
END_TEST

/* One whose tasks others can do, and those that wait for each worker or for none. */
static const char *const takers[] = { "minibatch", "malenia", "ringleader", "ringmaster" };

/* No lease is waited for: none ends before the test must. */
START_TEST(a_worker_without_numbers_rests_and_the_run_goes_on)
{
	char more[160];

	task_file("hostile", "not-a-number:20@birch", task);
	snprintf(more, sizeof(more), "samples-per-task = 16 learning-rate = 0.05 method = %s",
		 takers[_i]);
	configure_leases(cluster.folder, more, "60s");
	start_all(cluster.folder);
	wait_for(strstr(cluster_said(&cluster, "coordinator.log"),
			"losses or gradients are not finite") != NULL);
	double before = steps();
	wait_for(steps() >= before + 20);
	ck_assert_int_eq(host_status(hosts[BIRCH]).restarts, 0);
	ck_assert_double_gt(cluster_worker_number(&cluster, BIRCH, "not_finite"), 0);
	/* It is that worker, not the step. */
	ck_assert_ptr_null(strstr(cluster_said(&cluster, "coordinator.log"), "learning-rate"));
	wait_for(cluster_number(&cluster, "test_loss") < SCENE_FEATURES * 0.2);
}
END_TEST

START_TEST(a_worker_with_another_file_is_not_taken)
{
	char other[120];

	task_file("hostile", NULL, task);
	snprintf(other, sizeof(other), "%s/other.so", cluster.folder);
	task_file("hostile", "crash", other);
	configure(cluster.folder, "samples-per-task = 16 start-after = 1s");
	cluster_start_coordinator(&cluster, NULL);
	open_host(0, cluster.folder, task);
	open_host(BIRCH, cluster.folder, other);
	wait_for(steps() >= 5);
	wait_for(strstr(cluster_said(&cluster, "coordinator.log"), "birch") != NULL);
	ck_assert(!cluster_worker_is(&cluster, BIRCH, "joined"));
	ck_assert_int_eq(host_status(hosts[BIRCH]).restarts, 0);
}
END_TEST

START_TEST(training_goes_on_without_evaluations)
{
	task_file("hostile", "loss-crash", task);
	configure(cluster.folder, "samples-per-task = 16 learning-rate = 0.1");
	start_all(cluster.folder);
	for (bool is_said = false; !is_said;) {
		wait_for(steps() >= 1);
		json_t *status = cluster_status(&cluster);
		const char *state = json_string_value(json_object_get(status, "evaluation_state"));

		is_said =
		    state != NULL && strcmp(state, "failed: signal 6 (Aborted) in loss()") == 0;
		json_decref(status);
		turn();
	}
	double before = steps();
	wait_for(steps() >= before + 20);
	ck_assert_double_eq(cluster_number(&cluster, "test_accuracy"), -1);
	ck_assert_ptr_nonnull(
	    strstr(cluster_said(&cluster, "coordinator.log"), "training goes on"));
	cluster_kill(&cluster.coordinator, SIGTERM);
	ck_assert_ptr_nonnull(
	    strstr(cluster_said(&cluster, "coordinator.log"), "stopped without an evaluation"));
}
END_TEST

/* By hand, without an agent that would kill it. */
START_TEST(a_worker_in_an_endless_task_can_be_ended)
{
	const char *arguments[32], *const *usual;
	char path[256];
	unsigned count = 0;

	task_file("hostile", "endless:3@birch", task);
	configure(cluster.folder, "samples-per-task = 16 start-after = 100ms");
	cluster_start_coordinator(&cluster, NULL);
	usual = cluster_worker_arguments(&cluster, BIRCH, path);
	for (; usual[count] != NULL; count++)
		arguments[count] =
		    strcmp(usual[count], FASHION_MNIST) == 0 ? cluster.folder : usual[count];
	arguments[count++] = "--task";
	arguments[count++] = task;
	arguments[count] = NULL;
	cluster.workers[BIRCH] = fork();
	if (cluster.workers[BIRCH] == 0) {
		char *const *argv;

		memcpy(&argv, &(const char **){ arguments }, sizeof(argv));
		execv(path, argv);
		_exit(127);
	}
	wait_for(cluster_worker_number(&cluster, BIRCH, "tasks_done") >= 3);
	usleep(100000);
	ck_assert_int_eq(kill(cluster.workers[BIRCH], SIGTERM), 0);
	ck_assert_int_eq(cluster_wait(&cluster.workers[BIRCH]), 0);
}
END_TEST

static const struct {
	const char *name, *fault, *said;
} unfit[] = {
	{ "hostile", "init-crash", "signal 6 (Aborted) in init()" },
	{ "hostile", "no-params", "the task has 0 parameters" },
	{ "hostile", "init-nan", "parameter 1 of 9 is not finite at the start" },
	{ "hostile-abi", NULL, "made for version 99 of the interface" },
	{ "hostile-symbol", NULL, "exports no symbol isobar_task" },
};

START_TEST(a_run_does_not_start_with_a_task_that_cannot)
{
	task_file(unfit[_i].name, unfit[_i].fault, task);
	configure(cluster.folder, "");
	cluster_start_coordinator(&cluster, NULL);
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 1);
	ck_assert_msg(strstr(cluster_said(&cluster, "coordinator.log"), unfit[_i].said) != NULL,
		      "%s", cluster_said(&cluster, "coordinator.log"));
}
END_TEST

/* isobar-task(3)'s own, built as it says against what is installed. */
static void build_example(void)
{
	const char *source = getenv("top_srcdir"), *build = getenv("top_builddir");
	char command[600];

	snprintf(command, sizeof(command),
		 "make -s -C '%s' install-pkgincludeHEADERS includedir=/include DESTDIR=%s >%s/log "
		 "2>&1 && "
		 "'%s/tests/task/ridge.sh' '%s' %s -I%s/include && mv %s/ridge.so %s",
		 build != NULL ? build : ".", cluster.folder, cluster.folder,
		 source != NULL ? source : ".", source != NULL ? source : ".", cluster.folder,
		 cluster.folder, cluster.folder, task);
	/* The make that runs this test is none of its business. */
	unsetenv("MAKEFLAGS");
	unsetenv("MFLAGS");
	unsetenv("MAKELEVEL");
	ck_assert_int_eq(system(command), 0);
}

START_TEST(the_manuals_example_learns)
{
	build_example();
	configure(FASHION_MNIST, "learning-rate = 0.01 decay = 0 stop-after-rounds = 80 "
				 "samples-per-task = 64 tasks-per-round = 6");
	start_all(FASHION_MNIST);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		confs[i].training.task_limit_ns = TASKWATCH_LIMIT_NS;
	wait_for(steps() >= 70);
	wait_for(cluster_number(&cluster, "test_accuracy") > 0.6 || steps() < 0);
	/* To its end, which the report tells. */
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 0);
	json_t *report = cluster_load(&cluster, "report.json");
	ck_assert_double_gt(json_real_value(json_object_get(report, "test_accuracy")), 0.6);
	json_decref(report);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("usertask");
	TCase *tcase = tcase_create("runs");

	if (!scene_is_for_nobody())
		test_skip_all("needs a build that user nobody can run");
	tcase_add_checked_fixture(tcase, open_all, close_all);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, a_fault_ends_one_worker_and_the_run_goes_on, 0, COUNT(faults));
	tcase_add_loop_test(tcase, a_crash_does_no_harm_whatever_the_method, 0, COUNT(methods));
	tcase_add_loop_test(tcase, a_worker_without_numbers_rests_and_the_run_goes_on, 0,
			    COUNT(takers));
	tcase_add_test(tcase, a_worker_with_another_file_is_not_taken);
	tcase_add_test(tcase, training_goes_on_without_evaluations);
	tcase_add_test(tcase, a_worker_in_an_endless_task_can_be_ended);
	tcase_add_loop_test(tcase, a_run_does_not_start_with_a_task_that_cannot, 0, COUNT(unfit));
	if (access(FASHION_MNIST, R_OK) == 0)
		tcase_add_test(tcase, the_manuals_example_learns);
	suite_add_tcase(suite, tcase);
	return suite;
}
