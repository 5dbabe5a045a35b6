/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <string.h>

#include "lib/trade/trade_state.h"

const char *iso_trade_drop_text(enum iso_trade_drop drop)
{
	static const char *const texts[ISO_DROP_COUNT] = {
		[ISO_DROP_FORM] = "malformed",	   [ISO_DROP_CHECKSUM] = "checksum",
		[ISO_DROP_VERSION] = "version",	   [ISO_DROP_CLUSTER] = "cluster",
		[ISO_DROP_CONFIG] = "config",	   [ISO_DROP_ADDRESS] = "address",
		[ISO_DROP_SENDER] = "sender",	   [ISO_DROP_GENERATION] = "generation",
		[ISO_DROP_CLOSED] = "closed",	   [ISO_DROP_HALTED] = "halted",
		[ISO_DROP_STALE] = "stale",	   [ISO_DROP_REFERENCE] = "reference",
	};

	assert(drop < ISO_DROP_COUNT);
	return texts[drop];
}

uint32_t iso_trade_edges(const struct iso_trade *trade)
{
	return trade->ledger->edge_count;
}

void iso_trade_status(const struct iso_trade *trade, struct iso_trade_status *ret_status)
{
	const struct iso_ledger *ledger = trade->ledger;

	memset(ret_status, 0, sizeof(*ret_status));
	ret_status->gen = ledger->gen;
	ret_status->inc = ledger->inc;
	ret_status->record_seq = ledger->seq;
	ret_status->endowment_ucpu = ledger->endowment_ucpu;
	ret_status->share_ucpu = iso_ledger_durable_holdings(ledger);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		const struct iso_ledger_edge *edge = &ledger->edges[k];

		if (trade->edges[k].peer_inc == 0)
			continue;
		ret_status->unacked_ucpu += (int64_t)edge->unacked - edge->debit;
		ret_status->arriving_ucpu += edge->arriving;
	}
	ret_status->price_q32 = trade->offer.price_q32;
	ret_status->marginal_q32 = trade->offer.marginal_q32;
	ret_status->curvature = trade->offer.curvature;
	ret_status->seq = trade->seq;
	ret_status->digest = trade->digest;
	ret_status->gave = trade->gave;
	ret_status->gave_edge = trade->gave_edge;
	ret_status->budget_ucpu = ledger->budget_ucpu;
	ret_status->flags = ledger->flags;
	ret_status->last_op = ledger->last_op;
	ret_status->last_op_ucpu = ledger->last_op_ucpu;
	ret_status->verified = iso_trade_verified(trade);
	ret_status->lease_valid = iso_trade_leased(trade);
	ret_status->lease_deadline_ns = iso_trade_lease_deadline(trade);
	ret_status->halt = ledger->halt;
	ret_status->received = trade->received;
	for (int why = 0; why < ISO_DROP_COUNT; why++)
		ret_status->drops[why] = trade->drops[why];
}

enum iso_status iso_trade_edge(const struct iso_trade *trade, uint32_t index,
			       struct iso_trade_edge *ret_edge)
{
	const struct iso_ledger *ledger = trade->ledger;

	if (index >= ledger->edge_count)
		return ISO_E_UNKNOWN;

	const struct iso_ledger_edge *counters = &ledger->edges[index];
	const struct trade_edge *edge = &trade->edges[index];

	*ret_edge = (struct iso_trade_edge){
		.peer = counters->peer,
		.peer_gen = counters->peer_gen,
		.flags = counters->flags,
		.dormant = edge->dormant,
		.closing = trade_bit(trade->closing, index),
		.leaving = trade_bit(trade->leaving, index) ||
			   (counters->flags & ISO_EDGE_STATE_FROZEN) != 0,
		.settled = iso_trade_done(trade, index),
		.close_at_ns = iso_trade_close_at_ns(trade, index),
		.sent = counters->sent - counters->debit,
		.received = counters->received - counters->credit,
		.acked = counters->unacked < UINT32_MAX ? counters->sent - counters->unacked : 0,
		.peer_inc = edge->peer_inc,
		.peer_seq = edge->newest_seq,
		.last_ns = edge->peer_inc != 0 ? trade->now_ns - trade_age_ns(trade, edge) : 0,
		.heard = trade_heard(trade, edge),
		.remainder_ucpu = (double)edge->remainder_ucpu,
		.limit_ucpu = iso_trade_limit(trade, index),
		.withheld = trade_bit(trade->withheld, index),
		.reason = edge->reason,
	};
	return ISO_OK;
}

void iso_trade_snapshot(const struct iso_trade *trade, int64_t enforced_ucpu, int64_t ceiling_ucpu,
			struct iso_audit_node *ret_node)
{
	iso_ledger_durable(trade->ledger, &ret_node->record);
	ret_node->holdings_ucpu = iso_ledger_durable_holdings(trade->ledger);
	ret_node->enforced_ucpu = enforced_ucpu;
	ret_node->floor_ucpu = trade->ledger->floor_ucpu;
	ret_node->ceiling_ucpu = ceiling_ucpu;
}
