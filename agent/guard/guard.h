/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GUARD_H
#define ISO_GUARD_H

#include <stdbool.h>

#include "agent/base/error.h"

/*
 * The guard: a process of its own that outlives the agent, writes the job's
 * limit for it, and lowers the limit to the floor guard_ns before the lease's
 * deadline, whether the agent lives or not.  Small on purpose: one loop, no
 * allocation, no library but libc, its memory locked, real-time precedence
 * where that is permitted, a hardware watchdog behind it where there is one.
 *
 * Signals: SIGTERM and SIGINT lower the limit now and end it.  SIGHUP and a
 * terminal that goes are ignored.
 */
struct guard_config {
	const char *run_directory;
	const char *watchdog; /* device; "": none */
	unsigned watchdog_s;  /* the longest timeout that fits into the slack */
	int priority;	      /* SCHED_FIFO; 0: ordinary */
	bool is_unconfined;   /* keeps all that it was started with */
};

/*
 * Serves the agent on GUARD_FD, and after it whoever connects to the socket in
 * the run directory as the same user or root.  Returns 0 when nothing is left
 * to guard, or what kept it from starting, which the agent has been told.
 */
int guard_run(const struct guard_config *config, struct error *reterr);

#endif
