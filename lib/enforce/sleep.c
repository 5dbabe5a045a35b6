/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/sleep.h"

#include <assert.h>

uint64_t iso_sleep_look(struct iso_sleep *sleep, uint64_t before_ns, uint64_t boot_ns,
			uint64_t after_ns)
{
	assert(before_ns <= after_ns);
	int64_t most_ns = (int64_t)(boot_ns - before_ns);
	int64_t least_ns = (int64_t)(boot_ns - after_ns);

	if (!sleep->started) {
		*sleep = (struct iso_sleep){ .started = true, .most_ns = most_ns };
		return 0;
	}
	assert(most_ns >= least_ns);
	if (least_ns >= sleep->most_ns + ISO_SLEEP_LEAST_NS) {
		uint64_t slept_ns = (uint64_t)(least_ns - sleep->most_ns);

		sleep->most_ns = most_ns;
		sleep->total_ns += slept_ns;
		sleep->count++;
		return slept_ns;
	}
	/* As it did not sleep, both looks bound the same difference. */
	if (most_ns < sleep->most_ns)
		sleep->most_ns = most_ns;
	return 0;
}
