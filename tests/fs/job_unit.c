/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * agent/node/job with a job that is a unit: the real hierarchy, and a service
 * manager of our own that hangs, writes and forgets as systemd does.
 */
#include "config.h"

#include "agent/node/job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/guard/guard_client.h"
#include "agent/guard/guard_wire.h"
#include "tests/fs/group.h"
#include "tests/fs/manager.h"
#include "tests/fs/onejob.h"
#include "tests/test.h"

#define SECOND_NS 1000000000ull
#define SHARE	  304300
#define SHARE_US  30430
#define KEPT	  300000
#define KEPT_US	  30000

static struct conf conf; /* too large for the stack */
static char directory[PATH_MAX];
static struct manager manager;
static uint64_t now_ns;
static int disk_says; /* an errno */

/* In place of the library's: the disk that the state directory is on. */
int fsync(int fd)
{
	if (disk_says == 0)
		return (int)syscall(SYS_fsync, fd);
	errno = disk_says;
	return -1;
}

static void setup(void)
{
	onejob_begin(&conf);
	snprintf(conf.unit, sizeof(conf.unit), "foo.service");
	group_directory("job", directory);
	manager_start(&manager);
	snprintf(manager.unit->group, sizeof(manager.unit->group), "%s", group_path("job"));
	ck_assert_int_eq(setenv("DBUS_SYSTEM_BUS_ADDRESS", manager.address, 1), 0);
	now_ns = clock_now_ns();
}

static void teardown(void)
{
	manager_stop(&manager);
	onejob_end();
}

/* One tick. */
static int tick(struct job *job, int64_t share_ucpu, struct error *error)
{
	now_ns += SECOND_NS;
	job_observe(job, now_ns);
	return job_limit(job, now_ns, share_ucpu, error);
}

static void kernel_has(int64_t quota_us)
{
	group_assert_limit(directory, quota_us, 100000);
}

static struct job *limited(void)
{
	struct error error = { 0 };
	struct job *job = onejob_open(&conf);

	for (int i = 0; i < 3; i++)
		ck_assert_msg(tick(job, SHARE, &error) == 0, "%s", error.text);
	kernel_has(SHARE_US);
	ck_assert_uint_eq(manager.unit->ucpu, KEPT);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, SHARE);
	return job;
}

/* systemd answers again; after a failure it is left alone for eight seconds at most. */
static void until_answered(struct job *job, int64_t share_ucpu)
{
	struct error error = { 0 };
	uint64_t begin_ns = clock_now_ns();

	manager.unit->delay_ms = 0;
	do {
		ck_assert_uint_lt(clock_now_ns() - begin_ns, 20 * SECOND_NS);
		now_ns += 8 * SECOND_NS;
	} while (tick(job, share_ucpu, &error) == -ETIME);
}

/* This is what systemd writes to the kernel at a reload, and it is nobody's change. */
static void check_reloads(struct job *job, int64_t quota_us)
{
	const char *reason;

	for (int i = 0; i < 8; i++) {
		group_write_limit("job", quota_us, 100000);
		ck_assert_int_eq(tick(job, SHARE, NULL), 0);
		kernel_has(SHARE_US);
	}
	ck_assert_uint_eq(cgroup_drift_count(job_cgroup(job)), 0);
	ck_assert_str_ne(job_state(job, &reason), "drifted");
	ck_assert_str_ne(job_state(job, &reason), "conflict");
}

START_TEST(both_limits_follow_the_share)
{
	struct error error = { 0 };
	struct job *job = limited();

	ck_assert_int_eq(tick(job, 104300, &error), 0);
	kernel_has(10430);
	ck_assert_uint_eq(manager.unit->ucpu, 100000);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, 104300);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(tick(job, 504300, &error), 0);
	kernel_has(50430);
	ck_assert_uint_eq(manager.unit->ucpu, 500000);
	job_close(job);
}
END_TEST

START_TEST(what_systemd_writes_again_is_no_change_by_others)
{
	struct job *job = limited();

	check_reloads(job, KEPT_US);
	job_close(job);
}
END_TEST

