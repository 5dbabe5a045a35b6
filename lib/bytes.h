/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_BYTES_H
#define ISO_BYTES_H

#include <stdint.h>
#include <string.h>

/*
 * Little-endian integers in byte arrays: the only place that knows how a
 * number lies on the wire and in the journal.  The caller checks the size.
 */

static inline uint64_t iso_swap_le(uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(value);
#else
	return value;
#endif
}

/* bytes: 1 to 8, a constant, so that one store or load comes of it. */
static inline void iso_put_le(uint8_t *out, uint64_t value, unsigned bytes)
{
	uint64_t low_first = iso_swap_le(value);

	memcpy(out, &low_first, bytes);
}

static inline uint64_t iso_get_le(const uint8_t *in, unsigned bytes)
{
	uint64_t low_first = 0;

	memcpy(&low_first, in, bytes);
	return iso_swap_le(low_first);
}

/* IEEE 754 bit patterns, so that a value survives the trip exactly. */
static inline uint64_t iso_bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double iso_double_of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t iso_bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float iso_float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
