/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The demo's cgroups, programs and observer on the real kernel, v1 or v2. */
#include "config.h"

#include "tests/demo/audit.h"
#include "tests/demo/groups.h"
#include "tests/demo/processes.h"
#include "tests/demo/usage.h"
#include "tests/test.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct groups groups;
static struct error error;
static char node1[DEMO_PATH_BYTES], node2[DEMO_PATH_BYTES];

static void setup(void)
{
	ck_assert_msg(groups_create(&groups, &error) == 0, "%s", error.text);
	ck_assert_msg(groups_add(&groups, "node1", &error) == 0, "%s", error.text);
	ck_assert_msg(groups_add(&groups, "node2", &error) == 0, "%s", error.text);
	groups_directory(&groups, "node1", node1);
	groups_directory(&groups, "node2", node2);
}

static void teardown(void)
{
	(void)groups_kill(&groups);
	(void)descendants_kill();
	(void)groups_remove(&groups, NULL);
}

static void set_quota(const char *group, unsigned quota_us)
{
	char path[DEMO_PATH_BYTES], text[64];

	path_join(path, group, groups.version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
	snprintf(text, sizeof(text), groups.version == 2 ? "%u 100000" : "%u", quota_us);
	ck_assert_msg(file_put(path, text, &error) == 0, "%s", error.text);
}

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static struct child start_busy(const char *group)
{
	const char *argv[] = { "/bin/sh", "-c", "while :; do :; done", NULL };
	struct launch launch = { .argv = argv, .group = group };
	struct child child;

	ck_assert_msg(child_start(&child, "busy", &launch, &error) == 0, "%s", error.text);
	return child;
}

START_TEST(a_new_group_is_limited_from_the_start)
{
	struct quota_files files;
	struct quota quota;

	ck_assert_int_eq(quota_open(node1, &files), 0);
	ck_assert_int_eq(quota_read(&files, &quota), 0);
	ck_assert_int_eq(quota.quota_us, 1000);
	ck_assert_int_eq(quota.period_us, 100000);
	quota_close(&files);
}
END_TEST

START_TEST(the_observer_reads_the_real_files)
{
	static struct audit audit;
	char *directories[] = { node1, node2 };
	unsigned failed;

	ck_assert_int_eq(audit_open(&audit, directories, 2, 500000, &failed), 0);
	set_quota(node1, 30000);
	set_quota(node2, 20000);
	ck_assert(audit_sample(&audit, 1));
	ck_assert_uint_eq(audit.sum_ucpu, 500000);
	set_quota(node2, 20001);
	ck_assert(!audit_sample(&audit, 2));
	ck_assert_int_eq(groups_remove(&groups, &error), 0);
	ck_assert(audit_sample(&audit, 3));
	ck_assert_uint_eq(audit.unreadable, 1);
	ck_assert_int_eq(audit.error, -ENODEV);
	audit_close(&audit);
}
END_TEST

START_TEST(a_program_runs_in_its_group_and_its_time_is_counted)
{
	struct usage usage = { 0 };

	set_quota(node1, 50000);
	struct child child = start_busy(node1);
	usage_update(&usage, node1);
	wait_ms(600);
	usage_update(&usage, node1);
	/* At most half a CPU and one period's worth; how little depends on who else is busy. */
	ck_assert_uint_gt(usage.used_ns, 20000000);
	ck_assert_uint_lt(usage.used_ns, 450000000);
	ck_assert(!child_check(&child));
	child_stop(&child, 1000);
	ck_assert_int_eq(child.pid, 0);
	ck_assert(!child.died && !child.stubborn);
}
END_TEST

START_TEST(whatever_still_runs_is_killed_and_all_is_removed)
{
	(void)start_busy(node1);
	(void)start_busy(node2);
	ck_assert_uint_eq(groups_kill(&groups), 2);
	(void)descendants_kill();
	ck_assert_msg(groups_remove(&groups, &error) == 0, "%s", error.text);
	ck_assert_int_ne(access(node1, F_OK), 0);
	ck_assert_int_eq(groups.run[0], '\0');
}
END_TEST

/* Groups called after a process that is over, as a demo that was killed leaves them. */
static struct groups make_orphan(void)
{
	struct groups orphan = groups;
	char path[DEMO_PATH_BYTES];
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(gone, NULL, 0), gone);
	snprintf(path, sizeof(path), "isobar-demo/%d", (int)gone);
	path_join(orphan.run, groups.mount, path);
	ck_assert_int_eq(mkdir(orphan.run, 0755), 0);
	if (groups.version == 2) {
		path_join(path, orphan.run, "cgroup.subtree_control");
		ck_assert_int_eq(file_put(path, "+cpu", NULL), 0);
	}
	ck_assert_msg(groups_add(&orphan, "node1", &error) == 0, "%s", error.text);
	return orphan;
}

START_TEST(leftovers_are_swept_unless_somebody_lives_in_them)
{
	struct groups orphan = make_orphan();
	char group[DEMO_PATH_BYTES];

	groups_directory(&orphan, "node1", group);
	struct child child = start_busy(group);
	ck_assert_uint_eq(groups_sweep(&groups), 1);
	ck_assert_int_eq(access(group, F_OK), 0);
	child_stop(&child, 1000);
	ck_assert_uint_eq(groups_sweep(&groups), 0);
	ck_assert_int_ne(access(orphan.run, F_OK), 0);
	/* Ours is not a leftover. */
	ck_assert_int_eq(access(node1, F_OK), 0);
}
END_TEST

START_TEST(a_stubborn_program_is_killed_and_told_apart)
{
	const char *argv[] = { "/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done", NULL };
	struct launch launch = { .argv = argv };
	struct child child;
	char end[64];

	ck_assert_int_eq(child_start(&child, "stubborn", &launch, &error), 0);
	wait_ms(200); /* until the trap is set */
	child_stop(&child, 300);
	ck_assert(child.stubborn);
	child_describe_end(&child, end);
	ck_assert_str_eq(end, "signal 9 (Killed)");
}
END_TEST

START_TEST(a_program_that_is_not_there_is_said)
{
	const char *argv[] = { "/nonexistent/program", NULL };
	struct launch launch = { .argv = argv };
	struct child child = { .pid = 77 };

	ck_assert_int_eq(child_start(&child, "ghost", &launch, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, "start ghost (/nonexistent/program)"));
	ck_assert_int_eq(child.pid, 77);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("demo");
	TCase *tcase = tcase_create("kernel");

	if (geteuid() != 0)
		test_skip_all("needs root");
	if (groups_find(&groups, &error) != 0)
		test_skip_all(error.text);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_new_group_is_limited_from_the_start);
	tcase_add_test(tcase, the_observer_reads_the_real_files);
	tcase_add_test(tcase, a_program_runs_in_its_group_and_its_time_is_counted);
	tcase_add_test(tcase, whatever_still_runs_is_killed_and_all_is_removed);
	tcase_add_test(tcase, leftovers_are_swept_unless_somebody_lives_in_them);
	tcase_add_test(tcase, a_stubborn_program_is_killed_and_told_apart);
	tcase_add_test(tcase, a_program_that_is_not_there_is_said);
	suite_add_tcase(suite, tcase);
	return suite;
}
