/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/checkpoint.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decodes to what encodes to the same bytes, or is refused and nothing was written. */
static void decode(const uint8_t *data, size_t size)
{
	struct checkpoint checkpoint, before;
	struct error error;
	uint8_t *bytes = malloc(size + 1), *again;

	memcpy(bytes, data, size);
	memset(&checkpoint, 0x5a, sizeof(checkpoint));
	memcpy(&before, &checkpoint, sizeof(before));
	if (checkpoint_decode(bytes, size, &checkpoint, &error) < 0) {
		assert(memcmp(&checkpoint, &before, sizeof(before)) == 0);
		assert(error.text[0] != '\0');
	} else {
		assert(checkpoint_bytes(&checkpoint) == size);
		again = malloc(size);
		checkpoint_encode(&checkpoint, again);
		assert(memcmp(again, data, size) == 0);
		free(again);
		checkpoint_free(&checkpoint);
	}
	free(bytes);
}

/* As it is, and with size and checksum put right, or nothing would get past them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *mended = malloc(size + 1);

	decode(data, size);
	memcpy(mended, data, size);
	if (size >= 24) {
		iso_put_le(mended + 8, size, 8);
		iso_put_le(mended + 16, 0, 8);
		iso_put_le(mended + 16, iso_checksum(mended, size), 8);
		decode(mended, size);
	}
	free(mended);
	return 0;
}
