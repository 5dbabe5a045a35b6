/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
#ifndef ISO_EBPF_METER_H
#define ISO_EBPF_METER_H

/*
 * What ebpf/meter.bpf.c writes and agent/meter/meter.c, agent/meter/cpuclock.h read
 * through shared memory: fixed-width types only.  All times are ns of
 * CLOCK_MONOTONIC, which is what bpf_ktime_get_ns() returns.
 */
#include <linux/types.h>

/* Enough for the threads of any worker; one page of slots holds 64 of them. */
#define METER_CLOCKS_MAX 1024

#define METER_SEEN_BITS 2
#define METER_SEEN	(1 << METER_SEEN_BITS)

/* In meter_cpu.running: these bits, and 1 + the slot of the running thread's clock. */
#define METER_RUNS_JOB	    0x80000000u
#define METER_RUNS_REALTIME 0x40000000u /* of the job, and no quota holds it */
#define METER_RUNS_CLOCK    0x3fffffffu

/*
 * One CPU's account of the job.  The first two lines belong to the scheduler hooks
 * running on that CPU, the third and moved_tid to the agent's iterator, which corrects
 * what no hook can see: a task that was moved into or out of the job while it ran.
 *
 * The first line is all that a switch between two strangers touches, and most are
 * such: with many jobs on a machine, those of all the others.  It changes tid alone,
 * outside the sequence, and only where the line says that nobody of the job runs and
 * that the iterator has nothing to say.
 *
 * on_cpu_ns is the kernel's own account of the stints that have ended; the
 * reader adds the running one by the clock, from switched_ns to now.
 *
 * The waiting integral is linear, so that nobody has to visit the waiting
 * tasks: entering adds 1 to waiting and -t to wait_sum_ns, leaving the reverse;
 * read at time t it is wait_sum_ns + waiting * t, summed over all CPUs.  One
 * CPU's waiting may be negative: tasks enter on one CPU and leave on another.
 */
struct meter_cpu {
	__u32 tid;         /* who runs now, of any job */
	__u32 running;     /* METER_RUNS_JOB, METER_RUNS_REALTIME, clock */
	__u64 switched_ns; /* when it was switched in, or a while before; 0: before the hooks */
	__u32 moved_tid;   /* whose membership is moved_in since moved_ns; 0: nobody's */
	/* Which cgroups below the job's level the hooks found in the job. */
	__u32 seen_in; /* bit i: seen_id[i] is in it */
	__u64 seen_job;
	__u64 seen_id[METER_SEEN];

	__u64 sequence;    /* odd while this line or more than tid in the first changes */
	__u64 on_cpu_ns;   /* stints that have ended */
	__u64 realtime_ns; /* part of on_cpu_ns */
	__u64 sum_exec_ns; /* at switched_ns its sum_exec_runtime, if it is of the job */
	__s64 wait_sum_ns;
	__s64 waiting;
	__u64 switches;    /* times a task of the job was switched in */
	__u64 padding;

	__u64 moved_ns;
	__u32 moved_in;
	__u32 moved_padding[13];
};
_Static_assert(sizeof(struct meter_cpu) == 192, "whole cache lines");
_Static_assert(__builtin_offsetof(struct meter_cpu, sequence) == 64, "strangers: one line");

/*
 * A training thread's on-CPU clock: the kernel's thread clock as of the last
 * switch-in, to be carried on by the reader, accumulated_ns + (now - started_ns).
 * It is written at the thread's own switches only, so that the thread itself,
 * being on CPU while it reads, never sees half an update: it reads again if
 * started_ns has changed.
 */
struct meter_clock {
	__u64 accumulated_ns; /* at started_ns, as CLOCK_THREAD_CPUTIME_ID counts */
	__u64 started_ns;     /* when it was switched in; 0: unknown, ask the kernel */
	__u64 padding[6];
};
_Static_assert(sizeof(struct meter_clock) == 64, "a cache line: no two threads share one");

/* Whether the iterator's word about the running task holds: it came during this stint. */
static inline int meter_moved(const struct meter_cpu *cpu)
{
	return cpu->moved_tid != 0 && cpu->moved_ns >= cpu->switched_ns &&
	       (cpu->moved_tid == cpu->tid || cpu->switched_ns == 0);
}

/* Whether the running task's time goes to the job. */
static inline int meter_in_job(const struct meter_cpu *cpu)
{
	return meter_moved(cpu) ? cpu->moved_in != 0 : (cpu->running & METER_RUNS_JOB) != 0;
}

/*
 * The job's on-CPU time of the stint that runs, up to now_ns: for the hook at
 * switch-out and for the reader.  now_ns may lie a little before the stamps when
 * another CPU made them: then the stint has no length yet.
 */
static inline __u64 meter_stint_ns(const struct meter_cpu *cpu, __u64 now_ns)
{
	__u64 from_ns = cpu->running & METER_RUNS_JOB ? cpu->switched_ns : 0, to_ns = now_ns;

	if (meter_moved(cpu)) {
		if (cpu->moved_in && from_ns == 0)
			from_ns = cpu->moved_ns;
		if (!cpu->moved_in && to_ns > cpu->moved_ns)
			to_ns = cpu->moved_ns;
	}
	return from_ns != 0 && to_ns > from_ns ? to_ns - from_ns : 0;
}

#endif
