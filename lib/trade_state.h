/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRADE_STATE_H
#define ISO_TRADE_STATE_H

#include "lib/trade.h"

/* Inside of lib/trade*.c only: everyone else goes by lib/trade.h. */

/* A message is named by its sender's incarnation and its number within. */
struct trade_stamp {
	uint32_t inc;
	uint64_t seq;
};

/* What is lost in a restart, and may be. */
struct trade_edge {
	struct iso_share_heard heard;   /* must be first: iso_share_crowd steps over it */
	struct trade_stamp decoded;     /* message of that price: the reference of our next one */
	struct trade_stamp newest;      /* newest message of any use: echoed */
	uint64_t last_ns;
	uint64_t peer_received;         /* R in the message of that price */
	bool fresh;                     /* not decided on yet */
	bool dormant;                   /* in the journal, not in the configuration */
	double remainder_ucpu;
	struct iso_share_decision decision;
	/* The next message's, computed at the commit. */
	struct iso_share_code code;
	struct trade_stamp base;
};

struct iso_trade {
	struct iso_share_params share;
	uint64_t digest;
	uint32_t ring;
	uint32_t edges_max;
	uint32_t peer_count;
	uint32_t turn;                  /* who decides first in the next tick */
	uint64_t now_ns;                /* newest time seen */
	uint64_t seq;                   /* of the newest message to everybody */
	struct iso_trade_input input;   /* of the tick under way */
	struct iso_box box;
	struct iso_share_offer offer;   /* as last shown */
	int64_t head_ucpu;              /* as last shown */
	uint32_t degree;                /* as last shown */
	uint64_t received;
	uint64_t drops[ISO_DROP_COUNT];
	struct iso_ledger *ledger;
	struct trade_edge *edges;       /* one per edge of the ledger, same index */
	int64_t *sent_q32;              /* rings of what was shown: [edge][seq mod ring] */
	struct iso_trade_peer *peers;
};

/* An edge over which messages go. */
static inline bool trade_edge_live(const struct iso_trade *trade, uint32_t index)
{
	return !trade->edges[index].dormant && iso_ledger_edge_open(trade->ledger, index);
}

static inline int64_t *trade_ring(const struct iso_trade *trade, uint32_t index, uint64_t seq)
{
	return &trade->sent_q32[(uint64_t)index * trade->ring + seq % trade->ring];
}

#endif
