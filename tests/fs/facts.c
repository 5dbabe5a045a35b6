/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * agent/node/job_facts on the real hierarchy: real-time threads, groups that are
 * empty, frozen, removed and made again, parents that allow less, and another
 * program that writes the limit.  Ticks follow each other as fast as they can:
 * the time between them is made up, what the kernel does is not.
 */
#include "config.h"

#include "agent/node/job_facts.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/cgroup/mounts.h"
#include "agent/ctl/preflighthost.h"
#include "agent/meter/meter.h"
#include "agent/node/job.h"
#include "tests/fs/group.h"
#include "tests/fs/onejob.h"
#include "tests/test.h"

#define S	  1000000000ull
#define SHARE	  300000
#define OURS_US	  30000
#define THEIRS_US 45000

static struct conf conf; /* too large for the stack */
static char directory[PATH_MAX];
static struct job *job;
static uint64_t now_ns;
static int64_t share_ucpu;

static void setup(void)
{
	onejob_begin(&conf);
	snprintf(conf.cgroup, sizeof(conf.cgroup), "%s", group_path("job"));
	conf.ceiling_ucpu = 2000000;
	conf.release_after_ns = 60 * S;
	group_directory("job", directory);
	group_write_limit("", -1, 100000);
	now_ns = clock_now_ns();
	share_ucpu = SHARE;
	job = onejob_open(&conf);
}

static void teardown(void)
{
	job = job_close(job);
	onejob_end();
}

static const struct job_facts *tick(void)
{
	struct error error = { 0 };

	now_ns += S;
	job_observe(job, now_ns);
	(void)job_limit(job, now_ns, share_ucpu, &error);
	return job_facts(job);
}

static const struct job_facts *ticks(unsigned count)
{
	while (--count > 0)
		(void)tick();
	return tick();
}

static const char *state(void)
{
	const char *reason;

	return job_state(job, &reason);
}

static const char *reason(void)
{
	const char *why;

	(void)job_state(job, &why);
	return why;
}

static bool has_note(const char *part)
{
	const struct job_facts *facts = job_facts(job);

	for (unsigned i = 0; i < facts->note_count; i++)
		if (strstr(facts->notes[i], part) != NULL)
			return true;
	return false;
}

static int64_t kernel_has_us(void)
{
	return group_quota_us(directory);
}

static void enter(pid_t pid, const char *in)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)pid);
	ck_assert(group_write_file(in, "cgroup.procs", text));
}

/* On v1 a group has no real-time threads unless it is given time for them, from the top. */
static void make_realtime(pid_t pid)
{
	const struct sched_param param = { .sched_priority = 1 };
	char top[PATH_MAX], path[PATH_MAX + 32];

	group_directory("", top);
	snprintf(path, sizeof(path), "%s/cpu.rt_runtime_us", top);
	if (access(path, F_OK) == 0) {
		ck_assert(group_write_file(top, "cpu.rt_runtime_us", "300000"));
		ck_assert(group_write_file(directory, "cpu.rt_runtime_us", "300000"));
	}
	ck_assert_msg(sched_setscheduler(pid, SCHED_RR, &param) == 0, "SCHED_RR: %s",
		      strerror(errno));
}

static bool uses_realtime(const struct job_facts *facts)
{
	return !facts->has_realtime || facts->realtime_ucpu > 0;
}

static bool is_bound(const struct job_facts *facts)
{
	return facts->unbound[0] == '\0';
}

/*
 * The meter goes by the policy that a thread had when it got its processor, which
 * it may keep until the kernel takes it from a real-time thread: for a second.
 */
static const struct job_facts *until(bool (*holds)(const struct job_facts *))
{
	const struct job_facts *facts = ticks(11);

	for (unsigned ms = 0; !holds(facts) && ms < 10000; ms += 100) {
		usleep(100000);
		facts = ticks(11);
	}
	return facts;
}

