/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GUARD_PRIVATE_H
#define ISO_GUARD_PRIVATE_H

#include <poll.h>

#include "agent/guard/guard.h"
#include "agent/guard/guard_client.h"
#include "agent/guard/keeper.h"
#include "agent/guard/watchdog.h"

/* What the parts of a guard share: guard.c (serving an agent) and guard_start.c. */

/* Where in the array that is polled. */
enum { GUARD_AGENT, GUARD_LISTEN, GUARD_TIMER, GUARD_SIGNALS, GUARD_FDS };

struct guard {
	const struct guard_config *config;
	struct keeper keeper;
	struct watchdog watchdog;
	enum guard_watchdog watchdog_state;
	struct pollfd fds[GUARD_FDS];
	int lock_fd;
	uint32_t flags;
	uint64_t pet_at_ns;
	int told_error;     /* of lowering; logged once */
	uint32_t told_lowered;
	bool ends;
	bool stays; /* others may raise the limit: alone as well, while the group is there */
};

/* Locks the run directory, listens, takes what makes it dependable and confines itself. */
int guard_start(struct guard *guard, struct error *reterr);

/* Tells the watchdog, if there is one, that the guard is well. */
void guard_pet(struct guard *guard, uint64_t now_ns);

#endif
