/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* agent/cgroup on trees of plain files: every kind of host, without being one. */
#include "config.h"

#include "agent/cgroup/cgroup.h"
#include "tests/fs/tree.h"
#include "tests/test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define V1 "/sys/fs/cgroup/cpu,cpuacct"
#define V2 "/sys/fs/cgroup"

static const char *root;

static struct cgroup_config configure(const char *path)
{
	return (struct cgroup_config){
		.root = root,
		.path = path,
		.period_us = 100000,
		.on_exit = CGROUP_RESTORE,
	};
}

static struct cgroup *must_open(const struct cgroup_config *config)
{
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };

	ck_assert_msg(cgroup_open(config, &cgroup, &error) == 0, "%s", error.text);
	return cgroup;
}

static void assert_refused(const struct cgroup_config *config, int code, const char *phrase)
{
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };

	ck_assert_int_eq(cgroup_open(config, &cgroup, &error), code);
	ck_assert_msg(strstr(error.text, phrase) != NULL, "'%s' lacks '%s'", error.text, phrase);
	/* No option does that. */
	ck_assert_ptr_null(strstr(error.text, "force it"));
	ck_assert_ptr_null(cgroup);
}

static void assert_file(const char *path, const char *expected)
{
	char text[256];

	tree_read(path, text, sizeof(text));
	ck_assert_str_eq(text, expected);
}

static void v1_group(const char *path, const char *quota, const char *period)
{
	char file[256];

	snprintf(file, sizeof(file), V1 "%s/cpu.cfs_quota_us", path);
	tree_file(file, quota);
	snprintf(file, sizeof(file), V1 "%s/cpu.cfs_period_us", path);
	tree_file(file, period);
}

static void v2_group(const char *path, const char *limit)
{
	char file[256];

	snprintf(file, sizeof(file), V2 "%s/cpu.max", path);
	tree_file(file, limit);
}

START_TEST(writes_both_values_in_one_line_on_v2)
{
	struct cgroup_config config = configure("/job");
	struct cgroup_limit limit;
	struct cgroup *cgroup;

	tree_v2_host();
	v2_group("/job", "max 50000\n");
	cgroup = must_open(&config);
	ck_assert_uint_eq(cgroup_version(cgroup), 2);
	ck_assert_uint_eq(cgroup_level(cgroup), 1);
	ck_assert_int_eq(cgroup_write(cgroup, 25000, NULL), 0);
	assert_file(V2 "/job/cpu.max", "25000 100000");
	ck_assert_int_eq(cgroup_read(cgroup, &limit, NULL), 0);
	ck_assert_uint_eq(limit.quota_us, 25000);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	assert_file(V2 "/job/cpu.max", "max 50000");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(writes_both_files_on_v1)
{
	struct cgroup_config config = configure("/a/job");
	struct cgroup *cgroup;

	tree_v1_host();
	v1_group("/a/job", "-1\n", "50000\n");
	cgroup = must_open(&config);
	ck_assert_uint_eq(cgroup_version(cgroup), 1);
	ck_assert_uint_eq(cgroup_level(cgroup), 2);
	ck_assert_int_eq(cgroup_write(cgroup, 25000, NULL), 0);
	assert_file(V1 "/a/job/cpu.cfs_quota_us", "25000");
	assert_file(V1 "/a/job/cpu.cfs_period_us", "100000");
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	assert_file(V1 "/a/job/cpu.cfs_quota_us", "-1");
	assert_file(V1 "/a/job/cpu.cfs_period_us", "50000");
	cgroup_close(cgroup);
}
END_TEST

/*
 * A file that takes any number and keeps nine bits of it, as a kernel that
 * adjusts what it is given: 4352 is 0x1100 and reads back as 00000100.
 */
START_TEST(notices_a_value_that_did_not_take)
{
	struct cgroup_config config = configure("/job");
	struct error error = { 0 };
	struct cgroup *cgroup;
	char file[PATH_MAX];

	if (access("/proc/self/coredump_filter", W_OK) < 0)
		return;
	tree_v1_host();
	v1_group("/job", "-1\n", "100000\n");
	snprintf(file, sizeof(file), "%s" V1 "/job/cpu.cfs_quota_us", root);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(symlink("/proc/self/coredump_filter", file), 0);
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 4352, &error), -EIO);
	ck_assert_ptr_nonnull(strstr(error.text, "set to 4352/100000 us and reads back 100/"));
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_DEGRADED);
	ck_assert_ptr_nonnull(strstr(cgroup_reason(cgroup), "reads back"));
	cgroup_close(cgroup);
}
END_TEST

