/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The group's directory and the way down to it. */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cuts the last component off; false at the mount's root ("" is the root). */
static bool cut_last(char *name)
{
	char *slash = strrchr(name, '/');

	if (name[0] == '\0')
		return false;
	*(slash != NULL ? slash : name) = '\0';
	return true;
}

static int join(char out[PATH_MAX], const struct cgroup *cgroup, const char *name)
{
	int length = snprintf(out, PATH_MAX, "%s%s%s", cgroup->mounts.mount,
			      name[0] != '\0' ? "/" : "", name);

	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int cgroup_open_ancestor(const struct cgroup *cgroup, unsigned levels_up, char ret_path[PATH_MAX])
{
	char name[PATH_MAX], directory[PATH_MAX];
	int fd;

	memcpy(name, cgroup->name, sizeof(name));
	for (unsigned i = 0; i < levels_up; i++) {
		if (!cut_last(name))
			return -ENOENT;
	}
	if (join(directory, cgroup, name) < 0)
		return -ENAMETOOLONG;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ret_path != NULL)
		snprintf(ret_path, PATH_MAX, "/%.*s", PATH_MAX - 2, name);
	return fd;
}

bool cgroup_lists_cpu(int dir_fd, const char *file)
{
	char text[CGROUP_FILE_BYTES], *save = NULL;

	if (cgroup_file_read(dir_fd, file, text, sizeof(text)) < 0)
		return false;
	for (char *word = strtok_r(text, " \n", &save); word != NULL;
	     word = strtok_r(NULL, " \n", &save)) {
		if (strcmp(word, "cpu") == 0)
			return true;
	}
	return false;
}

int cgroup_explain_no_files(const struct cgroup *cgroup, struct error *reterr)
{
	char path[PATH_MAX], lacking[PATH_MAX] = "";

	if (cgroup->backend->version == 1)
		return error_set(reterr, -ENOTSUP,
				 "there is no %s: this kernel has no CONFIG_CFS_BANDWIDTH",
				 cgroup->backend->limit_file);
	/* The topmost ancestor that does not hand cpu down is the one to change. */
	for (unsigned up = 1;; up++) {
		CGROUP_CLOSE_FD int fd = cgroup_open_ancestor(cgroup, up, path);

		if (fd < 0)
			break;
		if (!cgroup_lists_cpu(fd, "cgroup.subtree_control"))
			memcpy(lacking, path, sizeof(lacking));
	}
	if (lacking[0] == '\0')
		return error_set(reterr, -ENOTSUP,
				 "there is no %s: this kernel has no CONFIG_CFS_BANDWIDTH",
				 cgroup->backend->limit_file);
	return error_set(reterr, -ENOTSUP,
			 "there is no %s: cgroup.subtree_control of '%.160s' lacks cpu: write +cpu "
			 "to it, or with systemd set Delegate=cpu (or CPUAccounting=yes) for the "
			 "unit", cgroup->backend->limit_file, lacking);
}

/* Hands cpu down at one ancestor.  Its own processes must have left it first. */
static int enable_below(int dir_fd, const char *path, struct error *reterr)
{
	int result;

	if (cgroup_lists_cpu(dir_fd, "cgroup.subtree_control"))
		return 0;
	result = cgroup_file_write(dir_fd, "cgroup.subtree_control", "+cpu");
	if (result == -EBUSY)
		return error_set(reterr, result,
				 "'%.200s' has processes of its own and so cannot hand cpu down: "
				 "use a group below an empty parent (with systemd: Delegate=yes)",
				 path);
	if (result == -EINVAL)
		return error_set(reterr, result,
				 "+cpu in '%.200s' is refused: a real-time process in it, with "
				 "CONFIG_RT_GROUP_SCHED?", path);
	if (result == -EOPNOTSUPP)
		return error_set(reterr, result,
				 "'%.200s' is threaded or invalid (see its cgroup.type): use "
				 "another parent", path);
	if (result < 0)
		return error_errno(reterr, result, "write +cpu to cgroup.subtree_control of "
				   "'%.200s'", path);
	return 0;
}

/* v2: the files of a child are there only if each ancestor hands cpu down. */
static int enable_at(const struct cgroup *cgroup, const char *name, struct error *reterr)
{
	char directory[PATH_MAX];
	CGROUP_CLOSE_FD int fd = -1;

	if (cgroup->backend->version == 1)
		return 0;
	if (join(directory, cgroup, name) == 0)
		fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(reterr, -errno, "open '%.300s'", directory);
	return enable_below(fd, directory, reterr);
}

/* Makes sure of one level, whose parent is there. */
static int create_level(struct cgroup *cgroup, const char *name, unsigned level,
			struct error *reterr)
{
	char directory[PATH_MAX];
	int result = join(directory, cgroup, name);
	struct stat unused;

	if (result < 0)
		return error_errno(reterr, result, "'%.200s'", name);
	if (stat(directory, &unused) == 0)
		return 0;
	if (cgroup->has_library)
		(void)cgroup_library_create(name);
	if (mkdir(directory, 0755) == 0 || errno == EEXIST) {
		if (cgroup->created_top == 0)
			cgroup->created_top = level;
		return 0;
	}
	result = -errno;
	if (result == -EROFS)
		return error_set(reterr, result, CGROUP_READ_ONLY);
	return error_errno(reterr, result, "create '%.300s'", directory);
}

int cgroup_create_missing(struct cgroup *cgroup, struct error *reterr)
{
	char name[PATH_MAX];
	size_t end = 0;

	for (unsigned level = 1; cgroup->name[end] != '\0'; level++) {
		int result;

		memcpy(name, cgroup->name, end);
		name[end] = '\0';
		result = enable_at(cgroup, name, reterr);
		if (result < 0)
			return result;
		end += cgroup->name[end] == '/';
		end += strcspn(cgroup->name + end, "/");
		memcpy(name, cgroup->name, end);
		name[end] = '\0';
		result = create_level(cgroup, name, level, reterr);
		if (result < 0)
			return result;
	}
	return 0;
}

int cgroup_remove_created(struct cgroup *cgroup, struct error *reterr)
{
	char name[PATH_MAX], directory[PATH_MAX];

	if (cgroup->created_top == 0)
		return 0;
	memcpy(name, cgroup->name, sizeof(name));
	for (unsigned level = cgroup->depth; level >= cgroup->created_top; level--) {
		if (join(directory, cgroup, name) < 0 || !cut_last(name))
			break;
		if (rmdir(directory) == 0 || errno == ENOENT)
			continue;
		if (level < cgroup->depth)
			break; /* somebody else uses the parent by now */
		return error_errno(reterr, -errno, "remove '%.300s'%s", directory,
				   errno == EBUSY ? " (it has processes or groups)" : "");
	}
	return 0;
}
