/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quant/codec.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "lib/bytes.h"
#include "lib/hot.h"
#include "lib/quant/pack.h"

/* ln of the range of levels: a little inside the normal floats. */
#define LOWEST	-86.9
#define HIGHEST 88.0

/* Bits of a float. */
#define MAGNITUDE 0x7fffffffu
#define MANTISSA  0x007fffffu
#define ONE	  0x3f800000u
#define SMALLEST  0x00800000u /* the smallest normal number */

/*
 * Adding and taking away 1.5 * 2^23 rounds to an integer, to even, what is below 2^22;
 * the sum's lower bits are that integer.
 */
#define ROUNDER	     12582912.0f
#define ROUNDER_BITS 0x4b400000u
#define ROUNDS_MAX   4194304.0f

/* (log2(1 + t) - t) / (t (1 - t)) for t in [0, 1), so that log2(1 + t) is right to 1.1e-6. */
#define LOG_0 0.442688854f
#define LOG_1 -0.278201673f
#define LOG_2 0.196661003f
#define LOG_3 -0.131446539f
#define LOG_4 0.0640729399f
#define LOG_5 -0.0151254470f

/* (2^x - 1) / x, so that 2^x is right to 2e-7 for |x| <= 1/2. */
#define EXP_0 0.693147181f
#define EXP_1 0.240223490f
#define EXP_2 0.0555038101f
#define EXP_3 0.00966636852f
#define EXP_4 0.00133813025f

static inline int32_t lowest_index(float rho)
{
	return (int32_t)(LOWEST / (double)rho);
}

static inline int32_t highest_index(float rho)
{
	return (int32_t)(HIGHEST / (double)rho);
}

static void assert_valid(const struct iso_codec *codec)
{
	assert(codec->bits >= ISO_PACK_BITS_MIN);
	assert(codec->bits <= ISO_PACK_BITS_MAX);
	assert(codec->most == iso_pack_most(codec->bits));
	assert(codec->to_value >= 0);
	assert(codec->to_value <= FLT_MAX);
	if (codec->is_uniform)
		return;
	assert(codec->lowest >= 1);
	assert(codec->lowest <= codec->most);
	assert(codec->per_octave > 0);
	assert(codec->octaves > 0);
}

/* Log levels for a rho within its range and an index_max within that of the floats. */
static struct iso_codec log_levels(float rho, unsigned bits, int32_t index_max)
{
	const double ln_2 = 0.69314718055994531;
	struct iso_codec codec = {
		.bits = bits,
		.most = iso_pack_most(bits),
		.index_max = index_max,
		.per_octave = (float)(ln_2 / (double)rho),
		.octaves = (float)((double)rho / ln_2),
	};
	int32_t lowest = codec.most - index_max + lowest_index(rho);

	codec.lowest = lowest > 1 ? lowest : 1;
	return codec;
}

static bool is_rho(float rho)
{
	/* Said so that NaN is none. */
	return rho >= ISO_CODEC_RHO_MIN && rho <= ISO_CODEC_RHO_MAX;
}

enum iso_status iso_codec_init_log(float rho, unsigned bits, int32_t index_max,
				   struct iso_codec *ret_codec)
{
	struct iso_codec codec;

	if (!is_rho(rho) || index_max < lowest_index(rho) || index_max > highest_index(rho))
		return ISO_E_RANGE;
	codec = log_levels(rho, bits, index_max);
	codec.smallest = FLT_TRUE_MIN;
	codec.to_level = 1;
	codec.to_value = 1;
	assert_valid(&codec);
	*ret_codec = codec;
	return ISO_OK;
}

enum iso_status iso_codec_init_scale(float rho, unsigned bits, float to_value,
				     struct iso_codec *ret_codec)
{
	struct iso_codec codec;

	/* Said so that NaN fails too. */
	if (!is_rho(rho) || (to_value != 0 && !(to_value >= FLT_MIN && to_value <= FLT_MAX)))
		return ISO_E_RANGE;
	codec = log_levels(rho, bits, 0); /* the highest level is 1 */
	codec.to_value = to_value;
	assert_valid(&codec);
	*ret_codec = codec;
	return ISO_OK;
}

