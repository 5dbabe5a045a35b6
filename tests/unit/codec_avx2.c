/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* The copy that a machine with AVX2 takes and one with AVX-512 does not. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#endif
#define COPY(name) avx2_##name
#include "tests/unit/codec_copy.h"
