/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_OUTCOME_H
#define ISO_TESTS_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

#include "lib/data/text.h"
#include "lib/status.h"

/* All that came of a file of text. */
struct outcome {
	enum iso_status status;
	struct iso_text_error error;
	uint64_t rows, digest;
};

/* In pieces it is what it is at once, and an error names a place in the file's `size` bytes. */
void outcome_check_same(const struct outcome *whole, const struct outcome *pieces, size_t size);

#endif
