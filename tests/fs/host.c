/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * agent/cgroup on the real hierarchy of this host, v1 or v2.  Everything
 * happens below one group of our own, which is removed at the end.
 */
#include "config.h"

#include "agent/base/clock.h"
#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/mounts.h"
#include "tests/fs/group.h"
#include "tests/test.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOUNT_RO (MS_REMOUNT | MS_BIND | MS_RDONLY)

static char saved_path[64];

static struct cgroup_config configure(const char *path)
{
	return (struct cgroup_config){
		.path = path,
		.period_us = 100000,
		.first_quota_us = 10000,
		.on_exit = CGROUP_REMOVE,
		.create = true,
	};
}

static struct cgroup *must_open(const struct cgroup_config *config)
{
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };

	ck_assert_msg(cgroup_open(config, &cgroup, &error) == 0, "%s", error.text);
	return cgroup;
}

static void must_write(struct cgroup *cgroup, uint64_t quota_us)
{
	struct error error = { 0 };

	ck_assert_msg(cgroup_write(cgroup, quota_us, &error) == 0, "%s", error.text);
}

static void assert_kernel_has(struct cgroup *cgroup, int64_t quota_us, uint64_t period_us)
{
	group_assert_limit(cgroup_directory(cgroup), quota_us, period_us);
}

START_TEST(creates_with_the_first_quota_and_removes)
{
	struct cgroup_config config = configure(group_path("parent/job"));
	struct cgroup *cgroup = must_open(&config);
	char directory[PATH_MAX];
	struct stat status;

	snprintf(directory, sizeof(directory), "%s", cgroup_directory(cgroup));
	assert_kernel_has(cgroup, 10000, 100000);
	ck_assert_int_eq(stat(directory, &status), 0);
	ck_assert_uint_eq(cgroup_id(cgroup), status.st_ino);
	ck_assert_uint_eq(cgroup_level(cgroup), 3);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_OK);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup = cgroup_close(cgroup);
	ck_assert_int_eq(stat(directory, &status), -1);
	*strrchr(directory, '/') = '\0';
	ck_assert_int_eq(stat(directory, &status), -1); /* the parent was ours as well */
	*strrchr(directory, '/') = '\0';
	ck_assert_int_eq(stat(directory, &status), 0);
}
END_TEST

START_TEST(never_enables_controllers_of_the_leaf)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *cgroup = must_open(&config);
	char text[64] = "";

	if (cgroup_version(cgroup) == 2)
		group_read_file(cgroup_directory(cgroup), "cgroup.subtree_control", text,
				sizeof(text));
	ck_assert_ptr_null(strstr(text, "cpu"));
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(writes_and_reads_back)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *cgroup = must_open(&config);
	struct cgroup_limit limit;
	struct error error;

	must_write(cgroup, 25000);
	assert_kernel_has(cgroup, 25000, 100000);
	ck_assert_int_eq(cgroup_read(cgroup, &limit, NULL), 0);
	ck_assert(!limit.unlimited);
	ck_assert_uint_eq(limit.quota_us, 25000);
	ck_assert_uint_eq(limit.period_us, 100000);
	ck_assert_int_eq(cgroup_write(cgroup, 999, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "minimum"));
	assert_kernel_has(cgroup, 25000, 100000);
	must_write(cgroup, 1000);
	assert_kernel_has(cgroup, 1000, 100000);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
}
END_TEST

/* The step between the two writes of v1 must stay below a parent that allows no more. */
START_TEST(changes_quota_and_period_in_the_right_order)
{
	static const uint64_t limits[][2] = {
		{ 50000, 100000 }, { 2000, 10000 }, { 5000, 10000 }, { 20000, 100000 },
		{ 500000, 1000000 }, { 1000, 2000 }, { 50000, 100000 },
	};
	const char *path = group_path("parent/job");

	group_make("parent");
	group_write_limit("parent", 50000, 100000);
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct cgroup_config config = configure(path);
		struct cgroup *cgroup;

		config.period_us = limits[i][1];
		config.first_quota_us = limits[i][0];
		config.on_exit = CGROUP_KEEP;
		cgroup = must_open(&config);
		must_write(cgroup, limits[i][0]);
		assert_kernel_has(cgroup, (int64_t)limits[i][0], limits[i][1]);
		cgroup_close(cgroup);
	}
}
END_TEST

