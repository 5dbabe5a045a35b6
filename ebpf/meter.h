/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
#ifndef ISO_EBPF_METER_H
#define ISO_EBPF_METER_H

/*
 * What ebpf/meter.bpf.c writes and agent/meter.c, agent/cpuclock.h read
 * through shared memory: fixed-width types only.  All times are ns of
 * CLOCK_MONOTONIC, which is what bpf_ktime_get_ns() returns.
 */
#include <linux/types.h>

/* Enough for the threads of any worker; one page of slots holds 64 of them. */
#define METER_CLOCKS_MAX 1024

#define METER_NO_CLOCK (-1)

/*
 * One CPU's account of the job.  The first line belongs to the scheduler hooks
 * running on that CPU, the second to the agent's iterator, which corrects what
 * no hook can see: a task that was moved into or out of the job while it ran.
 *
 * The waiting integral is linear, so that nobody has to visit the waiting
 * tasks: entering adds 1 to waiting and -t to wait_sum_ns, leaving the reverse;
 * read at time t it is wait_sum_ns + waiting * t, summed over all CPUs.  One
 * CPU's waiting may be negative: tasks enter on one CPU and leave on another.
 */
struct meter_cpu {
	__u64 sequence;    /* odd while the fields below change */
	__u64 on_cpu_ns;   /* stints that have ended */
	__u64 started_ns;  /* the job's stint that is running; 0: none */
	__u64 switched_ns; /* when the task that is running was switched in */
	__s64 wait_sum_ns;
	__s64 waiting;
	__u32 tid;         /* who is running, of any job */
	__s32 clock;       /* its training clock, or METER_NO_CLOCK */
	__u64 switches;    /* times a task of the job was switched in */

	__u64 moved_ns;    /* since when moved_tid's membership is moved_in */
	__u32 moved_tid;   /* 0: nobody */
	__u32 moved_in;
	__u64 padding[6];
};
_Static_assert(sizeof(struct meter_cpu) == 128, "two cache lines, and 32 to a page");

/*
 * A training thread's on-CPU clock.  It is written at the thread's own switches
 * only, so that the thread itself, being on CPU while it reads, never sees half
 * an update: accumulated_ns + (now - started_ns), again if started_ns changed.
 */
struct meter_clock {
	__u64 accumulated_ns;
	__u64 started_ns; /* 0: not switched in since it was registered */
	__u64 padding[6];
};
_Static_assert(sizeof(struct meter_clock) == 64, "a cache line: no two threads share one");

/*
 * On-CPU time of the stint that runs now, up to now_ns.  In the hooks, at
 * switch-out, and in the reader.  now_ns may lie a little before the stamps
 * when another CPU's are newer: then the stint has no length yet.
 */
static inline __u64 meter_stint_ns(const struct meter_cpu *cpu, __u64 now_ns)
{
	__u64 from_ns = cpu->started_ns, to_ns = now_ns;

	if (cpu->moved_tid != 0 && cpu->moved_tid == cpu->tid &&
	    cpu->moved_ns >= cpu->switched_ns) {
		if (cpu->moved_in && from_ns == 0)
			from_ns = cpu->moved_ns;
		if (!cpu->moved_in && to_ns > cpu->moved_ns)
			to_ns = cpu->moved_ns;
	}
	return from_ns != 0 && to_ns > from_ns ? to_ns - from_ns : 0;
}

#endif
