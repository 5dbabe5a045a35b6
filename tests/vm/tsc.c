/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints the frequency of the time stamp counter in kHz, which an emulated
 * machine shares with its host.  A guest measures it against an emulated timer
 * when it starts, and is wrong by any factor when its host is busy just then.
 * Exit status: 0, or 1 where it cannot be measured.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)

#include <x86intrin.h>

struct sample {
	uint64_t ns, ticks;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Both clocks at one moment: of many tries the one that was interrupted least. */
static struct sample take(void)
{
	struct sample best = { 0, 0 };
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t before = now_ns(), ticks = __rdtsc(), after = now_ns();

		if (after - before < shortest) {
			shortest = after - before;
			best = (struct sample){ before + shortest / 2, ticks };
		}
	}
	return best;
}

int main(void)
{
	struct sample first = take();
	struct timespec pause = { .tv_nsec = 100000000 };

	nanosleep(&pause, NULL);
	struct sample last = take();
	if (last.ns <= first.ns || last.ticks <= first.ticks)
		return 1;
	printf("%.0f\n",
	       (double)(last.ticks - first.ticks) * 1e6 / (double)(last.ns - first.ns));
	return 0;
}

#else

int main(void)
{
	return 1;
}

#endif
