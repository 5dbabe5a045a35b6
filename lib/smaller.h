/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SMALLER_H
#define ISO_SMALLER_H

#include <stdint.h>

static inline uint64_t iso_smaller_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline int64_t iso_smaller_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

#endif