START_TEST(uses_v1_on_a_hybrid_host)
{
	struct cgroup_config config = configure("/job");
	struct cgroup *cgroup;

	tree_hybrid_host();
	v1_group("/job", "-1\n", "100000\n");
	tree_directory("/sys/fs/cgroup/unified/job");
	cgroup = must_open(&config);
	ck_assert_uint_eq(cgroup_version(cgroup), 1);
	cgroup_close(cgroup);
}
END_TEST

static struct cgroup_effective effective_of(const char *path)
{
	struct cgroup_config config = configure(path);
	struct cgroup *cgroup = must_open(&config);
	struct cgroup_effective effective;
	struct error error = { 0 };

	ck_assert_msg(cgroup_effective(cgroup, &effective, &error) == 0, "%s", error.text);
	cgroup_close(cgroup);
	return effective;
}

START_TEST(effective_is_the_least_of_all_ancestors_on_v2)
{
	struct cgroup_effective effective;

	tree_v2_host();
	v2_group("/a/b/c/job", "max 100000\n");
	effective = effective_of("/a/b/c/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 4000000);
	ck_assert_uint_eq(effective.ucpu, 4000000);
	ck_assert_uint_eq(effective.cpus, 4);
	ck_assert_str_eq(effective.by, "online CPUs");
	v2_group("/a", "200000 100000\n");
	v2_group("/a/b", "max 100000\n"); /* and none at all in c: neither ends the walk */
	effective = effective_of("/a/b/c/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 2000000);
	ck_assert_str_eq(effective.by, "cgroup '/a'");
	v2_group("/a/b", "7500 5000\n");
	v2_group("/a/b/c/job", "30000 100000\n");
	effective = effective_of("/a/b/c/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 1500000);
	ck_assert_str_eq(effective.by, "cgroup '/a/b'");
	ck_assert_uint_eq(effective.ucpu, 300000);
}
END_TEST

START_TEST(effective_is_the_least_of_all_ancestors_on_v1)
{
	struct cgroup_effective effective;

	tree_v1_host();
	v1_group("", "-1\n", "100000\n");
	v1_group("/a", "150000\n", "100000\n");
	v1_group("/a/b", "-1\n", "100000\n");
	v1_group("/a/b/job", "-1\n", "100000\n");
	effective = effective_of("/a/b/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 1500000);
	ck_assert_str_eq(effective.by, "cgroup '/a'");
}
END_TEST

START_TEST(the_cpuset_and_hotplug_bound_it)
{
	struct cgroup_effective effective;

	tree_v2_host();
	v2_group("/a/job", "max 100000\n");
	tree_file(V2 "/a/cpuset.cpus.effective", "1,3\n");
	effective = effective_of("/a/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 2000000);
	ck_assert_uint_eq(effective.cpus, 2);
	ck_assert_str_eq(effective.by, "cpuset");
	tree_file("/sys/devices/system/cpu/online", "0-1,5\n");
	effective = effective_of("/a/job");
	ck_assert_uint_eq(effective.cpus, 1);

	tree_v1_host();
	tree_file("/proc/77/cgroup", "3:cpu,cpuacct:/a/job\n2:cpuset:/pinned/deep\n");
	v1_group("/a/job", "-1\n", "100000\n");
	tree_file(V1 "/a/job/cgroup.procs", "77\n78\n");
	tree_file("/sys/fs/cgroup/cpuset/pinned/cpuset.effective_cpus", "2\n");
	effective = effective_of("/a/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 1000000);
	ck_assert_str_eq(effective.by, "cpuset");
	/* Whom our PID namespace does not know is listed as 0, which would be ourselves. */
	tree_file(V1 "/a/job/cgroup.procs", "0\n0\n77\n");
	ck_assert_uint_eq(effective_of("/a/job").ceiling_ucpu, 1000000);
	tree_file(V1 "/a/job/cgroup.procs", "0\n");
	ck_assert_uint_eq(effective_of("/a/job").ceiling_ucpu, 4000000);
}
END_TEST

static const char *const bad_limits[] = {
	"", "\n", "max", "max\n", "100\n", "-1 100000\n", "1e4 100000\n", "100 \n", "100 0\n",
	"99999999999999999999 100000\n", "100,5 100000\n", " 100 100000\n",
};

START_TEST(refuses_a_limit_it_does_not_understand)
{
	struct cgroup_config config = configure("/job");

	tree_v2_host();
	v2_group("/job", bad_limits[_i]);
	assert_refused(&config, -EBADMSG, "cpu.max");
	assert_file(V2 "/job/cpu.max", bad_limits[_i]);
}
END_TEST

static const char *const bad_paths[] = {
	"", "job", "/", "//", "/a//b", "/a/", "/a/../b", "/./a", "/..", "isobar/job",
};

START_TEST(refuses_a_path_that_is_none)
{
	struct cgroup_config config = configure(bad_paths[_i]);

	tree_v2_host();
	assert_refused(&config, -EINVAL, "");
}
END_TEST

START_TEST(refuses_groups_that_are_not_a_job)
{
	struct cgroup_config config = configure("/init.scope");
	struct cgroup *cgroup;

	tree_v2_host();
	v2_group("/init.scope", "max 100000\n");
	v2_group("/user.slice", "max 100000\n");
	v2_group("/system.slice/isobard.service", "max 100000\n");
	v2_group("/system.slice/isobard.service2", "max 100000\n");
	assert_refused(&config, -EBUSY, "init system");
	config.force = true;
	assert_refused(&config, -EBUSY, "init system");
	config = configure("/user.slice");
	assert_refused(&config, -EBUSY, "name a service or scope below it");
	config = configure("/system.slice/isobard.service");
	assert_refused(&config, -EBUSY, "throttle itself");
	config = configure("/system.slice/isobard.service2");
	cgroup_close(must_open(&config));
	config = configure("/system.slice/isobard.service");
	config.force = true;
	cgroup = must_open(&config);
	cgroup_close(cgroup);
	config.period_us = 999;
	assert_refused(&config, -EINVAL, "1 ms to 1 s");
	config.period_us = 1000001;
	assert_refused(&config, -EINVAL, "1 ms to 1 s");
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
	struct cgroup_config config = configure("/user.slice");

	tree_v2_host();
	v2_group("/user.slice", "max 100000\n");
	v2_group("/user.slice/shell.scope", "max 100000\n");
	tree_file(V2 "/user.slice/shell.scope/cgroup.procs", "812\n900\n");
	tree_file(V2 "/user.slice/cgroup.procs", "\n");
	process(812, 812, "bash");
	process(900, 900, "my job\\n");
	assert_refused(&config, -EBUSY, "it holds 2 processes: bash (812), my job\\n (900)");
	assert_refused(&config, -EBUSY, "unit = user.slice");
	/* systemd itself limits a slice, so as a unit it is a job like others. */
	config.is_unit = true;
	cgroup_close(must_open(&config));
	config.is_unit = false;
	config.force = true;
	cgroup_close(must_open(&config));
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
	snprintf(directory, sizeof(directory), "%s" V2 "/job", root);
	cgroup_processes(root, directory, 100, &processes);
	ck_assert_uint_eq(processes.count, 12);
	ck_assert(!processes.is_partial);
	ck_assert_ptr_nonnull(strstr(processes.names, "a-name-longer-th (10), ..."));
	ck_assert_ptr_null(strstr(processes.names, "(11)"));

	/* And no more of them than is asked for. */
	cgroup_processes(root, directory, 2, &processes);
	ck_assert_uint_eq(processes.count, 2);
	ck_assert(processes.is_partial);
	ck_assert_ptr_null(strstr(processes.names, "(3)"));

	/* A threaded group has no list of processes; what counts is who leads its threads. */
	process(20, 20, "leader");
	process(21, 20, "second");
	tree_file(V2 "/threads/cgroup.threads", "20\n21\n");
	tree_file(V2 "/threads/below/cgroup.threads", "30\n");
	snprintf(directory, sizeof(directory), "%s" V2 "/threads", root);
	cgroup_processes(root, directory, 100, &processes);
	ck_assert_uint_eq(processes.count, 2);
	ck_assert_str_eq(processes.names, "leader (20), ? (30)");

	snprintf(directory, sizeof(directory), "%s" V2 "/none", root);
	cgroup_processes(root, directory, 100, &processes);
	ck_assert_uint_eq(processes.count, 0);
	ck_assert_str_eq(processes.names, "");
}
END_TEST

START_TEST(one_that_is_not_there_may_be_as_one_that_has_gone)
{
	struct cgroup_config config = configure("/later");
	struct cgroup_limit limit = { 0 };
	struct cgroup_stat stat;
	struct error error = { 0 };

	tree_v2_host();
	config.may_be_absent = true;
	struct cgroup *cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_GONE);
	ck_assert_ptr_nonnull(strstr(cgroup_reason(cgroup), "there is no group '/later'"));
	ck_assert_int_eq(cgroup_read(cgroup, &limit, &error), -ENODEV);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, &error), -ENODEV);
	ck_assert_int_eq(cgroup_check(cgroup, 1, &error), -ENODEV);
	ck_assert_int_eq(cgroup_stat(cgroup, &stat, &error), 0);
	ck_assert_int_eq(cgroup_leave(cgroup, &error), 0);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(what_is_expected_of_systemd_is_no_drift)
{
	struct cgroup_config config = configure("/job");
	struct error error = { 0 };

	tree_v2_host();
	v2_group("/job", "max 100000\n");
	struct cgroup *cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 25430, &error), 0);
	cgroup_expect(cgroup, 25000);
	tree_file(V2 "/job/cpu.max", "25000 100000\n");
	ck_assert_int_eq(cgroup_check(cgroup, 1, &error), 0);
	assert_file(V2 "/job/cpu.max", "25430 100000");
	ck_assert_uint_eq(cgroup_drift_count(cgroup), 0);
	/* With another period it is not systemd's doing. */
	tree_file(V2 "/job/cpu.max", "25000 50000\n");
	ck_assert_int_eq(cgroup_check(cgroup, 2, &error), 0);
	ck_assert_uint_eq(cgroup_drift_count(cgroup), 1);
	cgroup_expect(cgroup, 0);
	tree_file(V2 "/job/cpu.max", "25000 100000\n");
	(void)cgroup_check(cgroup, 100000000000, &error);
	ck_assert_uint_eq(cgroup_drift_count(cgroup), 2);
	cgroup_close(cgroup);
}
END_TEST

/* As in a container with a cgroup namespace of its own and the host's tree mounted. */
START_TEST(names_a_mount_that_reaches_beyond_the_namespace)
{
	struct cgroup_config config = configure("/job");

	tree_v2_host();
	tree_file("/proc/self/mountinfo",
		  "31 22 0:26 /../../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
	tree_file("/proc/self/cgroup", "0::/\n");
	v2_group("/job", "max 100000\n");
	assert_refused(&config, -EXDEV, "run outside of the namespace");
	config = configure("/");
	assert_refused(&config, -EINVAL, "run outside of it");
}
END_TEST

START_TEST(explains_what_is_missing)
{
	struct cgroup_config config = configure("/a/b/job");

	tree_v2_host();
	assert_refused(&config, -ENOENT, "start the job first");
	tree_directory(V2 "/a/b/job");
	tree_file(V2 "/a/cgroup.subtree_control", "memory\n");
	tree_file(V2 "/a/b/cgroup.subtree_control", "\n");
	assert_refused(&config, -ENOTSUP, "cgroup.subtree_control of '/a' lacks cpu");
	tree_file(V2 "/a/cgroup.subtree_control", "cpuset cpu memory\n");
	assert_refused(&config, -ENOTSUP, "cgroup.subtree_control of '/a/b' lacks cpu");
	tree_file(V2 "/a/b/cgroup.subtree_control", "cpu\n");
	assert_refused(&config, -ENOTSUP, "CONFIG_CFS_BANDWIDTH");
	v2_group("/a/b/job", "max 100000\n");
	tree_file(V2 "/a/b/job/cgroup.type", "domain invalid\n");
	assert_refused(&config, -EBUSY, "threaded");
}
END_TEST

START_TEST(names_a_file_it_may_not_write)
{
	struct cgroup_config config = configure("/job");

	tree_v2_host();
	v2_group("/job", "max 100000\n");
	ck_assert_int_eq(chmod(root, 0755), 0);
	/* Each test is a process of its own: its privilege ends with it. */
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	else
		return;
	assert_refused(&config, -EACCES, "run as root");
	config.dry_run = true;
	cgroup_close(must_open(&config));
	ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(creates_below_what_is_there)
{
	struct cgroup_config config = configure("/a/b/job");
	struct cgroup *cgroup = NULL;
	struct stat status;
	char path[PATH_MAX];

	tree_v1_host();
	tree_directory(V1 "/a");
	config.create = true;
	/* Plain directories get no control files: the open fails and cleans up. */
	ck_assert_int_eq(cgroup_open(&config, &cgroup, NULL), -ENOTSUP);
	snprintf(path, sizeof(path), "%s" V1 "/a/b", root);
	ck_assert_int_eq(stat(path, &status), -1);
	snprintf(path, sizeof(path), "%s" V1 "/a", root);
	ck_assert_int_eq(stat(path, &status), 0);
}
END_TEST

START_TEST(hands_cpu_down_on_the_way)
{
	struct cgroup_config config = configure("/a/job");
	struct cgroup *cgroup = NULL;

	tree_v2_host();
	tree_file(V2 "/cgroup.subtree_control", "memory\n");
	tree_file(V2 "/a/cgroup.subtree_control", "");
	config.create = true;
	ck_assert_int_lt(cgroup_open(&config, &cgroup, NULL), 0);
	assert_file(V2 "/cgroup.subtree_control", "+cpu");
	assert_file(V2 "/a/cgroup.subtree_control", "+cpu");
}
END_TEST

/* A file that takes no such text stands for the kernel's refusal. */
START_TEST(says_why_a_parent_cannot_hand_cpu_down)
{
	struct cgroup_config config = configure("/a/job");
	char path[PATH_MAX];

	tree_v2_host();
	tree_directory(V2 "/a");
	snprintf(path, sizeof(path), "%s" V2 "/a/cgroup.subtree_control", root);
	ck_assert_int_eq(symlink("/proc/self/oom_score_adj", path), 0);
	config.create = true;
	assert_refused(&config, -EINVAL, "CONFIG_RT_GROUP_SCHED");
	assert_refused(&config, -EINVAL, V2 "/a' is refused: a real-time process");
}
END_TEST

START_TEST(dry_run_leaves_every_file_alone)
{
	struct cgroup_config config = configure("/job");
	struct cgroup_effective effective;
	struct cgroup_limit limit;
	struct cgroup *cgroup;

	tree_v2_host();
	v2_group("/job", "50000 100000\n");
	tree_file(V2 "/job/cpu.max.burst", "7\n");
	config.dry_run = true;
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_read(cgroup, &limit, NULL), 0);
	ck_assert_uint_eq(limit.quota_us, 50000);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, NULL), 0);
	ck_assert_int_eq(cgroup_write(cgroup, 10, NULL), -EINVAL);
	ck_assert_int_eq(cgroup_check(cgroup, 1, NULL), 0);
	ck_assert_int_eq(cgroup_effective(cgroup, &effective, NULL), 0);
	ck_assert_uint_eq(effective.ucpu, 200000);
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_DRY_RUN);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	cgroup_close(cgroup);
	assert_file(V2 "/job/cpu.max", "50000 100000\n");
	assert_file(V2 "/job/cpu.max.burst", "7\n");
}
END_TEST

