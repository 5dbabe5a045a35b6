/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quant/stream.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "lib/bytes.h"
#include "lib/quant/codec.h"
#include "lib/quant/pack.h"
#include "lib/quant/stream_state.h"

#define RHO_MIN (1.0 / 1024)
#define RHO_MAX 4.0

/* LOG: what is smaller than this part of the largest value is zero, as its sum with it is. */
#define NEGLIGIBLE 0x1p-24f

#define PATIENCE (2.0 / 3)

/* Finite, normal and positive as a float; NaN fails too. */
static bool is_positive(double value)
{
	return value >= (double)FLT_MIN && value <= (double)FLT_MAX;
}

enum iso_status iso_stream_check(const struct iso_stream_config *config)
{
	if (config->mode < ISO_STREAM_NONE || config->mode > ISO_STREAM_INNOVATION ||
	    config->n == 0)
		return ISO_E_RANGE;
	if (!has_codes(config->mode))
		return ISO_OK;
	if (config->bits < ISO_PACK_BITS_MIN || config->bits > ISO_PACK_BITS_MAX)
		return ISO_E_RANGE;
	if (config->mode == ISO_STREAM_UNIFORM)
		return is_positive(config->step) ? ISO_OK : ISO_E_RANGE;
	if (config->coarser > config->bits - ISO_PACK_BITS_MIN)
		return ISO_E_RANGE;
	/* Said so that NaN fails too. */
	if (!(config->rho >= RHO_MIN && config->rho * (1u << config->coarser) <= RHO_MAX))
		return ISO_E_RANGE;
	return ISO_OK;
}

void iso_stream_assert_valid(const struct iso_stream_config *config)
{
	enum iso_status status = iso_stream_check(config);

	assert(status == ISO_OK);
}

size_t iso_stream_body_bytes(const struct iso_stream_config *config, unsigned bits)
{
	if (config->mode == ISO_STREAM_NONE)
		return 8 * (size_t)config->n;
	if (config->mode == ISO_STREAM_SINGLE)
		return 4 * (size_t)config->n;
	return iso_pack_bytes(config->n, bits);
}

size_t iso_stream_bytes_max(const struct iso_stream_config *config)
{
	size_t escapes = has_escapes(config->mode) ? 4 * (size_t)config->n : 0;

	iso_stream_assert_valid(config);
	return ISO_STREAM_HEAD_BYTES + iso_stream_body_bytes(config, config->bits) + escapes;
}

struct iso_stream_head iso_stream_head(const struct iso_stream_config *config, unsigned k)
{
	switch (config->mode) {
	case ISO_STREAM_NONE: return (struct iso_stream_head){ config->mode, 64, 0, 0 };
	case ISO_STREAM_SINGLE: return (struct iso_stream_head){ config->mode, 32, 0, 0 };
	case ISO_STREAM_UNIFORM:
		return (struct iso_stream_head){ config->mode, config->bits, (float)config->step,
						 0 };
	case ISO_STREAM_LOG:
	case ISO_STREAM_INNOVATION: break;
	}
	return (struct iso_stream_head){ config->mode, config->bits - k,
					 (float)config->rho * (float)(1u << k), 0 };
}

/* What is sent of each component as a float; the largest magnitudes as bits of floats. */
struct survey {
	uint32_t change; /* |v - estimate| */
	uint32_t value;	 /* |v| */
};

static ISO_HOT struct survey survey_of(const double *restrict values,
				       const double *restrict estimate, size_t n)
{
	uint32_t change = 0, value = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t c = iso_bits_of_float((float)(values[i] - estimate[i])) & MAGNITUDE;
		uint32_t v = iso_bits_of_float((float)values[i]) & MAGNITUDE;

		change = c > change ? c : change;
		value = v > value ? v : value;
	}
	return (struct survey){ change, value };
}

