/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quant/codec.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "lib/hot.h"
#include "lib/quant/pack.h"

/* Adding and taking away 1.5 * 2^23 rounds to an integer, to even, what is below 2^22. */
#define ROUNDER	   12582912.0f
#define ROUNDS_MAX 4194304.0f

#define RHO_MAX 4.0f

static void assert_valid(const struct iso_codec *codec)
{
	assert(codec->bits >= ISO_PACK_BITS_MIN);
	assert(codec->bits <= ISO_PACK_BITS_MAX);
	assert(codec->to_value >= 0);
	assert(codec->to_value <= FLT_MAX);
}

enum iso_status iso_codec_init_log(float rho, unsigned bits, int32_t index_max,
				   struct iso_codec *ret_codec)
{
	struct iso_codec codec = { .bits = bits, .is_exact = true, .to_level = 1, .to_value = 1 };
	enum iso_status status =
	    rho > RHO_MAX ? ISO_E_RANGE : iso_quant_vector_init(rho, 0, 0, &codec.quant);

	if (status != ISO_OK)
		return status;
	status = iso_quant_vector_anchor(&codec.quant, index_max, (uint32_t)iso_pack_most(bits));
	if (status != ISO_OK)
		return status;
	assert_valid(&codec);
	*ret_codec = codec;
	return ISO_OK;
}

int32_t iso_codec_index(float rho, float largest)
{
	struct iso_quant_vector quant;
	enum iso_status status = iso_quant_vector_init(rho, 0, 0, &quant);

	assert(status == ISO_OK);
	return largest > 0 ? iso_quant_vector_index(&quant, largest) : 0;
}

enum iso_status iso_codec_init_scale(float rho, unsigned bits, float to_value,
				     struct iso_codec *ret_codec)
{
	struct iso_codec codec = { .bits = bits, .to_value = to_value };
	enum iso_status status =
	    rho > RHO_MAX ? ISO_E_RANGE : iso_quant_vector_init(rho, 0, 0, &codec.quant);

	if (status != ISO_OK)
		return status;
	/* Said so that NaN fails too. */
	if (to_value != 0 && !(to_value >= FLT_MIN && to_value <= FLT_MAX))
		return ISO_E_RANGE;
	/* The highest level is 1. */
	status = iso_quant_vector_anchor(&codec.quant, 0, (uint32_t)iso_pack_most(bits));
	assert(status == ISO_OK);
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
	};

	assert(step > 0);
	assert_valid(&codec);
	*ret_codec = codec;
}

static ISO_HOT size_t encode_uniform(const struct iso_codec *codec, const float *restrict in,
				     size_t n, int16_t *restrict codes)
{
	const float most = (float)iso_pack_most(codec->bits), step = codec->to_level;
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

static ISO_HOT void scale(float factor, const float *restrict in, size_t n, float *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = in[i] * factor;
}

/* Codes of zero for values that are not: counts and marks them. */
static ISO_HOT size_t mark_small(const float *restrict in, size_t n, int16_t *restrict codes)
{
	uint32_t escapes = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t is_escape = (codes[i] == 0) & (in[i] != 0);
		int32_t code = is_escape ? ISO_PACK_ESCAPE : codes[i];

		escapes += is_escape;
		codes[i] = (int16_t)code;
	}
	return escapes;
}

size_t iso_codec_encode(const struct iso_codec *codec, const float *in, size_t n, int16_t *codes)
{
	assert_valid(codec);
	assert(n <= ISO_PACK_BLOCK);
	if (codec->is_uniform)
		return encode_uniform(codec, in, n, codes);
	if (codec->is_exact) {
		(void)iso_quant_vector_encode(&codec->quant, in, n, codes);
		return mark_small(in, n, codes);
	}
	float scaled[ISO_PACK_BLOCK];

	scale(codec->to_level, in, n, scaled);
	(void)iso_quant_vector_encode(&codec->quant, scaled, n, codes);
	return 0;
}

static ISO_HOT void decode_uniform(float step, const int16_t *restrict codes, size_t n,
				   float *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)codes[i] * step;
}

static ISO_HOT void clear_escapes(const int16_t *restrict codes, size_t n, float *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = codes[i] == ISO_PACK_ESCAPE ? 0.0f : out[i];
}

static ISO_HOT void rescale(float factor, size_t n, float *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] *= factor;
}

void iso_codec_decode(const struct iso_codec *codec, const int16_t *codes, size_t n, float *out)
{
	assert_valid(codec);
	if (codec->is_uniform)
		decode_uniform(codec->to_value, codes, n, out);
	else
		iso_quant_vector_decode(&codec->quant, codes, n, out);
	if (!codec->is_uniform && !codec->is_exact)
		rescale(codec->to_value, n, out);
	else
		clear_escapes(codes, n, out);
}
