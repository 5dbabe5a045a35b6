/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void file_closep(FILE **file)
{
	if (*file != NULL)
		fclose(*file);
}

static void freep(char **text)
{
	free(*text);
}

/* A file of lines below root; errors are left in errno. */
static FILE *open_below(const char *root, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(full, "re");
}

/* Whether word is one of those in list, which are divided by a comma or a blank. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (*list != '\0') {
		size_t span = strcspn(list, ", \n");

		if (span == length && memcmp(list, word, length) == 0)
			return true;
		list += span;
		list += strspn(list, ", \n");
	}
	return false;
}

/* mountinfo writes blank, tab, newline and backslash as three octal digits. */
static void unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in != '\0'; in++) {
		if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
		    in[3] >= '0' && in[3] <= '7') {
			*out++ = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
}

struct mount_line {
	char *subtree, *mount, *type, *super_options;
};

/*
 * "36 35 98:0 /subtree /mount rw,relatime shared:1 - cgroup2 cgroup2 rw": any
 * number of optional fields before the dash.  Cuts the line up in place.
 */
static bool split_line(char *line, struct mount_line *ret_line)
{
	char *fields[64], *save = NULL;
	size_t count = 0, dash = 0;

	for (char *field = strtok_r(line, " \n", &save); field != NULL && count < 64;
	     field = strtok_r(NULL, " \n", &save)) {
		if (count > 5 && dash == 0 && strcmp(field, "-") == 0)
			dash = count;
		fields[count++] = field;
	}
	if (dash == 0 || count < dash + 4)
		return false;
	*ret_line = (struct mount_line){
		.subtree = fields[3],
		.mount = fields[4],
		.type = fields[dash + 1],
		.super_options = fields[dash + 3],
	};
	unescape(ret_line->subtree);
	unescape(ret_line->mount);
	return true;
}

/* A cgroup2 mount has the controller only if its root lists it. */
static bool unified_has(const char *root, const char *mount, const char *name)
{
	__attribute__((cleanup(file_closep))) FILE *file = NULL;
	char path[PATH_MAX], list[4096];

	if (snprintf(path, sizeof(path), "%s/cgroup.controllers", mount) >= (int)sizeof(path))
		return false;
	file = open_below(root, path);
	return file != NULL && fgets(list, sizeof(list), file) != NULL && has_word(list, name);
}

/* 0: this line does not hold the controller; else the version. */
static unsigned line_version(const char *root, const struct mount_line *line, const char *name)
{
	if (strcmp(line->type, "cgroup") == 0 && has_word(line->super_options, name))
		return 1;
	if (strcmp(line->type, "cgroup2") == 0 && unified_has(root, line->mount, name))
		return 2;
	return 0;
}

/* Says why there is no such hierarchy, as /proc/cgroups knows it. */
static int explain_missing(const char *root, const char *name, bool any_unified,
			   struct error *reterr)
{
	__attribute__((cleanup(file_closep))) FILE *file = open_below(root, "/proc/cgroups");
	char line[256], found[64];
	unsigned hierarchy, groups, enabled;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%63s %u %u %u", found, &hierarchy, &groups, &enabled) != 4 ||
		    strcmp(found, name) != 0)
			continue;
		if (enabled == 0)
			return error_set(reterr, -ENOTSUP,
					 "the %s controller is disabled in this kernel: take "
					 "cgroup_disable=%s off its command line", name, name);
		if (hierarchy != 0)
			return error_set(reterr, -ENOTSUP,
					 "the %s controller is a cgroup v1 hierarchy that is not "
					 "mounted here: mount -t cgroup -o %s none DIRECTORY",
					 name, name);
		return error_set(reterr, -ENOTSUP,
				 any_unified ? "the %s controller is not among the controllers of "
					       "the cgroup2 mount here: inside a container, let "
					       "the host delegate it"
					     : "the %s controller is not mounted: mount -t cgroup2 "
					       "none /sys/fs/cgroup", name);
	}
	return error_set(reterr, -ENOTSUP,
			 "this kernel has no %s controller (CONFIG_CGROUP_SCHED, "
			 "CONFIG_CFS_BANDWIDTH)", name);
}

