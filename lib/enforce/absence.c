/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/absence.h"

#include <assert.h>

bool iso_absence_look(struct iso_absence *absence, uint64_t now_ns, bool is_absent,
		      uint64_t after_ns)
{
	assert(!absence->is_released || absence->is_absent);
	assert(!absence->is_absent || now_ns >= absence->since_ns);
	if (is_absent && !absence->is_absent)
		absence->since_ns = now_ns;
	absence->is_absent = is_absent;
	absence->is_released = is_absent && after_ns != UINT64_MAX &&
			       now_ns - absence->since_ns >= after_ns;
	return absence->is_released;
}
