/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * The meter against the kernel's own account (CLOCK_PROCESS_CPUTIME_ID of the
 * load), so that it does not matter what else the machine has to do.
 */
#include "agent/meter/meter.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/cgroup_fixture.h"
#include "tests/load.h"
#include "tests/test.h"

static struct meter_options options_of(const struct test_cgroup *job)
{
	return (struct meter_options){ .cgroup_fd = job->fd,
				       .hierarchy = job->v2 ? METER_V2 : METER_V1,
				       .usage_fd = job->usage_fd,
				       .choice = METER_EBPF_ONLY };
}

static struct meter *open_meter(const struct test_cgroup *job)
{
	struct meter_options options = options_of(job);
	struct meter *meter = NULL;
	struct error error;

	ck_assert_msg(meter_open(&options, &meter, &error) == 0, "%s", error.text);
	ck_assert_int_eq(meter_source(meter), METER_SOURCE_EBPF);
	ck_assert_ptr_null(meter_degraded(meter));
	return meter;
}

static struct meter_reading read_meter(struct meter *meter)
{
	struct meter_reading reading;

	ck_assert_int_eq(meter_read(meter, &reading, NULL), 0);
	return reading;
}

struct use {
	double on_cpus, wait_cpus; /* by the meter, per second of wall time */
	uint64_t switches;
};

static struct use use_during(struct meter *meter, unsigned ms)
{
	struct meter_reading a, b;
	double wall;

	a = read_meter(meter);
	load_wait_ms(ms);
	b = read_meter(meter);
	ck_assert_uint_eq(a.epoch, b.epoch);
	ck_assert_uint_ge(b.on_cpu_ns, a.on_cpu_ns);
	ck_assert_uint_ge(b.wait_ns, a.wait_ns);
	wall = (double)(b.at_ns - a.at_ns);
	return (struct use){ .on_cpus = (double)(b.on_cpu_ns - a.on_cpu_ns) / wall,
			     .wait_cpus = (double)(b.wait_ns - a.wait_ns) / wall,
			     .switches = b.switches - a.switches };
}

/* What nobody uses any more: the dying and the stopped switch a last time. */
static struct meter_reading read_settled(struct meter *meter)
{
	struct meter_reading before, now = read_meter(meter);
	int tries = 0;

	do {
		before = now;
		load_wait_ms(5);
		now = read_meter(meter);
	} while (now.on_cpu_ns != before.on_cpu_ns && ++tries < 100);
	return now;
}

/*
 * Lets the load go on until the kernel says that it has used some time, with the
 * load held at both ends, where both accounts are exact.
 */
static void assert_as_kernel(struct meter *meter, const struct load *load, uint64_t ms,
			     double share)
{
	struct meter_reading a, b;
	uint64_t kernel_a, kernel_b;
	double ours, kernel;

	load_hold(load);
	a = read_settled(meter);
	kernel_a = load_cpu_ns(load);
	load_go_on(load);
	do
		load_wait_ms(20);
	while (load_cpu_ns(load) - kernel_a < ms * 1000000);
	load_hold(load);
	b = read_settled(meter);
	kernel_b = load_cpu_ns(load);
	load_go_on(load);
	ours = (double)(b.on_cpu_ns - a.on_cpu_ns);
	kernel = (double)(kernel_b - kernel_a);
	ck_assert_msg(fabs(ours / kernel - 1) <= share, "meter %.0f, kernel %.0f us", ours / 1000,
		      kernel / 1000);
}

static void assert_nothing_used(struct meter *meter, unsigned ms)
{
	struct meter_reading a, b;

	a = read_settled(meter);
	load_wait_ms(ms);
	b = read_meter(meter);
	ck_assert_uint_eq(a.on_cpu_ns, b.on_cpu_ns);
	ck_assert_uint_eq(a.wait_ns, b.wait_ns);
}

/*
 * Threads that always want to run.  A stint begins for the kernel a little before
 * the hook sees it, so that a slow switch is counted twice: as waited and as run.
 * A thread that is counted wrongly makes a difference of 1.
 */
static void assert_demand(struct use use, double threads)
{
	ck_assert_double_eq_tol(use.on_cpus + use.wait_cpus, threads, 0.05 * threads);
}

