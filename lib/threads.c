/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/threads.h"

#include <assert.h>

#include "lib/quantity.h"

static uint32_t whole_cpus(uint64_t ucpu, uint32_t max)
{
	uint64_t cpus = ucpu / ISO_UCPU_PER_CPU;

	return cpus < 1 ? 1 : cpus > max ? max : (uint32_t)cpus;
}

uint32_t iso_threads_for(uint64_t share_ucpu, uint32_t current, uint32_t max)
{
	assert(max >= 1);
	uint32_t fed = whole_cpus(share_ucpu, max);

	if (current == 0 || fed >= current)
		return fed;
	/* Fewer than now: only what the share plus the slack cannot feed is given up. */
	uint64_t generous_ucpu = share_ucpu + ISO_THREADS_SLACK_UCPU;
	uint32_t kept = whole_cpus(generous_ucpu < share_ucpu ? share_ucpu : generous_ucpu, max);

	assert(kept >= fed);
	return kept < current ? kept : current;
}
