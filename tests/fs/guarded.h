/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_GUARDED_H
#define ISO_TESTS_GUARDED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/guard/guard_client.h"

/*
 * An agent that is nothing but its side of the guard, in a process of its own so
 * that it can be killed and stopped; a real guard; and an observer that reads
 * the quota each millisecond.  On the real hierarchy, or on plain files as v2.
 */

#define GUARDED_FLOOR_US 2000  /* of 100 ms */
#define GUARDED_SHARE_US 30000
#define GUARDED_LEASE_NS 1200000000ull
#define GUARDED_EARLY_NS 150000000ull

/* The observer is an ordinary process: on a busy machine it gets to look seldom. */
#define GUARDED_SAMPLES_MIN 3

/* Written by the test, read by the agent, and the other way round. */
struct guarded_shared {
	volatile bool granting;       /* a neighbour answers: the lease is renewed */
	volatile uint64_t found_ns;   /* deadline that the agent resumed with */
	volatile uint64_t deadline_ns; /* last confirmed by the guard */
	volatile uint64_t asked_ns;   /* last asked for: the guard may know it, or not yet */
	volatile uint64_t turns;
	volatile uint32_t lowered;    /* limits that were lowered behind its back */
	volatile uint32_t drifts;     /* ... and taken for somebody else's */
	volatile uint32_t restarts;
	volatile int state;           /* enum guard_state */
	volatile int watchdog;        /* enum guard_watchdog */
	volatile unsigned watchdog_s;
	volatile bool auto_burial;
	volatile pid_t guard;
	char reason[256];             /* read it only when the state is settled */
};

extern struct guarded_shared *guarded;
extern struct guard_client_config guarded_config;

/* real: on this host's hierarchy, else plain files.  The run directory is made. */
void guarded_start(bool real);
/* Kills what is left and removes everything. */
void guarded_end(void);

/* Once for the program, from test_suite() and at its end. */
void guarded_begin_program(void);

const char *guarded_run_directory(void);
void guarded_group_directory(char *ret_directory, size_t size);

/* Starts an agent; returns when it has had some turns. */
pid_t guarded_agent(void);
/* One that has a lease and its share. */
pid_t guarded_with_share(void);
void guarded_kill(pid_t pid); /* SIGKILL, and waits for a child */
/* Waits until the guard process is not there any more; false after timeout_ms. */
bool guarded_gone(pid_t guard, unsigned timeout_ms);
/* Waits until the agent has state and limit; fails the test after five seconds. */
void guarded_await(enum guard_state state, long quota_us);

/* The quota now; -1 unlimited, -2 gone. */
long guarded_quota(void);

/* The observer: from guarded_watch() to guarded_stop(). */
void guarded_watch(void);
void guarded_stop(void);
/* Least and greatest quota seen in [from_ns, to_ns) of CLOCK_BOOTTIME; how many samples. */
unsigned guarded_range(uint64_t from_ns, uint64_t to_ns, long *ret_least, long *ret_greatest);

/*
 * From the last deadline on nothing above the floor was seen; before it, no dip.  Of an
 * agent that was killed nobody knows whether the guard took the last one: least_ns is
 * the one before.
 */
void guarded_check_end(uint64_t since_ns, uint64_t least_ns, uint64_t deadline_ns);

void guarded_sleep_until(uint64_t boot_ns);

#endif
