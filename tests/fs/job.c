/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * agent/node/job on the real hierarchy, where it gets in the job's way or
 * strangers get in ours: what must never come of it is a limit that is
 * believed in and not there.
 */
#include "config.h"

#include "agent/node/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/guard/guard_client.h"
#include "agent/meter/meter.h"
#include "tests/fs/group.h"
#include "tests/fs/onejob.h"
#include "tests/test.h"

#define SECOND_NS 1000000000ull
#define SHARE	  300000
#define STRANGER  65534
#define OURS_US	  30000
#define THEIRS_US 45000

static struct conf conf; /* too large for the stack */
static char directory[PATH_MAX];

static void setup(void)
{
	onejob_begin(&conf);
	snprintf(conf.cgroup, sizeof(conf.cgroup), "%s", group_path("job"));
	group_directory("job", directory);
}

static void teardown(void)
{
	onejob_end();
}

static const char *state_of(const struct job *job)
{
	const char *reason;

	return job_state(job, &reason);
}

/* Whoever has chosen it is not told at each look that it is second best. */
START_TEST(the_kernels_meter_by_choice_is_no_state)
{
	conf.meter = CONF_METER_KERNEL;
	struct job *job = onejob_open(&conf);

	job_observe(job, clock_now_ns());
	ck_assert_int_eq(job_limit(job, clock_now_ns(), SHARE, NULL), 0);
	job_observe(job, clock_now_ns());
	const char *reason = "", *state = job_state(job, &reason);
	/* Not every kernel has one: on some v1 hosts no cpuacct goes with cpu. */
	if (job_meter(job) == NULL) {
		ck_assert_str_eq(state, "degraded");
		ck_assert_ptr_nonnull(strstr(reason, "eBPF is switched off; no account"));
		job_close(job);
		return;
	}
	ck_assert_msg(strcmp(state, "ok") == 0, "%s", reason);
	ck_assert_str_ne(job_meter_name(job), "ebpf");
	ck_assert_str_ne(job_meter_name(job), "none");
	ck_assert_int_lt(meter_clock_fd(job_meter(job)), 0);
	job_close(job);
}
END_TEST

START_TEST(a_group_that_goes_before_the_first_look_is_a_state)
{
	struct job *job = onejob_open(&conf);

	ck_assert_int_eq(rmdir(directory), 0);
	job_observe(job, clock_now_ns());
	ck_assert_str_eq(state_of(job), "gone");
	ck_assert_int_eq(job_view(job)->ceiling_ucpu, 1000000);
	ck_assert_uint_ge(job_view(job)->cpus, 1);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, 0);
	job_close(job);
}
END_TEST

START_TEST(a_new_group_out_of_reach_is_no_limit)
{
	uint64_t now_ns = clock_now_ns();
	struct job *job = onejob_open(&conf);
	struct error error = { 0 };

	job_observe(job, now_ns);
	ck_assert_int_eq(job_limit(job, now_ns, SHARE, &error), 0);
	ck_assert_int_eq(rmdir(directory), 0);
	now_ns += SECOND_NS;
	job_observe(job, now_ns);
	/* Nobody is there to be limited: the share may go to others. */
	ck_assert_int_eq(job_view(job)->enforced_ucpu, 0);
	ck_assert(!job_view(job)->hold);
	ck_assert_int_eq(job_limit(job, now_ns, SHARE, &error), 0);

	/* The job is back, and something keeps us from it. */
	group_make("job");
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	for (int i = 0; i < 3; i++) {
		now_ns += SECOND_NS / 2;
		job_observe(job, now_ns);
		ck_assert_int_eq(job_view(job)->enforced_ucpu, INT64_MAX);
		ck_assert(job_view(job)->hold);
		ck_assert_int_lt(job_limit(job, now_ns, SHARE, &error), 0);
		ck_assert_str_eq(state_of(job), "degraded");
	}
	ck_assert_ptr_nonnull(strstr(error.text, "another agent"));

	close(fd);
	now_ns += 2 * SECOND_NS;
	job_observe(job, now_ns);
	ck_assert_int_eq(job_limit(job, now_ns, SHARE, &error), 0);
	ck_assert_int_le(job_view(job)->enforced_ucpu, SHARE);
	ck_assert_str_ne(state_of(job), "gone");
	job_close(job);
}
END_TEST

