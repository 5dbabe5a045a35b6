/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* As in quant_plain.c: the copy that an old machine would take. */
#define COPY(name) plain_##name
#include "tests/unit/codec_copy.h"
