/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Included after COPY(name) is defined: the library's loops under other names, for the
 * registers that the including file is compiled for.  Not a header of its own.
 */
#define ISO_HOT_SANITIZED
#define iso_codec_decode COPY(codec_decode)
#define iso_codec_encode COPY(codec_encode)
#define iso_codec_index COPY(codec_index)
#define iso_codec_init_log COPY(codec_init_log)
#define iso_codec_init_scale COPY(codec_init_scale)
#define iso_codec_init_scaled COPY(codec_init_scaled)
#define iso_codec_init_uniform COPY(codec_init_uniform)
#define iso_codec_tally COPY(codec_tally)
#define iso_pack COPY(pack)
#define iso_pack_is_filled COPY(pack_is_filled)
#define iso_unpack COPY(unpack)

/* clang-format off: both files have a function of this name. */
#include "lib/quant/codec.c"
#define assert_valid assert_valid_bits
#include "lib/quant/pack.c"