START_TEST(explains_what_the_parent_allows)
{
	struct cgroup_config config = configure(group_path("parent/job"));
	struct cgroup_effective effective;
	struct cgroup *cgroup;
	struct error error = { 0 };

	group_make("parent");
	group_write_limit("parent", 30000, 100000);
	cgroup = must_open(&config);
	if (cgroup_version(cgroup) == 1) {
		ck_assert_int_eq(cgroup_write(cgroup, 50000, &error), -EINVAL);
		ck_assert_ptr_nonnull(strstr(error.text, "allows 30000/100000 us, wanted 50000/"));
		ck_assert_ptr_nonnull(strstr(error.text, group_path("parent")));
		ck_assert_int_eq(cgroup_state(cgroup), CGROUP_DEGRADED);
		assert_kernel_has(cgroup, 10000, 100000);
		must_write(cgroup, 20000);
		ck_assert_int_eq(cgroup_state(cgroup), CGROUP_OK);
	} else {
		must_write(cgroup, 50000); /* v2 takes it, and the parent throttles */
	}
	ck_assert_int_eq(cgroup_effective(cgroup, &effective, &error), 0);
	ck_assert_uint_eq(effective.ceiling_ucpu, 300000);
	ck_assert_ptr_nonnull(strstr(effective.by, group_path("parent")));
	ck_assert_uint_le(effective.ucpu, 300000);
	ck_assert_uint_ge(effective.cpus, 1);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(repairs_drift_and_gives_way_in_conflict)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *cgroup = must_open(&config);
	uint64_t now_ns = 1000000000;

	must_write(cgroup, 20000);
	ck_assert_int_eq(cgroup_check(cgroup, now_ns, NULL), 0);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_OK);
	group_write_limit("job", 40000, 100000);
	ck_assert_int_eq(cgroup_check(cgroup, now_ns, NULL), 0);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_DRIFTED);
	ck_assert_uint_eq(cgroup_drift_count(cgroup), 1);
	assert_kernel_has(cgroup, 20000, 100000);

	/* At once again: now it waits a second. */
	group_write_limit("job", -1, 100000);
	ck_assert_int_eq(cgroup_check(cgroup, now_ns + 1000, NULL), -ESTALE);
	assert_kernel_has(cgroup, -1, 100000);
	for (int i = 0; i < 6; i++) {
		now_ns += 60000000000;
		group_write_limit("job", 40000, 100000);
		(void)cgroup_check(cgroup, now_ns, NULL);
	}
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_CONFLICT);
	ck_assert_ptr_nonnull(strstr(cgroup_reason(cgroup), "another writer"));
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(knows_when_the_group_has_gone)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *cgroup = must_open(&config);
	struct cgroup_limit limit = { .quota_us = 7 };
	struct cgroup_stat stat;
	struct error error = { 0 };
	bool populated;

	must_write(cgroup, 20000);
	ck_assert_int_eq(rmdir(cgroup_directory(cgroup)), 0);
	group_make("job"); /* another group of the same name is not ours */
	ck_assert_int_eq(cgroup_check(cgroup, 1, &error), -ENODEV);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_GONE);
	ck_assert_ptr_nonnull(strstr(error.text, "removed"));
	ck_assert_int_eq(cgroup_write(cgroup, 30000, NULL), -ENODEV);
	ck_assert_int_eq(cgroup_read(cgroup, &limit, NULL), -ENODEV);
	ck_assert_uint_eq(limit.quota_us, 7);
	ck_assert_int_eq(cgroup_stat(cgroup, &stat, NULL), -ENODEV);
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), -ENODEV);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_GONE);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(attaches_a_process_with_its_threads)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *cgroup = must_open(&config);
	pid_t pid = group_fork_busy(2);
	char path[PATH_MAX], thread[PATH_MAX];
	struct cgroup_stat before, after;
	struct error error = { 0 };
	bool populated = true;

	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(!populated);
	ck_assert_msg(cgroup_attach(cgroup, pid, &error) == 0, "%s", error.text);
	ck_assert_int_eq(mounts_group_of("", pid, "cpu", cgroup_version(cgroup), path, NULL), 0);
	ck_assert_str_eq(path, cgroup_path(cgroup));
	group_thread_path(pid, cgroup_version(cgroup), thread);
	ck_assert_str_eq(thread, cgroup_path(cgroup));
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(populated);
	ck_assert_int_eq(cgroup_stat(cgroup, &before, NULL), 0);
	for (int i = 0; i < 200; i++) {
		usleep(50000);
		ck_assert_int_eq(cgroup_stat(cgroup, &after, NULL), 0);
		if (after.periods_throttled >= before.periods_throttled + 3)
			break;
	}
	ck_assert_uint_ge(after.periods, before.periods + 3);
	ck_assert_uint_gt(after.throttled_ns, before.throttled_ns);
	ck_assert_int_lt(cgroup_leave(cgroup, &error), 0); /* it is in use */
	ck_assert_ptr_nonnull(strstr(error.text, "it has processes"));
	group_kill(pid);
	ck_assert_int_eq(cgroup_attach(cgroup, pid, &error), -ESRCH);
	for (int i = 0; i < 100 && populated; i++) {
		usleep(20000);
		ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	}
	ck_assert(!populated);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(restores_what_was_there)
{
	static const int64_t originals[] = { 70000, -1 };

	for (unsigned i = 0; i < 2; i++) {
		struct cgroup_config config = configure(group_path("job"));
		struct cgroup *cgroup;

		group_make("job");
		group_write_limit("job", originals[i], 50000);
		config.on_exit = i == 0 ? CGROUP_RESTORE : CGROUP_REMOVE; /* not ours: restored */
		cgroup = must_open(&config);
		assert_kernel_has(cgroup, originals[i], 50000);
		must_write(cgroup, 20000);
		ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
		assert_kernel_has(cgroup, originals[i], 50000);
		cgroup_close(cgroup);
	}
}
END_TEST