START_TEST(an_ancestor_below_the_least_quota_leaves_a_share_to_enforce)
{
	struct error error = { 0 };

	if (group_version() == 1)
		return; /* there the kernel refuses the child's limit, too */
	group_write_limit("", 1000, 1000000);
	struct job *job = onejob_open(&conf);
	uint64_t now_ns = clock_now_ns();

	job_observe(job, now_ns);
	ck_assert_int_eq(job_limit(job, now_ns, job_view(job)->ceiling_ucpu, &error), 0);
	job_close(job);
}
END_TEST

/* Everybody may open the directory of a group, and flock() asks for no more. */
START_TEST(a_stranger_cannot_lock_us_out)
{
	struct error error = { 0 };
	struct job *job = NULL;
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setgid(STRANGER) < 0 || setuid(STRANGER) < 0)
			_exit(1);
		int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (flock(fd, LOCK_SH | LOCK_NB) < 0 || write(ready[1], "", 1) != 1)
			_exit(2);
		pause();
		_exit(3);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	int r = job_open(&conf, conf.floor_ucpu, &job, &error);
	group_kill(pid);
	ck_assert_msg(r == 0, "%s", error.text);
	job_close(job);
}
END_TEST

static int64_t kernel_has_us(void)
{
	return group_quota_us(directory);
}

static int tick(struct job *job, uint64_t now_ns)
{
	struct error error = { 0 };

	job_observe(job, now_ns);
	return job_limit(job, now_ns, SHARE, &error);
}

START_TEST(fights_no_other_writer_but_puts_it_right_at_its_own_pace)
{
	struct job *job = onejob_open(&conf);
	uint64_t now_ns = 1000 * SECOND_NS;
	unsigned repairs = 0, ticks = 0;

	ck_assert_int_eq(tick(job, now_ns), 0);
	ck_assert_int_eq(kernel_has_us(), OURS_US);

	/* The other one insists: whenever its value is gone it writes it again. */
	for (; strcmp(state_of(job), "conflict") != 0; ticks++) {
		ck_assert_uint_lt(ticks, 100);
		group_write_limit("job", THEIRS_US, 100000);
		now_ns += SECOND_NS;
		(void)tick(job, now_ns);
	}
	for (unsigned i = 0; i < 120; i++) {
		group_write_limit("job", THEIRS_US, 100000);
		now_ns += SECOND_NS;
		int r = tick(job, now_ns);
		bool is_ours = kernel_has_us() == OURS_US;

		/* Said as it is: not obeyed, and what the kernel enforces instead. */
		ck_assert_int_eq(r, is_ours ? 0 : -ESTALE);
		ck_assert_int_eq(job_view(job)->enforced_ucpu, is_ours ? SHARE : 450000);
		ck_assert_uint_eq(job_view(job)->limit.quota_us, is_ours ? OURS_US : THEIRS_US);
		ck_assert_uint_eq(job_view(job)->written_us, OURS_US);
		ck_assert(job_view(job)->hold);
		repairs += is_ours;
	}
	ck_assert_uint_ge(repairs, 1);
	ck_assert_uint_le(repairs, 3);
	job_close(job);
}
END_TEST

START_TEST(puts_a_single_change_right_at_once)
{
	struct job *job = onejob_open(&conf);
	uint64_t now_ns = 1000 * SECOND_NS;

	ck_assert_int_eq(tick(job, now_ns), 0);
	group_write_limit("job", THEIRS_US, 100000);
	now_ns += SECOND_NS;
	ck_assert_int_eq(tick(job, now_ns), 0);
	ck_assert_int_eq(kernel_has_us(), OURS_US);
	ck_assert_str_eq(state_of(job), "drifted");
	job_close(job);
}
END_TEST

/* A node with neighbours: leases of a second, and a guard from the build. */
static void guard_it(const char *program)
{
	const char *builddir = getenv("top_builddir");
	char path[PATH_MAX], real[PATH_MAX];

	snprintf(conf.run_directory, sizeof(conf.run_directory), "/tmp/isobar-job-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(conf.run_directory));
	snprintf(conf.listen, sizeof(conf.listen), "ipc:///nowhere");
	conf.on_exit = CONF_ON_EXIT_RESTORE;
	conf.trading.lease_ns = SECOND_NS;
	conf.trading.guard_ns = SECOND_NS / 8;
	ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s",
				  builddir != NULL ? builddir : ".", program), PATH_MAX);
	if (realpath(path, real) == NULL)
		snprintf(real, sizeof(real), "/none/%s", program);
	ck_assert_int_lt(snprintf(conf.guard.executable, sizeof(conf.guard.executable), "%s", real),
			 (int)sizeof(conf.guard.executable));
	ck_assert(conf_is_guarded(&conf));
}