START_TEST(real_time_threads_are_not_bound)
{
	const struct sched_param none = { 0 };
	pid_t pid = group_fork_busy(2);

	enter(pid, directory);
	const struct job_facts *facts = tick();
	ck_assert_int_eq(facts->presence, JOB_RUNNING);
	ck_assert(facts->has_tasks);
	ck_assert_uint_ge(facts->tasks.threads, 2);
	ck_assert_uint_eq(facts->tasks.realtime, 0);
	ck_assert_str_eq(facts->unbound, "");

	/* One thread of several. */
	make_realtime(pid);
	facts = ticks(11);
	ck_assert_uint_eq(facts->tasks.realtime, 1);
	ck_assert_str_eq(state(), "degraded");
	ck_assert_ptr_nonnull(strstr(reason(), "not bound by the quota: 1 real-time threads"));
	facts = until(uses_realtime);
	if (facts->has_realtime)
		ck_assert_uint_gt(facts->realtime_ucpu, 0);
	else
		ck_assert_ptr_ne(job_meter_reason(job), NULL);

	ck_assert_int_eq(sched_setscheduler(pid, SCHED_OTHER, &none), 0);
	facts = until(is_bound);
	ck_assert_str_eq(facts->unbound, "");
	ck_assert_str_eq(state(), facts->has_realtime ? "ok" : "degraded");
	group_kill(pid);
}
END_TEST

/* The quota is the least there is, and a real-time thread takes far more. */
START_TEST(while_more_is_used_than_allowed_nothing_is_given)
{
	const struct sched_param none = { 0 };
	pid_t pid;

	if (job_meter(job) == NULL || meter_degraded(job_meter(job)) != NULL) {
		test_skip("no eBPF here");
		return;
	}
	share_ucpu = 10000;
	pid = group_fork_busy(1);
	enter(pid, directory);
	(void)tick();
	make_realtime(pid);
	for (int i = 0; i < 100 && !job_facts(job)->is_overused; i++) {
		usleep(100000);
		(void)tick();
	}
	ck_assert(job_facts(job)->is_overused);
	ck_assert(job_view(job)->hold);
	ck_assert(has_note("times what it may"));
	ck_assert_ptr_nonnull(strstr(reason(), "so nothing is given away"));

	ck_assert_int_eq(sched_setscheduler(pid, SCHED_OTHER, &none), 0);
	(void)ticks(40);
	ck_assert(!job_facts(job)->is_overused);
	ck_assert(!has_note("times what it may"));
	ck_assert(!job_view(job)->hold);
	group_kill(pid);
}
END_TEST

START_TEST(an_empty_group_is_released_and_taken_back)
{
	const struct job_facts *facts = tick();

	ck_assert_int_eq(facts->presence, JOB_EMPTY);
	facts = ticks(59);
	ck_assert(!facts->is_released);
	facts = ticks(1);
	ck_assert(facts->is_released);
	ck_assert(has_note("empty for 60 s: what is above the floor is for the others"));
	/* What it has is enforced all the same. */
	ck_assert_int_eq(kernel_has_us(), OURS_US);

	pid_t pid = group_fork_busy(1);
	enter(pid, directory);
	facts = tick();
	ck_assert_int_eq(facts->presence, JOB_RUNNING);
	ck_assert(!facts->is_released);
	ck_assert_uint_eq(facts->note_count, 0);

	/* In a group below as well. */
	group_make("job/below");
	char below[PATH_MAX];
	group_directory("job/below", below);
	enter(pid, below);
	facts = ticks(100);
	ck_assert_int_eq(facts->presence, JOB_RUNNING);
	group_kill(pid);
	facts = ticks(30);
	ck_assert_int_eq(facts->presence, JOB_EMPTY);
	ck_assert(!facts->is_released);

	/* As reloaded. */
	conf.release_after_ns = 10 * S;
	ck_assert(tick()->is_released);
	conf.release_after_ns = 0;
	ck_assert(!tick()->is_released);
	ck_assert(!ticks(1000)->is_released);
}
END_TEST

/* Where the freezer is: in the group itself, or in a hierarchy of its own. */
static bool find_freezer(char ret_directory[PATH_MAX])
{
	struct mounts_controller freezer;
	int length;

	if (group_version() == 2) {
		memcpy(ret_directory, directory, PATH_MAX);
		return true;
	}
	if (mounts_find("", "freezer", &freezer, NULL) < 0 || freezer.version != 1)
		return false;
	length = snprintf(ret_directory, PATH_MAX, "%s/isobar-test-freezer-%d", freezer.mount,
			  (int)getpid());
	return length < PATH_MAX && mkdir(ret_directory, 0755) == 0;
}

