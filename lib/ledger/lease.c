/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/lease.h"

#include <assert.h>
#include <string.h>

/* A hundred years: sums of times below stay far from the end of the type. */
#define SPAN_MAX_NS ((uint64_t)100 * 366 * 86400 * 1000000000)

/* Of the times kept, which are plain as long as the ring's messages went out within 52 days. */
#define COARSE_BITS 20

static bool exists(const struct iso_lease_params *params)
{
	return params->lease_ns != 0;
}

enum iso_status iso_lease_check(const struct iso_lease_params *params)
{
	if (!exists(params))
		return ISO_OK;
	if (params->promise_ns <= params->lease_ns || params->promise_ns > SPAN_MAX_NS)
		return ISO_E_RANGE;
	return params->guard_ns < params->lease_ns ? ISO_OK : ISO_E_RANGE;
}

void iso_lease_init(const struct iso_lease_params *params, uint32_t inc,
		    struct iso_lease *ret_lease)
{
	assert(iso_lease_check(params) == ISO_OK);
	memset(ret_lease, 0, sizeof(*ret_lease));
	ret_lease->params = *params;
	ret_lease->inc = inc;
}

static uint64_t coarse(uint64_t boot_ns)
{
	return boot_ns >> COARSE_BITS;
}

void iso_lease_sent(struct iso_lease *lease, uint32_t seq, uint64_t boot_ns)
{
	if (!exists(&lease->params))
		return;
	assert(seq == lease->seq + 1);
	assert(boot_ns >= lease->newest_ns);
	lease->sent[seq % ISO_LEASE_RING] = (uint32_t)coarse(boot_ns);
	lease->newest_ns = boot_ns;
	lease->seq = seq;
}

bool iso_lease_heard(struct iso_lease *lease, uint32_t echo_inc, uint64_t echo_seq)
{
	uint64_t newest = coarse(lease->newest_ns), deadline_ns;
	uint32_t ago;

	if (!exists(&lease->params) || echo_inc != lease->inc)
		return false;
	if (echo_seq == 0 || echo_seq > lease->seq || lease->seq - echo_seq >= ISO_LEASE_RING)
		return false;
	/* From when it was sent: the answer may have been under way for any time. */
	ago = (uint32_t)newest - lease->sent[echo_seq % ISO_LEASE_RING];
	deadline_ns = ((newest - ago) << COARSE_BITS) + lease->params.lease_ns;
	if (deadline_ns <= lease->deadline_ns)
		return false;
	lease->deadline_ns = deadline_ns;
	return true;
}

void iso_lease_resume(struct iso_lease *lease, uint64_t deadline_ns)
{
	if (exists(&lease->params) && deadline_ns != UINT64_MAX &&
	    deadline_ns > lease->deadline_ns)
		lease->deadline_ns = deadline_ns;
}

uint64_t iso_lease_deadline(const struct iso_lease *lease)
{
	return exists(&lease->params) ? lease->deadline_ns : UINT64_MAX;
}

bool iso_lease_valid(const struct iso_lease *lease, uint64_t boot_ns)
{
	if (!exists(&lease->params))
		return true;
	return lease->deadline_ns > lease->params.guard_ns &&
	       boot_ns < lease->deadline_ns - lease->params.guard_ns;
}

uint64_t iso_lease_close_at(const struct iso_lease_params *params, uint64_t heard_ns,
			    uint64_t started_ns)
{
	uint64_t since_ns = heard_ns > started_ns ? heard_ns : started_ns;

	assert(iso_lease_check(params) == ISO_OK);
	if (!exists(params) || since_ns > UINT64_MAX - params->promise_ns)
		return UINT64_MAX;
	return since_ns + params->promise_ns;
}

bool iso_lease_may_close(const struct iso_lease_params *params, uint64_t heard_ns,
			 uint64_t started_ns, uint64_t now_ns)
{
	assert(now_ns >= started_ns);
	return exists(params) && now_ns >= iso_lease_close_at(params, heard_ns, started_ns);
}