START_TEST(keeps_the_original_over_a_crash)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *cgroup;

	group_make("job");
	group_write_limit("job", 70000, 100000);
	config.on_exit = CGROUP_RESTORE;
	config.saved_path = saved_path;
	cgroup = must_open(&config);
	must_write(cgroup, 20000);
	cgroup_close(cgroup); /* as a kill would */
	cgroup = must_open(&config);
	must_write(cgroup, 30000);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	assert_kernel_has(cgroup, 70000, 100000);
	ck_assert_int_eq(access(saved_path, F_OK), -1);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(removes_its_own_group_after_a_crash)
{
	struct cgroup_config config = configure(group_path("mine"));
	struct cgroup *cgroup;
	char directory[PATH_MAX];

	config.saved_path = saved_path;
	cgroup = must_open(&config);
	snprintf(directory, sizeof(directory), "%s", cgroup_directory(cgroup));
	cgroup_close(cgroup);
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
	ck_assert_int_eq(access(directory, F_OK), -1);
}
END_TEST

START_TEST(refuses_a_second_agent)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *first = must_open(&config), *second = NULL;
	struct error error = { 0 };

	ck_assert_int_eq(cgroup_open(&config, &second, &error), -EBUSY);
	ck_assert_ptr_nonnull(strstr(error.text, "another agent"));
	ck_assert_ptr_null(second);
	ck_assert_int_eq(access(cgroup_directory(first), F_OK), 0);
	ck_assert_int_eq(cgroup_leave(first, NULL), 0);
	cgroup_close(first);
	first = must_open(&config);
	ck_assert_int_eq(cgroup_leave(first, NULL), 0);
	cgroup_close(first);
}
END_TEST