static void freeze(const char *freezer, bool on)
{
	if (group_version() == 2)
		ck_assert(group_write_file(freezer, "cgroup.freeze", on ? "1" : "0"));
	else
		ck_assert(group_write_file(freezer, "freezer.state", on ? "FROZEN" : "THAWED"));
}

START_TEST(a_frozen_job_is_released_and_taken_back)
{
	char freezer[PATH_MAX];
	int found = JOB_UNKNOWN;

	if (!find_freezer(freezer)) {
		test_skip("no freezer here");
		return;
	}
	pid_t pid = group_fork_busy(1);
	enter(pid, directory);
	if (group_version() == 1)
		enter(pid, freezer);
	bool began_running = tick()->presence == JOB_RUNNING;
	freeze(freezer, true);
	/* Freezing takes a moment. */
	for (int i = 0; i < 100 && found != JOB_FROZEN; i++) {
		usleep(10000);
		found = ticks(10)->presence;
	}
	bool is_released = ticks(60)->is_released;
	freeze(freezer, false);
	usleep(20000);
	bool is_back = ticks(2)->presence == JOB_RUNNING && !job_facts(job)->is_released;
	group_kill(pid);
	for (int i = 0; group_version() == 1 && i < 100 && rmdir(freezer) < 0; i++)
		usleep(10000);

	ck_assert(began_running);
	ck_assert_int_eq(found, JOB_FROZEN);
	ck_assert(is_released);
	ck_assert(is_back);
}
END_TEST

START_TEST(a_group_that_is_made_again_is_limited_with_the_next_tick)
{
	pid_t pid;

	ck_assert_int_eq(tick()->presence, JOB_EMPTY);
	ck_assert_int_eq(kernel_has_us(), OURS_US);
	ck_assert_int_eq(rmdir(directory), 0);
	const struct job_facts *facts = tick();
	ck_assert_int_eq(facts->presence, JOB_GONE);
	ck_assert_str_eq(state(), "gone");
	ck_assert(!job_view(job)->hold);
	ck_assert(ticks(60)->is_released);
	ck_assert(has_note("gone for"));

	for (int i = 0; i < 3; i++) {
		group_make("job");
		pid = group_fork_busy(1);
		enter(pid, directory);
		ck_assert_int_eq(kernel_has_us(), -1);
		facts = tick();
		ck_assert_int_eq(facts->presence, JOB_RUNNING);
		ck_assert(!facts->is_released);
		ck_assert_int_ge(kernel_has_us(), 1000);
		ck_assert_int_le(kernel_has_us(), OURS_US);
		ck_assert_str_ne(state(), "gone");
		(void)ticks(3);
		ck_assert_int_eq(kernel_has_us(), OURS_US);
		/* Under our feet, and within one tick: another group of the same name. */
		group_kill(pid);
		for (int tries = 0; tries < 100 && rmdir(directory) < 0; tries++)
			usleep(10000);
	}
}
END_TEST

START_TEST(what_a_parent_allows_is_used_and_the_rest_is_not)
{
	group_write_limit("", 20000, 100000);
	(void)ticks(3);
	ck_assert_int_eq(job_view(job)->ceiling_ucpu, 200000);
	ck_assert_uint_eq(job_view(job)->effective.ucpu, 200000);
	ck_assert_ptr_nonnull(strstr(job_view(job)->effective.by, "cgroup '/isobar-test-"));
	/* v1 would refuse more, v2 takes it and the parent throttles. */
	ck_assert_int_eq(kernel_has_us(), group_version() == 1 ? 20000 : OURS_US);
	ck_assert(cgroup_state(job_cgroup(job)) == CGROUP_OK);
	ck_assert(!job_view(job)->hold);

	group_write_limit("", 25000, 100000);
	(void)ticks(3);
	ck_assert_int_eq(job_view(job)->ceiling_ucpu, 250000);
	ck_assert_int_eq(kernel_has_us(), group_version() == 1 ? 25000 : OURS_US);
	group_write_limit("", -1, 100000);
	(void)ticks(3);
	ck_assert_int_gt(job_view(job)->ceiling_ucpu, 250000);
	ck_assert_str_eq(job_view(job)->effective.by, "online CPUs");
	ck_assert_int_eq(kernel_has_us(), OURS_US);
}
END_TEST

