/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PRICE_H
#define ISO_PRICE_H

#include <stdint.h>

/*
 * A price is a marginal cost: cost per CPU, in signed fixed point with 32
 * fractional bits, so that both ends of an edge compute with the same bits.
 * The side with the larger price gives.
 *
 * Every price lies within ±ISO_PRICE_MAX (2^29 ≈ 5.4e8 in real units); what
 * is beyond counts as that.  Hence the difference of two prices fits in
 * 63 bits with room for one quantisation error.
 */
#define ISO_PRICE_ONE ((int64_t)1 << 32)
#define ISO_PRICE_MAX ((int64_t)1 << 61)

static inline int64_t iso_price_clamp(int64_t price_q32)
{
	if (price_q32 > ISO_PRICE_MAX)
		return ISO_PRICE_MAX;
	if (price_q32 < -ISO_PRICE_MAX)
		return -ISO_PRICE_MAX;
	return price_q32;
}

/* Truncates toward zero; not-a-number is 0. */
static inline int64_t iso_price_of_real(double real)
{
	double scaled = real * (double)ISO_PRICE_ONE;

	if (scaled >= (double)ISO_PRICE_MAX)
		return ISO_PRICE_MAX;
	if (scaled <= -(double)ISO_PRICE_MAX)
		return -ISO_PRICE_MAX;
	return scaled == scaled ? (int64_t)scaled : 0;
}

/*
 * To 24 significant bits, ties to even: what a float holds.  A node keeps its
 * neighbours' prices that short, and so both ends count with the short ones.
 */
static inline int64_t iso_price_round(int64_t price_q32)
{
	return (int64_t)(float)price_q32;
}

/* A price of 24 significant bits, not below the given one and less than 4e-7 of it above. */
static inline int64_t iso_price_round_up(int64_t price_q32)
{
	int64_t rounded_q32 = iso_price_round(price_q32);
	int64_t step_q32 = (price_q32 < 0 ? -price_q32 : price_q32) >> 23;

	return rounded_q32 >= price_q32 ? rounded_q32
					: iso_price_clamp(iso_price_round(price_q32 + step_q32));
}

static inline double iso_price_real(int64_t price_q32)
{
	return (double)price_q32 / (double)ISO_PRICE_ONE;
}

#endif
