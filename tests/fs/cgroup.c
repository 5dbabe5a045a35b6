/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* agent/cgroup on trees of plain files: what it reads and writes on every kind of host. */
#include "config.h"

#include "agent/cgroup/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fs/jobtree.h"
#include "tests/test.h"

START_TEST(writes_both_values_in_one_line_on_v2)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct cgroup_limit limit;
	struct cgroup *cgroup;

	tree_v2_host();
	jobtree_v2("/job", "max 50000\n");
	cgroup = jobtree_open(&config);
	ck_assert_uint_eq(cgroup_version(cgroup), 2);
	ck_assert_uint_eq(cgroup_level(cgroup), 1);
	ck_assert_int_eq(cgroup_write(cgroup, 25000, NULL), 0);
	jobtree_file_is(V2 "/job/cpu.max", "25000 100000");
	ck_assert_int_eq(cgroup_read(cgroup, &limit, NULL), 0);
	ck_assert_uint_eq(limit.quota_us, 25000);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	jobtree_file_is(V2 "/job/cpu.max", "max 50000");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(writes_both_files_on_v1)
{
	struct cgroup_config config = jobtree_configure("/a/job");
	struct cgroup *cgroup;

	tree_v1_host();
	jobtree_v1("/a/job", "-1\n", "50000\n");
	cgroup = jobtree_open(&config);
	ck_assert_uint_eq(cgroup_version(cgroup), 1);
	ck_assert_uint_eq(cgroup_level(cgroup), 2);
	ck_assert_int_eq(cgroup_write(cgroup, 25000, NULL), 0);
	jobtree_file_is(V1 "/a/job/cpu.cfs_quota_us", "25000");
	jobtree_file_is(V1 "/a/job/cpu.cfs_period_us", "100000");
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	jobtree_file_is(V1 "/a/job/cpu.cfs_quota_us", "-1");
	jobtree_file_is(V1 "/a/job/cpu.cfs_period_us", "50000");
	cgroup_close(cgroup);
}
END_TEST

/*
 * A file that takes any number and keeps nine bits of it, as a kernel that
 * adjusts what it is given: 4352 is 0x1100 and reads back as 00000100.
 */
START_TEST(notices_a_value_that_did_not_take)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct error error = { 0 };
	struct cgroup *cgroup;
	char file[PATH_MAX];

	if (access("/proc/self/coredump_filter", W_OK) < 0)
		return;
	tree_v1_host();
	jobtree_v1("/job", "-1\n", "100000\n");
	snprintf(file, sizeof(file), "%s" V1 "/job/cpu.cfs_quota_us", jobtree_root);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(symlink("/proc/self/coredump_filter", file), 0);
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 4352, &error), -EIO);
	ck_assert_ptr_nonnull(strstr(error.text, "set to 4352/100000 us and reads back 100/"));
	ck_assert_int_eq(cgroup_state(cgroup), CGROUP_DEGRADED);
	ck_assert_ptr_nonnull(strstr(cgroup_reason(cgroup), "reads back"));
	cgroup_close(cgroup);
}
END_TEST

START_TEST(uses_v1_on_a_hybrid_host)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct cgroup *cgroup;

	tree_hybrid_host();
	jobtree_v1("/job", "-1\n", "100000\n");
	tree_directory("/sys/fs/cgroup/unified/job");
	cgroup = jobtree_open(&config);
	ck_assert_uint_eq(cgroup_version(cgroup), 1);
	cgroup_close(cgroup);
}
END_TEST