static ISO_HOT bool all_finite(const double *values, size_t n)
{
	const uint64_t infinite = (uint64_t)0x7ff << 52;
	uint64_t strange = 0;

	for (size_t i = 0; i < n; i++)
		strange += (iso_bits_of_double(values[i]) & infinite) == infinite;
	return strange == 0;
}

static ISO_HOT void differences(const double *restrict values, const double *restrict estimate,
				size_t n, float *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)(values[i] - estimate[i]);
}

static ISO_HOT void narrow(const double *restrict values, size_t n, float *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)values[i];
}

static ISO_HOT void widen(const float *restrict in, size_t n, double *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (double)in[i];
}

static ISO_HOT void add(const float *restrict in, size_t n, double *restrict out)
{
	for (size_t i = 0; i < n; i++)
		out[i] += (double)in[i];
}

void iso_stream_move(enum iso_stream_mode mode, const float *levels, size_t n, double *estimate)
{
	if (mode == ISO_STREAM_INNOVATION)
		add(levels, n, estimate);
	else
		widen(levels, n, estimate);
}

/*
 * How often rho is doubled, see the header.  The estimate of a vector at rest is off by
 * e^(rho/2) - 1 of the largest value at most, with the rho it was coded with; so each payload
 * is finer than the one before, unless the vector moves by the rest of that too.  A
 * PATIENCE of 1 could stay coarse for ever, and from 0.9 on the limit cycle
 * that coarse levels cause is movement enough.
 */
static unsigned choose_coarser(const struct iso_stream_config *config, const struct survey *survey)
{
	double change = (double)iso_float_of_bits(survey->change);
	double value = (double)iso_float_of_bits(survey->value);
	double half = config->rho; /* of the next rho */
	unsigned k = 0;

	for (; k < config->coarser && PATIENCE * change >= expm1(half) * value; k++)
		half *= 2;
	return k;
}

/* The codec of these values, and the head that tells it; false if one is not finite. */
static bool prepare(const struct iso_stream_config *config, const double *values,
		    const double *estimate, struct iso_stream_head *ret_head,
		    struct iso_codec *ret_codec)
{
	struct survey survey = survey_of(values, estimate, config->n);
	bool is_change = config->mode == ISO_STREAM_INNOVATION;
	struct iso_stream_head head = iso_stream_head(config, choose_coarser(config, &survey));
	enum iso_status status = ISO_OK;

	if ((is_change ? survey.change : survey.value) >= INFINITE)
		return false;
	if (config->mode == ISO_STREAM_UNIFORM) {
		iso_codec_init_uniform(head.parameter, head.bits, ret_codec);
	} else if (is_change) {
		iso_codec_init_scaled(head.parameter, head.bits, iso_float_of_bits(survey.change),
				      ret_codec);
		head.anchor = iso_bits_of_float(ret_codec->to_value);
	} else {
		int32_t index = iso_codec_index(head.parameter, iso_float_of_bits(survey.value));

		head.anchor = (uint32_t)index;
		status = iso_codec_init_log(head.parameter, head.bits, index, ret_codec);
		ret_codec->smallest = iso_float_of_bits(survey.value) * NEGLIGIBLE;
	}
	assert(status == ISO_OK);
	*ret_head = head;
	return true;
}

/* The floats of escapes, in order, behind each other. */
static uint8_t *put_escapes(const float *values, const int16_t *codes, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++) {
		if (codes[i] != ISO_PACK_ESCAPE)
			continue;
		iso_put_le(out, iso_bits_of_float(values[i]), 4);
		out += 4;
	}
	return out;
}

static void take_escapes(const float *values, const int16_t *codes, size_t n, float *out)
{
	for (size_t i = 0; i < n; i++)
		if (codes[i] == ISO_PACK_ESCAPE)
			out[i] = values[i];
}

