/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_FS_MANAGER_H
#define ISO_TESTS_FS_MANAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A service manager of our own, in a process of its own, that knows one unit
 * and speaks systemd's D-Bus.  What it does is set, and what it was told is
 * read, in memory that both see.
 */
struct manager_unit {
	volatile uint64_t ucpu, period_us;
	char group[256];            /* "": not running */
	char load_state[32];
	char dropin[128];           /* a file; "": none */
	volatile unsigned delay_ms; /* before it answers anything */
	volatile bool ignores;      /* says yes, and keeps its value */
	volatile bool refuses;      /* says no */
	volatile bool forgets;      /* a transient unit that has ended */
	volatile bool drops;        /* hangs up at the next message */
	volatile unsigned calls;    /* of SetUnitProperties */
	volatile unsigned signals;  /* to send to the peer, which counts them down */
	volatile unsigned peers;    /* that have connected, ever */
	volatile bool has_peer;     /* now */
};

struct manager {
	struct manager_unit *unit; /* shared with the process */
	pid_t pid;
	char address[128];
};

void manager_start(struct manager *manager);
void manager_stop(struct manager *manager);

#endif
