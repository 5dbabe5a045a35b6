/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_STREAM_STATE_H
#define ISO_STREAM_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/hot.h"
#include "lib/quant/stream.h"

/* What both ends of lib/quant/stream.h share; private to them. */

/* Bits of a float. */
#define MAGNITUDE 0x7fffffffu
#define INFINITE  0x7f800000u

/* What a payload's head says. */
struct iso_stream_head {
	enum iso_stream_mode mode;
	unsigned bits;
	float parameter;
	uint32_t anchor;
};

static bool has_codes(enum iso_stream_mode mode)
{
	return mode == ISO_STREAM_UNIFORM || mode == ISO_STREAM_LOG ||
	       mode == ISO_STREAM_INNOVATION;
}

static bool has_escapes(enum iso_stream_mode mode)
{
	return mode == ISO_STREAM_UNIFORM || mode == ISO_STREAM_LOG;
}

/* A payload's head with rho doubled k times, its anchor 0. */
struct iso_stream_head iso_stream_head(const struct iso_stream_config *config, unsigned k);

/* Bytes of the components without escapes. */
size_t iso_stream_body_bytes(const struct iso_stream_config *config, unsigned bits);

void iso_stream_assert_valid(const struct iso_stream_config *config);

/* The estimate takes levels, or moves by them. */
void iso_stream_move(enum iso_stream_mode mode, const float *levels, size_t n, double *estimate);

#endif