static struct cgroup_effective effective_of(const char *path)
{
	struct cgroup_config config = jobtree_configure(path);
	struct cgroup *cgroup = jobtree_open(&config);
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
	jobtree_v2("/a/b/c/job", "max 100000\n");
	effective = effective_of("/a/b/c/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 4000000);
	ck_assert_uint_eq(effective.ucpu, 4000000);
	ck_assert_uint_eq(effective.cpus, 4);
	ck_assert_str_eq(effective.by, "online CPUs");
	jobtree_v2("/a", "200000 100000\n");
	jobtree_v2("/a/b", "max 100000\n"); /* and none at all in c: neither ends the walk */
	effective = effective_of("/a/b/c/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 2000000);
	ck_assert_str_eq(effective.by, "cgroup '/a'");
	jobtree_v2("/a/b", "7500 5000\n");
	jobtree_v2("/a/b/c/job", "30000 100000\n");
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
	jobtree_v1("", "-1\n", "100000\n");
	jobtree_v1("/a", "150000\n", "100000\n");
	jobtree_v1("/a/b", "-1\n", "100000\n");
	jobtree_v1("/a/b/job", "-1\n", "100000\n");
	effective = effective_of("/a/b/job");
	ck_assert_uint_eq(effective.ceiling_ucpu, 1500000);
	ck_assert_str_eq(effective.by, "cgroup '/a'");
}
END_TEST

START_TEST(the_cpuset_and_hotplug_bound_it)
{
	struct cgroup_effective effective;

	tree_v2_host();
	jobtree_v2("/a/job", "max 100000\n");
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
	jobtree_v1("/a/job", "-1\n", "100000\n");
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
	struct cgroup_config config = jobtree_configure("/job");

	tree_v2_host();
	jobtree_v2("/job", bad_limits[_i]);
	jobtree_refused(&config, -EBADMSG, "cpu.max");
	jobtree_file_is(V2 "/job/cpu.max", bad_limits[_i]);
}
END_TEST

START_TEST(one_that_is_not_there_may_be_as_one_that_has_gone)
{
	struct cgroup_config config = jobtree_configure("/later");
	struct cgroup_limit limit = { 0 };
	struct cgroup_stat stat;
	struct error error = { 0 };

	tree_v2_host();
	config.may_be_absent = true;
	struct cgroup *cgroup = jobtree_open(&config);
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
	struct cgroup_config config = jobtree_configure("/job");
	struct error error = { 0 };

	tree_v2_host();
	jobtree_v2("/job", "max 100000\n");
	struct cgroup *cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 25430, &error), 0);
	cgroup_expect(cgroup, 25000);
	tree_file(V2 "/job/cpu.max", "25000 100000\n");
	ck_assert_int_eq(cgroup_check(cgroup, 1, &error), 0);
	jobtree_file_is(V2 "/job/cpu.max", "25430 100000");
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

START_TEST(dry_run_leaves_every_file_alone)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct cgroup_effective effective;
	struct cgroup_limit limit;
	struct cgroup *cgroup;

	tree_v2_host();
	jobtree_v2("/job", "50000 100000\n");
	tree_file(V2 "/job/cpu.max.burst", "7\n");
	config.dry_run = true;
	cgroup = jobtree_open(&config);
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
	jobtree_file_is(V2 "/job/cpu.max", "50000 100000\n");
	jobtree_file_is(V2 "/job/cpu.max.burst", "7\n");
}
END_TEST

START_TEST(a_damaged_saved_limit_is_an_error)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct cgroup *cgroup;
	char path[PATH_MAX];

	tree_v2_host();
	jobtree_v2("/job", "50000 100000\n");
	tree_file("/run/original", "isobar-original 1\nid x\n");
	snprintf(path, sizeof(path), "%s/run/original", jobtree_root);
	config.saved_path = path;
	jobtree_refused(&config, -EBADMSG, "damaged");
	/* One of another group, with another id, says nothing about this one. */
	tree_file("/run/original", "isobar-original 1\nboot 0\nid 1\nunlimited 0\n"
				   "quota_us 1000\nperiod_us 2000\nburst_us 0\ncreated 0\n");
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, NULL), 0);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	jobtree_file_is(V2 "/job/cpu.max", "50000 100000");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(a_saved_limit_of_another_boot_says_nothing)
{
	struct cgroup_config config = jobtree_configure("/job");
	char path[PATH_MAX];

	tree_v2_host();
	jobtree_v2("/job", "50000 100000\n");
	tree_file("/proc/sys/kernel/random/boot_id", "0c8ff1a2-93b6-4d0e-8c11-2f6d1a5b7e90\n");
	snprintf(path, sizeof(path), "%s/run/original", jobtree_root);
	tree_directory("/run");
	config.saved_path = path;
	config.on_exit = CGROUP_RESTORE;
	struct cgroup *cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, NULL), 0);
	cgroup_close(cgroup); /* as a kill would */
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	jobtree_file_is(V2 "/job/cpu.max", "50000 100000");
	cgroup_close(cgroup);

	/* The same id again, of a group that somebody limited otherwise since. */
	cgroup = jobtree_open(&config);
	cgroup_close(cgroup);
	tree_file("/proc/sys/kernel/random/boot_id", "1c8ff1a2-93b6-4d0e-8c11-2f6d1a5b7e90\n");
	tree_file(V2 "/job/cpu.max", "70000 100000\n");
	cgroup = jobtree_open(&config);
	ck_assert_int_eq(cgroup_write(cgroup, 20000, NULL), 0);
	ck_assert_int_eq(cgroup_leave(cgroup, NULL), 0);
	jobtree_file_is(V2 "/job/cpu.max", "70000 100000");
	cgroup_close(cgroup);
}
END_TEST