static void pin(pid_t pid, size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ck_assert_int_eq(sched_setaffinity(pid, sizeof(set), &set), 0);
}

START_TEST(a_busy_thread_under_a_quota_of_20_percent_reads_0_20)
{
	struct test_cgroup job;
	struct meter *meter;
	struct load load;
	struct use use = { 0 };

	test_cgroup_make(&job, "quota");
	test_cgroup_limit(&job, 4000, 20000);
	meter = open_meter(&job);
	load = load_start(&job, LOAD_BUSY, 1);
	load_wait_ms(100);
	/* A busy machine may keep the job from what its quota would give: once is enough. */
	for (int tries = 0; tries < 10; tries++) {
		use = use_during(meter, 1000);
		if (fabs(use.on_cpus - 0.20) <= 0.004)
			break;
	}
	/* Emulated machines never get there: they stand still for tens of milliseconds. */
	ck_assert_double_eq_tol(use.on_cpus, 0.20, getenv("ISO_VM") != NULL ? 0.04 : 0.004);
	assert_demand(use, 1);
	assert_as_kernel(meter, &load, 100, 0.01);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(the_sum_over_threads_is_the_cpu_time_of_the_process)
{
	static const enum load_kind kinds[] = { LOAD_BUSY, LOAD_PULSES };
	struct test_cgroup job;
	struct meter *meter;
	struct load load;

	test_cgroup_make(&job, "threads");
	test_cgroup_limit(&job, 8000, 20000);
	meter = open_meter(&job);
	for (int i = 0; i < 2; i++) {
		load = load_start(&job, kinds[i], 4);
		assert_as_kernel(meter, &load, 200, 0.01);
		load_stop(&load);
	}
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(a_descendant_made_later_is_counted)
{
	struct test_cgroup job, child, grandchild;
	struct meter *meter;
	struct load load;

	test_cgroup_make(&job, "family");
	test_cgroup_limit(&job, 2000, 20000);
	meter = open_meter(&job);
	test_cgroup_make_below(&child, &job, "child");
	test_cgroup_make_below(&grandchild, &child, "child");
	load = load_start(&grandchild, LOAD_BUSY, 2);
	assert_as_kernel(meter, &load, 30, 0.01);
	assert_demand(use_during(meter, 300), 2);
	load_stop(&load);
	load = load_start(&child, LOAD_BUSY, 1);
	assert_as_kernel(meter, &load, 30, 0.01);
	load_stop(&load);
	test_cgroup_remove(&grandchild);
	test_cgroup_remove(&child);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(an_idle_job_reads_0)
{
	struct test_cgroup job;
	struct meter *meter;
	struct load load;
	struct meter_reading reading;

	test_cgroup_make(&job, "idle");
	load = load_start(&job, LOAD_IDLE, 3);
	load_wait_ms(50);
	meter = open_meter(&job);
	assert_nothing_used(meter, 200);
	reading = read_meter(meter);
	ck_assert_uint_eq(reading.on_cpu_ns, 0);
	ck_assert_uint_eq(reading.wait_ns, 0);
	ck_assert_uint_eq(reading.switches, 0);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(a_thread_that_never_sleeps_is_counted)
{
	struct test_cgroup job;
	struct meter *meter;
	struct load load;
	struct use use = { 0 };

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	test_cgroup_make(&job, "busy");
	pin(0, 0);
	load = load_start(&job, LOAD_BUSY, 1);
	pin(load.pid, 1);
	load_wait_ms(20);
	/* It runs already, and no switch tells the hooks that it does. */
	meter = open_meter(&job);
	for (int tries = 0; tries < 500; tries++) {
		use = use_during(meter, 2);
		if (use.switches == 0 && fabs(use.on_cpus - 1) < 0.01)
			break;
	}
	ck_assert_uint_eq(use.switches, 0);
	ck_assert_double_eq_tol(use.on_cpus, 1, 0.01);
	ck_assert_double_eq(use.wait_cpus, 0);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(two_jobs_do_not_leak_into_each_other)
{
	struct test_cgroup jobs[2], child;
	struct meter *meters[2];
	struct load loads[2];

	test_cgroup_make(&jobs[0], "one");
	test_cgroup_make(&jobs[1], "two");
	test_cgroup_limit(&jobs[0], 1000, 20000);
	test_cgroup_limit(&jobs[1], 6000, 20000);
	for (int i = 0; i < 2; i++)
		meters[i] = open_meter(&jobs[i]);
	ck_assert_uint_ne(read_meter(meters[0]).epoch, read_meter(meters[1]).epoch);
	loads[0] = load_start(&jobs[0], LOAD_BUSY, 1);
	/* Deeper than the first: not below it for that. */
	test_cgroup_make_below(&child, &jobs[1], "child");
	loads[1] = load_start(&child, LOAD_PULSES, 3);
	assert_as_kernel(meters[0], &loads[0], 20, 0.01);
	assert_as_kernel(meters[1], &loads[1], 100, 0.01);
	load_stop(&loads[1]);
	assert_nothing_used(meters[1], 300);
	/* Caught late by the tick, the other may have to pay off many periods first. */
	for (int tries = 0; tries < 50 && use_during(meters[0], 100).on_cpus == 0; tries++)
		ck_assert_int_lt(tries, 49);
	load_stop(&loads[0]);
	test_cgroup_remove(&child);
	for (int i = 0; i < 2; i++) {
		meter_close(meters[i]);
		test_cgroup_remove(&jobs[i]);
	}
}
END_TEST

START_TEST(tasks_that_move_leave_nothing_behind)
{
	struct test_cgroup job, other;
	struct meter *meter;
	struct load load;

	test_cgroup_make(&job, "from");
	test_cgroup_make(&other, "to");
	test_cgroup_limit(&job, 2000, 10000);
	test_cgroup_limit(&other, 2000, 10000);
	meter = open_meter(&job);
	load = load_start(&other, LOAD_BUSY, 3);
	for (int i = 0; i < 60; i++) {
		test_cgroup_add(i % 2 == 0 ? &job : &other, load.pid);
		/* Uneven, so that they are moved while they run, wait and are throttled. */
		load_wait_ms((unsigned)i * 7 % 11);
		if (i % 5 == 0)
			read_meter(meter);
	}
	assert_nothing_used(meter, 100);

	test_cgroup_add(&job, load.pid);
	read_meter(meter);
	assert_demand(use_during(meter, 300), 3);
	assert_as_kernel(meter, &load, 50, 0.01);

	/* Killed while they wait. */
	load_stop(&load);
	assert_nothing_used(meter, 50);
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
	meter = open_meter(&job);
	pid = start_napper(&job);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(write(poke[1], "", 1), 1);
		load_wait_ms(3);
		for (int tries = 0; tries < 100; tries++) {
			a = read_meter(meter);
			load_wait_ms(1);
			b = read_meter(meter);
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
	struct use use;

	test_cgroup_make(&job, "demand");
	test_cgroup_limit(&job, 1000, 10000);
	/* It is there before the meter, and most likely throttled. */
	load = load_start(&job, LOAD_BUSY, 2);
	load_wait_ms(50);
	meter = open_meter(&job);
	use = use_during(meter, 500);
	assert_demand(use, 2);
	ck_assert_double_lt(use.on_cpus, 1);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(follows_the_job_into_a_new_cgroup)
{
	struct test_cgroup job, again, deep;
	struct meter_reading a, b;
	struct meter *meter;
	struct load old, new;
	struct error error;

	test_cgroup_make(&job, "old");
	test_cgroup_make(&again, "new");
	test_cgroup_make_below(&deep, &again, "deep");
	test_cgroup_limit(&job, 1000, 20000);
	test_cgroup_limit(&again, 1000, 20000);
	meter = open_meter(&job);
	old = load_start(&job, LOAD_BUSY, 1);
	new = load_start(&deep, LOAD_BUSY, 1);
	load_wait_ms(100);
	a = read_meter(meter);
	ck_assert_msg(meter_set_cgroup(meter, deep.fd, deep.usage_fd, &error) == 0, "%s",
		      error.text);
	b = read_meter(meter);
	ck_assert_uint_ge(b.on_cpu_ns, a.on_cpu_ns);
	ck_assert_uint_eq(b.epoch, a.epoch);
	assert_as_kernel(meter, &new, 20, 0.01);
	load_stop(&new);
	assert_nothing_used(meter, 100);

	ck_assert_int_lt(meter_set_cgroup(meter, STDIN_FILENO, -1, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.text, "find the job's cgroup"));
	load_stop(&old);
	meter_close(meter);
	test_cgroup_remove(&deep);
	test_cgroup_remove(&again);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(agrees_with_the_account_of_the_cgroup)
{
	struct test_cgroup job;
	struct meter_check check;
	struct meter *meter;
	struct load load;
	struct error error;

	test_cgroup_make(&job, "check");
	test_cgroup_limit(&job, 4000, 20000);
	meter = open_meter(&job);
	load = load_start(&job, LOAD_PULSES, 2);
	while (load_cpu_ns(&load) < 200000000)
		load_wait_ms(20);
	load_hold(&load);
	read_settled(meter);
	if (meter_check(meter, &check, &error) == 0) {
		ck_assert_uint_gt(check.kernel_ns, 0);
		ck_assert_double_eq_tol((double)check.gap_ns / (double)check.kernel_ns, 0, 0.02);
	} else {
		ck_assert_int_eq(error.code, -ENODATA);
	}
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(falls_back_to_the_account_of_the_cgroup)
{
	struct test_cgroup job;
	struct meter_options options;
	struct meter *meter = NULL;
	struct load load;
	struct error error;

	test_cgroup_make(&job, "fallback");
	test_cgroup_limit(&job, 4000, 20000);
	options = options_of(&job);
	options.choice = METER_KERNEL_ONLY;
	load = load_start(&job, LOAD_BUSY, 1);
	if (meter_open(&options, &meter, &error) == 0) {
		ck_assert_str_ne(meter_degraded(meter), "");
		ck_assert_int_ne(meter_source(meter), METER_SOURCE_EBPF);
		assert_as_kernel(meter, &load, 100, 0.02);
		ck_assert_int_eq(meter_clock_fd(meter), -ENOTSUP);
	} else {
		ck_assert_int_eq(error.code, -ENODATA);
		ck_assert_ptr_null(meter);
	}
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(names_the_missing_capability)
{
	struct test_cgroup job;
	struct meter_options options;
	struct meter *meter = NULL;
	struct error error = { 0 };

	test_cgroup_make(&job, "nobody");
	options = options_of(&job);
	pid_t pid = fork();
	if (pid == 0) {
		int r = -1;

		if (setgid(65534) == 0 && setuid(65534) == 0)
			r = meter_open(&options, &meter, &error);
		_exit(r == -EPERM && meter == NULL && strstr(error.text, "CAP_BPF") != NULL ? 0 :
											     1);
	}
	int status = -1;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	test_cgroup_remove(&job);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("bpf-meter");
	TCase *tcase = tcase_create("meter");
	const char *why = test_cgroup_missing();

	if (why == NULL && access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		why = "needs kernel BTF";
	if (why != NULL)
		test_skip_all(why);
	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, NULL, test_cgroup_sweep);
	tcase_add_test(tcase, a_busy_thread_under_a_quota_of_20_percent_reads_0_20);
	tcase_add_test(tcase, the_sum_over_threads_is_the_cpu_time_of_the_process);
	tcase_add_test(tcase, a_descendant_made_later_is_counted);
	tcase_add_test(tcase, an_idle_job_reads_0);
	tcase_add_test(tcase, a_thread_that_never_sleeps_is_counted);
	tcase_add_test(tcase, two_jobs_do_not_leak_into_each_other);
	tcase_add_test(tcase, tasks_that_move_leave_nothing_behind);
	tcase_add_test(tcase, a_task_woken_before_it_sleeps_does_not_wait_for_ever);
	tcase_add_test(tcase, a_throttled_job_shows_its_demand);
	tcase_add_test(tcase, follows_the_job_into_a_new_cgroup);
	tcase_add_test(tcase, agrees_with_the_account_of_the_cgroup);
	tcase_add_test(tcase, falls_back_to_the_account_of_the_cgroup);
	tcase_add_test(tcase, names_the_missing_capability);
	suite_add_tcase(suite, tcase);
	return suite;
}
