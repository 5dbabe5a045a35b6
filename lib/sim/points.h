/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_POINTS_H
#define ISO_SIM_POINTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The points at which simulated workers compute: each is kept while somebody
 * is at it.  A fixed number of slots, counted references.
 */
struct iso_points {
	float *values;	 /* slots * params */
	uint32_t *users; /* of each slot */
	uint32_t *free;	 /* stack of slots without users */
	uint32_t free_count;
	uint32_t slots;
	uint32_t params;
};

#define ISO_POINTS_NONE UINT32_MAX

size_t iso_points_bytes(uint32_t slots, uint32_t params);

/* memory: iso_points_bytes(), 8-byte aligned, borrowed. */
void iso_points_init(struct iso_points *points, void *memory, uint32_t slots, uint32_t params);

/* A slot with one user and undefined values; there must be a free one. */
uint32_t iso_points_take(struct iso_points *points);

/* One user more. */
void iso_points_share(struct iso_points *points, uint32_t slot);

/* One user less; ISO_POINTS_NONE is allowed. */
void iso_points_drop(struct iso_points *points, uint32_t slot);

float *iso_points_at(const struct iso_points *points, uint32_t slot);

#endif
