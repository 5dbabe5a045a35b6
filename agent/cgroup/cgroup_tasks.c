/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who lives in the group: policies of its threads, and whether it is frozen. */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif
#ifndef SCHED_EXT
#define SCHED_EXT 7
#endif
#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

static void count(struct cgroup_tasks *tasks, pid_t tid)
{
	/* 0 is the asker; the list has it for those that our PID namespace does not know. */
	int policy = tid > 0 ? sched_getscheduler(tid) : -1;

	tasks->threads++;
	if (policy < 0)
		return; /* it has ended */
	policy &= ~SCHED_RESET_ON_FORK;
	tasks->realtime += policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
	tasks->extensible += policy == SCHED_EXT;
}

/* False when enough have been seen. */
static bool count_threads(int dir_fd, const char *name, unsigned most, struct cgroup_tasks *tasks)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	int tid;

	if (file == NULL) {
		cgroup_fd_closep(&fd);
		return true;
	}
	while (!tasks->is_partial && fscanf(file, "%d", &tid) == 1) {
		if (tasks->threads == most)
			tasks->is_partial = true;
		else
			count(tasks, tid);
	}
	fclose(file);
	return !tasks->is_partial;
}

static void count_below(int dir_fd, const char *name, unsigned depth, unsigned most,
			struct cgroup_tasks *tasks)
{
	const char *group;
	DIR *directory;

	if (!count_threads(dir_fd, name, most, tasks) || depth == 0)
		return;
	directory = cgroup_opendir(dir_fd);
	if (directory == NULL)
		return;
	while (!tasks->is_partial && (group = cgroup_next_child(directory)) != NULL) {
		/* Groups cost as much to look at as threads do. */
		if (++tasks->groups > most) {
			tasks->is_partial = true;
			break;
		}
		CGROUP_CLOSE_FD int child = openat(dir_fd, group,
						   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (child >= 0)
			count_below(child, name, depth - 1, most, tasks);
	}
	closedir(directory);
}

int cgroup_tasks(struct cgroup *cgroup, unsigned most, struct cgroup_tasks *ret_tasks)
{
	struct cgroup_tasks tasks = { .groups = 1 };
	const char *name = cgroup->backend->version == 2 ? "cgroup.threads" : "tasks";

	if (cgroup->dir_fd < 0 || cgroup->state == CGROUP_GONE)
		return -ENODEV;
	count_below(cgroup->dir_fd, name, CGROUP_DEPTH_MAX, most, &tasks);
	*ret_tasks = tasks;
	return 0;
}

/* v1 freezes in a hierarchy of its own: where a process of the job stands in that. */
static bool frozen_v1(struct cgroup *cgroup)
{
	struct mounts_controller freezer;
	char text[CGROUP_FILE_BYTES], group[PATH_MAX], directory[PATH_MAX];
	uint64_t pid;

	if (cgroup_file_read(cgroup->dir_fd, "cgroup.procs", text, sizeof(text)) < 0 ||
	    strchr(text, '\n') == NULL)
		return false;
	*strchr(text, '\n') = '\0';
	if (!cgroup_parse_u64(text, &pid, NULL) ||
	    mounts_find(cgroup->root, "freezer", &freezer, NULL) < 0 || freezer.version != 1 ||
	    mounts_group_of(cgroup->root, (pid_t)pid, "freezer", 1, group, NULL) < 0 ||
	    mounts_directory(&freezer, group, directory, NULL) < 0)
		return false;
	CGROUP_CLOSE_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && cgroup_file_read(fd, "freezer.state", text, sizeof(text)) == 0 &&
	       strncmp(text, "FROZEN", 6) == 0;
}

bool cgroup_frozen(struct cgroup *cgroup)
{
	char text[CGROUP_FILE_BYTES];
	uint64_t frozen = 0;

	if (cgroup->dir_fd < 0 || cgroup->state == CGROUP_GONE)
		return false;
	if (cgroup->backend->version == 1)
		return frozen_v1(cgroup);
	return cgroup_file_read(cgroup->dir_fd, "cgroup.events", text, sizeof(text)) == 0 &&
	       cgroup_file_field(text, "frozen", &frozen) && frozen != 0;
}
