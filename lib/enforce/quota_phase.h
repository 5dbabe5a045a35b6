/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_QUOTA_PHASE_H
#define ISO_QUOTA_PHASE_H

#include <stdbool.h>
#include <stdint.h>

/* For quota.c and quota_phase.c only. */

/*
 * Where in its period the kernel refills a group's quota.  Nothing says so;
 * nr_periods of cpu.stat, read at the right moments, narrows it down to an arc
 * of the circle that a period is.
 */
struct quota_phase {
	uint64_t period_ns;
	uint64_t lead_ns;       /* the phase is known when the arc is no wider */
	uint64_t guard_ns;      /* the kernel's timer comes up to this late */
	bool is_long;           /* look as often as it takes, also while nothing is throttled */

	/* The boundary is in [arc_start, arc_start + arc_width) modulo the period. */
	uint64_t arc_start_ns, arc_width_ns;

	bool has_sample, saturated;
	unsigned looks;         /* early readings, to see soon whether the job is throttled */
	uint64_t sample_at_ns, periods, periods_throttled;
	uint64_t counted_at_ns; /* when nr_periods last grew */
};

/* Shorter: a refill is worth less than the slices that CPUs hold; its time does not matter. */
#define QUOTA_PHASE_PERIOD_NS_MIN 10000001ull

void iso_quota_phase_init(struct quota_phase *phase, uint64_t period_ns, bool is_long);

/* periods, throttled: nr_periods and nr_throttled, read at now_ns. */
void iso_quota_phase_learn(struct quota_phase *phase, uint64_t now_ns, uint64_t periods,
		       uint64_t throttled);

bool iso_quota_phase_known(const struct quota_phase *phase);

/* From at_ns to the middle of the next arc in which the boundary is: (0, period]. */
uint64_t iso_quota_phase_to_boundary_ns(const struct quota_phase *phase, uint64_t at_ns);

/* The first time >= at_ns that is lead_ns before a boundary; at_ns while the phase is unknown. */
uint64_t iso_quota_phase_align(const struct quota_phase *phase, uint64_t at_ns);

/* When to read next so as to know more; 0: not worth it until the job does something. */
uint64_t iso_quota_phase_search_ns(const struct quota_phase *phase, uint64_t now_ns);

#endif