START_TEST(a_lowering_counts_when_systemd_has_it)
{
	struct error error = { 0 };
	struct job *job = limited();

	manager.unit->delay_ms = 1500;
	ck_assert_int_eq(tick(job, 204300, &error), -ETIME);
	/* The kernel has it, but a reload would undo it. */
	kernel_has(20430);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, KEPT);
	ck_assert_int_lt(tick(job, 204300, &error), 0);
	until_answered(job, 204300);
	ck_assert_uint_eq(manager.unit->ucpu, 200000);
	kernel_has(20430);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, 204300);
	job_close(job);
}
END_TEST

START_TEST(a_systemd_that_is_slow_at_the_start_is_waited_for)
{
	struct error error = { 0 };

	manager.unit->delay_ms = 300; /* an answer; there are half a dozen of them */
	struct job *job = onejob_open(&conf);
	ck_assert_uint_eq(manager.unit->ucpu, 10000);
	/* When it runs it does not wait for six of them. */
	uint64_t begin_ns = clock_now_ns();
	now_ns = begin_ns;
	(void)tick(job, SHARE, &error);
	ck_assert_uint_lt(clock_now_ns() - begin_ns, 6 * 300 * (SECOND_NS / 1000));
	job_close(job);
}
END_TEST

START_TEST(a_quota_set_by_others_is_set_again)
{
	struct job *job = limited();

	/* systemctl set-property CPUQuota= */
	manager.unit->ucpu = UINT64_MAX;
	group_write_limit("job", -1, 100000);
	ck_assert_int_eq(tick(job, SHARE, NULL), 0);
	ck_assert_uint_eq(manager.unit->ucpu, KEPT);
	kernel_has(SHARE_US);
	ck_assert_uint_eq(cgroup_drift_count(job_cgroup(job)), 1);
	job_close(job);
}
END_TEST

START_TEST(a_quota_that_cannot_be_asked_for_may_be_anything)
{
	struct error error = { 0 };
	struct job *job = limited();

	manager.unit->ucpu = UINT64_MAX;
	group_write_limit("job", -1, 100000);
	manager.unit->delay_ms = 1500;
	ck_assert_int_eq(tick(job, SHARE, &error), -ETIME);
	/* The kernel's file has been put right, but a reload would undo it. */
	kernel_has(SHARE_US);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, INT64_MAX);
	until_answered(job, SHARE);
	ck_assert_uint_eq(manager.unit->ucpu, KEPT);
	kernel_has(SHARE_US);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, SHARE);
	job_close(job);
}
END_TEST

/* The unit runs, from now on. */
static void check_started(struct job *job)
{
	struct error error = { 0 };
	const char *reason;

	snprintf(manager.unit->group, sizeof(manager.unit->group), "%s", group_path("job"));
	for (int i = 0; i < 4; i++)
		(void)tick(job, SHARE, &error);
	kernel_has(SHARE_US);
	ck_assert_uint_eq(manager.unit->ucpu, KEPT);
	ck_assert_str_ne(job_state(job, &reason), "gone");
}

START_TEST(the_share_of_a_stopped_unit_is_free_once_systemd_knows)
{
	struct error error = { 0 };
	const char *reason;
	struct job *job = limited();

	manager.unit->group[0] = '\0';
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert_int_eq(tick(job, SHARE, &error), 0);
	ck_assert_int_eq(tick(job, SHARE, &error), 0);
	ck_assert_str_eq(job_state(job, &reason), "gone");
	ck_assert_str_eq(reason, "unit foo.service is not running (inactive)");
	/* When it starts it has this much: so long it is not the others'. */
	ck_assert_int_eq(job_view(job)->enforced_ucpu, KEPT);
	ck_assert(!job_view(job)->hold);
	ck_assert_int_eq(tick(job, 10000, &error), 0);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, 10000);
	ck_assert_uint_eq(manager.unit->ucpu, 10000);

	group_make("job");
	group_write_limit("job", 1000, 100000);
	check_started(job);
	job_close(job);
}
END_TEST

