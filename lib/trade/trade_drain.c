/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/smaller.h"
#include "lib/trade/trade_state.h"

/* Why nothing goes out on a live edge; SILENT: something may. */
static enum iso_share_reason obstacle(const struct iso_trade *trade, uint32_t index)
{
	if (trade->hold || trade->ledger->halt != ISO_HALT_NONE)
		return ISO_SHARE_HELD;
	if (!trade_edge_gives(trade, index))
		return ISO_SHARE_LEAVING;
	if (iso_trade_limit_out(trade, index) == 0)
		return ISO_SHARE_LIMIT;
	return iso_trade_allowance(trade, index) == 0 ? ISO_SHARE_WAITING : ISO_SHARE_SILENT;
}

/* Was heard of late; with_head: and wants more. */
static bool takes(const struct iso_trade *trade, uint32_t index, bool with_head)
{
	const struct trade_edge *edge = &trade->edges[index];

	if (!trade_edge_live(trade, index) || obstacle(trade, index) != ISO_SHARE_SILENT)
		return false;
	return edge->priced && (!with_head || edge->head_ucpu > 0);
}

static uint32_t count_takers(const struct iso_trade *trade, bool with_head)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		count += takes(trade, k, with_head);
	return count;
}

/*
 * What is to go now.  A leaving node stops at its floor first: below that the
 * kernel must be able to enforce nothing, and while it is not, only that last
 * step is undone.
 */
static int64_t surplus(const struct iso_trade *trade)
{
	int64_t room_ucpu = iso_ledger_room(trade->ledger);
	int64_t above_ucpu = iso_ledger_holdings(trade->ledger) - trade->ledger->floor_ucpu;

	return above_ucpu > 0 ? iso_smaller_i64(room_ucpu, above_ucpu) : room_ucpu;
}

/*
 * The drain rule: all that may go, in equal parts, to the neighbours that want
 * more (so not to one that drains as well), and if there is none, to all that
 * were heard of late.  What they have no use for they pass on by price.
 */
int64_t iso_trade_drain(struct iso_trade *trade)
{
	struct iso_ledger *ledger = trade->ledger;
	bool with_head = count_takers(trade, true) != 0;
	uint32_t takers = count_takers(trade, with_head);
	int64_t left_ucpu = surplus(trade), debited = 0;

	for (uint32_t n = 0; n < ledger->edge_count; n++) {
		uint32_t k = (n + trade->turn) % ledger->edge_count;
		struct trade_edge *edge = &trade->edges[k];
		int64_t part_ucpu;

		if (!trade_edge_live(trade, k))
			continue;
		edge->fresh = false;
		edge->remainder_ucpu = 0;
		edge->reason = obstacle(trade, k);
		if (!takes(trade, k, with_head))
			continue;
		part_ucpu = iso_smaller_i64((left_ucpu + takers - 1) / takers,
					    iso_trade_allowance(trade, k));
		takers--;
		edge->reason = part_ucpu > 0 ? ISO_SHARE_GAVE : ISO_SHARE_FLOOR;
		if (part_ucpu == 0)
			continue;
		iso_ledger_debit(ledger, k, part_ucpu);
		left_ucpu -= part_ucpu;
		debited += part_ucpu;
		trade->gave_edge = k;
		trade->gave = (struct iso_share_decision){
			.reason = ISO_SHARE_GAVE,
			.own_q32 = trade->offer.price_q32,
			.upper_q32 = (int64_t)edge->upper_q32,
			.wanted_ucpu = (double)part_ucpu,
			.given_ucpu = part_ucpu,
		};
	}
	return debited;
}