START_TEST(a_damaged_saved_limit_is_an_error)
{
	struct cgroup_config config = configure("/job");
	struct cgroup *cgroup;
	char path[PATH_MAX];

	tree_v2_host();
	v2_group("/job", "50000 100000\n");
	tree_file("/run/original", "isobar-original 1\nid x\n");
	snprintf(path, sizeof(path), "%s/run/original", root);
	config.saved_path = path;
	assert_refused(&config, -EBADMSG, "damaged");
	/* One of another group, with another id, says nothing about this one. */
	tree_file("/run/original", "isobar-original 1\nboot 0\nid 1\nunlimited 0\n"
				   "quota_us 1000\nperiod_us 2000\nburst_us 0\ncreated 0\n");
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, NULL), 0);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	assert_file(V2 "/job/cpu.max", "50000 100000");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(a_saved_limit_of_another_boot_says_nothing)
{
	struct cgroup_config config = configure("/job");
	char path[PATH_MAX];

	tree_v2_host();
	v2_group("/job", "50000 100000\n");
	tree_file("/proc/sys/kernel/random/boot_id", "0c8ff1a2-93b6-4d0e-8c11-2f6d1a5b7e90\n");
	snprintf(path, sizeof(path), "%s/run/original", root);
	tree_directory("/run");
	config.saved_path = path;
	config.on_exit = CGROUP_RESTORE;
	struct cgroup *cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, NULL), 0);
	cgroup_close(cgroup); /* as a kill would */
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	assert_file(V2 "/job/cpu.max", "50000 100000");
	cgroup_close(cgroup);

	/* The same id again, of a group that somebody limited otherwise since. */
	cgroup = must_open(&config);
	cgroup_close(cgroup);
	tree_file("/proc/sys/kernel/random/boot_id", "1c8ff1a2-93b6-4d0e-8c11-2f6d1a5b7e90\n");
	tree_file(V2 "/job/cpu.max", "70000 100000\n");
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, NULL), 0);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	assert_file(V2 "/job/cpu.max", "70000 100000");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(finds_its_place_in_a_partial_mount)
{
	struct cgroup_config config = configure("/docker/abc/job");
	char expected[PATH_MAX];
	struct cgroup *cgroup;

	tree_v1_host();
	tree_file("/proc/self/mountinfo",
		  "33 31 0:30 /docker/abc " V1 " rw - cgroup cgroup rw,cpu,cpuacct\n");
	v1_group("/job", "-1\n", "100000\n");
	snprintf(expected, sizeof(expected), "%s" V1 "/job", root);
	cgroup = must_open(&config);
	ck_assert_str_eq(cgroup_directory(cgroup), expected);
	ck_assert_uint_eq(cgroup_level(cgroup), 3);
	cgroup_close(cgroup);
}
END_TEST

