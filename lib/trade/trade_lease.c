/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/trade/trade_state.h"

/* Whoever has an edge can be buried, and so holds what is above its floor under a lease. */
static bool needs_lease(const struct iso_trade *trade)
{
	if (trade->lease.params.lease_ns == 0)
		return false;
	/* Dormant ones, too: the peer may be asked to close its end. */
	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		if (iso_ledger_edge_credits(trade->ledger, k))
			return true;
	return false;
}

bool iso_trade_leased(const struct iso_trade *trade)
{
	return !needs_lease(trade) || iso_lease_valid(&trade->lease, trade->now_ns);
}

bool iso_trade_verified(const struct iso_trade *trade)
{
	if (trade->now_ns - trade->started_ns >= trade->verify_ns)
		return true;
	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		if (trade_edge_live(trade, k) && !trade_bit(trade->vouched, k))
			return false;
	return true;
}

uint64_t iso_trade_lease_deadline(const struct iso_trade *trade)
{
	return needs_lease(trade) ? iso_lease_deadline(&trade->lease) : UINT64_MAX;
}

void iso_trade_lease_resume(struct iso_trade *trade, uint64_t deadline_ns)
{
	assert(trade->ledger->phase == ISO_LEDGER_OPENED);
	iso_lease_resume(&trade->lease, deadline_ns);
}

/*
 * When the newest message came, or the edge was opened; rounded up, as the edge
 * keeps it rounded down.  0: neither since the start.
 */
static uint64_t heard_ns(const struct iso_trade *trade, const struct trade_edge *edge)
{
	uint32_t ago = trade_coarse(trade->now_ns) - edge->heard_at;

	if (edge->heard_at == 0 && edge->peer_inc == 0)
		return 0;
	return ((trade->now_ns >> 24) - ago + 1) << 24;
}

uint64_t iso_trade_close_at_ns(const struct iso_trade *trade, uint32_t index)
{
	if (index >= trade->ledger->edge_count || !iso_ledger_edge_credits(trade->ledger, index))
		return UINT64_MAX;
	return iso_lease_close_at(&trade->lease.params, heard_ns(trade, &trade->edges[index]),
				  trade->started_ns);
}

bool iso_trade_may_close(const struct iso_trade *trade, uint32_t index)
{
	assert(trade_bit(trade->closing, index));
	return iso_lease_may_close(&trade->lease.params, heard_ns(trade, &trade->edges[index]),
				   trade->started_ns, trade->now_ns);
}