START_TEST(one_that_is_there_again_is_limited_at_the_next_look)
{
	struct error error = { 0 };
	const char *reason;
	struct job *job = limited();

	ck_assert_int_eq(rmdir(directory), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(tick(job, SHARE, &error), 0);
	group_make("job");
	/* Much sooner than it asks systemd for its group again. */
	now_ns += SECOND_NS / 20 - SECOND_NS;
	ck_assert_int_eq(tick(job, SHARE, &error), 0);
	kernel_has(SHARE_US);
	ck_assert_str_ne(job_state(job, &reason), "gone");
	job_close(job);
}
END_TEST

/* A transient unit is a new one each time, without a quota. */
START_TEST(one_made_anew_while_systemd_hangs_is_limited_and_uncertain)
{
	struct error error = { 0 };
	struct job *job = limited();

	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert_int_eq(tick(job, SHARE, &error), 0);
	manager.unit->ucpu = UINT64_MAX;
	group_make("job");
	manager.unit->delay_ms = 1500;
	ck_assert_int_eq(tick(job, SHARE, &error), -ETIME);
	kernel_has(SHARE_US);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, INT64_MAX);
	until_answered(job, SHARE);
	ck_assert_uint_eq(manager.unit->ucpu, KEPT);
	ck_assert_int_eq(job_view(job)->enforced_ucpu, SHARE);
	job_close(job);
}
END_TEST

START_TEST(a_unit_that_does_not_run_yet_is_gone)
{
	struct error error = { 0 };
	const char *reason;

	manager.unit->group[0] = '\0';
	struct job *job = onejob_open(&conf);
	ck_assert_int_eq(tick(job, SHARE, &error), 0);
	ck_assert_str_eq(job_state(job, &reason), "gone");
	ck_assert_uint_eq(manager.unit->ucpu, 10000);
	check_started(job);
	job_close(job);
}
END_TEST

/* With leases, so with a guard.  Its process. */
static pid_t start_guarded(struct job **ret_job)
{
	const char *builddir = getenv("top_builddir");
	struct error error = { 0 };

	snprintf(conf.guard.executable, sizeof(conf.guard.executable), "%s/agent/isobar-guard",
		 builddir != NULL ? builddir : ".");
	snprintf(conf.run_directory, sizeof(conf.run_directory), "%s", conf.state_directory);
	snprintf(conf.listen, sizeof(conf.listen), "tcp://127.0.0.1:7201");
	conf.trading.lease_ns = 30 * SECOND_NS;
	conf.trading.guard_ns = SECOND_NS / 5;
	ck_assert(conf_is_guarded(&conf));
	*ret_job = onejob_open(&conf);
	for (int i = 0; i < 3; i++) {
		job_lease_renew(*ret_job, clock_boot_ns() + 29 * SECOND_NS);
		ck_assert_msg(tick(*ret_job, SHARE, &error) == 0, "%s", error.text);
	}
	kernel_has(SHARE_US);
	ck_assert_int_eq(job_view(*ret_job)->enforced_ucpu, SHARE);
	ck_assert_int_gt(job_guard(*ret_job)->pid, 0);
	return job_guard(*ret_job)->pid;
}

/* As the agent's death; the guard would stay as long as the group. */
static void end_guarded(struct job *job, pid_t guard)
{
	char path[256];

	job_close(job);
	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	snprintf(path, sizeof(path), "%s/" GUARD_LOCK, onejob_state);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/" GUARD_SOCKET, onejob_state);
	(void)unlink(path);
}

START_TEST(with_leases_systemd_never_has_more_than_the_floor)
{
	struct error error = { 0 };
	struct job *job;

	/* From an agent without leases. */
	manager.unit->ucpu = 700000;
	manager.unit->period_us = 100000;
	pid_t guard = start_guarded(&job);
	ck_assert_uint_eq(manager.unit->ucpu, 10000);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(tick(job, 2 * SHARE, &error), 0);
	kernel_has(2 * SHARE_US);
	ck_assert_uint_eq(manager.unit->ucpu, 10000);
	ck_assert_uint_eq(manager.unit->calls, 1);

	/* systemctl set-property CPUQuota= */
	manager.unit->ucpu = 800000;
	group_write_limit("job", 80000, 100000);
	ck_assert_int_eq(tick(job, 2 * SHARE, &error), 0);
	ck_assert_uint_eq(manager.unit->ucpu, 10000);
	kernel_has(2 * SHARE_US);
	ck_assert_uint_eq(cgroup_drift_count(job_cgroup(job)), 1);
	end_guarded(job, guard);
	ck_assert_uint_eq(manager.unit->ucpu, 10000);
}
END_TEST

