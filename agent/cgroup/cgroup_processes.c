/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who lives in a group and below: for a person who asks what would be limited. */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct walk {
	const char *root;
	bool is_threaded; /* the uppermost group is: all below are, and list threads only */
	unsigned shown;
	uint32_t looked, most; /* at files: one each */
	struct cgroup_processes *out;
};

/* The command, printable; of a thread that is not its process's first: false. */
static bool read_name(const char *root, unsigned long pid, char ret_name[32])
{
	char path[PATH_MAX], text[CGROUP_FILE_BYTES];
	uint64_t leader;

	if (snprintf(path, sizeof(path), "%s/proc/%lu/status", root, pid) >= PATH_MAX ||
	    cgroup_file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		text[0] = '\0';
	/* "Name:\tsh" and "Tgid:\t812" on lines of their own. */
	for (char *at = text; (at = strchr(at, '\t')) != NULL; at++)
		*at = ' ';
	if (cgroup_file_field(text, "Tgid:", &leader) && leader != pid)
		return false;
	snprintf(ret_name, 32, "?");
	if (strncmp(text, "Name: ", 6) == 0)
		snprintf(ret_name, 32, "%.*s", (int)strcspn(text + 6, "\n"), text + 6);
	for (char *at = ret_name; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
	return true;
}

static void take(struct walk *walk, unsigned long pid)
{
	struct cgroup_processes *out = walk->out;
	size_t used = strlen(out->names);
	char name[32];

	walk->looked++;
	if (!read_name(walk->root, pid, name))
		return;
	out->count++;
	if (walk->shown > CGROUP_PROCESSES_SHOWN)
		return;
	if (walk->shown++ == CGROUP_PROCESSES_SHOWN)
		snprintf(out->names + used, sizeof(out->names) - used, ", ...");
	else
		snprintf(out->names + used, sizeof(out->names) - used, "%s%.16s (%lu)",
			 used > 0 ? ", " : "", name, pid);
}

/* False: there is no such file, or it may not be read here. */
static bool take_all(struct walk *walk, int dir_fd, const char *file)
{
	int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	FILE *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	unsigned long pid;

	if (stream == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	errno = 0;
	while (walk->looked < walk->most && fscanf(stream, "%lu", &pid) == 1)
		take(walk, pid);
	/* In a threaded group cgroup.procs opens, and the read says EOPNOTSUPP. */
	bool is_read = ferror(stream) == 0;
	fclose(stream);
	return is_read;
}

static void walk_below(struct walk *walk, int dir_fd, unsigned depth)
{
	const char *name;
	DIR *directory;

	/* A child that is threaded is in the list of the group that it is threaded in. */
	if (walk->is_threaded)
		(void)take_all(walk, dir_fd, "cgroup.threads");
	else if (!take_all(walk, dir_fd, "cgroup.procs") && depth == 0)
		walk->is_threaded = take_all(walk, dir_fd, "cgroup.threads");
	directory = depth < CGROUP_DEPTH_MAX ? cgroup_opendir(dir_fd) : NULL;
	while (directory != NULL && walk->looked < walk->most &&
	       (name = cgroup_next_child(directory)) != NULL) {
		CGROUP_CLOSE_FD int fd = openat(dir_fd, name,
						O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			walk_below(walk, fd, depth + 1);
	}
	if (directory != NULL)
		closedir(directory);
}

void cgroup_processes(const char *root, const char *directory, uint32_t most,
		      struct cgroup_processes *ret_processes)
{
	struct walk walk = { .root = root, .most = most, .out = ret_processes };
	CGROUP_CLOSE_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret_processes = (struct cgroup_processes){ 0 };
	if (fd >= 0)
		walk_below(&walk, fd, 0);
	ret_processes->is_partial = walk.looked == most;
}
