/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/wire/train.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * What decodes must encode to the same bytes: the format has one spelling for each message.
 * The block's checksum cannot be had without a block, so messages that
 * announce one are compared without it.
 */
static void round_trip(const struct iso_train_message *message, const uint8_t *head, size_t size)
{
	static struct iso_train_task tasks[ISO_TRAIN_TASKS_MAX];
	static uint8_t again[ISO_TRAIN_HEAD_MAX];
	struct iso_train_message copy = *message;
	size_t again_size = 0;
	uint32_t count = 0;

	if (copy.type == ISO_TRAIN_WORK)
		count = copy.work.count;
	else if (copy.type == ISO_TRAIN_CANCEL)
		count = copy.cancel.count;
	for (uint32_t t = 0; t < count; t++)
		tasks[t] = iso_train_task(message, t);
	if (copy.type == ISO_TRAIN_WORK)
		copy.work.tasks = tasks;
	else if (copy.type == ISO_TRAIN_CANCEL)
		copy.cancel.tasks = tasks;
	assert(copy.floats <= ISO_TRAIN_PARAMS_MAX);
	if (copy.floats > 16)
		return;
	static const float block[16];
	enum iso_status status = iso_train_encode(&copy, block, again, sizeof(again), &again_size);
	assert(status == ISO_OK);
	assert(again_size == size);
	assert(memcmp(again, head, 16) == 0);
	assert(memcmp(again + 24, head + 24, size - 32) == 0);
}

static void decode(const uint8_t *head, size_t size)
{
	struct iso_train_message message;
	float floats[4] = { 0 };

	if (iso_train_decode(head, size, &message) != ISO_OK)
		return;
	round_trip(&message, head, size);
	if (message.floats <= 4)
		(void)!iso_train_read_block(&message, head, (size_t)message.floats * 4, floats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	/* The same behind a checksum that is right, which no mutation finds by itself. */
	if (size < 32 || size > ISO_TRAIN_HEAD_MAX)
		return 0;
	uint8_t *sealed = malloc(size);
	memcpy(sealed, data, size);
	memcpy(sealed, "ISOT\2", 5);
	sealed[5] = 0;
	iso_put_le(sealed + 8, size, 4);
	iso_put_le(sealed + size - 8, iso_checksum(sealed, size - 8), 8);
	decode(sealed, size);
	free(sealed);
	return 0;
}
