/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/mounts.h"
#include "tests/fs/tree.h"
#include "tests/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *root;

static void assert_found(const char *name, unsigned version, const char *mount,
			 const char *subtree)
{
	struct mounts_controller found = { 0 };
	struct error error = { 0 };
	char expected[PATH_MAX];

	ck_assert_msg(mounts_find(root, name, &found, &error) == 0, "%s", error.text);
	snprintf(expected, sizeof(expected), "%s%s", root, mount);
	ck_assert_uint_eq(found.version, version);
	ck_assert_str_eq(found.mount, expected);
	ck_assert_str_eq(found.subtree, subtree);
}

static void assert_missing(const char *name, const char *phrase)
{
	struct mounts_controller found = { .version = 7 };
	struct error error = { 0 };

	ck_assert_int_eq(mounts_find(root, name, &found, &error), -ENOTSUP);
	ck_assert_msg(strstr(error.text, phrase) != NULL, "'%s' lacks '%s'", error.text, phrase);
	ck_assert_uint_eq(found.version, 7);
}

START_TEST(finds_a_v1_hierarchy_with_two_controllers)
{
	tree_v1_host();
	assert_found("cpu", 1, "/sys/fs/cgroup/cpu,cpuacct", "/");
	assert_found("cpuacct", 1, "/sys/fs/cgroup/cpu,cpuacct", "/");
	assert_found("cpuset", 1, "/sys/fs/cgroup/cpuset", "/");
}
END_TEST

START_TEST(finds_the_unified_hierarchy)
{
	tree_v2_host();
	assert_found("cpu", 2, "/sys/fs/cgroup", "/");
	assert_missing("hugetlb", "no hugetlb controller");
}
END_TEST

START_TEST(decides_per_controller_on_a_hybrid_host)
{
	tree_hybrid_host();
	assert_found("cpu", 1, "/sys/fs/cgroup/cpu,cpuacct", "/");
	assert_found("memory", 2, "/sys/fs/cgroup/unified", "/");
	/* "cpu" is no part of "cpuset", nor of an option such as name=cpu. */
	tree_file("/proc/self/mountinfo", "33 31 0:30 / /a rw - cgroup cgroup rw,cpuset\n"
					  "34 31 0:31 / /b rw - cgroup cgroup rw,name=cpu\n");
	assert_missing("cpu", "not mounted here");
}
END_TEST

START_TEST(reads_strange_lines)
{
	tree_v2_host();
	tree_file("/sys/my groups\\/cgroup.controllers", "cpu\n");
	tree_file("/proc/self/mountinfo",
		  "\n"
		  "22 1 254:1\n"
		  "22 1 254:1 / / rw -\n"
		  "22 1 254:1 / / rw shared:1 - ext4\n"
		  "23 1 254:1 / /no/such/mount rw - cgroup2 cgroup2 rw\n"
		  "31 22 0:26 / /sys/my\\040groups\\134 rw a b:1 c:2 d:3 e:4 - cgroup2 none rw\n");
	assert_found("cpu", 2, "/sys/my groups\\", "/");
}
END_TEST

START_TEST(prefers_the_whole_hierarchy)
{
	tree_v1_host();
	tree_file("/proc/self/mountinfo",
		  "31 22 0:30 /docker/abc /inner rw - cgroup cgroup rw,cpu\n"
		  "32 22 0:30 / /outer rw - cgroup cgroup rw,cpu\n"
		  "33 22 0:30 / /later rw - cgroup cgroup rw,cpu\n");
	assert_found("cpu", 1, "/outer", "/");
	tree_file("/proc/self/mountinfo", "31 22 0:30 /docker/abc /inner rw - cgroup x rw,cpu\n");
	assert_found("cpu", 1, "/inner", "/docker/abc");
}
END_TEST

START_TEST(says_why_there_is_none)
{
	struct mounts_controller found = { .version = 7 };
	struct error error = { 0 };

	ck_assert_int_eq(mounts_find(root, "cpu", &found, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, "mountinfo"));
	tree_v2_host();
	tree_file("/sys/fs/cgroup/cgroup.controllers", "memory pids\n");
	assert_missing("cpu", "let the host delegate it");
	tree_file("/proc/self/mountinfo", "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n");
	assert_missing("cpu", "mount -t cgroup2");
	tree_file("/proc/cgroups", "cpu\t4\t70\t1\n");
	assert_missing("cpu", "mount -t cgroup -o cpu");
	tree_file("/proc/cgroups", "cpu\t0\t70\t0\n");
	assert_missing("cpu", "cgroup_disable=cpu");
	tree_file("/proc/cgroups", "memory\t0\t70\t1\n");
	assert_missing("cpu", "CONFIG_CGROUP_SCHED");
}
END_TEST