START_TEST(the_floor_that_a_reload_writes_is_no_drift_and_lasts_a_tick)
{
	struct job *job;
	pid_t guard = start_guarded(&job);
	unsigned calls = manager.unit->calls, peers = manager.unit->peers;

	check_reloads(job, 1000);
	/* Nor is systemd asked or told anything. */
	ck_assert_uint_eq(manager.unit->calls, calls);
	ck_assert_uint_eq(manager.unit->peers, peers);
	end_guarded(job, guard);
}
END_TEST

START_TEST(a_low_quota_from_before_is_no_drift_with_its_own_period)
{
	struct error error = { 0 };
	struct job *job;

	manager.unit->ucpu = 30000; /* CPUQuota=3%, per 100 ms */
	conf.floor_ucpu = 20000;
	conf.period_ns = SECOND_NS / 20;
	job = onejob_open(&conf);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(tick(job, 35000, &error), 0);
		group_assert_limit(directory, 1750, 50000);
		/* A reload. */
		group_write_limit("job", 3000, 100000);
	}
	ck_assert_int_eq(tick(job, 35000, &error), 0);
	ck_assert_uint_eq(manager.unit->calls, 0);
	ck_assert_uint_eq(cgroup_drift_count(job_cgroup(job)), 0);
	job_close(job);
}
END_TEST

START_TEST(restore_puts_back_what_was_there_before_the_first_agent)
{
	struct error error = { 0 };

	manager.unit->ucpu = 700000;
	group_write_limit("job", 70000, 100000);
	conf.on_exit = CONF_ON_EXIT_RESTORE;
	/* The first one is killed. */
	job_close(limited());
	struct job *job = limited();
	ck_assert_msg(job_leave(job, &error) == 0, "%s", error.text);
	job_close(job);
	ck_assert_uint_eq(manager.unit->ucpu, 700000);
	ck_assert_uint_eq(manager.unit->period_us, UINT64_MAX);
	kernel_has(70000);
}
END_TEST

START_TEST(a_disk_without_room_is_no_reason_not_to_limit)
{
	static const int codes[] = { ENOSPC, EDQUOT, EROFS };
	struct error error = { 0 };
	struct job *job = NULL;

	conf.on_exit = CONF_ON_EXIT_RESTORE;
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		manager.unit->ucpu = 700000;
		group_write_limit("job", 70000, 100000);
		disk_says = codes[i];
		job = limited();
		ck_assert_msg(job_leave(job, &error) == 0, "%s", error.text);
		job = job_close(job);
		ck_assert_uint_eq(manager.unit->ucpu, 700000);
		kernel_has(70000);
	}
	/* A disk that fails is another matter. */
	disk_says = EIO;
	ck_assert_int_eq(job_open(&conf, conf.floor_ucpu, &job, &error), -EIO);
	ck_assert_ptr_nonnull(strstr(error.text, "unit-before"));
}
END_TEST

START_TEST(what_was_kept_is_put_back_though_the_disk_has_no_room_any_more)
{
	struct error error = { 0 };

	manager.unit->ucpu = 700000;
	conf.on_exit = CONF_ON_EXIT_RESTORE;
	job_close(limited());
	disk_says = ENOSPC;
	struct job *job = limited();
	ck_assert_msg(job_leave(job, &error) == 0, "%s", error.text);
	job_close(job);
	ck_assert_uint_eq(manager.unit->ucpu, 700000);
}
END_TEST

