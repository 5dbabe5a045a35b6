/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SPAWN_H
#define ISO_SPAWN_H

#include <sys/types.h>

#include "agent/base/error.h"

/*
 * Starts the worker: in the job's cgroup before its first instruction, as an
 * unprivileged user that cannot become another one, with the socket to the
 * agent as descriptor 3, the map of clocks as 4 and nothing else, and so that
 * it dies with the agent.  Starting it again, and when, is the agent's part.
 */

#define SPAWN_GROUPS_MAX 64

struct spawn_user {
	uid_t uid;
	gid_t gid;
	int groups_count;
	gid_t groups[SPAWN_GROUPS_MAX];
};

/* -ENOENT: no such user; -EPERM: root is no user for a worker. */
int spawn_user_find(const char *name, struct spawn_user *ret_user, struct error *reterr);

/* Moves the process to where its CPU time is limited; cgroup_attach() fits behind it. */
typedef int spawn_attach_fn(void *context, pid_t pid, struct error *reterr);

struct spawn_config {
	const char *executable;
	char *const *argv;	       /* argv[0] too; ends with NULL */
	const struct spawn_user *user; /* NULL: as whom we are */
	int clock_fd;		       /* borrowed; -1: none */
	spawn_attach_fn *attach;       /* NULL: stays where we are */
	void *context;
};

struct spawn_child {
	pid_t pid;
	int pidfd;   /* readable when it has ended: for the loop */
	int link_fd; /* the agent's end, for workerlink_open(), which moves it: then set -1 */
};

/*
 * Returns when the worker's program runs, or with the step that failed and
 * nothing left behind; after a fifth of a second also when it is not known yet
 * which of the two it will be.  Everything is borrowed for the call.
 */
int spawn_worker(const struct spawn_config *config, struct spawn_child *ret_child,
		 struct error *reterr);

/*
 * Takes the exit status off an ended child and closes its descriptors.  text
 * says how it ended ("exit status 2", "signal 9 (Killed)").  -EAGAIN: it runs.
 */
#define SPAWN_TEXT_BYTES 64
int spawn_reap(struct spawn_child *child, char ret_text[SPAWN_TEXT_BYTES]);

/*
 * Ends it, SIGTERM and after grace_ms SIGKILL, and reaps it.  One that cannot
 * even be killed is given up after a second.  No child is fine.
 */
void spawn_kill(struct spawn_child *child, unsigned grace_ms);

#define SPAWN_NO_CHILD                                                                             \
	{                                                                                          \
		.pid = 0, .pidfd = -1, .link_fd = -1                                               \
	}

#endif
