/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/batch.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "lib/hot.h"
#include "lib/rng.h"

/* A set of drawn positions: 2^bits slots, at least twice as many as are drawn. */
#define BITS_MAX 13u

struct drawn {
	uint32_t bits;
	uint32_t slots[1u << BITS_MAX]; /* as many as are used are cleared */
};

static void drawn_init(struct drawn *drawn, uint32_t count)
{
	_Static_assert(1u << BITS_MAX >= 2 * ISO_BATCH_MAX, "a full set has no empty slot");
	drawn->bits = 1;
	while (1u << drawn->bits < 2 * count)
		drawn->bits++;
	memset(drawn->slots, 0, sizeof(drawn->slots[0]) << drawn->bits);
}

/* Adds a position to the set; false if it was there. */
static bool add(struct drawn *drawn, uint32_t position)
{
	/* Multiplicative hashing; 0 is an empty slot, so positions are stored plus 1. */
	uint32_t slot = (position * 2654435769u) >> (32 - drawn->bits);

	while (drawn->slots[slot] != 0) {
		if (drawn->slots[slot] == position + 1)
			return false;
		slot = (slot + 1) & ((1u << drawn->bits) - 1);
	}
	drawn->slots[slot] = position + 1;
	return true;
}

/* Floyd's sampling: the i-th draw is from 0 .. samples - count + i, which replaces a repeat. */
void iso_batch_draw(uint64_t seed, const uint32_t *part, uint32_t samples, uint32_t count,
		    uint32_t *ret_samples)
{
	struct iso_rng rng = { seed };
	struct drawn drawn;

	assert(count <= samples);
	assert(count <= ISO_BATCH_MAX);
	drawn_init(&drawn, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t last = samples - count + i;
		uint32_t position = (uint32_t)iso_rng_below(&rng, (uint64_t)last + 1);

		if (!add(&drawn, position)) {
			position = last;
			(void)add(&drawn, position);
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

/* Drawn rows lie anywhere: waiting for one after the other takes twice the time. */
#define ROWS_AHEAD 4u
#define LINE_BYTES 64u

static void prefetch(const uint8_t *row, uint32_t features)
{
	for (uint32_t f = 0; f < features; f += LINE_BYTES)
		__builtin_prefetch(row + f);
	__builtin_prefetch(row + features - 1);
}

void iso_batch_gather(const uint8_t *pixels, uint32_t features, const uint32_t *samples,
		      uint32_t count, float scale, float *ret_x)
{
	for (uint32_t j = 0; j < count && j < ROWS_AHEAD; j++)
		prefetch(pixels + (size_t)samples[j] * features, features);
	for (uint32_t j = 0; j < count; j++) {
		if (j + ROWS_AHEAD < count)
			prefetch(pixels + (size_t)samples[j + ROWS_AHEAD] * features, features);
		to_floats(pixels + (size_t)samples[j] * features, features, scale,
			  ret_x + (size_t)j * features);
	}
}
