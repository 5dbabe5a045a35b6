/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/fuzz/outcome.h"

#include <assert.h>
#include <string.h>

void outcome_check_same(const struct outcome *whole, const struct outcome *pieces, size_t size)
{
	assert(whole->status == pieces->status);
	assert(whole->rows == pieces->rows);
	assert(whole->digest == pieces->digest);
	if (whole->status == ISO_E_MALFORMED) {
		assert(whole->error.line >= 1);
		assert(whole->error.column >= 1);
		assert(whole->error.column <= size + 1);
		assert(whole->error.reason != ISO_TEXT_FINE);
		assert(memcmp(&whole->error, &pieces->error, sizeof(whole->error)) == 0);
	}
}
