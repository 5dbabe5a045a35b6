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

/* The same for all lanes at once; whatever registers there are hold them. */
typedef uint32_t words __attribute__((vector_size(LANES * 4)));
typedef uint16_t row __attribute__((vector_size(LANES * 2)));
typedef int16_t signed_row __attribute__((vector_size(LANES * 2)));

static inline void symbols_of(const int16_t *codes, unsigned bits, words *ret_symbols)
{
	signed_row code;
	row negative, symbol;

	memcpy(&code, codes, sizeof(code));
	negative = (row)(code >> 15);
	symbol = ((((row)code ^ negative) - negative) & 0x7fff) |
		 (negative & (uint16_t)(1u << (bits - 1)));
	*ret_symbols = __builtin_convertvector(symbol, words);
}

static inline void codes_of(const words *symbols, unsigned bits, int16_t *ret_codes)
{
	const uint16_t sign = (uint16_t)(1u << (bits - 1));
	row symbol = __builtin_convertvector(*symbols, row);
	row negative = (row)((symbol & sign) != 0);
	row code = ((symbol & (uint16_t)(sign - 1)) ^ negative) - negative;

	code |= (row)(symbol == sign) & (uint16_t)ISO_PACK_ESCAPE;
	memcpy(ret_codes, &code, sizeof(code));
}

static inline void put_words(const words *in, uint8_t *out)
{
	words low_first = *in;

	for (unsigned l = 0; iso_swap_le(1) != 1 && l < LANES; l++)
		low_first[l] = __builtin_bswap32(low_first[l]);
	memcpy(out, &low_first, sizeof(low_first));
}

static inline void get_words(const uint8_t *in, words *out)
{
	memcpy(out, in, sizeof(*out));
	for (unsigned l = 0; iso_swap_le(1) != 1 && l < LANES; l++)
		(*out)[l] = __builtin_bswap32((*out)[l]);
}

static inline void pack_block(const int16_t *restrict codes, unsigned bits, uint8_t *restrict out)
{
	words waiting = { 0 }, symbols;
	unsigned filled = 0;

	for (unsigned r = 0; r < ROWS; r++) {
		symbols_of(codes + r * LANES, bits, &symbols);
		waiting |= symbols << filled;
		filled += bits;
		if (filled < 32)
			continue;
		put_words(&waiting, out);
		out += sizeof(waiting);
		filled -= 32;
		/* A symbol has no bits beyond its own: nothing is left over if it just fitted. */
		waiting = symbols >> (bits - filled);
	}
	assert(filled == 0);
}

static inline void unpack_block(const uint8_t *restrict in, unsigned bits, int16_t *restrict codes)
{
	const uint32_t mask = (1u << bits) - 1;
	words waiting = { 0 }, symbols;
	unsigned left = 0; /* bits in waiting */

	for (unsigned r = 0; r < ROWS; r++) {
		symbols = waiting;
		if (left < bits) {
			get_words(in, &waiting);
			in += sizeof(waiting);
			symbols |= waiting << left;
			waiting >>= bits - left;
			left += 32 - bits;
		} else {
			waiting >>= bits;
			left -= bits;
		}
		symbols &= mask;
		codes_of(&symbols, bits, codes + r * LANES);
	}
	assert(left == 0);
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
