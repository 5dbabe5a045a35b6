/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* agent/cgroup on trees of plain files: which groups are a job's, and whose processes they hold. */
#include "config.h"

#include "agent/cgroup/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fs/jobtree.h"
#include "tests/test.h"

static const char *const bad_paths[] = {
	"", "job", "/", "//", "/a//b", "/a/", "/a/../b", "/./a", "/..", "isobar/job",
};

START_TEST(refuses_a_path_that_is_none)
{
	struct cgroup_config config = jobtree_configure(bad_paths[_i]);

	tree_v2_host();
	jobtree_refused(&config, -EINVAL, "");
}
END_TEST

START_TEST(refuses_groups_that_are_not_a_job)
{
	struct cgroup_config config = jobtree_configure("/init.scope");
	struct cgroup *cgroup;

	tree_v2_host();
	jobtree_v2("/init.scope", "max 100000\n");
	jobtree_v2("/user.slice", "max 100000\n");
	jobtree_v2("/system.slice/isobard.service", "max 100000\n");
	jobtree_v2("/system.slice/isobard.service2", "max 100000\n");
	jobtree_refused(&config, -EBUSY, "init system");
	config.force = true;
	jobtree_refused(&config, -EBUSY, "init system");
	config = jobtree_configure("/user.slice");
	jobtree_refused(&config, -EBUSY, "name a service or scope below it");
	config = jobtree_configure("/system.slice/isobard.service");
	jobtree_refused(&config, -EBUSY, "throttle itself");
	config = jobtree_configure("/system.slice/isobard.service2");
	cgroup_close(jobtree_open(&config));
	config = jobtree_configure("/system.slice/isobard.service");
	config.force = true;
	cgroup = jobtree_open(&config);
	cgroup_close(cgroup);
	config.period_us = 999;
	jobtree_refused(&config, -EINVAL, "1 ms to 1 s");
	config.period_us = 1000001;
	jobtree_refused(&config, -EINVAL, "1 ms to 1 s");
}
END_TEST

static void process(unsigned pid, unsigned leader, const char *name)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	snprintf(text, sizeof(text), "Name:\t%s\nUmask:\t0022\nTgid:\t%u\n", name, leader);
	tree_file(path, text);
}

START_TEST(a_refusal_names_who_would_be_limited)
{
	struct cgroup_config config = jobtree_configure("/user.slice");

	tree_v2_host();
	jobtree_v2("/user.slice", "max 100000\n");
	jobtree_v2("/user.slice/shell.scope", "max 100000\n");
	tree_file(V2 "/user.slice/shell.scope/cgroup.procs", "812\n900\n");
	tree_file(V2 "/user.slice/cgroup.procs", "\n");
	process(812, 812, "bash");
	process(900, 900, "my job\\n");
	jobtree_refused(&config, -EBUSY, "it holds 2 processes: bash (812), my job\\n (900)");
	jobtree_refused(&config, -EBUSY, "unit = user.slice");
	/* systemd itself limits a slice, so as a unit it is a job like others. */
	config.is_unit = true;
	cgroup_close(jobtree_open(&config));
	config.is_unit = false;
	config.force = true;
	cgroup_close(jobtree_open(&config));
}
END_TEST

START_TEST(knows_the_processes_of_a_group)
{
	struct cgroup_processes processes;
	char directory[PATH_MAX], procs[256] = "";

	tree_v2_host();
	for (unsigned i = 1; i <= 12; i++) {
		process(i, i, "a-name-longer-than-kernels-have");
		snprintf(procs + strlen(procs), sizeof(procs) - strlen(procs), "%u\n", i);
	}
	tree_file(V2 "/job/cgroup.procs", procs);
	snprintf(directory, sizeof(directory), "%s" V2 "/job", jobtree_root);
	cgroup_processes(jobtree_root, directory, 100, &processes);
	ck_assert_uint_eq(processes.count, 12);
	ck_assert(!processes.is_partial);
	ck_assert_ptr_nonnull(strstr(processes.names, "a-name-longer-th (10), ..."));
	ck_assert_ptr_null(strstr(processes.names, "(11)"));

	/* And no more of them than is asked for. */
	cgroup_processes(jobtree_root, directory, 2, &processes);
	ck_assert_uint_eq(processes.count, 2);
	ck_assert(processes.is_partial);
	ck_assert_ptr_null(strstr(processes.names, "(3)"));

	/* A threaded group has no list of processes; what counts is who leads its threads. */
	process(20, 20, "leader");
	process(21, 20, "second");
	tree_file(V2 "/threads/cgroup.threads", "20\n21\n");
	tree_file(V2 "/threads/below/cgroup.threads", "30\n");
	snprintf(directory, sizeof(directory), "%s" V2 "/threads", jobtree_root);
	cgroup_processes(jobtree_root, directory, 100, &processes);
	ck_assert_uint_eq(processes.count, 2);
	ck_assert_str_eq(processes.names, "leader (20), ? (30)");

	snprintf(directory, sizeof(directory), "%s" V2 "/none", jobtree_root);
	cgroup_processes(jobtree_root, directory, 100, &processes);
	ck_assert_uint_eq(processes.count, 0);
	ck_assert_str_eq(processes.names, "");
}
END_TEST

