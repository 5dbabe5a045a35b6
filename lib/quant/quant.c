/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quant/quant.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

/*
 * Levels smaller than this would be off by more than 1 % when rounded to a
 * whole unit; values below the first level's bound are zero.
 */
#define LEVEL_MIN 64

#define VALUE_MAX ((int64_t)1 << 62)

/* A positive real: mantissa * 2^(exponent - 63), top bit of mantissa set. */
struct real {
	uint64_t mantissa;
	int exponent;
};

/* High word of a 128-bit product, from four 64-bit ones. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
	uint64_t carry = (uint32_t)middle + a0 * b1;

	return a1 * b1 + (middle >> 32) + (carry >> 32);
}

static struct real multiply(struct real a, struct real b)
{
	struct real product = { multiply_high(a.mantissa, b.mantissa),
				a.exponent + b.exponent + 1 };

	assert(a.mantissa >> 63 == 1);
	assert(b.mantissa >> 63 == 1);
	/* Both are in [2^63, 2^64): the product lost at most one leading bit. */
	if (product.mantissa >> 63 == 0) {
		product.mantissa <<= 1;
		product.exponent--;
	}
	return product;
}

/*
 * e^x or e^-x for 0 < x <= 1, x in units of 2^-63, by its Taylor series in
 * 62 fractional bits: 22 terms reach the last bit at x = 1.
 */
static struct real exponential(uint64_t x_q63, bool negative)
{
	uint64_t term_q62 = (uint64_t)1 << 62;
	uint64_t sum_q62 = term_q62;
	struct real result = { 0, 1 };

	assert(x_q63 > 0);
	assert(x_q63 <= (uint64_t)1 << 63);
	for (unsigned n = 1; term_q62 != 0; n++) {
		term_q62 = (multiply_high(term_q62, x_q63) << 1) / n;
		if (negative && n % 2 == 1)
			sum_q62 -= term_q62;
		else
			sum_q62 += term_q62;
	}
	result.mantissa = sum_q62;
	while (result.mantissa >> 63 == 0) {
		result.mantissa <<= 1;
		result.exponent--;
	}
	return result;
}

static int64_t round_to_integer(struct real real)
{
	int shift = 63 - real.exponent;

	assert(shift >= 1);
	assert(shift <= 63);
	return (int64_t)(((real.mantissa >> (shift - 1)) + 1) >> 1);
}

/* The digest covers what both ends must share, not padding or unused entries. */
static uint64_t digest_of(const struct iso_quant *quant)
{
	uint64_t digest = ((uint64_t)quant->rho_q16 << 32) | quant->levels;

	for (uint32_t k = 1; k <= quant->levels; k++) {
		uint8_t bytes[24];

		iso_put_le(bytes, digest, 8);
		iso_put_le(bytes + 8, (uint64_t)quant->level[k], 8);
		iso_put_le(bytes + 16, (uint64_t)quant->bound[k], 8);
		digest = iso_checksum(bytes, sizeof(bytes));
	}
	return digest;
}

static void assert_valid(const struct iso_quant *quant)
{
	assert(quant->levels > 0);
	assert(quant->levels <= ISO_QUANT_LEVELS_MAX);
	assert(quant->level[0] == 0);
	assert(quant->bound[quant->levels + 1] == INT64_MAX);
}

enum iso_status iso_quant_init(uint32_t rho_q16, struct iso_quant *ret_quant)
{
	struct iso_quant *quant = ret_quant;

	if (rho_q16 < ISO_QUANT_RHO_MIN || rho_q16 > ISO_QUANT_RHO_MAX)
		return ISO_E_RANGE;

	/* Half steps of rho: levels are the even ones, bounds the odd ones. */
	uint64_t half_q63 = (uint64_t)rho_q16 << (63 - 17);
	struct real up = exponential(half_q63, false);
	struct real down = exponential(half_q63, true);
	struct real level = { (uint64_t)1 << 63, 32 }; /* price 1.0 is a level */

	for (;;) {
		struct real below = multiply(multiply(level, down), down);

		if (round_to_integer(below) < LEVEL_MIN)
			break;
		level = below;
	}
	memset(quant, 0, sizeof(*quant));
	quant->rho_q16 = rho_q16;
	quant->bound[1] = round_to_integer(multiply(level, down));
	for (uint32_t k = 1;; k++) {
		struct real bound = multiply(level, up);

		assert(k <= ISO_QUANT_LEVELS_MAX);
		quant->levels = k;
		quant->level[k] = round_to_integer(level);
		assert(quant->level[k] > quant->level[k - 1]);
		/* The last level takes in everything up to the largest value. */
		if (bound.exponent >= 62)
			break;
		quant->bound[k + 1] = round_to_integer(bound);
		level = multiply(bound, up);
		/* A level beyond the range would be one no value needs. */
		if (level.exponent >= 62)
			level = (struct real){ (uint64_t)1 << 63, 62 };
	}
	quant->bound[quant->levels + 1] = INT64_MAX;
	quant->digest = digest_of(quant);
	assert_valid(quant);
	return ISO_OK;
}

int16_t iso_quant_symbol(const struct iso_quant *quant, int64_t value)
{
	int64_t magnitude = value < 0 ? -value : value;
	uint32_t low = 0, high = quant->levels;

	assert_valid(quant);
	assert(value >= -VALUE_MAX);
	assert(value <= VALUE_MAX);
	/* The largest k with bound[k] <= magnitude, 0 if there is none. */
	while (low < high) {
		uint32_t middle = (low + high + 1) / 2;

		if (quant->bound[middle] <= magnitude)
			low = middle;
		else
			high = middle - 1;
	}
	return (int16_t)(value < 0 ? -(int32_t)low : (int32_t)low);
}

enum iso_status iso_quant_value(const struct iso_quant *quant, int16_t symbol, int64_t *ret_value)
{
	uint32_t k = (uint32_t)(symbol < 0 ? -(int32_t)symbol : symbol);

	assert_valid(quant);
	if (k > quant->levels)
		return ISO_E_UNKNOWN;
	*ret_value = symbol < 0 ? -quant->level[k] : quant->level[k];
	return ISO_OK;
}

enum iso_status iso_quant_interval(const struct iso_quant *quant, int16_t symbol,
				   struct iso_quant_interval *ret_interval)
{
	uint32_t k = (uint32_t)(symbol < 0 ? -(int32_t)symbol : symbol);

	assert_valid(quant);
	if (k > quant->levels)
		return ISO_E_UNKNOWN;

	int64_t high = k == quant->levels ? VALUE_MAX : quant->bound[k + 1] - 1;

	if (symbol > 0)
		*ret_interval = (struct iso_quant_interval){ quant->bound[k], high };
	else if (symbol < 0)
		*ret_interval = (struct iso_quant_interval){ -high, -quant->bound[k] };
	else
		*ret_interval = (struct iso_quant_interval){ -high, high };
	return ISO_OK;
}
