/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/data/csv.h"

#include <assert.h>
#include <math.h>

#include "lib/checksum.h"
#include "tests/fuzz/outcome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COLUMNS_MAX 256u

/* Decodes what is between text and end; false: the status in *outcome is the last word. */
static bool step(struct iso_csv *csv, const char *text, size_t available, bool is_end,
		 size_t *ret_used, struct outcome *outcome)
{
	float values[COLUMNS_MAX];
	struct iso_csv_row row = { .values = values };

	if (csv->columns == 0) {
		outcome->status = iso_csv_header(',', NULL, text, available, is_end, csv, ret_used,
						 &outcome->error);
		if (outcome->status == ISO_OK && csv->columns > COLUMNS_MAX)
			outcome->status = ISO_E_FULL;
		return outcome->status == ISO_OK;
	}
	outcome->status =
	    iso_csv_row(csv, text, available, is_end, &row, ret_used, &outcome->error);
	if (outcome->status != ISO_OK)
		return false;
	assert(isfinite(row.label));
	for (uint32_t i = 0; i + 1 < csv->columns; i++)
		assert(isfinite(values[i]));
	outcome->rows++;
	outcome->digest =
	    outcome->digest * 31 + iso_checksum(values, (csv->columns - 1) * sizeof(float));
	return true;
}

/* The file in pieces: what is not used is offered again with `piece` bytes more. */
static struct outcome decode(const char *text, size_t size, size_t piece)
{
	struct outcome outcome = { .status = ISO_OK };
	struct iso_csv csv = { 0 };
	size_t at = 0, available = piece < size ? piece : size;

	for (;;) {
		size_t used = 0;
		bool is_end = at + available == size;
		bool goes_on = step(&csv, text + at, available, is_end, &used, &outcome);

		assert(used <= available);
		at += used;
		available -= used;
		if (goes_on)
			continue;
		if (outcome.status != ISO_E_SHORT || is_end)
			return outcome;
		available += piece < size - at - available ? piece : size - at - available;
	}
}

/* Any bytes: rows that hold what they promise, or a place in the file and a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (size > 4096)
		return 0;
	struct outcome whole = decode(text, size, size > 0 ? size : 1);
	/* A byte-order mark is three bytes at once. */
	struct outcome pieces = decode(text, size, 3 + size / 7);

	outcome_check_same(&whole, &pieces, size);
	return 0;
}