/* As in a container with a cgroup namespace of its own and the host's tree mounted. */
START_TEST(names_a_mount_that_reaches_beyond_the_namespace)
{
	struct cgroup_config config = jobtree_configure("/job");

	tree_v2_host();
	tree_file("/proc/self/mountinfo",
		  "31 22 0:26 /../../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
	tree_file("/proc/self/cgroup", "0::/\n");
	jobtree_v2("/job", "max 100000\n");
	jobtree_refused(&config, -EXDEV, "run outside of the namespace");
	config = jobtree_configure("/");
	jobtree_refused(&config, -EINVAL, "run outside of it");
}
END_TEST

START_TEST(explains_what_is_missing)
{
	struct cgroup_config config = jobtree_configure("/a/b/job");

	tree_v2_host();
	jobtree_refused(&config, -ENOENT, "start the job first");
	tree_directory(V2 "/a/b/job");
	tree_file(V2 "/a/cgroup.subtree_control", "memory\n");
	tree_file(V2 "/a/b/cgroup.subtree_control", "\n");
	jobtree_refused(&config, -ENOTSUP, "cgroup.subtree_control of '/a' lacks cpu");
	tree_file(V2 "/a/cgroup.subtree_control", "cpuset cpu memory\n");
	jobtree_refused(&config, -ENOTSUP, "cgroup.subtree_control of '/a/b' lacks cpu");
	tree_file(V2 "/a/b/cgroup.subtree_control", "cpu\n");
	jobtree_refused(&config, -ENOTSUP, "CONFIG_CFS_BANDWIDTH");
	jobtree_v2("/a/b/job", "max 100000\n");
	tree_file(V2 "/a/b/job/cgroup.type", "domain invalid\n");
	jobtree_refused(&config, -EBUSY, "threaded");
}
END_TEST

START_TEST(names_a_file_it_may_not_write)
{
	struct cgroup_config config = jobtree_configure("/job");

	tree_v2_host();
	jobtree_v2("/job", "max 100000\n");
	ck_assert_int_eq(chmod(jobtree_root, 0755), 0);
	/* Each test is a process of its own: its privilege ends with it. */
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	else
		return;
	jobtree_refused(&config, -EACCES, "run as root");
	config.dry_run = true;
	cgroup_close(jobtree_open(&config));
	ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(creates_below_what_is_there)
{
	struct cgroup_config config = jobtree_configure("/a/b/job");
	struct cgroup *cgroup = NULL;
	struct stat status;
	char path[PATH_MAX];

	tree_v1_host();
	tree_directory(V1 "/a");
	config.create = true;
	/* Plain directories get no control files: the open fails and cleans up. */
	ck_assert_int_eq(cgroup_open(&config, &cgroup, NULL), -ENOTSUP);
	snprintf(path, sizeof(path), "%s" V1 "/a/b", jobtree_root);
	ck_assert_int_eq(stat(path, &status), -1);
	snprintf(path, sizeof(path), "%s" V1 "/a", jobtree_root);
	ck_assert_int_eq(stat(path, &status), 0);
}
END_TEST

START_TEST(hands_cpu_down_on_the_way)
{
	struct cgroup_config config = jobtree_configure("/a/job");
	struct cgroup *cgroup = NULL;

	tree_v2_host();
	tree_file(V2 "/cgroup.subtree_control", "memory\n");
	tree_file(V2 "/a/cgroup.subtree_control", "");
	config.create = true;
	ck_assert_int_lt(cgroup_open(&config, &cgroup, NULL), 0);
	jobtree_file_is(V2 "/cgroup.subtree_control", "+cpu");
	jobtree_file_is(V2 "/a/cgroup.subtree_control", "+cpu");
}
END_TEST

/* A file that takes no such text stands for the kernel's refusal. */
START_TEST(says_why_a_parent_cannot_hand_cpu_down)
{
	struct cgroup_config config = jobtree_configure("/a/job");
	char path[PATH_MAX];

	tree_v2_host();
	tree_directory(V2 "/a");
	snprintf(path, sizeof(path), "%s" V2 "/a/cgroup.subtree_control", jobtree_root);
	ck_assert_int_eq(symlink("/proc/self/oom_score_adj", path), 0);
	config.create = true;
	jobtree_refused(&config, -EINVAL, "CONFIG_RT_GROUP_SCHED");
	jobtree_refused(&config, -EINVAL, V2 "/a' is refused: a real-time process");
}
END_TEST

START_TEST(sees_processes_here_and_below)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct cgroup *cgroup;
	bool populated;

	tree_v2_host();
	jobtree_v2("/job", "max 100000\n");
	tree_file(V2 "/job/cgroup.events", "populated 1\nfrozen 0\n");
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(populated);
	tree_file(V2 "/job/cgroup.events", "populated 0\nfrozen 0\n");
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(!populated);
	cgroup_close(cgroup);

	tree_v1_host();
	jobtree_v1("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cgroup.procs", "");
	tree_file(V1 "/job/a/cgroup.procs", "");
	tree_file(V1 "/job/a/b/cgroup.procs", "");
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(!populated);
	tree_file(V1 "/job/a/b/cgroup.procs", "12\n");
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(populated);
	cgroup_close(cgroup);
}
END_TEST

/* What a name begins with says nothing about who is in it. */
START_TEST(sees_a_group_below_whose_name_begins_with_a_dot)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct cgroup_tasks tasks;
	struct cgroup *cgroup;
	struct error error = { 0 };
	char path[PATH_MAX];
	bool populated;

	tree_v1_host();
	jobtree_v1("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cgroup.procs", "");
	tree_file(V1 "/job/.x/cgroup.procs", "");
	tree_file(V1 "/job/.x/...y/cgroup.procs", "12\n");
	tree_file(V1 "/job/.x/...y/tasks", "12\n13\n");
	jobtree_v1("/job/.x", "90000\n", "100000\n");
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(populated);
	ck_assert_int_eq(cgroup_tasks(cgroup, 100, &tasks), 0);
	ck_assert_uint_eq(tasks.groups, 3);
	ck_assert_uint_eq(tasks.threads, 2);
	ck_assert(!tasks.is_partial);
	/* A file that takes no such text stands for the kernel's refusal. */
	snprintf(path, sizeof(path), "%s" V1 "/job/cpu.cfs_quota_us", jobtree_root);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/proc/self/oom_score_adj", path), 0);
	ck_assert_int_eq(cgroup_write(cgroup, 50000, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "child '.x' has "));
	cgroup_close(cgroup);
}
END_TEST

