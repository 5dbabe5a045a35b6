/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_QUANT_VECTOR_H
#define ISO_QUANT_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * The log quantiser on vectors of floats, for parameters and gradients:
 *
 *   q(v) = sgn(v) exp(rho round(ln|v| / rho)),  q(0) = 0
 *
 * (co-optimisation paper, arXiv 2510.25176, section 4.4 of our formulas:
 * e^{-rho/2} <= q(v)/v <= e^{rho/2}).  No libm: the logarithm is the float's
 * exponent plus a polynomial, so the compiler can vectorise it, and since
 * nothing is contracted or reordered every path gives the same bits.
 *
 * A code is a 16-bit number: 0 stands for 0, +-c for +-exp(rho (index_min + c - 1)).
 *
 * Corners:  +-0 and whatever rounds below index_min (denormals always, unless
 * they round up into the lowest bin) become 0, which keeps 0 <= q(v)/v <= e^{rho/2};
 * whatever rounds above index_max, infinity too, gets index_max; NaN becomes 0.
 * encode and apply return how many inputs were not finite, so that the
 * caller can refuse the vector.
 */
struct iso_quant_vector {
	float rho;
	int32_t index_min; /* exp(rho * index_min) >= FLT_MIN */
	int32_t index_max; /* exp(rho * index_max) <= FLT_MAX */
	/* Derived: 16384 ln 2 / rho and rho / ln 2, each a short part and the rest. */
	float fraction_per_octave;
	float fraction_per_octave_low;
	float octave_per_index;
	float octave_per_index_low;
};

/*
 * rho in [1/1024, 8].  index_min < index_max, at most 32767 codes.  With both 0:
 * as much of the range of float as the codes hold, the middle at 1.
 * ISO_E_RANGE otherwise.
 */
ISO_MUST_USE enum iso_status iso_quant_vector_init(float rho, int32_t index_min,
						   int32_t index_max,
						   struct iso_quant_vector *ret_quant);

/* in[n] -> codes[n]; returns how many were NaN or infinite. */
size_t iso_quant_vector_encode(const struct iso_quant_vector *quant, const float *in, size_t n,
			       int16_t *codes);

/* codes[n] -> out[n]; a code outside the range is taken as the nearest end. */
void iso_quant_vector_decode(const struct iso_quant_vector *quant, const int16_t *codes, size_t n,
			     float *out);

/* out[n] = q(in[n]): the same bits as encode and decode; in and out may be the same array. */
size_t iso_quant_vector_apply(const struct iso_quant_vector *quant, const float *in, size_t n,
			      float *out);

#endif
