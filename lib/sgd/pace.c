/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/pace.h"

#include <assert.h>

/* Sorts in place; the lower one of two middle values. */
static uint64_t median(uint64_t *values, uint32_t n)
{
	assert(n > 0);
	for (uint32_t i = 1; i < n; i++) {
		uint64_t value = values[i];
		uint32_t j = i;

		for (; j > 0 && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
	return values[(n - 1) / 2];
}

void iso_pace_add(struct iso_pace *pace, uint64_t time_ns)
{
	uint64_t values[ISO_PACE_TIMES], sum = 0;

	if (time_ns == 0)
		return;
	/* Longer than a day is a broken clock, and would overflow the sum. */
	if (time_ns > 86400ull * 1000000000)
		time_ns = 86400ull * 1000000000;
	pace->times_ns[pace->seen++ % ISO_PACE_TIMES] = time_ns;
	uint32_t n = pace->seen < ISO_PACE_TIMES ? (uint32_t)pace->seen : ISO_PACE_TIMES;
	for (uint32_t i = 0; i < n; i++) {
		values[i] = pace->times_ns[i];
		sum += values[i];
	}
	pace->mean_ns = sum / n;
	pace->median_ns = median(values, n);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t time = pace->times_ns[i], middle = pace->median_ns;

		values[i] = time > middle ? time - middle : middle - time;
	}
	pace->mad_ns = median(values, n);
}
