/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CPUCLOCK_H
#define ISO_CPUCLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "ebpf/meter.h"

/*
 * The training thread's on-CPU clock: time this thread has spent on a CPU, free
 * of throttling, preemption and waiting.  It shows what CLOCK_THREAD_CPUTIME_ID
 * shows, but needs no system call: the scheduler's hook leaves the value of the
 * last switch-in in shared memory, and the rest is one reading of the vDSO clock.
 * Without a map, and where the hook missed a switch, it asks the kernel.
 *
 * In the worker: cpuclock_map_open() once, on the descriptor that the agent handed
 * down; in each thread: register the tid with the agent, cpuclock_init() with the
 * slot it answers, then cpuclock_read() at will.  When the agent is gone so are
 * the hooks: go on with cpuclock_init() and no map then.
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
	uint64_t last_ns;
};

/*
 * The calling thread's clock, to be read by the thread that was registered for
 * this slot, and by no other.  map NULL: the kernel's clock.  Returns 0, or
 * -EINVAL for a slot that no map has: *clock then is the kernel's clock and works.
 */
int cpuclock_init(struct cpuclock *clock, const struct cpuclock_map *map, uint32_t slot);

static inline uint64_t cpuclock_kernel_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* On-CPU ns of the calling thread since it began.  Never goes back. */
static inline uint64_t cpuclock_read(struct cpuclock *clock)
{
	const volatile struct meter_clock *shared = clock->shared;
	uint64_t started_ns, on_cpu_ns;

	/*
	 * The scheduler writes only while this thread is off CPU: when started_ns
	 * is the same before and after, nothing was written in between.
	 */
	do {
		started_ns = shared != NULL ? shared->started_ns : 0;
		if (__builtin_expect(started_ns == 0, 0)) {
			on_cpu_ns = cpuclock_kernel_ns();
			break;
		}
		on_cpu_ns = shared->accumulated_ns + clock_now_ns() - started_ns;
	} while (__builtin_expect(shared->started_ns != started_ns, 0));
	/*
	 * The kernel leaves out of a stint, once it has ended, the time that the
	 * hypervisor stole and, if so configured, interrupts.
	 */
	if (on_cpu_ns < clock->last_ns)
		on_cpu_ns = clock->last_ns;
	clock->last_ns = on_cpu_ns;
	return on_cpu_ns;
}

#endif
