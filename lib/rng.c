/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/rng.h"

#include <assert.h>

uint64_t iso_rng_next(struct iso_rng *rng)
{
	uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t iso_rng_below(struct iso_rng *rng, uint64_t limit)
{
	assert(limit > 0);
	/* Values below 2^64 mod limit would favour small results: draw again. */
	uint64_t biased = (0 - limit) % limit;
	uint64_t value;

	do
		value = iso_rng_next(rng);
	while (value < biased);
	return value % limit;
}

double iso_rng_unit(struct iso_rng *rng)
{
	return (double)(iso_rng_next(rng) >> 11) * 0x1p-53;
}
