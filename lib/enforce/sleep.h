/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SLEEP_H
#define ISO_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the machine has slept, from two clocks: CLOCK_BOOTTIME goes on meanwhile and
 * CLOCK_MONOTONIC does not, so they drift apart by just that.  Nothing else moves
 * one against the other, neither setting the clock nor slewing it.  Which of them is
 * ahead says nothing: in a time namespace either may be.
 */
struct iso_sleep {
	bool started;
	int64_t most_ns;   /* boot time less monotonic was no more than this */
	uint64_t total_ns; /* slept, all in all */
	uint32_t count;
};

/* Shorter ones are not told, or only with the next. */
#define ISO_SLEEP_LEAST_NS 100000000ll

/*
 * One look, however often: boot_ns was read between before_ns and after_ns, which are
 * monotonic.  Returns for how long the machine has slept since the last, and never more:
 * a process that was held up between the readings has not slept.  0: it has not,
 * or this is the first look.
 */
uint64_t iso_sleep_look(struct iso_sleep *sleep, uint64_t before_ns, uint64_t boot_ns,
			uint64_t after_ns);

#endif
