/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CODEC_H
#define ISO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/quant/quant_vector.h"
#include "lib/status.h"

/*
 * Floats to the codes of lib/quant/pack.h and back, for one vector whose levels
 * are known: what stream.h puts together.
 *
 * Log codes +-c stand for +-scale exp(rho (index_max - levels + c)), c in 1..levels;
 * uniform ones for +-c step.
 */
struct iso_codec {
	unsigned bits;
	bool is_uniform;
	bool is_exact;	/* log: what is below the lowest level escapes, else it is zero */
	float to_level; /* a value times this is compared with the levels; uniform: the step */
	float to_value; /* a level times this is the value */
	struct iso_quant_vector quant; /* log */
};

/*
 * Levels of the published quantiser, sgn(v) exp(rho index), the highest that of
 * index_max.  ISO_E_RANGE: rho outside [1/1024, 4], or an index that is no float.
 */
ISO_MUST_USE enum iso_status iso_codec_init_log(float rho, unsigned bits, int32_t index_max,
						struct iso_codec *ret_codec);

/* The index_max for values whose largest magnitude is this. */
int32_t iso_codec_index(float rho, float largest);

/*
 * Levels that end where the vector does.  The highest bin ends at `largest`, and
 * a level lies within its bin where the relative error is least at both ends:
 * 2 / (e^-rho/2 + e^rho/2) of the bin's middle, so that no error is above
 * tanh(rho/2) of the value, whatever rho.  Values below the lowest bin, which
 * are below largest e^(-rho levels), are zero.  With a largest of 0, and where the
 * levels leave the normal floats, everything is zero.
 */
void iso_codec_init_scaled(float rho, unsigned bits, float largest, struct iso_codec *ret_codec);

/*
 * The same at the receiver, from the sender's codec.to_value.  ISO_E_RANGE: rho outside
 * [1/1024, 4], or not 0 and no normal float.
 */
ISO_MUST_USE enum iso_status iso_codec_init_scale(float rho, unsigned bits, float to_value,
						  struct iso_codec *ret_codec);

/* step round(v / step), to even.  step > 0. */
void iso_codec_init_uniform(float step, unsigned bits, struct iso_codec *ret_codec);

/*
 * in[n], finite -> codes[n].  Returns how many are escapes: above the uniform
 * levels, or below the log ones if is_exact.
 */
size_t iso_codec_encode(const struct iso_codec *codec, const float *in, size_t n, int16_t *codes);

/* codes[n] -> out[n]; an escape is 0. */
void iso_codec_decode(const struct iso_codec *codec, const int16_t *codes, size_t n, float *out);

#endif
