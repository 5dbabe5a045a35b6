/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quant/stream.h"

#include <assert.h>
#include <float.h>

#include "lib/bytes.h"
#include "lib/quant/codec.h"
#include "lib/quant/pack.h"
#include "lib/quant/stream_state.h"

/* One of those that the config allows. */
static enum iso_status get_head(const struct iso_stream_config *config, const uint8_t *in,
				struct iso_stream_head *ret_head)
{
	unsigned most =
	    has_codes(config->mode) && config->mode != ISO_STREAM_UNIFORM ? config->coarser : 0;

	if (in[0] != config->mode)
		return ISO_E_CONFIG;
	for (unsigned k = 0; k <= most; k++) {
		struct iso_stream_head head = iso_stream_head(config, k);

		if (head.bits != in[1])
			continue;
		if (iso_bits_of_float(head.parameter) != (uint32_t)iso_get_le(in + 4, 4))
			return ISO_E_CONFIG;
		if (iso_get_le(in + 2, 2) != 0)
			return ISO_E_MALFORMED;
		head.anchor = (uint32_t)iso_get_le(in + 8, 4);
		*ret_head = head;
		return ISO_OK;
	}
	return ISO_E_CONFIG;
}

/* NONE and SINGLE. */
static enum iso_status decode_plain(const struct iso_stream_config *config, const uint8_t *body,
				    double *estimate)
{
	bool is_single = config->mode == ISO_STREAM_SINGLE;

	for (size_t i = 0; i < config->n; i++) {
		if (is_single) {
			if ((iso_get_le(body + 4 * i, 4) & MAGNITUDE) >= INFINITE)
				return ISO_E_RANGE;
		} else {
			double value = iso_double_of_bits(iso_get_le(body + 8 * i, 8));

			if (!(value >= -DBL_MAX && value <= DBL_MAX))
				return ISO_E_RANGE;
		}
	}
	for (size_t i = 0; i < config->n; i++) {
		if (is_single)
			estimate[i] =
			    (double)iso_float_of_bits((uint32_t)iso_get_le(body + 4 * i, 4));
		else
			estimate[i] = iso_double_of_bits(iso_get_le(body + 8 * i, 8));
	}
	return ISO_OK;
}

static enum iso_status make_codec(const struct iso_stream_head *head, struct iso_codec *ret_codec)
{
	if (head->mode == ISO_STREAM_LOG) {
		int32_t index = (int32_t)head->anchor;

		return iso_codec_init_log(head->parameter, head->bits, index, ret_codec);
	}
	if (head->mode == ISO_STREAM_INNOVATION)
		return iso_codec_init_scale(head->parameter, head->bits,
					    iso_float_of_bits(head->anchor), ret_codec);
	if (head->anchor != 0)
		return ISO_E_MALFORMED;
	iso_codec_init_uniform(head->parameter, head->bits, ret_codec);
	return ISO_OK;
}

/* All that decode_codes() relies on. */
static enum iso_status check_codes(const struct iso_stream_config *config,
				   const struct iso_codec *codec, const uint8_t *body, size_t size)
{
	size_t packed = iso_pack_bytes(config->n, codec->bits), escapes = 0;
	int16_t codes[ISO_PACK_BLOCK];

	if (!iso_pack_is_filled(body, config->n, codec->bits))
		return ISO_E_MALFORMED;
	for (size_t at = 0; at < config->n; at += ISO_PACK_BLOCK) {
		size_t left = config->n - at;
		size_t n = left < ISO_PACK_BLOCK ? left : ISO_PACK_BLOCK;
		struct iso_codec_tally tally;

		iso_unpack(body + iso_pack_bytes(at, codec->bits), n, codec->bits, codes);
		tally = iso_codec_tally(codec, codes, n);
		if (!tally.is_valid)
			return ISO_E_MALFORMED;
		escapes += tally.escapes;
	}
	if (!has_escapes(config->mode) && escapes > 0)
		return ISO_E_MALFORMED;
	if (size < packed + 4 * escapes)
		return ISO_E_SHORT;
	if (size > packed + 4 * escapes)
		return ISO_E_LONG;
	for (size_t i = 0; i < escapes; i++)
		if ((iso_get_le(body + packed + 4 * i, 4) & MAGNITUDE) >= INFINITE)
			return ISO_E_RANGE;
	return ISO_OK;
}

static void decode_codes(const struct iso_stream_config *config, const struct iso_codec *codec,
			 const uint8_t *body, double *estimate)
{
	const uint8_t *escaped = body + iso_pack_bytes(config->n, codec->bits);
	float levels[ISO_PACK_BLOCK];
	int16_t codes[ISO_PACK_BLOCK];

	for (size_t at = 0; at < config->n; at += ISO_PACK_BLOCK) {
		size_t left = config->n - at;
		size_t n = left < ISO_PACK_BLOCK ? left : ISO_PACK_BLOCK;

		iso_unpack(body + iso_pack_bytes(at, codec->bits), n, codec->bits, codes);
		iso_codec_decode(codec, codes, n, levels);
		if (has_escapes(config->mode)) {
			for (size_t i = 0; i < n; i++) {
				if (codes[i] != ISO_PACK_ESCAPE)
					continue;
				levels[i] = iso_float_of_bits((uint32_t)iso_get_le(escaped, 4));
				escaped += 4;
			}
		}
		iso_stream_move(config->mode, levels, n, estimate + at);
	}
}

enum iso_status iso_stream_decode(const struct iso_stream_config *config, const uint8_t *in,
				  size_t size, double *estimate)
{
	struct iso_codec codec;
	struct iso_stream_head head;
	enum iso_status status;

	iso_stream_assert_valid(config);
	if (size < ISO_STREAM_HEAD_BYTES)
		return ISO_E_SHORT;
	status = get_head(config, in, &head);
	if (status != ISO_OK)
		return status;
	in += ISO_STREAM_HEAD_BYTES;
	size -= ISO_STREAM_HEAD_BYTES;
	if (size < iso_stream_body_bytes(config, head.bits))
		return ISO_E_SHORT;
	if (!has_codes(config->mode)) {
		if (size > iso_stream_body_bytes(config, head.bits))
			return ISO_E_LONG;
		return head.anchor != 0 ? ISO_E_MALFORMED : decode_plain(config, in, estimate);
	}
	status = make_codec(&head, &codec);
	if (status == ISO_OK)
		status = check_codes(config, &codec, in, size);
	if (status == ISO_OK)
		decode_codes(config, &codec, in, estimate);
	return status;
}