/* Recorded from hosts of several kinds. */
static const struct {
	const char *text, *controller;
	unsigned version;
	int result;
	const char *path;
} samples[] = {
	{ "0::/init.scope\n", "cpu", 2, 0, "/init.scope" },
	{ "0::/\n", "cpu", 2, 0, "/" },
	{ "0::/a:b/c d\n", "cpu", 2, 0, "/a:b/c d" },
	{ "0::/user.slice/user-0.slice (deleted)\n", "cpu", 2, 0, "/user.slice/user-0.slice" },
	{ "0::/../outside\n", "cpu", 2, -EXDEV, NULL },
	{ "0::/..\n", "cpu", 2, -EXDEV, NULL },
	{ "0::/..name\n", "cpu", 2, 0, "/..name" },
	{ "12:pids:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/y\n0::/z\n", "cpu", 1, 0,
	  "/docker/abc" },
	{ "12:pids:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/y\n0::/z\n", "cpu", 2, 0, "/z" },
	{ "3:cpuset:/s\n2:cpu:/c\n", "cpu", 1, 0, "/c" },
	{ "3:cpuset:/s\n2:name=cpu:/c\n", "cpu", 1, -ENODATA, NULL },
	{ "garbage\n:\n::\n2:cpu\n2:cpu:relative\n", "cpu", 1, -ENODATA, NULL },
	{ "", "cpu", 2, -ENODATA, NULL },
	{ "0::/no newline", "cpu", 2, 0, "/no newline" },
};

START_TEST(finds_the_group_of_a_process)
{
	char path[PATH_MAX] = "poison";
	struct error error = { 0 };

	tree_file("/proc/42/cgroup", samples[_i].text);
	ck_assert_int_eq(mounts_group_of(root, 42, samples[_i].controller, samples[_i].version,
					 path, &error), samples[_i].result);
	ck_assert_str_eq(path, samples[_i].path != NULL ? samples[_i].path : "poison");
	ck_assert_int_eq(error.text[0] != '\0', samples[_i].result != 0);
}
END_TEST

START_TEST(a_missing_process_has_no_group)
{
	char path[PATH_MAX] = "poison";

	ck_assert_int_eq(mounts_group_of(root, 43, "cpu", 1, path, NULL), -ENOENT);
	ck_assert_str_eq(path, "poison");
}
END_TEST

START_TEST(finds_the_directory_of_a_group)
{
	static const struct {
		const char *subtree, *path, *directory;
	} groups[] = {
		{ "/", "/isobar/job", "/mnt/isobar/job" },
		{ "/", "/..name", "/mnt/..name" },
		{ "/docker/abc", "/docker/abc/job", "/mnt/job" },
		{ "/docker/abc", "/docker/abc", "/mnt" },
		/* Of another container; a mount that does not show it has no such directory. */
		{ "/docker/abc", "/docker/abcd", "/mnt/docker/abcd" },
		{ "/../host", "/job", NULL },
	};
	struct mounts_controller controller = { .version = 1, .mount = "/mnt" };
	char directory[PATH_MAX];
	struct error error = { 0 };

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		snprintf(controller.subtree, sizeof(controller.subtree), "%s", groups[i].subtree);
		strcpy(directory, "poison");
		int r = mounts_directory(&controller, groups[i].path, directory, &error);
		ck_assert_int_eq(r, groups[i].directory != NULL ? 0 : -EXDEV);
		ck_assert_str_eq(directory, r == 0 ? groups[i].directory : "poison");
	}
	ck_assert_ptr_nonnull(strstr(error.text, "outside of this cgroup namespace"));
	memset(controller.mount, 'm', sizeof(controller.mount) - 2);
	strcpy(controller.subtree, "/");
	ck_assert_int_eq(mounts_directory(&controller, "/job", directory, &error), -ENAMETOOLONG);
}
END_TEST

static void start(void)
{
	root = tree_start();
}

Suite *test_suite(void)
{
	Suite *suite = suite_create("mounts");
	TCase *tcase = tcase_create("trees");

	tcase_add_checked_fixture(tcase, start, tree_end);
	tcase_add_test(tcase, finds_a_v1_hierarchy_with_two_controllers);
	tcase_add_test(tcase, finds_the_unified_hierarchy);
	tcase_add_test(tcase, decides_per_controller_on_a_hybrid_host);
	tcase_add_test(tcase, reads_strange_lines);
	tcase_add_test(tcase, prefers_the_whole_hierarchy);
	tcase_add_test(tcase, says_why_there_is_none);
	tcase_add_loop_test(tcase, finds_the_group_of_a_process, 0,
			    (int)(sizeof(samples) / sizeof(samples[0])));
	tcase_add_test(tcase, a_missing_process_has_no_group);
	tcase_add_test(tcase, finds_the_directory_of_a_group);
	suite_add_tcase(suite, tcase);
	return suite;
}