START_TEST(takes_the_burst_away)
{
	struct cgroup_config config = configure(group_path("job"));
	const char *file = group_version() == 2 ? "cpu.max.burst" : "cpu.cfs_burst_us";
	char directory[PATH_MAX], text[64];
	struct cgroup *cgroup;

	group_make("job");
	group_write_limit("job", 50000, 100000);
	group_directory("job", directory);
	if (!group_write_file(directory, file, "20000"))
		return; /* a kernel without bursts */
	config.on_exit = CGROUP_RESTORE;
	cgroup = must_open(&config);
	group_read_file(directory, file, text, sizeof(text));
	ck_assert_str_eq(text, "0\n");
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	group_read_file(directory, file, text, sizeof(text));
	ck_assert_str_eq(text, "20000\n");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(dry_run_writes_nothing)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup_limit limit;
	struct cgroup *cgroup;
	char directory[PATH_MAX];

	config.dry_run = true;
	cgroup = must_open(&config);
	group_directory("job", directory);
	ck_assert_int_eq(access(directory, F_OK), -1);
	must_write(cgroup, 20000);
	ck_assert_int_eq(cgroup_read(cgroup, &limit, NULL), 0);
	ck_assert_uint_eq(limit.quota_us, 20000);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_DRY_RUN);
	cgroup_close(cgroup);

	group_make("job");
	group_write_limit("job", 70000, 100000);
	cgroup = must_open(&config);
	must_write(cgroup, 20000);
	assert_kernel_has(cgroup, 70000, 100000);
	ck_assert_int_eq(cgroup_attach(cgroup, getpid(), NULL), 0);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(names_the_ancestor_that_lacks_cpu)
{
	struct cgroup_config config = configure(group_path("parent/job"));
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };

	if (group_version() != 2)
		return;
	group_make("parent");
	group_make("parent/job");
	config.create = false;
	ck_assert_int_eq(cgroup_open(&config, &cgroup, &error), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(error.text, group_path("parent")));
	ck_assert_ptr_nonnull(strstr(error.text, "lacks cpu"));
}
END_TEST

START_TEST(refuses_its_own_group)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup *cgroup, *again = NULL;
	struct error error = { 0 };
	pid_t pid = fork();

	if (pid == 0) {
		cgroup = must_open(&config);
		ck_assert_int_eq(cgroup_attach(cgroup, getpid(), NULL), 0);
		cgroup_close(cgroup);
		if (cgroup_open(&config, &again, &error) != -EBUSY ||
		    strstr(error.text, "throttle itself") == NULL)
			_exit(1);
		config.path = group_path("job/below"); /* throttles nobody but the job */
		config.create = false;
		_exit(cgroup_open(&config, &again, &error) == -ENOENT ? 0 : 2);
	}
	ck_assert_int_eq(group_wait(pid), 0);
}
END_TEST

static void must_put(const char *directory, const char *file, const char *text)
{
	ck_assert_msg(group_write_file(directory, file, text), "%s/%s: %s", directory, file, text);
}

START_TEST(limits_a_threaded_group_like_others)
{
	struct cgroup_config config = configure(group_path("parent/job"));
	struct cgroup_processes processes;
	struct error error = { 0 };
	char parent[PATH_MAX], directory[PATH_MAX];
	bool is_populated = false;

	if (group_version() == 1)
		return; /* there a group holds threads of any process */
	group_make("parent");
	group_make("parent/job");
	group_directory("parent", parent);
	group_directory("parent/job", directory);
	must_put(directory, "cgroup.type", "threaded");
	must_put(parent, "cgroup.subtree_control", "+cpu");
	config.create = false;
	config.on_exit = CGROUP_RESTORE;
	struct cgroup *cgroup = must_open(&config);
	must_write(cgroup, 20000);
	assert_kernel_has(cgroup, 20000, 100000);
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	ck_assert_msg(cgroup_attach(cgroup, pid, &error) == 0, "%s", error.text);
	ck_assert_int_eq(cgroup_populated(cgroup, &is_populated, &error), 0);
	ck_assert(is_populated);
	/* Its list of processes cannot be read, that of its threads can. */
	cgroup_processes("", directory, 1000, &processes);
	ck_assert_uint_eq(processes.count, 1);
	cgroup_processes("", parent, 1000, &processes);
	ck_assert_uint_eq(processes.count, 1);
	ck_assert_int_eq(cgroup_leave(cgroup, &error), 0);
	assert_kernel_has(cgroup, -1, 100000);
	cgroup_close(cgroup);
	group_kill(pid);
}
END_TEST

START_TEST(refuses_a_child_beside_processes_by_its_type)
{
	struct cgroup_config config = configure(group_path("parent/job"));
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };
	char parent[PATH_MAX];

	if (group_version() == 1)
		return;
	group_make("parent");
	group_make("parent/job");
	group_directory("parent", parent);
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	char text[32];
	snprintf(text, sizeof(text), "%d", (int)pid);
	must_put(parent, "cgroup.procs", text);
	must_put(parent, "cgroup.subtree_control", "+cpu");
	config.create = false;
	ck_assert_int_lt(cgroup_open(&config, &cgroup, &error), 0);
	ck_assert_msg(strstr(error.text, "domain invalid") != NULL, "%s", error.text);
	group_kill(pid);
}
END_TEST

