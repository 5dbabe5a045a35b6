/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/wire/edge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What decodes must encode to the same bytes; what does not must leave the frame alone. */
static void round_trip(const uint8_t *data, size_t size)
{
	struct iso_edge_frame frame, poison;
	uint8_t again[ISO_EDGE_BYTES];

	memset(&poison, 0xa5, sizeof(poison));
	frame = poison;
	if (iso_edge_decode(data, size, &frame) != ISO_OK) {
		if (memcmp(&frame, &poison, sizeof(frame)) != 0)
			abort();
		return;
	}
	iso_edge_encode(&frame, again);
	if (size != sizeof(again) || memcmp(data, again, sizeof(again)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t sealed[ISO_EDGE_BYTES];

	round_trip(data, size);
	if (size < sizeof(sealed))
		return 0;
	/* The checksum would keep every mutation out: look behind it, too. */
	memcpy(sealed, data, sizeof(sealed));
	iso_put_le(sealed + 144, iso_checksum(sealed, 144), 8);
	round_trip(sealed, sizeof(sealed));
	return 0;
}
