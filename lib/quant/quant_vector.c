/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quant/quant_vector.h"

#include <assert.h>
#include <float.h>
#include <stdbool.h>

#include "lib/bytes.h"
#include "lib/hot.h"

/*
 * Each loop body is straight-line arithmetic on 32-bit lanes, so that compilers
 * turn it into SIMD without help; one rounding an operation (no contraction, no
 * reassociation) makes scalar and SIMD agree to the bit.
 */

#define CODES_MAX 32767
/* Values between two looks at the count of strange ones, which is 32 bits in the loop. */
#define BLOCK     ((size_t)1 << 20)

/* Bits of a float. */
#define SIGN_BIT 0x80000000u
#define INFINITE 0x7f800000u
#define ONE      0x3f800000u
#define SMALLEST 0x00800000u /* the smallest normal number */
#define ROOT     0x3f3504f3u /* sqrt(1/2) */

/* An index in 1/16384: 2^17 of them and their fraction fit into 32 bits. */
#define FRACTION_BITS 14
#define FRACTION      16384.0f

_Static_assert((int)FRACTION == 1 << FRACTION_BITS, "the same number twice");
/* 151 octaves from 1 to the smallest denormal, at most 710 indices each. */
_Static_assert(151ll * 710 << FRACTION_BITS < INT32_MAX, "an index must fit");
_Static_assert(CODES_MAX <= INT16_MAX, "a code must fit");

/* Adding and taking away 1.5 * 2^23 rounds to an integer. */
#define ROUNDER 12582912.0f

/* All ones if the condition holds, for selecting without a branch. */
static inline uint32_t mask(bool condition)
{
	return 0u - (uint32_t)condition;
}

/* log2((1 + s) / (1 - s)) / s as a polynomial in s^2, to 7e-10 for |s| <= 0.1716. */
#define LOG_0 2.88539008f
#define LOG_1 0.961798839f
#define LOG_2 0.576715112f
#define LOG_3 0.431719716f

/* (2^x - 1) / x, so that 2^x is right to 5e-9 for |x| <= 1/2. */
#define EXP_0 0.693147188f
#define EXP_1 0.240226508f
#define EXP_2 0.0555035711f
#define EXP_3 0.00961808256f
#define EXP_4 0.00133908634f
#define EXP_5 0.000154531629f

/*
 * round(ln|v| / rho) for a magnitude that is not NaN; 0 counts as 2^-151.  The
 * quotient that is rounded is right to 2/16384.
 */
