/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CARVE_H
#define ISO_CARVE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Arrays laid one behind the other into memory that belongs to the caller.
 * What a size function adds up with iso_carve_bytes(), the init function takes
 * with iso_carve(); each piece is aligned for uint64_t if the first is.
 */
static inline size_t iso_carve_bytes(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static inline void *iso_carve(uint8_t **memory, size_t bytes)
{
	void *piece = *memory;

	*memory += iso_carve_bytes(bytes);
	return piece;
}

#endif
