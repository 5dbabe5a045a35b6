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
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/meter/meter_census.h"
#include "tests/bpf/measure.h"
#include "tests/test.h"

START_TEST(a_busy_thread_under_a_quota_of_20_percent_reads_0_20)
{
	struct test_cgroup job;
	struct meter *meter;
	struct load load;
	struct measure_use use = { 0 };

	test_cgroup_make(&job, "quota");
	test_cgroup_limit(&job, 4000, 20000);
	meter = measure_open(&job);
	load = load_start(&job, LOAD_BUSY, 1);
	load_wait_ms(100);
	/* A busy machine may keep the job from what its quota would give: once is enough. */
	for (int tries = 0; tries < 10; tries++) {
		use = measure_during(meter, 1000);
		if (fabs(use.on_cpus - 0.20) <= 0.004)
			break;
	}
	/* Emulated machines never get there: they stand still for tens of milliseconds. */
	ck_assert_double_eq_tol(use.on_cpus, 0.20, getenv("ISO_VM") != NULL ? 0.04 : 0.004);
	measure_assert_demand(use, 1);
	measure_assert_as_kernel(meter, &load, 100, 0.01);
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
	meter = measure_open(&job);
	for (int i = 0; i < 2; i++) {
		load = load_start(&job, kinds[i], 4);
		measure_assert_as_kernel(meter, &load, 200, 0.01);
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
	meter = measure_open(&job);
	test_cgroup_make_below(&child, &job, "child");
	test_cgroup_make_below(&grandchild, &child, "child");
	load = load_start(&grandchild, LOAD_BUSY, 2);
	measure_assert_as_kernel(meter, &load, 30, 0.01);
	measure_assert_demand(measure_during(meter, 300), 2);
	load_stop(&load);
	load = load_start(&child, LOAD_BUSY, 1);
	measure_assert_as_kernel(meter, &load, 30, 0.01);
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
	meter = measure_open(&job);
	measure_assert_nothing(meter, 200);
	reading = measure_read(meter);
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
	struct measure_use use = { 0 };

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	test_cgroup_make(&job, "busy");
	measure_pin(0, 0);
	load = load_start(&job, LOAD_BUSY, 1);
	measure_pin(load.pid, 1);
	load_wait_ms(20);
	/* It runs already, and no switch tells the hooks that it does. */
	meter = measure_open(&job);
	for (int tries = 0; tries < 500; tries++) {
		use = measure_during(meter, 2);
		/* Preempted at the end of it, it waits already and no switch has been counted. */
		if (use.switches == 0 && use.wait_cpus == 0 && fabs(use.on_cpus - 1) < 0.01)
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
		meters[i] = measure_open(&jobs[i]);
	ck_assert_uint_ne(measure_read(meters[0]).epoch, measure_read(meters[1]).epoch);
	loads[0] = load_start(&jobs[0], LOAD_BUSY, 1);
	/* Deeper than the first: not below it for that. */
	test_cgroup_make_below(&child, &jobs[1], "child");
	loads[1] = load_start(&child, LOAD_PULSES, 3);
	measure_assert_as_kernel(meters[0], &loads[0], 20, 0.01);
	measure_assert_as_kernel(meters[1], &loads[1], 100, 0.01);
	load_stop(&loads[1]);
	measure_assert_nothing(meters[1], 300);
	/* Caught late by the tick, the other may have to pay off many periods first. */
	for (int tries = 0; tries < 50 && measure_during(meters[0], 100).on_cpus == 0; tries++)
		ck_assert_int_lt(tries, 49);
	load_stop(&loads[0]);
	test_cgroup_remove(&child);
	for (int i = 0; i < 2; i++) {
		meter_close(meters[i]);
		test_cgroup_remove(&jobs[i]);
	}
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
	meter = measure_open(&job);
	old = load_start(&job, LOAD_BUSY, 1);
	new = load_start(&deep, LOAD_BUSY, 1);
	load_wait_ms(100);
	a = measure_read(meter);
	ck_assert_msg(meter_set_cgroup(meter, deep.fd, deep.usage_fd, &error) == 0, "%s",
		      error.text);
	b = measure_read(meter);
	ck_assert_uint_ge(b.on_cpu_ns, a.on_cpu_ns);
	ck_assert_uint_eq(b.epoch, a.epoch);
	measure_assert_as_kernel(meter, &new, 20, 0.01);
	load_stop(&new);
	measure_assert_nothing(meter, 100);

	ck_assert_int_lt(meter_set_cgroup(meter, STDIN_FILENO, -1, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.text, "find the job's cgroup"));
	load_stop(&old);
	meter_close(meter);
	test_cgroup_remove(&deep);
	test_cgroup_remove(&again);
	test_cgroup_remove(&job);
}
END_TEST

/*
 * Real-time, so that no switch tells the hooks of it before its first stint ends.
 * The kernel's account of who runs is up to 4 ms old when it is moved.
 */
START_TEST(who_is_moved_in_while_it_runs_is_counted_from_then_on)
{
	uint64_t least_ns = 0, most_ns = 0, ours_ns = 0;
	struct test_cgroup job, other;
	struct meter *meter;
	struct load load;

	test_cgroup_make(&job, "in");
	test_cgroup_make(&other, "out");
	test_cgroup_realtime(&job, 200000);
	test_cgroup_realtime(&other, 200000);
	meter = measure_open(&job);
	load = load_start(&other, LOAD_BUSY, 1);
	load_hold(&load);
	ck_assert_int_eq(load_policy(&load, SCHED_RR), 0);
	for (int i = 0; i < 5; i++) {
		uint64_t ours_before_ns = measure_settled(meter).on_cpu_ns, before_ns, after_ns;

		load_go_on(&load);
		load_wait_ms(5);
		before_ns = load_cpu_ns(&load);
		test_cgroup_add(&job, load.pid);
		measure_read(meter);
		after_ns = load_cpu_ns(&load);
		load_wait_ms(30);
		load_hold(&load);
		most_ns += load_cpu_ns(&load) - before_ns;
		least_ns += load_cpu_ns(&load) - after_ns;
		ours_ns += measure_settled(meter).on_cpu_ns - ours_before_ns;
		test_cgroup_add(&other, load.pid);
	}
	ck_assert_uint_le(ours_ns, most_ns + most_ns / 4);
	ck_assert_uint_ge(ours_ns, least_ns - least_ns / 4);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
	test_cgroup_remove(&other);
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
	meter = measure_open(&job);
	load = load_start(&job, LOAD_PULSES, 2);
	while (load_cpu_ns(&load) < 200000000)
		load_wait_ms(20);
	load_hold(&load);
	measure_settled(meter);
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

/* One whose quota was overdrawn on a busy machine waits for many periods. */
static struct meter_reading used_since(struct meter *meter, const struct meter_reading *before)
{
	struct meter_reading now;
	int tries = 0;

	do {
		ck_assert_int_lt(tries++, 300);
		load_wait_ms(100);
		now = measure_read(meter);
	} while (now.on_cpu_ns <= before->on_cpu_ns);
	return now;
}

/* The quota binds the one and not the other: what each used is known apart. */
START_TEST(real_time_threads_are_counted_apart)
{
	struct meter_reading a, b;
	struct test_cgroup job;
	struct load load, realtime;
	uint64_t kernel_ns;
	struct meter *meter;

	test_cgroup_make(&job, "realtime");
	test_cgroup_limit(&job, 2000, 20000);
	test_cgroup_realtime(&job, 300000);
	load = load_start(&job, LOAD_BUSY, 1);
	realtime = load_start(&job, LOAD_BUSY, 1);
	load_hold(&realtime);
	meter = measure_open(&job);
	int r = load_policy(&realtime, SCHED_RR);
	ck_assert_msg(r == 0, "SCHED_RR: %s", strerror(-r));
	kernel_ns = load_cpu_ns(&realtime);
	a = measure_read(meter);
	b = used_since(meter, &a);
	ck_assert_uint_eq(b.realtime_ns, 0);

	load_go_on(&realtime);
	/* Also while it runs and has not been switched out yet. */
	do
		load_wait_ms(1);
	while (measure_read(meter).realtime_ns < 50000000);
	load_hold(&realtime);
	/* Back under the quota. */
	ck_assert_int_eq(load_policy(&realtime, SCHED_OTHER), 0);
	load_hold(&load);
	kernel_ns = load_cpu_ns(&realtime) - kernel_ns;
	b = measure_settled(meter);
	ck_assert_double_eq_tol((double)b.realtime_ns / (double)kernel_ns, 1, 0.01);
	ck_assert_uint_gt(b.on_cpu_ns - a.on_cpu_ns, b.realtime_ns);
	load_go_on(&realtime);
	ck_assert_uint_eq(used_since(meter, &b).realtime_ns, b.realtime_ns);
	load_stop(&realtime);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

/* Others may come and go meanwhile: at least these are there. */
START_TEST(all_meters_of_the_machine_are_counted)
{
	struct test_cgroup job;
	struct meter *meters[3];
	unsigned count = 0;

	test_cgroup_make(&job, "census");
	for (unsigned i = 0; i < 3; i++) {
		meters[i] = measure_open(&job);
		ck_assert_int_eq(meter_census(&count, NULL), 0);
		ck_assert_uint_gt(count, i);
	}
	for (unsigned i = 0; i < 3; i++)
		meter_close(meters[i]);
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
	options = measure_options(&job);
	options.choice = METER_KERNEL_ONLY;
	load = load_start(&job, LOAD_BUSY, 1);
	if (meter_open(&options, &meter, &error) == 0) {
		ck_assert_str_ne(meter_degraded(meter), "");
		ck_assert_int_ne(meter_source(meter), METER_SOURCE_EBPF);
		measure_assert_as_kernel(meter, &load, 100, 0.02);
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
	options = measure_options(&job);
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
	const char *why = measure_missing();

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
	tcase_add_test(tcase, follows_the_job_into_a_new_cgroup);
	tcase_add_test(tcase, who_is_moved_in_while_it_runs_is_counted_from_then_on);
	tcase_add_test(tcase, agrees_with_the_account_of_the_cgroup);
	tcase_add_test(tcase, real_time_threads_are_counted_apart);
	tcase_add_test(tcase, all_meters_of_the_machine_are_counted);
	tcase_add_test(tcase, falls_back_to_the_account_of_the_cgroup);
	tcase_add_test(tcase, names_the_missing_capability);
	suite_add_tcase(suite, tcase);
	return suite;
}