void iso_codec_init_scaled(float rho, unsigned bits, float largest, struct iso_codec *ret_codec)
{
	const double middle = (double)largest * exp(-(double)rho / 2);
	float to_value = (float)(2 * (double)largest / (exp((double)rho) + 1));
	enum iso_status status;

	assert(largest >= 0);
	assert(largest <= FLT_MAX);
	/* The reciprocal of a smaller one would be infinite. */
	if (middle < 2 * (double)FLT_MIN || to_value < FLT_MIN)
		to_value = 0;
	status = iso_codec_init_scale(rho, bits, to_value, ret_codec);
	assert(status == ISO_OK);
	if (to_value > 0)
		ret_codec->to_level = (float)(1 / middle);
}

void iso_codec_init_uniform(float step, unsigned bits, struct iso_codec *ret_codec)
{
	struct iso_codec codec = {
		.bits = bits,
		.is_uniform = true,
		.to_level = step,
		.to_value = step,
		.most = iso_pack_most(bits),
	};

	assert(step >= FLT_MIN);
	assert_valid(&codec);
	*ret_codec = codec;
}

/* log2 of a normal magnitude, in levels. */
static inline float levels_of(uint32_t magnitude, float per_octave)
{
	int32_t exponent = (int32_t)(magnitude - ONE) >> 23;
	float t = iso_float_of_bits((magnitude & MANTISSA) | ONE) - 1.0f;
	float q = LOG_0 + t * (LOG_1 + t * (LOG_2 + t * (LOG_3 + t * (LOG_4 + t * LOG_5))));
	float log2_m = t + (t * (1.0f - t)) * q;

	return (float)exponent * per_octave + log2_m * per_octave;
}

int32_t iso_codec_index(float rho, float largest)
{
	const struct iso_codec codec = log_levels(rho, ISO_PACK_BITS_MAX, 0);
	int32_t index;

	assert(is_rho(rho));
	assert(largest >= 0);
	if (largest == 0)
		return 0;
	if (largest < FLT_MIN)
		return lowest_index(rho);
	float levels = levels_of(iso_bits_of_float(largest), codec.per_octave);
	index = (int32_t)(levels + ROUNDER - ROUNDER);
	index = index < highest_index(rho) ? index : highest_index(rho);
	return index > lowest_index(rho) ? index : lowest_index(rho);
}

static ISO_HOT void encode_log(const struct iso_codec *codec, const float *restrict in, size_t n,
			       int16_t *restrict codes)
{
	const float to_level = codec->to_level, per_octave = codec->per_octave;
	const int32_t shift = codec->most - codec->index_max - (int32_t)ROUNDER_BITS;
	const int32_t lowest = codec->lowest, most = codec->most;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = iso_bits_of_float(in[i] * to_level);
		uint32_t magnitude = bits & MAGNITUDE;
		int32_t negative = (int32_t)bits >> 31; /* 0 or -1 */
		float rounded = levels_of(magnitude, per_octave) + ROUNDER;
		int32_t code = (int32_t)iso_bits_of_float(rounded) + shift;

		code = code < most ? code : most;
		code = code >= lowest ? code : 0;
		code = magnitude >= SMALLEST ? code : 0;
		codes[i] = (int16_t)((code ^ negative) - negative);
	}
}

static ISO_HOT size_t encode_uniform(const struct iso_codec *codec, const float *restrict in,
				     size_t n, int16_t *restrict codes)
{
	const float most = (float)codec->most, step = codec->to_level;
	uint32_t escapes = 0;

	for (size_t i = 0; i < n; i++) {
		float x = in[i] / step;
		/* Beyond them all are escapes; the sum that rounds must stay exact. */
		float bounded = x < ROUNDS_MAX ? x : ROUNDS_MAX;
		bounded = bounded > -ROUNDS_MAX ? bounded : -ROUNDS_MAX;
		float level = (bounded + ROUNDER) - ROUNDER;
		uint32_t is_escape = __builtin_fabsf(level) > most;
		int32_t code = is_escape ? ISO_PACK_ESCAPE : (int32_t)level;

		escapes += is_escape;
		codes[i] = (int16_t)code;
	}
	return escapes;
}