START_TEST(check_warns_of_both)
{
	struct preflight preflight = { 0 };
	pid_t pid = group_fork_busy(2);

	enter(pid, directory);
	(void)tick();
	preflighthost_job(&preflight, &conf, job_cgroup(job));
	ck_assert_uint_eq(preflight.count, 2);
	ck_assert_int_eq(preflight.rows[0].state, PREFLIGHT_OK);
	ck_assert_int_eq(preflight.rows[1].state, PREFLIGHT_OK);
	ck_assert_ptr_nonnull(strstr(preflight.rows[0].detail, "by online CPUs"));

	make_realtime(pid);
	(void)ticks(2);
	share_ucpu = 10000;
	(void)ticks(2);
	group_write_limit("", 5000, 100000);
	preflight.count = 0;
	preflighthost_job(&preflight, &conf, job_cgroup(job));
	ck_assert_int_eq(preflight.rows[0].state, PREFLIGHT_WARNING);
	ck_assert_ptr_nonnull(strstr(preflight.rows[0].detail, "0.0500 CPU by cgroup"));
	ck_assert_ptr_nonnull(strstr(preflight.rows[0].detail, "below the ceiling of 2.0000"));
	ck_assert_int_eq(preflight.rows[1].state, PREFLIGHT_WARNING);
	ck_assert_ptr_nonnull(strstr(preflight.rows[1].detail, "1 of "));
	conf.floor_ucpu = 100000;
	preflight.count = 0;
	preflighthost_job(&preflight, &conf, job_cgroup(job));
	ck_assert_ptr_nonnull(strstr(preflight.rows[0].detail, "below the floor"));
	group_kill(pid);
}
END_TEST

/* A second program that puts its own limit back whenever it sees another one. */
static pid_t fork_writer(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (kernel_has_us() != THEIRS_US)
			group_write_limit("job", THEIRS_US, 100000);
		usleep(1000);
	}
}

START_TEST(another_program_makes_a_conflict_until_it_lets_go)
{
	unsigned count = 0;

	(void)tick();
	ck_assert_int_eq(kernel_has_us(), OURS_US);
	pid_t writer = fork_writer();
	for (; strcmp(state(), "conflict") != 0; count++) {
		ck_assert_uint_lt(count, 200);
		usleep(20000);
		(void)tick();
		/* From the first look on it is known. */
		if (count > 5)
			ck_assert_str_ne(state(), "ok");
	}
	/* Not at once, for that could be a mistake. */
	ck_assert_uint_gt(count, 10);
	ck_assert(job_view(job)->hold);
	ck_assert_ptr_nonnull(strstr(reason(), "another writer keeps changing"));
	ck_assert_uint_gt(cgroup_drift_count(job_cgroup(job)), 5);

	group_kill(writer);
	group_write_limit("job", THEIRS_US, 100000); /* its last word */
	(void)ticks(62);
	ck_assert_int_eq(kernel_has_us(), OURS_US);
	ck_assert_str_eq(state(), "conflict");
	(void)ticks(182);
	ck_assert_str_ne(state(), "conflict");
	ck_assert(cgroup_state(job_cgroup(job)) == CGROUP_OK);
	ck_assert(!job_view(job)->hold);
	ck_assert_int_eq(kernel_has_us(), OURS_US);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("facts");
	TCase *tcase = group_case(suite, "group", 60, setup, teardown);

	test_may_skip();
	tcase_add_test(tcase, real_time_threads_are_not_bound);
	tcase_add_test(tcase, while_more_is_used_than_allowed_nothing_is_given);
	tcase_add_test(tcase, an_empty_group_is_released_and_taken_back);
	tcase_add_test(tcase, a_frozen_job_is_released_and_taken_back);
	tcase_add_test(tcase, a_group_that_is_made_again_is_limited_with_the_next_tick);
	tcase_add_test(tcase, what_a_parent_allows_is_used_and_the_rest_is_not);
	tcase_add_test(tcase, check_warns_of_both);
	tcase_add_test(tcase, another_program_makes_a_conflict_until_it_lets_go);
	return suite;
}
