/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GUARD_CLIENT_H
#define ISO_GUARD_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"
#include "agent/cgroup/cgroup.h"

struct loop;

/*
 * The agent's side of the guard (agent/guard/guard.h): finds the one that a
 * former agent left or starts one, and makes every write of the quota through
 * it.  One that has died or does not answer is killed, and the limit lowered
 * to the floor by ourselves before another one starts: so whenever more than
 * the floor is in force, something is there that will lower it in time.
 *
 * Deadlines are CLOCK_BOOTTIME in ns, as leases are; UINT64_MAX: none needed.
 */
struct guard_client;

enum guard_state {
	GUARD_OK = 1,
	GUARD_RESTARTING, /* it ended or hung; the next one is on its way */
	GUARD_NONE,       /* none to be had: only the floor is enforced */
};

enum guard_watchdog {
	GUARD_WATCHDOG_NONE, /* not configured */
	GUARD_WATCHDOG_ARMED,
	GUARD_WATCHDOG_TOO_SLOW, /* its timeout does not fit into the slack */
	GUARD_WATCHDOG_FAILED,   /* not there, busy, or it does not answer */
};

struct guard_status {
	enum guard_state state;
	char reason[256];         /* "" when ok */
	pid_t pid;                /* 0: none */
	uint32_t restarts;        /* since this agent started */
	uint32_t lowered;         /* times that the limit was lowered without the agent's asking */
	uint64_t deadline_ns;     /* what the guard last confirmed; 0: no lease */
	bool realtime, locked;    /* SCHED_FIFO, mlockall */
	enum guard_watchdog watchdog;
	uint32_t watchdog_s;      /* its timeout, if armed */
	bool auto_burial;         /* even if agent and guard both die, no more than the floor */
};

/* "ok", "restarting", "none"; "none", "armed", "too slow", "failed". */
const char *guard_state_name(enum guard_state state);
const char *guard_watchdog_name(enum guard_watchdog watchdog);

struct guard_client_config {
	const char *executable;
	const char *run_directory; /* socket and lock are in it */
	const char *watchdog;      /* device; "": none */
	unsigned watchdog_s;       /* the longest that fits into the slack; 0: none does */
	int priority;              /* SCHED_FIFO; 0: ordinary */
	bool is_unconfined;        /* it keeps privileges and system calls */
	uint64_t floor_ucpu;
	uint64_t lease_ns;
	uint64_t guard_ns;         /* lowers so long before the deadline */
	bool stays;                /* after the lease as well: systemd may raise the limit */
};

/* The strings are borrowed until guard_client_close().  Starts nothing yet.  -ENOMEM. */
int guard_client_open(const struct guard_client_config *config, struct guard_client **ret_client,
		      struct error *reterr);

/* Leaves without a word, as a crash would: the guard goes on.  Takes NULL; returns NULL. */
struct guard_client *guard_client_close(struct guard_client *client);

/*
 * For cgroup_config: from its first attach the guard is there, and the limit
 * is at most the floor unless the guard had a lease.
 */
const struct cgroup_writer *guard_client_writer(struct guard_client *client);

/* The guard's death is seen at once, not only at the next call; NULL: no longer. */
int guard_client_watch(struct guard_client *client, struct loop *loop);

/*
 * Tells the deadline and looks after the guard; once a tick at least.  What
 * cannot be done is a state, not an error.
 */
void guard_client_renew(struct guard_client *client, uint64_t deadline_ns);

/* True from guard_ns before the deadline, and without a guard: the floor is the most. */
bool guard_client_floor_only(const struct guard_client *client);

/*
 * The agent ends in order.  With keep, the limit stays: the guard lowers it
 * when the lease ends.  Else the limit is not ours any more: the guard ends now.
 */
void guard_client_leave(struct guard_client *client, bool keep);

const struct guard_status *guard_client_status(const struct guard_client *client);

#endif
