/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ABSENCE_H
#define ISO_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A job that is not there (its group has gone, is empty or frozen) needs no
 * share: after a time of grace, which bridges restarts, what is above the floor
 * is for the others, until somebody runs again.
 */

/* All zero at the start. */
struct iso_absence {
	bool is_absent;    /* at the last look */
	bool is_released;
	uint64_t since_ns; /* of the first look that found nobody */
};

/*
 * One look; now_ns is monotonic.  after_ns UINT64_MAX: never release.  Returns
 * whether the share above the floor is released.
 */
bool iso_absence_look(struct iso_absence *absence, uint64_t now_ns, bool is_absent,
		      uint64_t after_ns);

#endif
