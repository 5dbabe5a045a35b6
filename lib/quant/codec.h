/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CODEC_H
#define ISO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Floats to the codes of lib/quant/pack.h and back, for a vector whose levels are
 * known: what lib/quant/stream.h is made of.
 *
 *   log      +-c stands for +-to_value exp(rho (index_max - most + c)), c in lowest..most
 *   uniform  +-c stands for +-c step
 *
 * No libm, one rounding an operation, no branch that depends on a value: every
 * machine gets the same bits, and compilers make SIMD of it.  A level is its
 * formula's value to 1e-5 of itself, and so are the bounds between two.
 */
struct iso_codec {
	unsigned bits;
	bool is_uniform;
	float smallest; /* log: from here on, what is below the lowest level escapes; 0: nothing
			   does */
	float to_level; /* log: a value times this has its level; uniform: the step */
	float to_value;
	/* Log. */
	int32_t most;	   /* the highest code, iso_pack_most(bits) */
	int32_t lowest;	   /* the lowest one whose level is a normal float, at least 1 */
	int32_t index_max; /* of the level of code most */
	float per_octave;  /* levels in an octave: ln 2 / rho */
	float octaves;	   /* of one level: rho / ln 2 */
};

#define ISO_CODEC_RHO_MIN (1.0f / 1024)
#define ISO_CODEC_RHO_MAX 4.0f

/*
 * Levels of the published quantiser, sgn(v) exp(rho index), the highest that of index_max,
 * with escapes for all that is below them but 0; the caller may raise `smallest`.
 * ISO_E_RANGE: rho is out of its range, or the index is not that of a normal float.
 */
ISO_MUST_USE enum iso_status iso_codec_init_log(float rho, unsigned bits, int32_t index_max,
						struct iso_codec *ret_codec);

/* The index nearest to ln(largest) / rho among those of normal floats; 0 for 0. */
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
 * The same at the receiver, from the sender's codec.to_value.  ISO_E_RANGE: rho is out of its
 * range, or to_value is not 0 and no normal float.
 */
ISO_MUST_USE enum iso_status iso_codec_init_scale(float rho, unsigned bits, float to_value,
						  struct iso_codec *ret_codec);

/* step round(v / step), to even.  step: a normal float. */
void iso_codec_init_uniform(float step, unsigned bits, struct iso_codec *ret_codec);

/*
 * in[n], finite -> codes[n].  Returns how many are escapes: above the uniform
 * levels, or below the log ones and not below `smallest`.  n <= 2^31.
 */
size_t iso_codec_encode(const struct iso_codec *codec, const float *in, size_t n, int16_t *codes);

/* codes[n], of those that encode writes -> out[n]; an escape is 0. */
void iso_codec_decode(const struct iso_codec *codec, const int16_t *codes, size_t n, float *out);

/* What codes[n] are: how many escapes, and whether all others are of those that encode writes. */
struct iso_codec_tally {
	size_t escapes;
	bool is_valid;
};
struct iso_codec_tally iso_codec_tally(const struct iso_codec *codec, const int16_t *codes,
				       size_t n);

#endif
