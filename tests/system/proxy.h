/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_PROXY_H
#define ISO_SYSTEM_PROXY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/rng.h"

/*
 * TCP lines between agents that can be made bad: a process of its own takes
 * connections on one port and forwards them to another.
 *
 * It cannot lose, double or swap single messages: they are inside an encrypted
 * stream with a counter, which any missing byte breaks.  So a message is lost by
 * swallowing all that comes and cutting the connection later, and late or out
 * of order messages come from delays: what a connection still holds is
 * delivered after its sender has died and the next one has spoken.
 */
#define PROXY_LINES_MAX 16u

enum proxy_mode {
	PROXY_FORWARD = 0,
	PROXY_HOLD,    /* nothing is read or forwarded; it is kept, and forwarded later */
	PROXY_SWALLOW, /* a black hole; what went into it is cut off when it ends */
};

/* Direction 0: from who connects to who listens; 1: back. */
struct proxy_line {
	_Atomic int mode[2];
	_Atomic unsigned delay_ms[2];
	_Atomic unsigned cuts_asked; /* +1: reset all connections of the line */
	_Atomic bool refuse;	     /* reset new ones as well */
	_Atomic uint64_t connections;
	_Atomic uint64_t resets;
	_Atomic uint64_t forwarded; /* bytes */
	_Atomic uint64_t swallowed;
};

struct proxy {
	pid_t pid;
	unsigned count;
	int listeners[PROXY_LINES_MAX];
	unsigned ports[PROXY_LINES_MAX]; /* where they lead */
	struct proxy_line *lines;	 /* shared with the process */
};

/* Line i: from listen_ports[i] to ports[i], on 127.0.0.1.  The test fails if it cannot. */
void proxy_open(struct proxy *proxy, unsigned count, const unsigned *listen_ports,
		const unsigned *ports);
void proxy_close(struct proxy *proxy);

/* All well again; connections that swallowed something are cut. */
void proxy_calm(struct proxy *proxy);

/* One line, one direction or both, gets another fault or none; counts by kind in *ret_counts. */
struct proxy_weather {
	uint64_t delays, holds, holes, half_holes, cuts, refusals, calms;
};
void proxy_weather(struct proxy *proxy, unsigned line, struct iso_rng *rng,
		   struct proxy_weather *counts);

#endif