static inline int32_t index_of(const struct iso_quant_vector *quant, uint32_t magnitude)
{
	/* Denormals have no hidden bit: 2^24 times them are normal. */
	uint32_t small = mask(magnitude < SMALLEST);
	uint32_t raised = iso_bits_of_float(iso_float_of_bits(magnitude) * 0x1p24f);
	uint32_t normal = (raised & small) | (magnitude & ~small);
	/* v = m 2^e with m in [sqrt(1/2), sqrt(2)). */
	int32_t exponent = (int32_t)(normal - ROOT) >> 23;
	float m = iso_float_of_bits(normal - ((uint32_t)exponent << 23));
	float e = (float)(exponent - (int32_t)(24 & small));
	/* log2 m = 2 / ln 2 * artanh s. */
	float s = (m - 1.0f) / (m + 1.0f);
	float z = s * s;
	float log2_m = s * (LOG_0 + z * (LOG_1 + z * (LOG_2 + z * LOG_3)));
	/* The part of e is exact: 9 bits times 15. */
	int32_t whole = (int32_t)(e * quant->fraction_per_octave);
	int32_t rest = (int32_t)(e * quant->fraction_per_octave_low +
				 log2_m * (quant->fraction_per_octave +
					   quant->fraction_per_octave_low));

	return (whole + rest + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
}

/* exp(rho index), for indices whose value is a normal float. */
static inline float value_of(const struct iso_quant_vector *quant, int32_t index)
{
	float i = (float)index;
	/* 17 bits times 7 are exact, and the integer can be taken away without loss. */
	float high = i * quant->octave_per_index;
	float low = i * quant->octave_per_index_low;
	float whole = (high + low + ROUNDER) - ROUNDER;
	float x = (high - whole) + low;
	float power = 1.0f + x * (EXP_0 + x * (EXP_1 + x * (EXP_2 + x * (EXP_3 + x * (EXP_4 +
			     x * EXP_5)))));

	return iso_float_of_bits(iso_bits_of_float(power) + ((uint32_t)(int32_t)whole << 23));
}

/* 0, or 1 + index - index_min clamped to the number of codes. */
static inline int32_t code_of(const struct iso_quant_vector *quant, uint32_t magnitude)
{
	int32_t code = index_of(quant, magnitude) - quant->index_min + 1;
	int32_t most = quant->index_max - quant->index_min + 1;

	code = code < most ? code : most;
	code = code > 0 ? code : 0;
	return magnitude > INFINITE ? 0 : code;
}

/* The value of a code in 0 .. most, with the sign bit given. */
static inline float value_of_code(const struct iso_quant_vector *quant, int32_t code, uint32_t sign)
{
	uint32_t bits = iso_bits_of_float(value_of(quant, code + quant->index_min - 1));

	return iso_float_of_bits((bits | sign) & mask(code > 0));
}

static void assert_valid(const struct iso_quant_vector *quant)
{
	assert(quant->rho > 0);
	assert(quant->index_min < quant->index_max);
	assert(quant->index_max - quant->index_min < CODES_MAX);
}

ISO_HOT size_t iso_quant_vector_encode(const struct iso_quant_vector *quant,
				       const float *restrict in, size_t n,
				       int16_t *restrict codes)
{
	const struct iso_quant_vector copy = *quant; /* nothing the loop writes can change it */
	size_t strange = 0;

	assert_valid(quant);
	for (size_t done = 0; done < n;) {
		size_t end = n - done < BLOCK ? n : done + BLOCK;
		uint32_t count = 0;

		for (; done < end; done++) {
			uint32_t bits = iso_bits_of_float(in[done]);
			uint32_t magnitude = bits & ~SIGN_BIT;
			int32_t code = code_of(&copy, magnitude);
			int32_t negative = (int32_t)bits >> 31; /* 0 or -1 */

			count += magnitude >= INFINITE;
			codes[done] = (int16_t)((code ^ negative) - negative);
		}
		strange += count;
	}
	return strange;
}

ISO_HOT void iso_quant_vector_decode(const struct iso_quant_vector *quant,
				     const int16_t *restrict codes, size_t n, float *restrict out)
{
	const struct iso_quant_vector copy = *quant;
	int32_t most = copy.index_max - copy.index_min + 1;

	assert_valid(quant);
	for (size_t i = 0; i < n; i++) {
		int32_t signed_code = codes[i];
		int32_t negative = signed_code >> 31;
		int32_t code = (signed_code ^ negative) - negative;

		code = code < most ? code : most;
		out[i] = value_of_code(&copy, code, (uint32_t)negative & SIGN_BIT);
	}
}

ISO_HOT size_t iso_quant_vector_apply(const struct iso_quant_vector *quant, const float *in,
				      size_t n, float *out)
{
	const struct iso_quant_vector copy = *quant;
	size_t strange = 0;

	assert_valid(quant);
	for (size_t done = 0; done < n;) {
		size_t end = n - done < BLOCK ? n : done + BLOCK;
		uint32_t count = 0;

		for (; done < end; done++) {
			uint32_t bits = iso_bits_of_float(in[done]);
			uint32_t magnitude = bits & ~SIGN_BIT;

			count += magnitude >= INFINITE;
			out[done] = value_of_code(&copy, code_of(&copy, magnitude),
						  bits & SIGN_BIT);
		}
		strange += count;
	}
	return strange;
}

/* A float with the given number of leading bits of the value. */
static float leading(double value, int bits)
{
	uint32_t keep = ~((1u << (24 - bits)) - 1);

	return iso_float_of_bits(iso_bits_of_float((float)value) & keep);
}

enum iso_status iso_quant_vector_init(float rho, int32_t index_min, int32_t index_max,
				      struct iso_quant_vector *ret_quant)
{
	/* A little inside the normal numbers, so that no rounding leaves them. */
	const double lowest = -87.3365, highest = 88.7227;

	/* Said so that NaN fails too. */
	if (!(rho >= 1.0f / 1024 && rho <= 8))
		return ISO_E_RANGE;
	if (index_min == 0 && index_max == 0) {
		index_max = (int32_t)(-lowest / (double)rho);
		if (index_max > CODES_MAX / 2)
			index_max = CODES_MAX / 2;
		index_min = -index_max;
	}
	if (index_min >= index_max || (int64_t)index_max - index_min + 1 > CODES_MAX)
		return ISO_E_RANGE;
	if (index_min * (double)rho < lowest || index_max * (double)rho > highest)
		return ISO_E_RANGE;
	double fraction = 0.69314718055994531 / (double)rho * (double)FRACTION;
	double octave = (double)rho / 0.69314718055994531;
	struct iso_quant_vector quant = {
		.rho = rho,
		.index_min = index_min,
		.index_max = index_max,
		.fraction_per_octave = leading(fraction, 15),
		.octave_per_index = leading(octave, 7),
	};
	quant.fraction_per_octave_low = (float)(fraction - (double)quant.fraction_per_octave);
	quant.octave_per_index_low = (float)(octave - (double)quant.octave_per_index);
	assert(value_of(&quant, index_min) >= FLT_MIN);
	assert(value_of(&quant, index_max) <= FLT_MAX);
	*ret_quant = quant;
	return ISO_OK;
}
