/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_FACTS_H
#define ISO_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What is odd about a job and its host, judged from counters that anybody could
 * read: each is compared with what it should be, over a window, and holds or
 * ends at two different levels, so that nothing flaps.  Nothing here decides on
 * shares: it is for people.
 */

enum iso_fact {
	/*
	 * The job uses more than it may: something does not hold it.  ratio: used by
	 * allowed.  Begins after two windows of 10 s at 1.2 or more, above all that
	 * the writes of a quota hand out; ends at 1.1.
	 */
	ISO_FACT_OVERUSE,
	/*
	 * Each period in which the job was throttled should have seen all of its quota
	 * used.  ratio: used by that.  Begins at 0.8 or less over 100 such periods, ends
	 * at 0.9.  Kernels before 5.4 let slices of the quota expire.
	 */
	ISO_FACT_EARLY,
	/*
	 * The meter and the kernel's own account of the group.  ratio: the meter's by the
	 * kernel's.  Begins at 5 % over a minute and a second of CPU, ends at 2.5 %.
	 */
	ISO_FACT_ACCOUNTS,
	/* Of the host's CPU time, what a hypervisor gave to others: from 10 % to 5 %. */
	ISO_FACT_STOLEN,
	/* And what went to interrupts, soft ones as well: from 20 % to 10 %. */
	ISO_FACT_INTERRUPTS,
};
#define ISO_FACT_COUNT 5

/* Cumulative counters of one instant; what is not known is left out of its facts. */
struct iso_facts_reading {
	uint64_t now_ns;            /* monotonic */
	bool is_gone;               /* there is no job now: what it did is over */
	bool has_used;
	uint64_t used_ns;           /* on-CPU time of the job, by the meter */
	int64_t allowed_ucpu;       /* what the job may use from now on; INT64_MAX: all */
	bool has_throttled;
	uint64_t periods_throttled;
	uint64_t quota_us;          /* that the kernel has now; 0: none, or not known */
	bool has_kernel;
	uint64_t kernel_ns;         /* used_ns as the kernel's account has it */
	bool has_host;
	uint64_t host_ns;           /* CPU time of all CPUs in all states */
	uint64_t stolen_ns;
	uint64_t interrupts_ns;
};

/* Two amounts that are compared, since a window began. */
struct iso_fact_window {
	uint64_t from_ns;
	double seen, expected;      /* ns of CPU, but for ISO_FACT_EARLY's count below */
	double count;               /* of what makes the window long enough, if not its time */
	unsigned strikes;           /* windows in a row beyond the level */
	bool holds;
	bool has_ratio;             /* there was a whole window */
	double ratio;               /* of the last one */
};

/* All zero at the start. */
struct iso_facts {
	bool started;
	struct iso_facts_reading last;
	struct iso_fact_window windows[ISO_FACT_COUNT];
};

/*
 * Takes one reading; the distance to the one before may be anything.  Where a
 * counter is missing or went back (another group, another meter) the windows
 * that need it begin anew; what holds then holds on, unless the job itself is gone:
 * nobody would be there to show that it has ended.
 */
void iso_facts_look(struct iso_facts *facts, const struct iso_facts_reading *reading);

/* Whether it holds now, and its ratio as of the last whole window. */
bool iso_facts_holds(const struct iso_facts *facts, enum iso_fact fact, double *ret_ratio);

/* The same ratio whether it holds or not; false: no window has been whole, of this job. */
bool iso_facts_ratio(const struct iso_facts *facts, enum iso_fact fact, double *ret_ratio);

#endif
