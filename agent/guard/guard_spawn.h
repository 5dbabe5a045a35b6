/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GUARD_SPAWN_H
#define ISO_GUARD_SPAWN_H

#include <sys/types.h>

#include "agent/guard/guard_client.h"

/* For the guard's client: its process, how it comes and goes. */

struct guard_process {
	int fd;    /* connection, -1: none */
	int pidfd; /* readable when it has ended; -1: none */
	pid_t pid;
	bool is_child;
};

#define GUARD_NO_PROCESS { .fd = -1, .pidfd = -1 }

/* Connects to the guard that is there.  -ENOENT, -ECONNREFUSED: there is none. */
int guard_find(const char *run_directory, struct guard_process *ret_process,
	       struct error *reterr);

/*
 * Starts one, in a session of its own, with the connection as GUARD_FD.  That
 * it could not start comes as the first reply.
 */
int guard_spawn(const struct guard_client_config *config, struct guard_process *ret_process,
		struct error *reterr);

/* Its program has been replaced since it started, by an upgrade. */
bool guard_is_outdated(const struct guard_process *process);

/* Waits until it is dead, and reaps it; false: not in time.  Of none: true. */
bool guard_wait(struct guard_process *process, unsigned timeout_ms);

/* SIGTERM, by which it lowers the limit and disarms its watchdog; after grace_ms SIGKILL. */
bool guard_end(struct guard_process *process, unsigned grace_ms);

/* Closes what is open; the process goes on. */
void guard_forget(struct guard_process *process);

#endif
