/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_PACE_H
#define ISO_SGD_PACE_H

#include <stdint.h>

/*
 * What a worker's last task times were like, in robust statistics: one task
 * that took a hundred times as long must not make the next lease so long.
 */
#define ISO_PACE_TIMES 32u
#define ISO_PACE_SURE  3u  /* times from which a lease can be derived */

struct iso_pace {
	uint64_t seen;      /* times since the start */
	uint64_t median_ns; /* of the last ISO_PACE_TIMES, as all below */
	uint64_t mad_ns;    /* median absolute deviation from the median */
	uint64_t mean_ns;
	uint64_t times_ns[ISO_PACE_TIMES];
};

/* A zeroed struct has seen nothing.  Zero times are ignored. */
void iso_pace_add(struct iso_pace *pace, uint64_t time_ns);

#endif