static void unguard(struct job *job)
{
	char command[sizeof(conf.run_directory) + 8];
	struct error error;

	ck_assert_msg(job_leave(job, &error) == 0, "%s", error.text);
	job_close(job);
	snprintf(command, sizeof(command), "rm -r %s", conf.run_directory);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(without_a_guard_to_be_had_the_floor_is_the_ceiling)
{
	uint64_t now_ns = clock_now_ns();
	struct error error;
	const char *reason;

	guard_it("agent/no-such-guard");
	struct job *job = onejob_open(&conf);
	ck_assert_uint_eq(job_lease_deadline_ns(job), 0);
	for (int i = 0; i < 3; i++, now_ns += SECOND_NS) {
		job_lease_renew(job, clock_boot_ns() + SECOND_NS);
		job_observe(job, now_ns);
		ck_assert_int_eq(job_view(job)->ceiling_ucpu, (int64_t)conf.floor_ucpu);
		ck_assert_int_eq(job_limit(job, now_ns, SHARE, &error), 0);
		ck_assert_int_eq(job_view(job)->enforced_ucpu, (int64_t)conf.floor_ucpu);
		ck_assert_str_eq(job_state(job, &reason), "degraded");
		ck_assert_ptr_nonnull(strstr(reason, "no guard"));
	}
	ck_assert_int_eq(job_guard(job)->state, GUARD_NONE);
	ck_assert_ptr_nonnull(strstr(job_guard(job)->reason, "no-such-guard"));
	unguard(job);
}
END_TEST

START_TEST(with_a_guard_a_limit_lasts_as_long_as_the_lease)
{
	uint64_t now_ns = clock_now_ns(), deadline_ns = clock_boot_ns() + SECOND_NS;
	struct error error;

	guard_it("agent/isobar-guard");
	struct job *job = onejob_open(&conf);
	ck_assert_int_eq(job_guard(job)->state, GUARD_OK);
	job_lease_renew(job, deadline_ns);
	job_observe(job, now_ns);
	/* The host's ceiling, which goes into the price, has nothing to do with leases. */
	ck_assert_int_eq(job_view(job)->ceiling_ucpu, (int64_t)conf.ceiling_ucpu);
	ck_assert_int_eq(job_limit(job, now_ns, SHARE, &error), 0);
	ck_assert_int_eq(kernel_has_us(), OURS_US);
	/* It wants to look whether the guard has lowered, in time to do it itself. */
	ck_assert_uint_lt(job_wake_at_ns(job), now_ns + SECOND_NS);

	while (clock_boot_ns() < deadline_ns)
		usleep(10000);
	ck_assert_int_eq(kernel_has_us(), 1000);
	now_ns = clock_now_ns();
	job_lease_renew(job, deadline_ns);
	job_observe(job, now_ns);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, (int64_t)conf.floor_ucpu);
	ck_assert_int_eq(job_view(job)->ceiling_ucpu, (int64_t)conf.ceiling_ucpu);
	/* Entitled to its share, and not more than the floor enforced: that is no failure. */
	ck_assert_int_eq(job_limit(job, now_ns, SHARE, &error), 0);
	ck_assert_int_eq(kernel_has_us(), 1000);
	ck_assert_str_ne(state_of(job), "drifted");

	/* Answered again. */
	now_ns += SECOND_NS;
	job_lease_renew(job, clock_boot_ns() + SECOND_NS);
	job_observe(job, now_ns);
	ck_assert_int_eq(job_limit(job, now_ns, SHARE, &error), 0);
	ck_assert_int_eq(kernel_has_us(), OURS_US);
	ck_assert_uint_eq(job_guard(job)->restarts, 0);
	unguard(job);
	ck_assert_int_eq(kernel_has_us(), -1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("job");
	TCase *tcase = group_case(suite, "group", 60, setup, teardown);

	tcase_add_test(tcase, the_kernels_meter_by_choice_is_no_state);
	tcase_add_test(tcase, a_group_that_goes_before_the_first_look_is_a_state);
	tcase_add_test(tcase, a_new_group_out_of_reach_is_no_limit);
	tcase_add_test(tcase, an_ancestor_below_the_least_quota_leaves_a_share_to_enforce);
	tcase_add_test(tcase, a_stranger_cannot_lock_us_out);
	tcase_add_test(tcase, puts_a_single_change_right_at_once);
	tcase_add_test(tcase, fights_no_other_writer_but_puts_it_right_at_its_own_pace);
	tcase_add_test(tcase, without_a_guard_to_be_had_the_floor_is_the_ceiling);
	tcase_add_test(tcase, with_a_guard_a_limit_lasts_as_long_as_the_lease);
	return suite;
}
