/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CLOCK_H
#define ISO_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * CLOCK_MONOTONIC in ns: the clock of every timer here, and the one that
 * bpf_ktime_get_ns() reads.  The wall clock is for log lines only.
 */
static inline uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * CLOCK_BOOTTIME in ns: as above, and it goes on while the machine sleeps.  The
 * clock of leases, which others wait for.
 */
static inline uint64_t clock_boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CPU time of this process in s, all threads together: what a computation took. */
static inline double clock_cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