int mounts_find(const char *root, const char *name, struct mounts_controller *ret_controller,
		struct error *reterr)
{
	__attribute__((cleanup(file_closep))) FILE *file = open_below(root, "/proc/self/mountinfo");
	__attribute__((cleanup(freep))) char *line = NULL;
	struct mounts_controller found = { 0 };
	struct mount_line parts;
	bool any_unified = false;
	size_t size = 0;

	if (file == NULL)
		return error_errno(reterr, -errno, "%s/proc/self/mountinfo", root);
	while (getline(&line, &size, file) > 0) {
		unsigned version;

		if (!split_line(line, &parts))
			continue;
		any_unified = any_unified || strcmp(parts.type, "cgroup2") == 0;
		version = line_version(root, &parts, name);
		/* A mount of the whole hierarchy is better than one of a part of it. */
		if (version == 0 || (found.version != 0 && strcmp(parts.subtree, "/") != 0))
			continue;
		if (found.version != 0 && strcmp(found.subtree, "/") == 0)
			continue;
		if (snprintf(found.mount, sizeof(found.mount), "%s%s", root, parts.mount) >=
			    (int)sizeof(found.mount) ||
		    snprintf(found.subtree, sizeof(found.subtree), "%s", parts.subtree) >=
			    (int)sizeof(found.subtree))
			continue;
		found.version = version;
	}
	if (found.version == 0)
		return explain_missing(root, name, any_unified, reterr);
	*ret_controller = found;
	return 0;
}

/* The path in "ID:CONTROLLERS:PATH" if the line is the one asked for, else NULL. */
static char *group_in_line(char *line, const char *name, unsigned version)
{
	char *controllers = strchr(line, ':');
	char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

	if (path == NULL || path[1] != '/')
		return NULL;
	*controllers++ = '\0';
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (version == 2)
		return strcmp(line, "0") == 0 && *controllers == '\0' ? path : NULL;
	return has_word(controllers, name) ? path : NULL;
}

int mounts_group_of(const char *root, pid_t pid, const char *name, unsigned version,
		    char ret_path[PATH_MAX], struct error *reterr)
{
	static const char deleted[] = " (deleted)";
	__attribute__((cleanup(file_closep))) FILE *file = NULL;
	__attribute__((cleanup(freep))) char *line = NULL;
	char path[64] = "/proc/self/cgroup";
	size_t size = 0;

	if (pid != 0)
		snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = open_below(root, path);
	if (file == NULL)
		return error_errno(reterr, -errno, "%s%s", root, path);
	while (getline(&line, &size, file) > 0) {
		char *group = group_in_line(line, name, version);
		size_t length = group != NULL ? strlen(group) : 0;

		if (group == NULL)
			continue;
		if (length > strlen(deleted) &&
		    strcmp(group + length - strlen(deleted), deleted) == 0)
			group[length - strlen(deleted)] = '\0';
		if (strncmp(group, "/..", 3) == 0 && (group[3] == '/' || group[3] == '\0'))
			return error_set(reterr, -EXDEV,
					 "%s: the group is outside this cgroup namespace: run "
					 "outside of it", path);
		length = strlen(group);
		if (length >= PATH_MAX)
			return error_errno(reterr, -ENAMETOOLONG, "%s", path);
		memcpy(ret_path, group, length + 1);
		return 0;
	}
	return error_set(reterr, -ENODATA, "%s: no line for the %s controller", path, name);
}

const char *mounts_below(const struct mounts_controller *controller, const char *path)
{
	size_t length = strlen(controller->subtree);

	if (length <= 1 || strncmp(path, controller->subtree, length) != 0)
		return path;
	/* "/a" has nothing of "/ab". */
	return path[length] == '/' || path[length] == '\0' ? path + length : path;
}

int mounts_directory(const struct mounts_controller *controller, const char *path,
		     char ret_directory[PATH_MAX], struct error *reterr)
{
	/* In which group we are ourselves, and where a process arrives, could not be told. */
	if (strncmp(controller->subtree, "/..", 3) == 0)
		return error_set(reterr, -EXDEV,
				 "'%.200s' shows groups outside of this cgroup namespace, in which "
				 "they have other names: run outside of the namespace, or mount "
				 "the hierarchy inside of it and limit a child",
				 controller->mount);
	if (snprintf(ret_directory, PATH_MAX, "%s%s", controller->mount,
		     mounts_below(controller, path)) >= PATH_MAX)
		return error_errno(reterr, -ENAMETOOLONG, "'%.300s'", path);
	return 0;
}
