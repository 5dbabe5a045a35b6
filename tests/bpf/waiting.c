/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* Who is counted as waiting, and that nobody is for ever. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/bpf/measure.h"
#include "tests/test.h"

START_TEST(tasks_that_move_leave_nothing_behind)
{
	struct test_cgroup job, other;
	struct meter *meter;
	struct load load;

	test_cgroup_make(&job, "from");
	test_cgroup_make(&other, "to");
	test_cgroup_limit(&job, 2000, 10000);
	test_cgroup_limit(&other, 2000, 10000);
	meter = measure_open(&job);
	load = load_start(&other, LOAD_BUSY, 3);
	for (int i = 0; i < 60; i++) {
		test_cgroup_add(i % 2 == 0 ? &job : &other, load.pid);
		/* Uneven, so that they are moved while they run, wait and are throttled. */
		load_wait_ms((unsigned)i * 7 % 11);
		if (i % 5 == 0)
			measure_read(meter);
	}
	measure_assert_nothing(meter, 100);

	test_cgroup_add(&job, load.pid);
	measure_read(meter);
	measure_assert_demand(measure_during(meter, 300), 3);
	measure_assert_as_kernel(meter, &load, 50, 0.01);

	/* Killed while they wait. */
	load_stop(&load);
	measure_assert_nothing(meter, 50);
	meter_close(meter);
	test_cgroup_remove(&job);
	test_cgroup_remove(&other);
}
END_TEST

/*
 * From when it is switched in elsewhere, though nobody reads the meter until much
 * later, and nobody else of the job is switched.
 */
START_TEST(who_leaves_while_it_waits_waits_no_more)
{
	struct test_cgroup job, other;
	struct meter_reading a, b;
	struct meter *meter;
	struct load load;
	uint64_t left_ns;

	test_cgroup_make(&job, "left");
	test_cgroup_make(&other, "right");
	test_cgroup_limit(&job, 1000, 100000);
	meter = measure_open(&job);
	for (int i = 0; i < 3; i++) {
		load = load_start(&job, LOAD_BUSY, 2);
		load_wait_ms(50);
		a = measure_read(meter);
		test_cgroup_add(&other, load.pid);
		left_ns = clock_now_ns();
		load_wait_ms(1000);
		b = measure_read(meter);
		/* Both may wait until they have left; from then on it were two seconds. */
		ck_assert_uint_lt(b.wait_ns - a.wait_ns, 2 * (left_ns - a.at_ns) + 1000000000);
		load_stop(&load);
	}
	meter_close(meter);
	test_cgroup_remove(&job);
	test_cgroup_remove(&other);
}
END_TEST

static int poke[2];

/*
 * For each poke, naps that are over before they begin: the timer's interrupt wakes
 * a task that has said it will sleep, and has not left the CPU.
 */
static pid_t start_napper(const struct test_cgroup *job)
{
	const struct timespec nap = { .tv_nsec = 1 };
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(poke), 0);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	test_cgroup_add(job, 0);
	while (read(poke[0], &byte, 1) == 1)
		for (int i = 0; i < 20; i++)
			nanosleep(&nap, NULL);
	_exit(0);
}

/* It stays on its CPU then, and no switch-in would ever end its wait. */
START_TEST(a_task_woken_before_it_sleeps_does_not_wait_for_ever)
{
	struct meter_reading a, b;
	struct test_cgroup job;
	struct meter *meter;
	pid_t pid;

	test_cgroup_make(&job, "woken");
	meter = measure_open(&job);
	pid = start_napper(&job);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(write(poke[1], "", 1), 1);
		load_wait_ms(3);
		for (int tries = 0; tries < 100; tries++) {
			a = measure_read(meter);
			load_wait_ms(1);
			b = measure_read(meter);
			if (a.wait_ns == b.wait_ns)
				break;
		}
		ck_assert_uint_eq(a.wait_ns, b.wait_ns);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(a_throttled_job_shows_its_demand)
{
	struct test_cgroup job;
	struct meter *meter;
	struct load load;
	struct measure_use use;

	test_cgroup_make(&job, "demand");
	test_cgroup_limit(&job, 1000, 10000);
	/* It is there before the meter, and most likely throttled. */
	load = load_start(&job, LOAD_BUSY, 2);
	load_wait_ms(50);
	meter = measure_open(&job);
	use = measure_during(meter, 500);
	measure_assert_demand(use, 2);
	ck_assert_double_lt(use.on_cpus, 1);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("bpf-waiting");
	TCase *tcase = tcase_create("waiting");
	const char *why = measure_missing();

	if (why != NULL)
		test_skip_all(why);
	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, NULL, test_cgroup_sweep);
	tcase_add_test(tcase, tasks_that_move_leave_nothing_behind);
	tcase_add_test(tcase, who_leaves_while_it_waits_waits_no_more);
	tcase_add_test(tcase, a_task_woken_before_it_sleeps_does_not_wait_for_ever);
	tcase_add_test(tcase, a_throttled_job_shows_its_demand);
	suite_add_tcase(suite, tcase);
	return suite;
}