/* Absent is a job of which that is known. */
START_TEST(does_not_take_a_group_for_empty_that_it_cannot_read)
{
	struct cgroup_config config = jobtree_configure("/job");
	bool populated = false;
	struct cgroup *cgroup;

	tree_v1_host();
	jobtree_v1("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cgroup.procs", "");
	tree_directory(V1 "/job/gone");
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(!populated);
	tree_directory(V1 "/job/gone/cgroup.procs");
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), -EISDIR);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(verifies_that_a_process_arrived)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct error error = { 0 };
	struct cgroup *cgroup;

	tree_v2_host();
	jobtree_v2("/job", "max 100000\n");
	tree_file(V2 "/job/cgroup.procs", "");
	tree_file("/proc/77/cgroup", "0::/elsewhere\n");
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_attach(cgroup, 77, &error), -EIO);
	ck_assert_ptr_nonnull(strstr(error.text, "/elsewhere"));
	tree_file("/proc/77/cgroup", "0::/job\n");
	ck_assert_int_eq(cgroup_attach(cgroup, 77, &error), 0);
	jobtree_file_is(V2 "/job/cgroup.procs", "77");
	cgroup_close(cgroup);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("cgroup_job");
	TCase *tcase = tcase_create("trees");

	tcase_add_checked_fixture(tcase, jobtree_start, tree_end);
	tcase_add_loop_test(tcase, refuses_a_path_that_is_none, 0,
			    (int)(sizeof(bad_paths) / sizeof(bad_paths[0])));
	tcase_add_test(tcase, refuses_groups_that_are_not_a_job);
	tcase_add_test(tcase, a_refusal_names_who_would_be_limited);
	tcase_add_test(tcase, knows_the_processes_of_a_group);
	tcase_add_test(tcase, names_a_mount_that_reaches_beyond_the_namespace);
	tcase_add_test(tcase, explains_what_is_missing);
	tcase_add_test(tcase, names_a_file_it_may_not_write);
	tcase_add_test(tcase, creates_below_what_is_there);
	tcase_add_test(tcase, hands_cpu_down_on_the_way);
	tcase_add_test(tcase, says_why_a_parent_cannot_hand_cpu_down);
	tcase_add_test(tcase, sees_processes_here_and_below);
	tcase_add_test(tcase, sees_a_group_below_whose_name_begins_with_a_dot);
	tcase_add_test(tcase, does_not_take_a_group_for_empty_that_it_cannot_read);
	tcase_add_test(tcase, verifies_that_a_process_arrived);
	suite_add_tcase(suite, tcase);
	return suite;
}
