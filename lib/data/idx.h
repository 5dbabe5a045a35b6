/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_IDX_H
#define ISO_DATA_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * The IDX format of MNIST and its relatives: two zero bytes, a type, a number
 * of dimensions, the dimensions as big-endian 32-bit numbers, then the values
 * in C order.
 */
#define ISO_IDX_DIMS_MAX   4u
#define ISO_IDX_HEADER_MAX (4u + 4u * ISO_IDX_DIMS_MAX)

struct iso_idx {
	uint8_t dims;                     /* 1 .. ISO_IDX_DIMS_MAX */
	uint32_t size[ISO_IDX_DIMS_MAX];  /* each > 0; unused ones are 1 */
	size_t data_offset;
	size_t data_bytes;                /* product of the sizes: values are unsigned bytes */
};

/*
 * Decodes the header at the start of bytes[available); ISO_IDX_HEADER_MAX bytes are
 * always enough.  On failure *ret_bad_offset is where in the file it is
 * wrong, and *ret_idx is untouched:
 *   ISO_E_SHORT      the header is cut off there
 *   ISO_E_MALFORMED  not an IDX file: the first two bytes are not zero
 *   ISO_E_VERSION    a value type other than unsigned byte (0x08)
 *   ISO_E_RANGE      no or too many dimensions, a dimension of 0, or more than
 *                    data_bytes_max bytes of data
 */
ISO_MUST_USE enum iso_status iso_idx_decode(const uint8_t *bytes, size_t available,
					    size_t data_bytes_max, struct iso_idx *ret_idx,
					    size_t *ret_bad_offset);

/*
 * Whether a file of that size holds the data and no more: ISO_E_SHORT or
 * ISO_E_LONG, with the offset where it ends too early or should have ended.
 */
ISO_MUST_USE enum iso_status iso_idx_check(const struct iso_idx *idx, size_t file_bytes,
					   size_t *ret_bad_offset);

#endif
