/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/delegated.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cgroup/cgroup_internal.h"

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t end_length = strlen(end);

	return length > end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* Cuts a group's path to that of the innermost unit; false: it is in none. */
static bool cut_to_unit(char *path)
{
	for (size_t length = strlen(path); length > 0;) {
		if (ends_with(path, length, ".service") || ends_with(path, length, ".scope")) {
			path[length] = '\0';
			return true;
		}
		while (length > 0 && path[--length] != '/')
			;
	}
	return false;
}

static int find_unit(const char *root, struct mounts_controller *ret_mounts,
		     char ret_path[PATH_MAX], struct error *reterr)
{
	int r = mounts_find(root, "cpu", ret_mounts, reterr);

	if (r == 0)
		r = mounts_group_of(root, 0, "cpu", ret_mounts->version, ret_path, reterr);
	if (r < 0)
		return r;
	if (!cut_to_unit(ret_path))
		return error_set(reterr, -ENOTSUP,
				 "delegated: isobard runs in '%.150s' and not in a service of "
				 "systemd, such as isobard@.service", ret_path);
	return 0;
}

static int make(int dir_fd, const char *name, struct error *reterr)
{
	if (mkdirat(dir_fd, name, 0755) == 0 || errno == EEXIST)
		return 0;
	if (errno == EROFS)
		return error_set(reterr, -EROFS, CGROUP_READ_ONLY);
	return error_errno(reterr, -errno, "make the group '%s'", name);
}

/* Beside the agent itself, a child can take processes only as a threaded one. */
static int join_threads(int dir_fd, const char *name, struct error *reterr)
{
	char file[64], type[64];
	int r;

	snprintf(file, sizeof(file), "%s/cgroup.type", name);
	r = cgroup_file_read(dir_fd, file, type, sizeof(type));
	if (r == 0 && strncmp(type, "domain invalid", 14) == 0)
		r = cgroup_file_write(dir_fd, file, "threaded");
	return r < 0 ? error_errno(reterr, r, "make '%s' a threaded group", name) : 0;
}

static int hand_down(int dir_fd, struct error *reterr)
{
	static const char *const children[] = { DELEGATED_JOB, ".control" };
	int r = 0;

	if (!cgroup_lists_cpu(dir_fd, "cgroup.controllers"))
		return error_set(reterr, -ENOTSUP,
				 "delegated: the unit has no cpu controller: it needs "
				 "Delegate=cpu");
	for (unsigned i = 0; r == 0 && i < 2; i++)
		r = make(dir_fd, children[i], reterr);
	if (r == 0 && !cgroup_lists_cpu(dir_fd, "cgroup.subtree_control")) {
		r = cgroup_file_write(dir_fd, "cgroup.subtree_control", "+cpu");
		if (r < 0)
			return error_errno(reterr, r, "write +cpu to cgroup.subtree_control");
	}
	for (unsigned i = 0; r == 0 && i < 2; i++)
		r = join_threads(dir_fd, children[i], reterr);
	return r;
}

static int open_unit(const struct mounts_controller *mounts, const char *path,
		     struct error *reterr)
{
	char directory[PATH_MAX];
	int r, fd;

	r = mounts_directory(mounts, path, directory, reterr);
	if (r < 0)
		return r;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? error_errno(reterr, -errno, "open '%.300s'", directory) : fd;
}

int delegated_find(const char *root, char ret_path[PATH_MAX], struct error *reterr)
{
	struct mounts_controller mounts;
	char path[PATH_MAX];
	int r = find_unit(root, &mounts, path, reterr);

	if (r == 0 && snprintf(ret_path, PATH_MAX, "%.*s/" DELEGATED_JOB, PATH_MAX - 8, path) < 0)
		r = -EINVAL;
	return r;
}

int delegated_prepare(const char *root, char ret_path[PATH_MAX], struct error *reterr)
{
	struct mounts_controller mounts;
	char path[PATH_MAX];
	int r = find_unit(root, &mounts, path, reterr);

	if (r < 0)
		return r;
	CGROUP_CLOSE_FD int fd = open_unit(&mounts, path, reterr);

	if (fd < 0)
		return fd;
	r = mounts.version == 2 ? hand_down(fd, reterr) : make(fd, DELEGATED_JOB, reterr);
	if (r < 0) {
		error_wrap(reterr, "control group '%.150s'", path);
		return r;
	}
	snprintf(ret_path, PATH_MAX, "%.*s/" DELEGATED_JOB, PATH_MAX - 8, path);
	return 0;
}