START_TEST(finds_its_place_in_a_partial_mount)
{
	struct cgroup_config config = jobtree_configure("/docker/abc/job");
	char expected[PATH_MAX];
	struct cgroup *cgroup;

	tree_v1_host();
	tree_file("/proc/self/mountinfo",
		  "33 31 0:30 /docker/abc " V1 " rw - cgroup cgroup rw,cpu,cpuacct\n");
	jobtree_v1("/job", "-1\n", "100000\n");
	snprintf(expected, sizeof(expected), "%s" V1 "/job", jobtree_root);
	cgroup = jobtree_open(&config);
	ck_assert_str_eq(cgroup_directory(cgroup), expected);
	ck_assert_uint_eq(cgroup_level(cgroup), 3);
	cgroup_close(cgroup);
}
END_TEST

/* As all hierarchies of a container are. */
START_TEST(finds_other_hierarchies_that_are_mounted_in_part)
{
	struct cgroup_config config = jobtree_configure("/docker/abc/job");
	struct cgroup_effective effective;
	struct cgroup *cgroup;

	tree_v1_host();
	tree_file("/proc/self/mountinfo",
		  "32 31 0:29 /docker/abc /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
		  "33 31 0:30 /docker/abc " V1 " rw - cgroup cgroup rw,cpu,cpuacct\n"
		  "34 31 0:31 /docker/abc /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
	tree_file("/proc/77/cgroup", "4:freezer:/docker/abc/job\n3:cpu,cpuacct:/docker/abc/job\n"
				     "2:cpuset:/docker/abc/job\n");
	jobtree_v1("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cgroup.procs", "77\n");
	tree_file("/sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", "2\n");
	tree_file("/sys/fs/cgroup/freezer/job/freezer.state", "FROZEN\n");
	effective = effective_of("/docker/abc/job");
	ck_assert_uint_eq(effective.cpus, 1);
	cgroup = jobtree_open(&config);
	ck_assert(cgroup_frozen(cgroup));
	cgroup_close(cgroup);
}
END_TEST

START_TEST(reads_statistics)
{
	struct cgroup_config config = jobtree_configure("/job");
	struct cgroup_stat stat;
	struct cgroup *cgroup;

	tree_v2_host();
	jobtree_v2("/job", "max 100000\n");
	tree_file(V2 "/job/cpu.stat", "usage_usec 1234567\nuser_usec 1\nsystem_usec 2\n"
				      "nr_periods 10\nnr_throttled 4\nthrottled_usec 555\n"
				      "nr_bursts 0\nburst_usec 0\n");
	cgroup = jobtree_open(&config);
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
	jobtree_v1("/job", "-1\n", "100000\n");
	tree_file(V1 "/job/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 777\n");
	cgroup = jobtree_open(&config);
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

START_TEST(rounds_shares_down_without_overflow)
{
	ck_assert_uint_eq(cgroup_quota_us(333339, 100000), 33333);
	ck_assert_uint_eq(cgroup_quota_us(999999, 1000), 999);
	ck_assert_uint_eq(cgroup_quota_us(1500000, 100000), 150000);
	ck_assert_uint_eq(cgroup_quota_us(1000000000000001, 1000000), 1000000000000001);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("cgroup");
	TCase *tcase = tcase_create("trees");

	tcase_add_checked_fixture(tcase, jobtree_start, tree_end);
	tcase_add_test(tcase, writes_both_values_in_one_line_on_v2);
	tcase_add_test(tcase, writes_both_files_on_v1);
	tcase_add_test(tcase, notices_a_value_that_did_not_take);
	tcase_add_test(tcase, uses_v1_on_a_hybrid_host);
	tcase_add_test(tcase, effective_is_the_least_of_all_ancestors_on_v2);
	tcase_add_test(tcase, effective_is_the_least_of_all_ancestors_on_v1);
	tcase_add_test(tcase, the_cpuset_and_hotplug_bound_it);
	tcase_add_loop_test(tcase, refuses_a_limit_it_does_not_understand, 0,
			    (int)(sizeof(bad_limits) / sizeof(bad_limits[0])));
	tcase_add_test(tcase, one_that_is_not_there_may_be_as_one_that_has_gone);
	tcase_add_test(tcase, what_is_expected_of_systemd_is_no_drift);
	tcase_add_test(tcase, dry_run_leaves_every_file_alone);
	tcase_add_test(tcase, a_damaged_saved_limit_is_an_error);
	tcase_add_test(tcase, a_saved_limit_of_another_boot_says_nothing);
	tcase_add_test(tcase, finds_its_place_in_a_partial_mount);
	tcase_add_test(tcase, finds_other_hierarchies_that_are_mounted_in_part);
	tcase_add_test(tcase, reads_statistics);
	tcase_add_test(tcase, rounds_shares_down_without_overflow);
	suite_add_tcase(suite, tcase);
	return suite;
}
