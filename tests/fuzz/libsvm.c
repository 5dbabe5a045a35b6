/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/libsvm.h"

#include <assert.h>
#include <math.h>

#include "lib/checksum.h"
#include "tests/fuzz/outcome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM 512u

static void check_row(const struct iso_libsvm_row *row, struct outcome *outcome)
{
	assert(row->count <= row->capacity);
	assert(isfinite(row->label));
	for (uint32_t i = 0; i < row->count; i++) {
		assert(row->columns[i] < ISO_LIBSVM_INDEX_MAX);
		assert(i == 0 || row->columns[i] > row->columns[i - 1]);
		assert(isfinite(row->values[i]));
	}
	outcome->rows++;
	outcome->digest =
	    outcome->digest * 31 + (iso_checksum(row->values, row->count * sizeof(float)) ^
				    iso_checksum(row->columns, row->count * sizeof(uint32_t)));
}

/* The file in pieces: what is not used is offered again with `piece` bytes more. */
static struct outcome decode(const char *text, size_t size, size_t piece)
{
	struct outcome outcome = { .status = ISO_OK };
	struct iso_libsvm libsvm = { 0 };
	uint32_t columns[ROOM];
	float values[ROOM];
	size_t at = 0, available = piece < size ? piece : size;

	while (outcome.status == ISO_OK) {
		struct iso_libsvm_row row = { .columns = columns,
					      .values = values,
					      .capacity = ROOM };
		size_t used = SIZE_MAX;
		bool is_end = at + available == size;

		outcome.status = iso_libsvm_row(&libsvm, text + at, available, is_end, &row, &used,
						&outcome.error);
		assert(used <= available);
		at += used;
		available -= used;
		if (outcome.status == ISO_OK)
			check_row(&row, &outcome);
		if (outcome.status != ISO_E_SHORT || is_end)
			continue;
		outcome.status = ISO_OK;
		available += piece < size - at - available ? piece : size - at - available;
	}
	return outcome;
}

/* Any bytes: rows that hold what they promise, or a place in the file and a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	/* Read a byte at a time, a long line is looked through as often as it has bytes. */
	if (size > 4096)
		return 0;
	struct outcome whole = decode(text, size, size > 0 ? size : 1);
	struct outcome pieces = decode(text, size, 1 + size / 7);

	outcome_check_same(&whole, &pieces, size);
	return 0;
}
