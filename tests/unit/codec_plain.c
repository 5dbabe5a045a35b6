/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* As in quant_plain.c: the copies that an old machine would take. */
#define ISO_HOT_SANITIZED
#define iso_codec_decode       plain_codec_decode
#define iso_codec_encode       plain_codec_encode
#define iso_codec_index	       plain_codec_index
#define iso_codec_init_log     plain_codec_init_log
#define iso_codec_init_scale   plain_codec_init_scale
#define iso_codec_init_scaled  plain_codec_init_scaled
#define iso_codec_init_uniform plain_codec_init_uniform
#define iso_codec_tally	       plain_codec_tally
#define iso_pack	       plain_pack
#define iso_pack_is_filled     plain_pack_is_filled
#define iso_unpack	       plain_unpack

/* clang-format off: pack.c's constants would hide codec.c's otherwise. */
#include "lib/quant/codec.c"
#undef assert_valid
#define assert_valid assert_valid_bits
#include "lib/quant/pack.c"
