/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CHECKSUM_H
#define ISO_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Inlined, so that lib/ stays free of external symbols. */
#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

/* XXH3, 64 bits: guards frames and journal records against damage, not against malice. */
static inline uint64_t iso_checksum(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size);
}

#endif
