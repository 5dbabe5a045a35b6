/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_RNG_H
#define ISO_RNG_H

#include <stdint.h>

/*
 * splitmix64: one 64-bit state, passes BigCrush, replays bit for bit from
 * its seed.  For simulation, sampling and tie-breaking; never for secrets.
 */
struct iso_rng {
	uint64_t state;
};

uint64_t iso_rng_next(struct iso_rng *rng);

/* Uniform in [0, limit), without modulo bias; limit > 0. */
uint64_t iso_rng_below(struct iso_rng *rng, uint64_t limit);

/* Uniform in [0, 1), 53 bits. */
double iso_rng_unit(struct iso_rng *rng);

#endif
