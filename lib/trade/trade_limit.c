/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/trade/trade_state.h"

/*
 * How far a peer is trusted.  The ledger believes what it is told of S; a peer
 * that lies could name any, and be "given back" what nobody ever had.  With a
 * limit for each of its edges, at the other ends, it can bring no more among
 * the others than the sum of these limits, nor get more from them.
 *
 * Nothing here can break the sum: to take less of S than was told is what an older
 * message does, and to give less is always allowed.
 */

/* S - R as of this tick: what the peer was given in net.  Either sign. */
static int64_t net(const struct iso_trade *trade, uint32_t index)
{
	const struct iso_ledger_edge *edge = &trade->ledger->edges[index];

	return (int64_t)(edge->sent - edge->received);
}

int64_t iso_trade_limit(const struct iso_trade *trade, uint32_t index)
{
	assert(index < trade->ledger->edge_count);
	return trade->limits_ucpu != NULL ? trade->limits_ucpu[index] : INT64_MAX;
}

/* limit - used, between 0 and the limit's double. */
static int64_t left(int64_t limit_ucpu, int64_t used_ucpu)
{
	assert(limit_ucpu >= 0);
	if (limit_ucpu >= ISO_UNITS_MAX)
		return INT64_MAX;
	return limit_ucpu > used_ucpu ? limit_ucpu - used_ucpu : 0;
}

int64_t iso_trade_limit_out(const struct iso_trade *trade, uint32_t index)
{
	return left(iso_trade_limit(trade, index), net(trade, index));
}

int64_t iso_trade_limit_in(const struct iso_trade *trade, uint32_t index)
{
	int64_t arriving_ucpu = trade->ledger->edges[index].arriving;

	return left(iso_trade_limit(trade, index), arriving_ucpu - net(trade, index));
}

uint64_t iso_trade_limit_sent(struct iso_trade *trade, uint32_t index, uint64_t sent)
{
	const struct iso_ledger_edge *edge = &trade->ledger->edges[index];
	uint64_t seen = edge->received + edge->arriving, bit = (uint64_t)1 << index;
	uint64_t in = (uint64_t)iso_trade_limit_in(trade, index);

	/* An old message says nothing of what is withheld now. */
	if (sent < seen)
		return sent;
	if (sent - seen <= in) {
		trade->withheld &= ~bit;
		return sent;
	}
	trade->withheld |= bit;
	return seen + in;
}

/*
 * A node passes on prices beyond its own range, for others to give over it.  One that lies
 * would so draw to its neighbours what it cannot have itself, or make them give away all
 * that they have.
 */
void iso_trade_limit_price(const struct iso_trade *trade, uint32_t index,
			   struct iso_share_heard *heard)
{
	int64_t low, high;

	if (iso_trade_limit(trade, index) >= ISO_UNITS_MAX || !heard->valid)
		return;
	low = iso_cost_marginal(&trade->cost, &trade->box, trade->box.floor_ucpu).price_q32;
	high = iso_cost_marginal(&trade->cost, &trade->box, trade->box.ceiling_ucpu).price_q32;
	/* The ceiling has fallen below the floor. */
	if (low > high)
		high = low;
	if (heard->price.value_q32 > high)
		heard->price.value_q32 = high;
	/* What it wants is passed on as long as it can be given. */
	if (heard->price.value_q32 < low && iso_trade_limit_out(trade, index) == 0)
		heard->price.value_q32 = low;
}