static void put_dropin(void)
{
	FILE *file;

	snprintf(manager.unit->dropin, sizeof(manager.unit->dropin), "%s/override.conf",
		 onejob_state);
	file = fopen(manager.unit->dropin, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs("[Service]\nCPUQuota=200%\n", file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_unit_that_a_reload_would_lift_is_refused)
{
	struct error error = { 0 };
	struct job *job = NULL;

	put_dropin();
	ck_assert_int_eq(job_open(&conf, conf.floor_ucpu, &job, &error), -EEXIST);
	ck_assert_ptr_nonnull(strstr(error.text, "/override.conf' has a CPUQuota"));
	ck_assert_uint_eq(manager.unit->calls, 0);
	/* One that only looks may look. */
	conf.dry_run = true;
	job_close(onejob_open(&conf));
	ck_assert_int_eq(unlink(manager.unit->dropin), 0);
}
END_TEST

START_TEST(a_unit_that_a_reload_has_lifted_is_named_until_it_is_put_right)
{
	struct job *job = limited();
	const char *reason;

	/* An administrator writes a file, and systemd reads it. */
	put_dropin();
	manager.unit->ucpu = 2000000;
	group_write_limit("job", 200000, 100000);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(tick(job, SHARE, NULL), 0);
	kernel_has(SHARE_US);
	ck_assert_str_eq(job_state(job, &reason), "degraded");
	ck_assert_ptr_nonnull(strstr(reason, "/override.conf' has a CPUQuota"));
	ck_assert_int_eq(unlink(manager.unit->dropin), 0);
	manager.unit->dropin[0] = '\0';
	for (int i = 0; i < 600 && strcmp(job_state(job, &reason), "ok") != 0; i++)
		ck_assert_int_eq(tick(job, SHARE, NULL), 0);
	ck_assert_str_eq(job_state(job, &reason), "ok");
	job_close(job);
}
END_TEST

START_TEST(a_dry_run_tells_systemd_nothing)
{
	conf.dry_run = true;
	struct job *job = onejob_open(&conf);

	ck_assert_int_eq(tick(job, SHARE, NULL), 0);
	ck_assert_int_eq(tick(job, 2 * SHARE, NULL), 0);
	ck_assert_uint_eq(manager.unit->calls, 0);
	kernel_has(-1);
	job_close(job);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("job as a unit");
	TCase *tcase = group_case(suite, "a manager of our own", 30, setup, teardown);

	tcase_add_test(tcase, both_limits_follow_the_share);
	tcase_add_test(tcase, what_systemd_writes_again_is_no_change_by_others);
	tcase_add_test(tcase, a_lowering_counts_when_systemd_has_it);
	tcase_add_test(tcase, a_systemd_that_is_slow_at_the_start_is_waited_for);
	tcase_add_test(tcase, a_quota_set_by_others_is_set_again);
	tcase_add_test(tcase, a_quota_that_cannot_be_asked_for_may_be_anything);
	tcase_add_test(tcase, the_share_of_a_stopped_unit_is_free_once_systemd_knows);
	tcase_add_test(tcase, one_that_is_there_again_is_limited_at_the_next_look);
	tcase_add_test(tcase, one_made_anew_while_systemd_hangs_is_limited_and_uncertain);
	tcase_add_test(tcase, a_unit_that_does_not_run_yet_is_gone);
	tcase_add_test(tcase, with_leases_systemd_never_has_more_than_the_floor);
	tcase_add_test(tcase, the_floor_that_a_reload_writes_is_no_drift_and_lasts_a_tick);
	tcase_add_test(tcase, a_low_quota_from_before_is_no_drift_with_its_own_period);
	tcase_add_test(tcase, restore_puts_back_what_was_there_before_the_first_agent);
	tcase_add_test(tcase, a_disk_without_room_is_no_reason_not_to_limit);
	tcase_add_test(tcase, what_was_kept_is_put_back_though_the_disk_has_no_room_any_more);
	tcase_add_test(tcase, a_unit_that_a_reload_would_lift_is_refused);
	tcase_add_test(tcase, a_unit_that_a_reload_has_lifted_is_named_until_it_is_put_right);
	tcase_add_test(tcase, a_dry_run_tells_systemd_nothing);
	return suite;
}
