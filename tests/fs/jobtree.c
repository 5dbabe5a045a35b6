/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/fs/jobtree.h"

#include <stdio.h>
#include <string.h>

#include "tests/test.h"

const char *jobtree_root;

struct cgroup_config jobtree_configure(const char *path)
{
	return (struct cgroup_config){
		.root = jobtree_root,
		.path = path,
		.period_us = 100000,
		.on_exit = CGROUP_RESTORE,
	};
}

struct cgroup *jobtree_open(const struct cgroup_config *config)
{
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };

	ck_assert_msg(cgroup_open(config, &cgroup, &error) == 0, "%s", error.text);
	return cgroup;
}

void jobtree_refused(const struct cgroup_config *config, int code, const char *phrase)
{
	struct cgroup *cgroup = NULL;
	struct error error = { 0 };

	ck_assert_int_eq(cgroup_open(config, &cgroup, &error), code);
	ck_assert_msg(strstr(error.text, phrase) != NULL, "'%s' lacks '%s'", error.text, phrase);
	/* No option does that. */
	ck_assert_ptr_null(strstr(error.text, "force it"));
	ck_assert_ptr_null(cgroup);
}

void jobtree_file_is(const char *path, const char *expected)
{
	char text[256];

	tree_read(path, text, sizeof(text));
	ck_assert_str_eq(text, expected);
}

void jobtree_v1(const char *path, const char *quota, const char *period)
{
	char file[256];

	snprintf(file, sizeof(file), V1 "%s/cpu.cfs_quota_us", path);
	tree_file(file, quota);
	snprintf(file, sizeof(file), V1 "%s/cpu.cfs_period_us", path);
	tree_file(file, period);
}

void jobtree_v2(const char *path, const char *limit)
{
	char file[256];

	snprintf(file, sizeof(file), V2 "%s/cpu.max", path);
	tree_file(file, limit);
}

void jobtree_start(void)
{
	jobtree_root = tree_start();
}
