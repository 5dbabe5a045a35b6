/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/points.h"

#include <assert.h>

#include "lib/carve.h"

size_t iso_points_bytes(uint32_t slots, uint32_t params)
{
	return iso_carve_bytes((size_t)slots * params * sizeof(float)) +
	       2 * iso_carve_bytes(slots * sizeof(uint32_t));
}

void iso_points_init(struct iso_points *points, void *memory, uint32_t slots, uint32_t params)
{
	uint8_t *at = memory;

	*points = (struct iso_points){ .slots = slots, .free_count = slots, .params = params };
	points->values = iso_carve(&at, (size_t)slots * params * sizeof(float));
	points->users = iso_carve(&at, slots * sizeof(uint32_t));
	points->free = iso_carve(&at, slots * sizeof(uint32_t));
	/* Slot 0 is taken first, so that memory is touched only as it is needed. */
	for (uint32_t i = 0; i < slots; i++) {
		points->users[i] = 0;
		points->free[i] = slots - 1 - i;
	}
}

uint32_t iso_points_take(struct iso_points *points)
{
	assert(points->free_count > 0);
	uint32_t slot = points->free[--points->free_count];

	assert(points->users[slot] == 0);
	points->users[slot] = 1;
	return slot;
}

void iso_points_share(struct iso_points *points, uint32_t slot)
{
	assert(slot < points->slots);
	assert(points->users[slot] > 0);
	points->users[slot]++;
}

void iso_points_drop(struct iso_points *points, uint32_t slot)
{
	if (slot == ISO_POINTS_NONE)
		return;
	assert(slot < points->slots);
	assert(points->users[slot] > 0);
	if (--points->users[slot] == 0)
		points->free[points->free_count++] = slot;
}

float *iso_points_at(const struct iso_points *points, uint32_t slot)
{
	assert(slot < points->slots);
	return points->values + (size_t)slot * points->params;
}
