/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COLLECT_H
#define ISO_COLLECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/control/controlsock.h"

/*
 * Asks all agents of this machine at once, through their control sockets.  One
 * that hangs costs its own answer: the others are not kept waiting, and all of it
 * ends at one deadline.
 */

#define COLLECT_AGENTS_MAX 256
#define COLLECT_NAME_BYTES 64

struct collect_agent {
	char name[COLLECT_NAME_BYTES]; /* of its directory; or its socket, as given */
	char path[CONTROL_PATH_BYTES];
	json_t *reply; /* {"ok": true, ...}; NULL: none */
	char why[160]; /* there is none; "" before the first question */
};

struct collect {
	unsigned count;
	bool is_full; /* there were more */
	struct collect_agent agents[COLLECT_AGENTS_MAX];
};

/*
 * Those that have a socket DIRECTORY/NAME/control, sorted by name.  -errno: the
 * directory cannot be read; one that is missing has none in it.
 */
int collect_find(const char *directory, struct collect *ret_collect, struct error *reterr);

/* Adds one by its socket's path.  -ENAMETOOLONG; -ENOSPC: COLLECT_AGENTS_MAX are there. */
int collect_add(struct collect *collect, const char *path, struct error *reterr);

/*
 * Asks them all for one command and waits for timeout_ns at most.  Replies of
 * before are dropped.  What is refused ("ok": false) is no reply, and why says so.
 */
void collect_ask(struct collect *collect, const char *command, uint64_t timeout_ns);

/* The same for one of them. */
void collect_ask_one(struct collect_agent *agent, const char *command, uint64_t timeout_ns);

/* Drops the replies; the agents stay. */
void collect_drop(struct collect *collect);

#endif