/* Block after block; out may be NULL.  Returns the number of escapes. */
static size_t encode_codes(const struct iso_stream_config *config, const struct iso_codec *codec,
			   const double *values, double *estimate, uint8_t *out)
{
	bool is_change = config->mode == ISO_STREAM_INNOVATION;
	uint8_t *escaped = out == NULL ? NULL : out + iso_pack_bytes(config->n, codec->bits);
	float floats[ISO_PACK_BLOCK], levels[ISO_PACK_BLOCK];
	int16_t codes[ISO_PACK_BLOCK];
	size_t escapes = 0;

	for (size_t at = 0; at < config->n; at += ISO_PACK_BLOCK) {
		size_t left = config->n - at;
		size_t n = left < ISO_PACK_BLOCK ? left : ISO_PACK_BLOCK;
		size_t new_escapes;

		if (is_change)
			differences(values + at, estimate + at, n, floats);
		else
			narrow(values + at, n, floats);
		new_escapes = iso_codec_encode(codec, floats, n, codes);
		iso_codec_decode(codec, codes, n, levels);
		if (new_escapes > 0)
			take_escapes(floats, codes, n, levels);
		iso_stream_move(config->mode, levels, n, estimate + at);
		escapes += new_escapes;
		if (out == NULL)
			continue;
		iso_pack(codes, n, codec->bits, out + iso_pack_bytes(at, codec->bits));
		if (new_escapes > 0)
			escaped = put_escapes(floats, codes, n, escaped);
	}
	return escapes;
}

static void put_head(const struct iso_stream_head *head, uint8_t *out)
{
	out[0] = (uint8_t)head->mode;
	out[1] = (uint8_t)head->bits;
	iso_put_le(out + 2, 0, 2);
	iso_put_le(out + 4, iso_bits_of_float(head->parameter), 4);
	iso_put_le(out + 8, head->anchor, 4);
}

/* NONE and SINGLE. */
static size_t encode_plain(const struct iso_stream_config *config, const double *values,
			   double *estimate, uint8_t *out)
{
	bool is_single = config->mode == ISO_STREAM_SINGLE;
	struct iso_stream_head head = iso_stream_head(config, 0);

	if (is_single ? survey_of(values, estimate, config->n).value >= INFINITE
		      : !all_finite(values, config->n))
		return 0;
	for (size_t i = 0; i < config->n; i++)
		estimate[i] = is_single ? (double)(float)values[i] : values[i];
	if (out != NULL) {
		put_head(&head, out);
		out += ISO_STREAM_HEAD_BYTES;
		for (size_t i = 0; i < config->n; i++) {
			if (is_single)
				iso_put_le(out + 4 * i, iso_bits_of_float((float)values[i]), 4);
			else
				iso_put_le(out + 8 * i, iso_bits_of_double(values[i]), 8);
		}
	}
	return ISO_STREAM_HEAD_BYTES + iso_stream_body_bytes(config, 0);
}

/* out may be NULL. */
static size_t encode(const struct iso_stream_config *config, const double *values, double *estimate,
		     uint8_t *out)
{
	struct iso_codec codec;
	struct iso_stream_head head;
	size_t escapes;

	iso_stream_assert_valid(config);
	if (!has_codes(config->mode))
		return encode_plain(config, values, estimate, out);
	if (!prepare(config, values, estimate, &head, &codec))
		return 0;
	if (out != NULL)
		put_head(&head, out);
	escapes = encode_codes(config, &codec, values, estimate,
			       out == NULL ? NULL : out + ISO_STREAM_HEAD_BYTES);
	return ISO_STREAM_HEAD_BYTES + iso_stream_body_bytes(config, head.bits) + 4 * escapes;
}

size_t iso_stream_encode(const struct iso_stream_config *config, const double *values,
			 double *estimate, uint8_t *out)
{
	size_t size;

	assert(out != NULL);
	size = encode(config, values, estimate, out);
	assert(size <= iso_stream_bytes_max(config));
	return size;
}

uint64_t iso_stream_apply(const struct iso_stream_config *config, const double *values,
			  double *estimate)
{
	return 8 * (uint64_t)encode(config, values, estimate, NULL);
}
