/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_BENCH_H
#define ISO_BENCH_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "agent/base/clock.h"

/*
 * A benchmark is a program that prints one JSON object a line:
 *   {"name":"...","unit":"ns","ours":1.5,"reference":9.1,"goal":0.2}
 * ours and reference are measured in turns within one run, so that only their
 * ratio matters, not the machine; goal is the largest ratio that will do, null
 * where there is none.  {"name":"...","skipped":"why"} for what cannot be
 * measured here.  run.c collects them: `make bench`.
 */

/* CPU time of this process, since others may be at work on this machine. */
static inline uint64_t bench_cpu_ns(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0)
		abort();
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Pairs: one of ours, one of the reference, again and again. */
struct bench_pairs {
	unsigned count;
	double ours[64], reference[64];
};

void bench_add(struct bench_pairs *pairs, double ours, double reference);

/* Prints the medians; the ratio is the median of the pairs' ratios.  goal < 0: none. */
void bench_print(const char *name, const char *unit, const struct bench_pairs *pairs,
		 double goal);
void bench_skip(const char *name, const char *why);

#endif
