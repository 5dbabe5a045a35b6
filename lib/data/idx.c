/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/idx.h"

#include <assert.h>

#define TYPE_UNSIGNED_BYTE 0x08u

static uint32_t get_be32(const uint8_t *in)
{
	return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

static enum iso_status bad(enum iso_status status, size_t offset, size_t *ret_bad_offset)
{
	*ret_bad_offset = offset;
	return status;
}

/* The dimensions behind the four bytes of magic, and their product. */
static enum iso_status decode_sizes(const uint8_t *bytes, size_t available, size_t data_bytes_max,
				    struct iso_idx *idx, size_t *ret_bad_offset)
{
	uint64_t product = 1;

	for (uint32_t i = 0; i < ISO_IDX_DIMS_MAX; i++)
		idx->size[i] = 1;
	for (uint32_t i = 0; i < idx->dims; i++) {
		size_t offset = 4 + 4 * (size_t)i;

		if (available < offset + 4)
			return bad(ISO_E_SHORT, available, ret_bad_offset);
		idx->size[i] = get_be32(bytes + offset);
		if (idx->size[i] == 0 || product > data_bytes_max / idx->size[i])
			return bad(ISO_E_RANGE, offset, ret_bad_offset);
		product *= idx->size[i];
		assert(product <= data_bytes_max);
	}
	idx->data_offset = 4 + 4 * (size_t)idx->dims;
	idx->data_bytes = (size_t)product;
	return ISO_OK;
}

enum iso_status iso_idx_decode(const uint8_t *bytes, size_t available, size_t data_bytes_max,
			       struct iso_idx *ret_idx, size_t *ret_bad_offset)
{
	struct iso_idx idx = { .dims = 0 };

	for (size_t i = 0; i < 2 && i < available; i++)
		if (bytes[i] != 0)
			return bad(ISO_E_MALFORMED, i, ret_bad_offset);
	if (available < 4)
		return bad(ISO_E_SHORT, available, ret_bad_offset);
	if (bytes[2] != TYPE_UNSIGNED_BYTE)
		return bad(ISO_E_VERSION, 2, ret_bad_offset);
	if (bytes[3] == 0 || bytes[3] > ISO_IDX_DIMS_MAX)
		return bad(ISO_E_RANGE, 3, ret_bad_offset);
	idx.dims = bytes[3];
	enum iso_status status =
		decode_sizes(bytes, available, data_bytes_max, &idx, ret_bad_offset);
	if (status == ISO_OK)
		*ret_idx = idx;
	return status;
}

enum iso_status iso_idx_check(const struct iso_idx *idx, size_t file_bytes, size_t *ret_bad_offset)
{
	size_t end = idx->data_offset + idx->data_bytes;

	assert(end > idx->data_offset);
	if (file_bytes < end)
		return bad(ISO_E_SHORT, file_bytes, ret_bad_offset);
	if (file_bytes > end)
		return bad(ISO_E_LONG, end, ret_bad_offset);
	return ISO_OK;
}