/* As all hierarchies of a container are. */
START_TEST(finds_other_hierarchies_that_are_mounted_in_part)
{
	struct cgroup_config config = configure("/docker/abc/job");
	struct cgroup_effective effective;
	struct cgroup *cgroup;

	tree_v1_host();
	tree_file("/proc/self/mountinfo",
		  "32 31 0:29 /docker/abc /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
		  "33 31 0:30 /docker/abc " V1 " rw - cgroup cgroup rw,cpu,cpuacct\n"
		  "34 31 0:31 /docker/abc /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
	tree_file("/proc/77/cgroup", "4:freezer:/docker/abc/job\n3:cpu,cpuacct:/docker/abc/job\n"
				     "2:cpuset:/docker/abc/job\n");
	v1_group("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cgroup.procs", "77\n");
	tree_file("/sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", "2\n");
	tree_file("/sys/fs/cgroup/freezer/job/freezer.state", "FROZEN\n");
	effective = effective_of("/docker/abc/job");
	ck_assert_uint_eq(effective.cpus, 1);
	cgroup = must_open(&config);
	ck_assert(cgroup_frozen(cgroup));
	cgroup_close(cgroup);
}
END_TEST

START_TEST(reads_statistics)
{
	struct cgroup_config config = configure("/job");
	struct cgroup_stat stat;
	struct cgroup *cgroup;

	tree_v2_host();
	v2_group("/job", "max 100000\n");
	tree_file(V2 "/job/cpu.stat", "usage_usec 1234567\nuser_usec 1\nsystem_usec 2\n"
				      "nr_periods 10\nnr_throttled 4\nthrottled_usec 555\n"
				      "nr_bursts 0\nburst_usec 0\n");
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_stat(cgroup, &stat, NULL), 0);
	ck_assert(stat.has_usage);
	ck_assert_uint_eq(stat.usage_ns, 1234567000);
	ck_assert_uint_eq(stat.periods, 10);
	ck_assert_uint_eq(stat.periods_throttled, 4);
	ck_assert_uint_eq(stat.throttled_ns, 555000);
	tree_file(V2 "/job/cpu.stat", "usage_usec 5\n"); /* cpu is not handed down */
	ck_assert_int_eq(cgroup_stat(cgroup, &stat, NULL), 0);
	ck_assert_uint_eq(stat.periods, 0);
	cgroup_close(cgroup);

	tree_v1_host();
	v1_group("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 777\n");
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_stat(cgroup, &stat, NULL), 0);
	ck_assert(!stat.has_usage);
	ck_assert_uint_eq(stat.throttled_ns, 777);
	tree_file(V1 "/job/cpuacct.usage", "99\n");
	ck_assert_int_eq(cgroup_stat(cgroup, &stat, NULL), 0);
	ck_assert(stat.has_usage);
	ck_assert_uint_eq(stat.usage_ns, 99);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(sees_processes_here_and_below)
{
	struct cgroup_config config = configure("/job");
	struct cgroup *cgroup;
	bool populated;

	tree_v2_host();
	v2_group("/job", "max 100000\n");
	tree_file(V2 "/job/cgroup.events", "populated 1\nfrozen 0\n");
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(populated);
	tree_file(V2 "/job/cgroup.events", "populated 0\nfrozen 0\n");
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(!populated);
	cgroup_close(cgroup);

	tree_v1_host();
	v1_group("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cgroup.procs", "");
	tree_file(V1 "/job/a/cgroup.procs", "");
	tree_file(V1 "/job/a/b/cgroup.procs", "");
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(!populated);
	tree_file(V1 "/job/a/b/cgroup.procs", "12\n");
	ck_assert_int_eq(cgroup_populated(cgroup, &populated, NULL), 0);
	ck_assert(populated);
	cgroup_close(cgroup);
}
END_TEST

