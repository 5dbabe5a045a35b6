/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/batch.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "lib/draw.h"
#include "lib/hot.h"

void iso_batches_init(struct iso_batches *batches, uint32_t *order, uint32_t samples,
		      uint64_t seed)
{
	assert(samples >= 1);
	*batches = (struct iso_batches){ .order = order, .samples = samples, .rng = { seed } };
	iso_draw_shuffle(&batches->rng, order, samples);
}

void iso_batches_next(struct iso_batches *batches, uint32_t count, uint32_t *ret_samples)
{
	assert(batches->next < batches->samples);
	for (uint32_t i = 0; i < count; i++) {
		ret_samples[i] = batches->order[batches->next++];
		if (batches->next < batches->samples)
			continue;
		batches->next = 0;
		batches->epochs++;
		iso_draw_shuffle(&batches->rng, batches->order, batches->samples);
	}
}

/* Slots of the set of drawn positions: twice the largest batch, a power of two. */
#define SLOTS 8192u

/* Adds a position to the set; false if it was there. */
static bool add(uint32_t *slots, uint32_t position)
{
	/* Multiplicative hashing; 0 is an empty slot, so positions are stored plus 1. */
	uint32_t slot = (position * 2654435769u) >> 19;

	while (slots[slot] != 0) {
		if (slots[slot] == position + 1)
			return false;
		slot = (slot + 1) % SLOTS;
	}
	slots[slot] = position + 1;
	return true;
}

/* Floyd's sampling: the i-th draw is from 0 .. samples - count + i, which replaces a repeat. */
void iso_batch_draw(uint64_t seed, const uint32_t *part, uint32_t samples, uint32_t count,
		    uint32_t *ret_samples)
{
	struct iso_rng rng = { seed };
	uint32_t slots[SLOTS];

	_Static_assert(SLOTS == 1u << (32 - 19), "the hash must reach every slot");
	_Static_assert(SLOTS >= 2 * ISO_BATCH_MAX, "a full set would never find an empty slot");
	assert(count <= samples);
	assert(count <= ISO_BATCH_MAX);
	memset(slots, 0, sizeof(slots));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t last = samples - count + i;
		uint32_t position = (uint32_t)iso_rng_below(&rng, (uint64_t)last + 1);

		if (!add(slots, position)) {
			position = last;
			(void)add(slots, position);
		}
		ret_samples[i] = part[position];
	}
}

ISO_HOT static void to_floats(const uint8_t *restrict row, uint32_t features, float scale,
		      float *restrict out)
{
	for (uint32_t f = 0; f < features; f++)
		out[f] = (float)row[f] * scale;
}

void iso_batch_gather(const uint8_t *pixels, uint32_t features, const uint32_t *samples,
		      uint32_t count, float scale, float *ret_x)
{
	for (uint32_t j = 0; j < count; j++)
		to_floats(pixels + (size_t)samples[j] * features, features, scale,
			  ret_x + (size_t)j * features);
}
