/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/ledger/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void recover(const uint8_t *journal)
{
	struct iso_record record, slot[2], poison;
	enum iso_status status[2];

	memset(&poison, 0xa5, sizeof(poison));
	for (unsigned k = 0; k < 2; k++) {
		uint8_t again[ISO_SLOT_BYTES];

		slot[k] = poison;
		status[k] = iso_record_decode(journal + k * ISO_SLOT_BYTES, &slot[k]);
		if (status[k] != ISO_OK) {
			must(memcmp(&slot[k], &poison, sizeof(poison)) == 0);
			continue;
		}
		must(iso_record_check(&slot[k]) == ISO_OK);
		iso_record_encode(&slot[k], again);
		must(memcmp(again, journal + k * ISO_SLOT_BYTES, sizeof(again)) == 0);
	}
	record = poison;
	if (iso_record_recover(journal, &record) != ISO_OK) {
		must(memcmp(&record, &poison, sizeof(poison)) == 0);
		return;
	}
	/* One of the two, and no older than the other. */
	must(status[record.seq % 2] == ISO_OK);
	must(memcmp(&record, &slot[record.seq % 2], sizeof(record)) == 0);
	if (status[1 - record.seq % 2] == ISO_OK)
		must(slot[1 - record.seq % 2].seq < record.seq);
}

/* Make every checksum right, so that mutations get behind them. */
static void reseal(uint8_t *slot)
{
	uint8_t payload[8 * 496];
	uint64_t length;

	for (unsigned k = 0; k < 8; k++)
		memcpy(payload + k * 496, slot + k * 512, 496);
	length = iso_get_le(payload + 8, 4);
	if (length >= 8 && length <= sizeof(payload))
		iso_put_le(payload + length - 8, iso_checksum(payload, length - 8), 8);
	for (unsigned k = 0; k < 8; k++) {
		memcpy(slot + k * 512, payload + k * 496, 496);
		iso_put_le(slot + k * 512 + 496, iso_get_le(slot + 496, 8) / 8 * 8 + k, 8);
		iso_put_le(slot + k * 512 + 504, iso_checksum(slot + k * 512, 504), 8);
	}
}

/* Shorter inputs are a journal whose rest is zero. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t journal[ISO_JOURNAL_BYTES];

	memset(journal, 0, sizeof(journal));
	memcpy(journal, data, size < sizeof(journal) ? size : sizeof(journal));
	recover(journal);
	reseal(journal);
	recover(journal);
	reseal(journal + ISO_SLOT_BYTES);
	recover(journal);
	return 0;
}