START_TEST(verifies_that_a_process_arrived)
{
	struct cgroup_config config = configure("/job");
	struct error error = { 0 };
	struct cgroup *cgroup;

	tree_v2_host();
	v2_group("/job", "max 100000\n");
	tree_file(V2 "/job/cgroup.procs", "");
	tree_file("/proc/77/cgroup", "0::/elsewhere\n");
	cgroup = must_open(&config);
	ck_assert_int_eq(cgroup_attach(cgroup, 77, &error), -EIO);
	ck_assert_ptr_nonnull(strstr(error.text, "/elsewhere"));
	tree_file("/proc/77/cgroup", "0::/job\n");
	ck_assert_int_eq(cgroup_attach(cgroup, 77, &error), 0);
	assert_file(V2 "/job/cgroup.procs", "77");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(rounds_shares_down_without_overflow)
{
	ck_assert_uint_eq(cgroup_quota_us(333339, 100000), 33333);
	ck_assert_uint_eq(cgroup_quota_us(999999, 1000), 999);
	ck_assert_uint_eq(cgroup_quota_us(1500000, 100000), 150000);
	ck_assert_uint_eq(cgroup_quota_us(1000000000000001, 1000000), 1000000000000001);
}
END_TEST

static void start(void)
{
	root = tree_start();
}

Suite *test_suite(void)
{
	Suite *suite = suite_create("cgroup");
	TCase *tcase = tcase_create("trees");

	tcase_add_checked_fixture(tcase, start, tree_end);
	tcase_add_test(tcase, writes_both_values_in_one_line_on_v2);
	tcase_add_test(tcase, writes_both_files_on_v1);
	tcase_add_test(tcase, notices_a_value_that_did_not_take);
	tcase_add_test(tcase, uses_v1_on_a_hybrid_host);
	tcase_add_test(tcase, effective_is_the_least_of_all_ancestors_on_v2);
	tcase_add_test(tcase, effective_is_the_least_of_all_ancestors_on_v1);
	tcase_add_test(tcase, the_cpuset_and_hotplug_bound_it);
	tcase_add_loop_test(tcase, refuses_a_limit_it_does_not_understand, 0,
			    (int)(sizeof(bad_limits) / sizeof(bad_limits[0])));
	tcase_add_loop_test(tcase, refuses_a_path_that_is_none, 0,
			    (int)(sizeof(bad_paths) / sizeof(bad_paths[0])));
	tcase_add_test(tcase, refuses_groups_that_are_not_a_job);
	tcase_add_test(tcase, explains_what_is_missing);
	tcase_add_test(tcase, names_a_file_it_may_not_write);
	tcase_add_test(tcase, creates_below_what_is_there);
	tcase_add_test(tcase, hands_cpu_down_on_the_way);
	tcase_add_test(tcase, says_why_a_parent_cannot_hand_cpu_down);
	tcase_add_test(tcase, dry_run_leaves_every_file_alone);
	tcase_add_test(tcase, a_damaged_saved_limit_is_an_error);
	tcase_add_test(tcase, a_saved_limit_of_another_boot_says_nothing);
	tcase_add_test(tcase, finds_its_place_in_a_partial_mount);
	tcase_add_test(tcase, finds_other_hierarchies_that_are_mounted_in_part);
	tcase_add_test(tcase, reads_statistics);
	tcase_add_test(tcase, sees_processes_here_and_below);
	tcase_add_test(tcase, names_a_mount_that_reaches_beyond_the_namespace);
	tcase_add_test(tcase, a_refusal_names_who_would_be_limited);
	tcase_add_test(tcase, knows_the_processes_of_a_group);
	tcase_add_test(tcase, one_that_is_not_there_may_be_as_one_that_has_gone);
	tcase_add_test(tcase, what_is_expected_of_systemd_is_no_drift);
	tcase_add_test(tcase, verifies_that_a_process_arrived);
	tcase_add_test(tcase, rounds_shares_down_without_overflow);
	suite_add_tcase(suite, tcase);
	return suite;
}