/* Codes of zero for values that are not small enough: counts and marks them. */
static ISO_HOT size_t mark_small(float smallest, const float *restrict in, size_t n,
				 int16_t *restrict codes)
{
	uint32_t escapes = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t is_escape = (codes[i] == 0) & (__builtin_fabsf(in[i]) >= smallest);
		int32_t code = is_escape ? ISO_PACK_ESCAPE : codes[i];

		escapes += is_escape;
		codes[i] = (int16_t)code;
	}
	return escapes;
}

size_t iso_codec_encode(const struct iso_codec *codec, const float *in, size_t n, int16_t *codes)
{
	assert_valid(codec);
	if (codec->is_uniform)
		return encode_uniform(codec, in, n, codes);
	encode_log(codec, in, n, codes);
	return codec->smallest > 0 ? mark_small(codec->smallest, in, n, codes) : 0;
}

static ISO_HOT void decode_uniform(float step, const int16_t *restrict codes, size_t n,
				   float *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = codes[i] == ISO_PACK_ESCAPE ? 0.0f : (float)codes[i] * step;
}

static ISO_HOT void decode_log(const struct iso_codec *codec, const int16_t *restrict codes,
			       size_t n, float *restrict out)
{
	const float octaves = codec->octaves, to_value = codec->to_value;
	const int32_t shift = codec->index_max - codec->most;
	const int32_t lowest = codec->lowest, most = codec->most;

	for (size_t i = 0; i < n; i++) {
		int32_t code = codes[i];
		int32_t negative = code >> 31;
		int32_t magnitude = (code ^ negative) - negative;
		float x = (float)(magnitude + shift) * octaves;
		float rounded = x + ROUNDER;
		float whole = rounded - ROUNDER;
		float f = x - whole;
		float power =
		    1.0f + f * (EXP_0 + f * (EXP_1 + f * (EXP_2 + f * (EXP_3 + f * EXP_4))));
		/* Zero's level is nonsense, and hidden. */
		uint32_t bits = iso_bits_of_float(power) + (iso_bits_of_float(rounded) << 23);
		float value = iso_float_of_bits(bits) * to_value;
		uint32_t hidden = 0u - (uint32_t)(magnitude >= lowest && magnitude <= most);

		out[i] = iso_float_of_bits((iso_bits_of_float(value) & hidden) |
					   ((uint32_t)negative << 31 & hidden));
	}
}

void iso_codec_decode(const struct iso_codec *codec, const int16_t *codes, size_t n, float *out)
{
	assert_valid(codec);
	if (codec->is_uniform)
		decode_uniform(codec->to_value, codes, n, out);
	else
		decode_log(codec, codes, n, out);
}

static ISO_HOT struct iso_codec_tally tally_of(int32_t lowest, int32_t most, const int16_t *codes,
					       size_t n)
{
	uint32_t escapes = 0, wrong = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t code = codes[i];
		int32_t magnitude = code < 0 ? -code : code;
		uint32_t is_escape = code == ISO_PACK_ESCAPE;
		uint32_t is_level = (magnitude >= lowest) & (magnitude <= most);

		escapes += is_escape;
		wrong += 1 ^ (is_escape | is_level | (code == 0));
	}
	return (struct iso_codec_tally){ escapes, wrong == 0 };
}

struct iso_codec_tally iso_codec_tally(const struct iso_codec *codec, const int16_t *codes,
				       size_t n)
{
	assert_valid(codec);
	/* A scale of 0 has no level but 0. */
	return tally_of(codec->is_uniform ? 1 : codec->lowest,
			codec->to_value == 0 ? 0 : codec->most, codes, n);
}
