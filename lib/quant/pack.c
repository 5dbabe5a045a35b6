/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quant/pack.h"

#include <assert.h>

#include "lib/bytes.h"
#include "lib/hot.h"

#define LANES 16u
#define ROWS  32u

_Static_assert(LANES *ROWS == ISO_PACK_BLOCK, "a block is its lanes");

static void assert_valid(unsigned bits)
{
	assert(bits >= ISO_PACK_BITS_MIN);
	assert(bits <= ISO_PACK_BITS_MAX);
}

/* Sign and magnitude; the escape's magnitude has no bit below the sign of an int16_t. */
static inline uint32_t symbol_of(int32_t code, unsigned bits)
{
	uint32_t negative = (uint32_t)(code >> 31);
	uint32_t magnitude = ((uint32_t)code ^ negative) - negative;

	return (magnitude & 0x7fff) | (negative & (1u << (bits - 1)));
}

static inline int16_t code_of(uint32_t symbol, unsigned bits)
{
	uint32_t sign = 1u << (bits - 1);
	uint32_t negative = 0u - (symbol >> (bits - 1));
	uint32_t code = ((symbol & (sign - 1)) ^ negative) - negative;

	return (int16_t)(symbol == sign ? (uint32_t)ISO_PACK_ESCAPE : code);
}

static inline void pack_block(const int16_t *restrict codes, unsigned bits, uint8_t *restrict out)
{
	uint32_t words[LANES] = { 0 };
	unsigned filled = 0;

	for (unsigned row = 0; row < ROWS; row++) {
		uint32_t symbols[LANES];

		for (unsigned l = 0; l < LANES; l++) {
			symbols[l] = symbol_of(codes[row * LANES + l], bits);
			words[l] |= symbols[l] << filled;
		}
		filled += bits;
		if (filled < 32)
			continue;
		filled -= 32;
		/* A symbol has no bits beyond its own, so nothing is left over if it just fitted.
		 */
		for (unsigned l = 0; l < LANES; l++) {
			iso_put_le(out + 4 * (size_t)l, words[l], 4);
			words[l] = symbols[l] >> (bits - filled);
		}
		out += 4 * (size_t)LANES;
	}
	assert(filled == 0);
}

static inline void unpack_block(const uint8_t *restrict in, unsigned bits, int16_t *restrict codes)
{
	const uint32_t mask = (1u << bits) - 1;
	uint32_t words[LANES];
	unsigned used = 32;

	for (unsigned row = 0; row < ROWS; row++) {
		uint32_t symbols[LANES];

		if (used < 32)
			for (unsigned l = 0; l < LANES; l++)
				symbols[l] = words[l] >> used;
		else
			for (unsigned l = 0; l < LANES; l++)
				symbols[l] = 0;
		used += bits;
		if (used > 32) {
			used -= 32;
			for (unsigned l = 0; l < LANES; l++) {
				words[l] = (uint32_t)iso_get_le(in + 4 * (size_t)l, 4);
				symbols[l] |= words[l] << (bits - used);
			}
			in += 4 * (size_t)LANES;
		}
		for (unsigned l = 0; l < LANES; l++)
			codes[row * LANES + l] = code_of(symbols[l] & mask, bits);
	}
}

/* Fewer than a block, one after the other. */
static void pack_rest(const int16_t *codes, size_t n, unsigned bits, uint8_t *out)
{
	uint64_t waiting = 0;
	unsigned filled = 0;

	for (size_t i = 0; i < n; i++) {
		waiting |= (uint64_t)symbol_of(codes[i], bits) << filled;
		filled += bits;
		for (; filled >= 8; filled -= 8) {
			*out++ = (uint8_t)waiting;
			waiting >>= 8;
		}
	}
	if (filled > 0)
		*out = (uint8_t)waiting;
}

static void unpack_rest(const uint8_t *in, size_t n, unsigned bits, int16_t *codes)
{
	const uint32_t mask = (1u << bits) - 1;
	uint64_t waiting = 0;
	unsigned filled = 0;

	for (size_t i = 0; i < n; i++) {
		for (; filled < bits; filled += 8)
			waiting |= (uint64_t)*in++ << filled;
		codes[i] = code_of((uint32_t)waiting & mask, bits);
		waiting >>= bits;
		filled -= bits;
	}
}

ISO_HOT void iso_pack(const int16_t *restrict codes, size_t n, unsigned bits, uint8_t *restrict out)
{
	assert_valid(bits);
	for (; n >= ISO_PACK_BLOCK; n -= ISO_PACK_BLOCK) {
		pack_block(codes, bits, out);
		codes += ISO_PACK_BLOCK;
		out += ISO_PACK_BLOCK / 8 * (size_t)bits;
	}
	pack_rest(codes, n, bits, out);
}

ISO_HOT void iso_unpack(const uint8_t *restrict in, size_t n, unsigned bits,
			int16_t *restrict codes)
{
	assert_valid(bits);
	for (; n >= ISO_PACK_BLOCK; n -= ISO_PACK_BLOCK) {
		unpack_block(in, bits, codes);
		codes += ISO_PACK_BLOCK;
		in += ISO_PACK_BLOCK / 8 * (size_t)bits;
	}
	unpack_rest(in, n, bits, codes);
}

bool iso_pack_is_filled(const uint8_t *in, size_t n, unsigned bits)
{
	unsigned used = (unsigned)(n % 8 * bits % 8);

	assert_valid(bits);
	return used == 0 || in[iso_pack_bytes(n, bits) - 1] >> used == 0;
}
