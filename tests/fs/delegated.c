/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/delegated.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/fs/tree.h"
#include "tests/test.h"

#define UNIT "/sys/fs/cgroup/system.slice/system-isobar.slice/isobard@a.service"
#define PATH "/system.slice/system-isobar.slice/isobard@a.service"

static const char *root;

static void setup(void)
{
	root = tree_start();
	tree_v2_host();
	tree_file("/proc/self/cgroup", "0::" PATH "\n");
	tree_file(UNIT "/cgroup.controllers", "cpu memory pids\n");
	tree_file(UNIT "/cgroup.subtree_control", "\n");
}

static void has(const char *path, const char *text)
{
	char found[256];

	tree_read(path, found, sizeof(found));
	ck_assert_msg(strncmp(found, text, strlen(text)) == 0, "%s: %s", path, found);
}

START_TEST(beside_the_agent_the_job_is_a_threaded_child)
{
	char path[PATH_MAX] = "";
	struct error error = { 0 };

	/* As the kernel calls them once the controller is handed down. */
	tree_file(UNIT "/job/cgroup.type", "domain invalid\n");
	tree_file(UNIT "/.control/cgroup.type", "domain invalid\n");
	ck_assert_msg(delegated_prepare(root, path, &error) == 0, "%s", error.text);
	ck_assert_str_eq(path, PATH "/job");
	has(UNIT "/cgroup.subtree_control", "+cpu");
	has(UNIT "/job/cgroup.type", "threaded");
	has(UNIT "/.control/cgroup.type", "threaded");
}
END_TEST

START_TEST(one_that_is_there_stays_as_it_is)
{
	char path[PATH_MAX] = "";
	struct error error = { 0 };

	tree_file(UNIT "/cgroup.subtree_control", "cpu\n");
	tree_file(UNIT "/job/cgroup.type", "threaded\n");
	tree_file(UNIT "/.control/cgroup.type", "domain\n");
	ck_assert_msg(delegated_prepare(root, path, &error) == 0, "%s", error.text);
	has(UNIT "/cgroup.subtree_control", "cpu");
	has(UNIT "/.control/cgroup.type", "domain");
}
END_TEST

/* Only the job's part of the path is below such a mount, and only where it is whole names. */
START_TEST(finds_its_unit_in_a_partial_mount)
{
	static const char *const shown[] = { "/system.slice", "/system.sl", PATH };
	static const char *const units[] = {
		"/sys/fs/cgroup/system-isobar.slice/isobard@a.service", UNIT, "/sys/fs/cgroup" };
	char path[PATH_MAX] = "", text[PATH_MAX];

	for (unsigned i = 0; i < 3; i++) {
		struct error error = { 0 };

		snprintf(text, sizeof(text), "29 22 0:26 %s /sys/fs/cgroup rw - cgroup2 c rw\n",
			 shown[i]);
		tree_file("/proc/self/mountinfo", text);
		snprintf(text, sizeof(text), "%s/cgroup.controllers", units[i]);
		tree_file(text, "cpu\n");
		snprintf(text, sizeof(text), "%s/job/cgroup.type", units[i]);
		tree_file(text, "threaded\n");
		snprintf(text, sizeof(text), "%s/.control/cgroup.type", units[i]);
		tree_file(text, "threaded\n");
		snprintf(text, sizeof(text), "%s/cgroup.subtree_control", units[i]);
		tree_file(text, "\n");
		ck_assert_msg(delegated_prepare(root, path, &error) == 0, "%s", error.text);
		ck_assert_str_eq(path, PATH "/job");
		has(text, "+cpu");
	}
}
END_TEST

/* DelegateSubgroup=, of newer systemd. */
START_TEST(an_agent_in_a_subgroup_finds_its_unit)
{
	char path[PATH_MAX] = "";

	tree_file("/proc/self/cgroup", "0::" PATH "/agent\n");
	ck_assert_int_eq(delegated_find(root, path, NULL), 0);
	ck_assert_str_eq(path, PATH "/job");
}
END_TEST

START_TEST(without_a_unit_it_is_refused)
{
	char path[PATH_MAX] = "";
	struct error error = { 0 };

	tree_file("/proc/self/cgroup", "0::/user.slice/shell\n");
	ck_assert_int_eq(delegated_prepare(root, path, &error), -ENOTSUP);
	ck_assert_msg(strstr(error.text, "not in a service of systemd") != NULL, "%s", error.text);
	ck_assert_str_eq(path, "");
	tree_file("/proc/self/cgroup", "0::/\n");
	ck_assert_int_eq(delegated_find(root, path, &error), -ENOTSUP);
}
END_TEST

START_TEST(without_delegate_it_is_refused_by_name)
{
	char path[PATH_MAX] = "";
	struct error error = { 0 };

	tree_file(UNIT "/cgroup.controllers", "memory pids\n");
	ck_assert_int_eq(delegated_prepare(root, path, &error), -ENOTSUP);
	ck_assert_msg(strstr(error.text, "needs Delegate=cpu") != NULL, "%s", error.text);
	ck_assert_str_eq(path, "");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("delegated");
	TCase *tcase = tcase_create("a tree of files");

	tcase_add_checked_fixture(tcase, setup, tree_end);
	tcase_add_test(tcase, beside_the_agent_the_job_is_a_threaded_child);
	tcase_add_test(tcase, one_that_is_there_stays_as_it_is);
	tcase_add_test(tcase, finds_its_unit_in_a_partial_mount);
	tcase_add_test(tcase, an_agent_in_a_subgroup_finds_its_unit);
	tcase_add_test(tcase, without_a_unit_it_is_refused);
	tcase_add_test(tcase, without_delegate_it_is_refused_by_name);
	suite_add_tcase(suite, tcase);
	return suite;
}
