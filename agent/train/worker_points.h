/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_POINTS_H
#define ISO_WORKER_POINTS_H

#include <stdint.h>

/*
 * Parameters by version.  The last ones that came are kept, and older ones for
 * as long as a task is computed or waits at them: a thread goes on at the point
 * where its task started while newer points arrive.  Whoever shares them between
 * threads holds a lock around these functions; the values never change.
 */
struct point {
	uint64_t version;
	unsigned refs;
	float *values; /* owns */
	struct point *next;
};

struct points { /* zeroed: none */
	struct point *first;
	struct point *last; /* that came; holds a reference of its own */
};

/* Takes values over, to free(), on failure too; replaces those of the same version.
 * 0 or -ENOMEM. */
int points_add(struct points *points, uint64_t version, float *values);

/* With a reference for the caller; NULL: nothing is known of this version. */
struct point *points_take(struct points *points, uint64_t version);

/* Takes NULL. */
void points_release(struct points *points, struct point *point);

/* Forgets the last one; others go with their references. */
void points_forget(struct points *points);

/* Points in memory. */
uint32_t points_count(const struct points *points);

#endif
