/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "tests/task/scene.h"
#include "tests/task/task_file.h"
#include "tests/test.h"

/* An agent's real workers whose task ends them at their start.  The job is none. */

#define WAIT_NS	 20000000000ull
#define LATER_NS 100000000000ull /* beyond any pause */

static struct conf conf; /* too large for the stack */
static char folder[64], task[100];
static struct loop loop;
static struct loop_source tick;
static struct host *host;
/* The agent's time: pauses are passed by setting it. */
static uint64_t now_ns;

static void on_tick(struct loop_source *source, short revents)
{
	(void)revents;
	timer_consume(source->fd);
	loop_quit(&loop);
}

static void turn(void)
{
	ck_assert_int_eq(timer_arm(tick.fd, clock_now_ns() + 2000000u), 0);
	ck_assert_int_eq(loop_run(&loop), 0);
}

/* What a worker reads before it comes to its task: keys and a data set. */
static void make_files(void)
{
	struct curve_keypair keys;
	struct error error;
	char public[100];

	snprintf(folder, sizeof(folder), "/tmp/isobar-host.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chmod(folder, 0755), 0);
	snprintf(task, sizeof(task), "%s/task.so", folder);
	scene_data(folder);
	snprintf(conf.training.worker_key, sizeof(conf.training.worker_key), "%s/key", folder);
	snprintf(public, sizeof(public), "%s/pub", folder);
	ck_assert_int_eq(curve_keypair_new(&keys, &error), 0);
	ck_assert_int_eq(curve_keypair_write(&keys, conf.training.worker_key, public, &error), 0);
	snprintf(conf.training.coordinator_key, sizeof(conf.training.coordinator_key), "%s",
		 keys.public_key);
}

static void open_host(const char *name, const char *fault)
{
	const struct host_config config = { .conf = &conf, .loop = &loop };
	struct error error = { 0 };

	task_file(name, fault, task);
	ck_assert_msg(host_open(&config, &host, &error) == 0, "%s", error.text);
}

static void setup(void)
{
	/* It says each start and end; what counts is asked for by the state. */
	scene_be_quiet();
	memset(&conf, 0, sizeof(conf));
	make_files();
	snprintf(conf.node, sizeof(conf.node), "a");
	snprintf(conf.training.coordinator, sizeof(conf.training.coordinator), "tcp://127.0.0.1:9");
	snprintf(conf.training.data, sizeof(conf.training.data), "%s", folder);
	snprintf(conf.training.task, sizeof(conf.training.task), "%s", task);
	snprintf(conf.training.user, sizeof(conf.training.user), "nobody");
	conf.training.task_limit_ns = 1000000000u;
	conf.training.threads = 1;
	scene_worker_path(conf.training.executable, sizeof(conf.training.executable));
	scene_give_to_nobody(conf.training.worker_key);
	tick = (struct loop_source){ .fd = timer_open(), .events = ZMQ_POLLIN, .fn = on_tick };
	ck_assert_int_eq(loop_add(&loop, &tick), 0);
	now_ns = clock_now_ns();
}

static void teardown(void)
{
	char command[100];

	host = host_close(host);
	close(tick.fd);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Starts a worker if one is due; returns its process or 0. */
static pid_t step(void)
{
	host_step(host, now_ns, 500000, 1);
	return (pid_t)host_status(host).pid;
}

static void wait_for_end(void)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (host_status(host).pid != 0) {
		ck_assert_uint_lt(clock_now_ns(), until_ns);
		turn();
	}
}

static void wait_for_state(const char *state)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (strcmp(host_status(host).state, state) != 0) {
		ck_assert_msg(clock_now_ns() < until_ns, "'%s', not '%s'", host_status(host).state,
			      state);
		turn();
	}
}

START_TEST(a_task_that_crashes_is_named_restarted_and_given_up)
{
	open_host("hostile", "constructor");
	for (int i = 1; i <= 5; i++) {
		ck_assert_int_ne(step(), 0);
		wait_for_end();
		ck_assert_str_eq(host_status(host).state,
				 i < 5 ? "restarting: task: signal 6 (Aborted) in none of its "
					 "functions"
				       : "given up: task: signal 6 (Aborted) in none of its "
					 "functions");
		ck_assert_int_eq(host_status(host).restarts, i);
		/* Not at once. */
		now_ns = clock_now_ns();
		ck_assert_int_eq(step(), 0);
		now_ns += LATER_NS;
	}
	now_ns += 1000 * LATER_NS;
	ck_assert_int_eq(step(), 0);
	/* The owner mends it. */
	task_file("hostile", NULL, task);
	ck_assert_int_ne(step(), 0);
	wait_for_state("waiting for coordinator");
}
END_TEST

START_TEST(one_that_cannot_be_loaded_is_given_up_at_once)
{
	open_host("hostile-symbol", NULL);
	ck_assert_int_ne(step(), 0);
	wait_for_end();
	ck_assert_str_eq(host_status(host).state,
			 "given up: task: cannot be used; its process said why");
	now_ns += LATER_NS;
	ck_assert_int_eq(step(), 0);
	/* One that others can write to is no better; the mode is enough to try again. */
	task_file("hostile", NULL, task);
	ck_assert_int_eq(chmod(task, 0666), 0);
	ck_assert_int_ne(step(), 0);
	wait_for_end();
	ck_assert_str_eq(host_status(host).state,
			 "given up: task: cannot be used; its process said why");
	ck_assert_int_eq(chmod(task, 0644), 0);
	now_ns += LATER_NS;
	ck_assert_int_ne(step(), 0);
	wait_for_state("waiting for coordinator");
}
END_TEST

START_TEST(one_that_ends_without_a_word_is_suspected)
{
	open_host("hostile", "constructor-exit");
	ck_assert_int_ne(step(), 0);
	wait_for_end();
	ck_assert_str_eq(host_status(host).state,
			 "restarting: task: exit status 42, without a word");
}
END_TEST

START_TEST(what_others_do_is_not_the_tasks_fault)
{
	open_host("hostile", NULL);
	for (int i = 1; i <= 7; i++) {
		pid_t pid = step();

		ck_assert_int_ne(pid, 0);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		wait_for_end();
		ck_assert_str_eq(host_status(host).state, "restarting");
		now_ns = clock_now_ns() + LATER_NS;
	}
	ck_assert_int_ne(step(), 0);
	wait_for_state("waiting for coordinator");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("host");
	TCase *tcase = tcase_create("tasks");

	if (task_file_under_valgrind())
		test_skip_all("a crash would be valgrind's to report");
	if (!scene_is_for_nobody())
		test_skip_all("needs a build that user nobody can run");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 90);
	tcase_add_test(tcase, a_task_that_crashes_is_named_restarted_and_given_up);
	tcase_add_test(tcase, one_that_cannot_be_loaded_is_given_up_at_once);
	tcase_add_test(tcase, one_that_ends_without_a_word_is_suspected);
	tcase_add_test(tcase, what_others_do_is_not_the_tasks_fault);
	suite_add_tcase(suite, tcase);
	return suite;
}
