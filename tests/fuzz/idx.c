/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/idx.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any bytes: a refusal with an offset inside the input, or sizes that add up. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t data_bytes_max = 1 << 30;
	struct iso_idx idx;
	size_t bad_offset = SIZE_MAX;

	memset(&idx, 0x5a, sizeof(idx));
	struct iso_idx before = idx;
	enum iso_status status = iso_idx_decode(data, size, data_bytes_max, &idx, &bad_offset);
	if (status != ISO_OK) {
		assert(bad_offset <= size);
		assert(memcmp(&idx, &before, sizeof(idx)) == 0);
		return 0;
	}
	assert(bad_offset == SIZE_MAX);
	assert(idx.dims >= 1);
	assert(idx.dims <= ISO_IDX_DIMS_MAX);
	assert(idx.data_offset <= size);
	assert(idx.data_offset == 4 + 4 * (size_t)idx.dims);
	size_t product = 1;
	for (uint32_t i = 0; i < ISO_IDX_DIMS_MAX; i++)
		product *= idx.size[i];
	assert(product == idx.data_bytes);
	assert(idx.data_bytes <= data_bytes_max);
	status = iso_idx_check(&idx, size, &bad_offset);
	if (status == ISO_OK)
		assert(idx.data_offset + idx.data_bytes == size);
	return 0;
}
