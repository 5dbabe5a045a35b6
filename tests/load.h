/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LOAD_H
#define ISO_LOAD_H

#include <stdint.h>
#include <sys/types.h>

#include "tests/cgroup_fixture.h"

/*
 * Processes that use CPU in a known way, in a group from their first
 * instruction on.  They die with the test.
 */
struct load {
	pid_t pid;
};

enum load_kind {
	LOAD_IDLE = 1, /* sleeps */
	LOAD_BUSY,     /* never sleeps */
	LOAD_PULSES,   /* half a millisecond of work, half of sleep */
	LOAD_BURSTS,   /* work and sleep in turn, 1 ms to 2 s each; the threads not in step */
};

/* group NULL: where the test is.  Returns when all threads run. */
struct load load_start(const struct test_cgroup *group, enum load_kind kind, int threads);
void load_stop(struct load *load);

/* All its threads leave the CPU, until it may go on. */
void load_hold(const struct load *load);
void load_go_on(const struct load *load);

/* Its first thread gets a policy (SCHED_FIFO, ...); 0 or -errno. */
int load_policy(const struct load *load, int policy);

/*
 * The kernel's own account: CPU time of the process, of all its threads.  Of a thread
 * that runs it knows the time up to the last tick only (4 ms at 250 Hz): hold it first.
 */
uint64_t load_cpu_ns(const struct load *load);

/*
 * How long its threads were ready to run and did not, as they said when they last
 * came to run (/proc/PID/schedstat); 0 where the kernel does not count it.  Of a
 * job with a quota this includes what the quota itself has kept them waiting.
 */
uint64_t load_waited_ns(const struct load *load);

/* Lasts by the wall clock. */
void load_wait_ms(unsigned ms);

#endif
