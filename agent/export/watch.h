/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WATCH_H
#define ISO_WATCH_H

#include <stdint.h>
#include <stdio.h>

#include "agent/export/collect.h"

struct watch;

/*
 * The agents of this machine as they were a moment ago: asked at most once a
 * second, however many look.  Logs one line for each that begins to answer, that
 * no longer does, and that is gone.
 */

#define WATCH_FRESH_NS 1000000000u

struct watch_config {
	const char *directory;	    /* below it are the agents' own; or: */
	const char *const *sockets; /* these and no others; borrowed */
	unsigned socket_count;	    /* 0: the directory */
	uint64_t timeout_ns;	    /* for all of them together */
};

/* Everything in config is borrowed until watch_close().  -ENAMETOOLONG, -ENOSPC, -ENOMEM. */
int watch_open(const struct watch_config *config, struct watch **ret_watch, struct error *reterr);

/* Takes NULL; returns NULL. */
struct watch *watch_close(struct watch *watch);

/* With their last replies; asks anew first where those are older than WATCH_FRESH_NS. */
const struct collect *watch_look(struct watch *watch);

/* Until when watch_look() will say the same; 0 before the first. */
uint64_t watch_fresh_until_ns(const struct watch *watch);

/*
 * One step of HISTORY_STEP_NS: keeps where each node stands, and audits.  Returns when
 * the next one is due.  Call it at the start and then.
 */
uint64_t watch_step(struct watch *watch);

/* The metrics of all agents, then the exporter's own. */
void watch_metrics(struct watch *watch, FILE *out);

/* The status page, with what watch_step() has found. */
void watch_page(struct watch *watch, FILE *out);

#endif