/* The tree is that of the host, the names are those of the namespace. */
START_TEST(names_a_namespace_that_hides_the_group)
{
	struct cgroup_config config = configure(group_path("job"));
	struct cgroup_config own = configure(group_path("inside"));
	pid_t pid;

	if (getenv("ISO_VM") == NULL)
		return;
	group_make("job");
	config.create = false;
	struct cgroup *inside = must_open(&own);
	pid = fork();
	if (pid == 0) {
		struct cgroup *cgroup = NULL;
		struct error error = { 0 };

		ck_assert_int_eq(cgroup_attach(inside, getpid(), NULL), 0);
		ck_assert_int_eq(unshare(CLONE_NEWCGROUP), 0);
		int r = cgroup_open(&config, &cgroup, &error);
		printf("# %d: %s\n", r, error.text);
		_exit(r < 0 && strstr(error.text, "namespace") != NULL ? 0 : 1);
	}
	ck_assert_int_eq(group_wait(pid), 0);
	cgroup_close(inside);
}
END_TEST

/* Only in the virtual machine: no test mounts anything on the host. */
START_TEST(names_a_read_only_file_system)
{
	struct cgroup_config config = configure(group_path("job"));
	struct mounts_controller mounts;
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };

	if (getenv("ISO_VM") == NULL)
		return;
	ck_assert_int_eq(mounts_find("", "cpu", &mounts, NULL), 0);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount(NULL, mounts.mount, NULL, REMOUNT_RO, NULL), 0);
	ck_assert_int_eq(cgroup_open(&config, &cgroup, &error), -EROFS);
	ck_assert_ptr_nonnull(strstr(error.text, "ProtectControlGroups=no"));
	ck_assert_int_eq(mount(NULL, mounts.mount, NULL, MS_REMOUNT | MS_BIND, NULL), 0);
	group_make("job");
	ck_assert_int_eq(mount(NULL, mounts.mount, NULL, REMOUNT_RO, NULL), 0);
	ck_assert_int_eq(cgroup_open(&config, &cgroup, &error), -EROFS);
	ck_assert_ptr_nonnull(strstr(error.text, "ProtectControlGroups=no"));
}
END_TEST

static void clean_up(void)
{
	group_clean();
	(void)unlink(saved_path);
}

Suite *test_suite(void)
{
	Suite *suite = suite_create("host");
	TCase *tcase = group_case(suite, "cgroup", 30, clean_up, clean_up);

	snprintf(saved_path, sizeof(saved_path), "/tmp/isobar-saved-%d", (int)getpid());
	tcase_add_test(tcase, creates_with_the_first_quota_and_removes);
	tcase_add_test(tcase, never_enables_controllers_of_the_leaf);
	tcase_add_test(tcase, writes_and_reads_back);
	tcase_add_test(tcase, changes_quota_and_period_in_the_right_order);
	tcase_add_test(tcase, explains_what_the_parent_allows);
	tcase_add_test(tcase, repairs_drift_and_gives_way_in_conflict);
	tcase_add_test(tcase, knows_when_the_group_has_gone);
	tcase_add_test(tcase, attaches_a_process_with_its_threads);
	tcase_add_test(tcase, restores_what_was_there);
	tcase_add_test(tcase, keeps_the_original_over_a_crash);
	tcase_add_test(tcase, removes_its_own_group_after_a_crash);
	tcase_add_test(tcase, refuses_a_second_agent);
	tcase_add_test(tcase, takes_the_burst_away);
	tcase_add_test(tcase, dry_run_writes_nothing);
	tcase_add_test(tcase, names_the_ancestor_that_lacks_cpu);
	tcase_add_test(tcase, refuses_its_own_group);
	tcase_add_test(tcase, limits_a_threaded_group_like_others);
	tcase_add_test(tcase, refuses_a_child_beside_processes_by_its_type);
	tcase_add_test(tcase, names_a_namespace_that_hides_the_group);
	tcase_add_test(tcase, names_a_read_only_file_system);
	return suite;
}
