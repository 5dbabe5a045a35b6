/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_BYTES_H
#define ISO_BYTES_H

#include <stdint.h>
#include <string.h>

/*
 * Little-endian integers in byte arrays: the only place that knows how a
 * number lies on the wire and in the journal.  The caller checks the size.
 */

static inline void iso_put_le(uint8_t *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t iso_get_le(const uint8_t *in, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)in[i] << (8 * i);
	return value;
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

#endif
