/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/wire/train.h"

#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

#define IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

enum iso_status iso_train_read_block(const struct iso_train_message *message, const void *block,
				     size_t size, float *ret_floats)
{
	size_t expected = (size_t)message->floats * 4;

	if (size != expected)
		return size < expected ? ISO_E_SHORT : ISO_E_LONG;
	if (size == 0)
		return ISO_OK;
	if (iso_checksum(block, size) != message->block_checksum)
		return ISO_E_CHECKSUM;
	if (IS_LITTLE) {
		memcpy(ret_floats, block, size);
		return ISO_OK;
	}
	for (uint32_t i = 0; i < message->floats; i++) {
		uint32_t bits = (uint32_t)iso_get_le((const uint8_t *)block + 4 * (size_t)i, 4);

		memcpy(&ret_floats[i], &bits, sizeof(bits));
	}
	return ISO_OK;
}

const float *iso_train_view_block(const struct iso_train_message *message, const void *block,
				  size_t size)
{
	if (!IS_LITTLE || (uintptr_t)block % _Alignof(float) != 0 || size == 0 ||
	    size != (size_t)message->floats * 4 ||
	    iso_checksum(block, size) != message->block_checksum)
		return NULL;
	return block;
}

const void *iso_train_block(const float *floats, uint32_t count, void *scratch)
{
	if (IS_LITTLE)
		return floats;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bits;

		memcpy(&bits, &floats[i], sizeof(bits));
		iso_put_le((uint8_t *)scratch + 4 * (size_t)i, bits, 4);
	}
	return scratch;
}
