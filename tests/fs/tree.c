/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/fs/tree.h"

#include "tests/test.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

const char *tree_start(void)
{
	snprintf(root, sizeof(root), "/tmp/isobar-tree-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	ck_assert_int_eq(chmod(root, 0755), 0);
	return root;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

void tree_end(void)
{
	if (root[0] != '\0')
		(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	root[0] = '\0';
}

static void full_path(const char *path, char out[PATH_MAX])
{
	ck_assert_int_lt(snprintf(out, PATH_MAX, "%s%s", root, path), PATH_MAX);
}

void tree_directory(const char *path)
{
	char full[PATH_MAX];

	full_path(path, full);
	for (char *at = full + strlen(root) + 1;; at++) {
		char cut = *at;

		if (cut != '/' && cut != '\0')
			continue;
		*at = '\0';
		ck_assert(mkdir(full, 0755) == 0 || errno == EEXIST);
		*at = cut;
		if (cut == '\0')
			return;
	}
}

void tree_file(const char *path, const char *text)
{
	char full[PATH_MAX], directory[PATH_MAX];
	FILE *file;

	ck_assert_int_lt(snprintf(directory, sizeof(directory), "%s", path), PATH_MAX);
	*strrchr(directory, '/') = '\0';
	tree_directory(directory);
	full_path(path, full);
	file = fopen(full, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

void tree_read(const char *path, char *ret_text, size_t size)
{
	char full[PATH_MAX];
	size_t count;
	FILE *file;

	full_path(path, full);
	file = fopen(full, "re");
	ck_assert_msg(file != NULL, "%s: %s", full, strerror(errno));
	count = fread(ret_text, 1, size - 1, file);
	ret_text[count] = '\0';
	fclose(file);
}

static void common(void)
{
	tree_file("/sys/devices/system/cpu/online", "0-3\n");
}

void tree_v1_host(void)
{
	common();
	tree_file("/proc/self/mountinfo",
		  "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
		  "31 22 0:28 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
		  "32 31 0:29 / /sys/fs/cgroup/cpuset rw shared:10 - cgroup cgroup rw,cpuset\n"
		  "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup "
		  "rw,cpu,cpuacct\n");
	tree_file("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
				   "cpuset\t2\t1\t1\ncpu\t3\t70\t1\ncpuacct\t3\t70\t1\n");
	tree_file("/proc/self/cgroup",
		  "3:cpu,cpuacct:/system.slice/isobard.service\n2:cpuset:/\n"
		  "1:name=systemd:/system.slice/isobard.service\n");
	tree_file("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-3\n");
	tree_directory("/sys/fs/cgroup/cpu,cpuacct");
}

void tree_v2_host(void)
{
	common();
	tree_file("/proc/self/mountinfo",
		  "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
		  "31 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:3 - cgroup2 cgroup2 "
		  "rw,nsdelegate\n");
	tree_file("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
				   "cpuset\t0\t1\t1\ncpu\t0\t70\t1\n");
	tree_file("/proc/self/cgroup", "0::/system.slice/isobard.service\n");
	tree_file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
	tree_file("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n");
	tree_file("/sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
}

void tree_hybrid_host(void)
{
	tree_v1_host();
	tree_file("/proc/self/mountinfo",
		  "31 22 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		  "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
	tree_file("/sys/fs/cgroup/unified/cgroup.controllers", "memory\n");
	tree_file("/proc/self/cgroup", "3:cpu,cpuacct:/\n0::/system.slice/isobard.service\n");
}
