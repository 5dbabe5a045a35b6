/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/procuse.h"
#include "tests/test.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static pid_t start(bool busy)
{
	pid_t pid = fork();

	if (pid == 0)
		for (volatile unsigned laps = 0;; laps++)
			if (!busy)
				pause();
	ck_assert_int_gt(pid, 0);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static uint64_t cpu_clock_ns(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	ck_assert_int_eq(clock_getcpuclockid(pid, &clock), 0);
	ck_assert_int_eq(clock_gettime(clock, &time), 0);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

START_TEST(a_busy_process_is_measured_as_by_its_own_clock)
{
	uint64_t before_ns, after_ns, wait_ns, used_ns;
	pid_t pid = start(true);

	wait_ms(20);
	uint64_t clock_ns = cpu_clock_ns(pid);
	ck_assert_int_eq(procuse_read(pid, &before_ns, &wait_ns, NULL), 0);
	wait_ms(300);
	ck_assert_int_eq(procuse_read(pid, &after_ns, &wait_ns, NULL), 0);
	clock_ns = cpu_clock_ns(pid) - clock_ns;
	used_ns = after_ns - before_ns;
	stop(pid);
	ck_assert_uint_gt(used_ns, 0);
	/* schedstat is brought up to date at ticks and switches: up to 10 ms late at either end. */
	ck_assert_uint_le(used_ns, clock_ns + 10000000);
	ck_assert_uint_ge(used_ns + 20000000, clock_ns);
}
END_TEST

START_TEST(one_that_sleeps_uses_nothing)
{
	uint64_t before_ns, after_ns, wait_before_ns, wait_after_ns;
	pid_t pid = start(false);

	wait_ms(50);
	ck_assert_int_eq(procuse_read(pid, &before_ns, &wait_before_ns, NULL), 0);
	wait_ms(100);
	ck_assert_int_eq(procuse_read(pid, &after_ns, &wait_after_ns, NULL), 0);
	stop(pid);
	ck_assert_uint_eq(after_ns, before_ns);
	ck_assert_uint_eq(wait_after_ns, wait_before_ns);
}
END_TEST

START_TEST(who_has_to_share_a_cpu_waits)
{
	uint64_t on_cpu_ns, wait_ns;
	pid_t pids[5];

	for (unsigned i = 0; i < 5; i++)
		pids[i] = start(true);
	wait_ms(300);
	int r = procuse_read(pids[0], &on_cpu_ns, &wait_ns, NULL);
	for (unsigned i = 0; i < 5; i++)
		stop(pids[i]);
	ck_assert_int_eq(r, 0);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 5) /* else each may have one to itself */
		ck_assert_uint_gt(wait_ns, 0);
}
END_TEST

START_TEST(who_is_not_there_is_said)
{
	uint64_t on_cpu_ns = 7, wait_ns = 7;
	struct error error = { 0 };
	pid_t pid = start(false);

	stop(pid);
	ck_assert_int_eq(procuse_read(pid, &on_cpu_ns, &wait_ns, &error), -ESRCH);
	ck_assert_ptr_nonnull(strstr(error.text, "process"));
	ck_assert_uint_eq(on_cpu_ns, 7);
	ck_assert_uint_eq(wait_ns, 7);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("procuse");
	TCase *tcase = tcase_create("process");

	if (access("/proc/self/schedstat", R_OK) != 0)
		test_skip_all("no /proc/PID/schedstat");
	tcase_add_test(tcase, a_busy_process_is_measured_as_by_its_own_clock);
	tcase_add_test(tcase, one_that_sleeps_uses_nothing);
	tcase_add_test(tcase, who_has_to_share_a_cpu_waits);
	tcase_add_test(tcase, who_is_not_there_is_said);
	suite_add_tcase(suite, tcase);
	return suite;
}
