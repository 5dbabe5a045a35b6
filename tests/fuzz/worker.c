/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/wire/worker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A record decodes and encodes to the same bytes, or is refused and nothing was written. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_worker_record record, before;
	uint8_t again[ISO_WORKER_RECORD_BYTES];

	memset(&record, 0x5a, sizeof(record));
	memcpy(&before, &record, sizeof(before));
	if (iso_worker_decode(data, size, &record) != ISO_OK) {
		assert(memcmp(&before, &record, sizeof(before)) == 0);
		return 0;
	}
	iso_worker_encode(&record, again);
	assert(size == sizeof(again));
	assert(memcmp(again, data, sizeof(again)) == 0);
	return 0;
}
