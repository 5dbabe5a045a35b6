/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HISTORY_H
#define ISO_HISTORY_H

#include <stdint.h>

struct history;
struct history_series;

/*
 * The last hour of each node, a point every ten seconds.  Time comes as a slot,
 * which is a number of such steps; slots that were left out are unknown.  A node
 * that has not been seen for an hour is forgotten.
 */

#define HISTORY_POINTS	 360u
#define HISTORY_STEP_NS	 10000000000u
#define HISTORY_NODES_MAX 256u
#define HISTORY_NAME_BYTES 64u

/* In CPUs; NAN: unknown. */
struct history_point {
	float share, quota, demand, on_cpu;
};

/* NULL: out of memory. */
struct history *history_new(void);

/* Takes NULL; returns NULL. */
struct history *history_free(struct history *history);

/*
 * slot never goes back.  What does not fit (HISTORY_NODES_MAX, names of
 * HISTORY_NAME_BYTES or more, memory) is left out.
 */
void history_add(struct history *history, uint64_t slot, const char *cluster, const char *node,
		 const struct history_point *point);

/* NULL: never seen, or forgotten. */
const struct history_series *history_find(const struct history *history, const char *cluster,
					  const char *node);

/* Unknown also for slots that are in no series (which may be NULL). */
struct history_point history_at(const struct history_series *series, uint64_t slot);

#endif
