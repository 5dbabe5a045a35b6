/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/step.h"

#include <string.h>

#include "lib/hot.h"

/* Plain loops with one rounding an element, so that every compiler gives the same bits. */

ISO_HOT void iso_sgd_add(float *restrict sum, const float *restrict gradient, uint32_t n,
			 float weight)
{
	for (uint32_t i = 0; i < n; i++)
		sum[i] += weight * gradient[i];
}

ISO_HOT bool iso_sgd_finite(const float *values, uint32_t n)
{
	/* The exponent is all ones for NaN and infinity: the sum then reaches the sign bit. */
	uint32_t any = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		any |= (bits & 0x7fffffffu) + 0x00800000u;
	}
	return any < 0x80000000u;
}
