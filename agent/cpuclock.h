/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CPUCLOCK_H
#define ISO_CPUCLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/clock.h"
#include "agent/error.h"
#include "ebpf/meter.h"

/*
 * The training thread's on-CPU clock: time this thread has spent on a CPU, as
 * the kernel's scheduler switched it, free of throttling, preemption and
 * waiting, read without a system call.  Without a map it is
 * CLOCK_THREAD_CPUTIME_ID.  Only differences of one clock mean anything.
 *
 * In the worker: cpuclock_map() once, from the descriptor that the agent
 * handed down; in each thread: register the tid with the agent, then
 * cpuclock_init() with the slot it answers, then cpuclock_read() at will.
 */
struct cpuclock_map;

/*
 * Maps the descriptor (meter_clock_fd() of the agent); it may be closed
 * afterwards.  Returns 0 or -errno.
 */
int cpuclock_map_open(int fd, struct cpuclock_map **ret_map, struct error *reterr);

/* Accepts NULL; always returns NULL.  No clock of the map may be read afterwards. */
struct cpuclock_map *cpuclock_map_close(struct cpuclock_map *map);

struct cpuclock {
	const volatile struct meter_clock *shared; /* NULL: ask the kernel */
};

/*
 * The calling thread's clock, to be called by the thread that was registered
 * for this slot.  It sleeps for some tens of microseconds until the scheduler
 * has switched it in once, which starts the clock.  map NULL: the kernel's
 * clock, always 0.  Returns 0, or -ETIMEDOUT if the clock does not start, or -EINVAL for
 * a slot outside the map: *clock then is the kernel's clock and works.
 */
int cpuclock_init(struct cpuclock *clock, const struct cpuclock_map *map, uint32_t slot);

static inline bool cpuclock_is_shared(const struct cpuclock *clock)
{
	return clock->shared != NULL;
}

/* On-CPU ns of the calling thread, from an arbitrary start. */
static inline uint64_t cpuclock_read(const struct cpuclock *clock)
{
	const volatile struct meter_clock *shared = clock->shared;
	uint64_t started_ns, on_cpu_ns;
	struct timespec now;

	if (shared == NULL) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	}
	/*
	 * The scheduler writes only while this thread is off CPU: when started_ns
	 * is the same before and after, nothing was written in between.
	 */
	do {
		started_ns = shared->started_ns;
		on_cpu_ns = shared->accumulated_ns + clock_now_ns() - started_ns;
	} while (shared->started_ns != started_ns);
	return on_cpu_ns;
}

#endif
