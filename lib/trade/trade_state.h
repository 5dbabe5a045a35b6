/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRADE_STATE_H
#define ISO_TRADE_STATE_H

#include <assert.h>

#include "lib/trade/trade.h"

/* Inside of lib/trade/ only: everyone else goes by lib/trade/trade.h. */

/*
 * Prices shown to a neighbour that it may name as reference of its next one:
 * the one it names now, and one that it may turn to.  A message takes up a
 * free place and says so (ISO_EDGE_REFERABLE); only such a message may become
 * a reference.  A place is free again once the neighbour shows that it has
 * heard later messages and names another.  So what it names is always here,
 * however long messages are lost.
 */
#define TRADE_SHOWN_MAX 2u

struct trade_shown {
	uint32_t seq;           /* of the message; 0: free */
	float value_q32;        /* as the neighbour reconstructs it; 24 bits are all it has */
};

/*
 * What is lost in a restart, and may be: 64 bytes, of which a node has as
 * many as it has edges.  Hence the short fields; see the functions below.
 *
 * Prices have 24 significant bits on both ends, exactly what a float holds.
 * Numbers of messages are 32 bits on the wire: 13 years at ten a second.
 */
struct trade_edge {
	/* Of the newest message from there: */
	float value_q32;        /* price */
	float upper_q32;        /* at most this */
	float curvature;        /* per CPU; an error of 1e-7 changes a step by as little */
	uint32_t head_ucpu;     /* or UINT32_MAX: 4294 CPUs are more than one step needs */
	uint32_t heard_at;      /* trade_coarse() time */
	uint32_t peer_inc;      /* 0: nothing heard yet */
	uint32_t newest_seq;
	uint32_t echo_seq;      /* newest_seq as of the newest tick's beginning; 0: none */
	/* The price that our next one refers to; it is of peer_inc. */
	uint32_t reference_seq; /* 0: none */
	float reference_q32;
	struct trade_shown shown[TRADE_SHOWN_MAX];
	float remainder_ucpu;   /* within [-1, 1] */
	int16_t symbol;         /* of the next message */
	uint16_t degree : 7;    /* of the neighbour; ISO_DEGREE_MAX is 64 */
	enum iso_share_reason reason : 4; /* of the last decision */
	uint16_t fresh : 1;     /* that message is not decided on yet */
	uint16_t priced : 1;    /* its price could be decoded */
	uint16_t referable : 1; /* it may become a reference */
	uint16_t settled : 1;   /* it knew of all our transfers */
	uint16_t dormant : 1;   /* in the journal, not in the configuration */
};

struct iso_trade {
	struct iso_share_params share;
	uint64_t digest;
	uint32_t edges_max;
	uint32_t peer_count;
	const struct iso_trade_peer *peers; /* the caller's */
	const int64_t *limits_ucpu;     /* the caller's; NULL: none */
	uint32_t turn;                  /* who decides first in the next tick */
	uint32_t seq;                   /* of the newest message to everybody */
	uint64_t now_ns;                /* newest time seen */
	struct iso_cost cost;           /* of the tick under way */
	struct iso_box box;
	int64_t enforced_ucpu;          /* when the tick began */
	/* One bit per edge. */
	uint64_t closing;               /* nothing is sent or taken; a restart forgets it */
	uint64_t leaving;               /* the peer says that it is */
	uint64_t frozen;                /* the peer says that it will never give again */
	uint64_t withheld;              /* the peer says that it gave more than the limit lets in */
	/* A tombstone goes out for the first edge that hears of a life that has ended. */
	uint32_t ended_edge, ended_gen; /* heard of since the last commit; 0: none */
	uint32_t tombstone_edge, tombstone_gen; /* now; 0: none */
	uint64_t started_ns;            /* what was promised before is not known */
	uint64_t verify_ns;
	uint64_t vouched;               /* bits: the peer has heard of this start and answered */
	int64_t before_ucpu;            /* enforced when it started */
	struct iso_lease lease;
	enum iso_op_kind op_kind;       /* of this tick; 0: none */
	enum iso_status op_status;
	int64_t op_moved_ucpu;
	/* As it was before that operation, should it be undone. */
	uint32_t op_edge;               /* of which this is; UINT32_MAX: it changed none */
	struct trade_edge before_op;
	bool hold;                      /* of the tick under way */
	bool paused;                    /* likewise */
	uint64_t closing_before, leaving_before, frozen_before;
	struct iso_share_offer offer;   /* as last shown */
	int64_t head_ucpu;              /* as last shown */
	uint32_t degree;                /* as last shown */
	uint32_t gave_edge;             /* see iso_trade_status */
	struct iso_share_decision gave;
	uint64_t received;
	uint32_t drops[ISO_DROP_COUNT]; /* see iso_trade_dropped() */
	struct iso_ledger *ledger;
	struct trade_edge *edges;       /* one per edge of the ledger, same index */
};

static inline void trade_assert(const struct iso_trade *trade)
{
	assert(trade->ledger->edge_count <= trade->edges_max);
	assert(trade->turn < ISO_DEGREE_MAX);
}

static inline bool trade_bit(uint64_t bits, uint32_t index)
{
	return (bits >> index & 1) != 0;
}

/* An edge over which messages go. */
static inline bool trade_edge_live(const struct iso_trade *trade, uint32_t index)
{
	return !trade->edges[index].dormant && !trade_bit(trade->closing, index) &&
	       iso_ledger_edge_credits(trade->ledger, index);
}

/* An edge over which this node may give. */
static inline bool trade_edge_gives(const struct iso_trade *trade, uint32_t index)
{
	return trade_edge_live(trade, index) && iso_ledger_edge_open(trade->ledger, index);
}

/* A life of the peer is to be told on this edge that it has ended. */
static inline bool trade_tombstone(const struct iso_trade *trade, uint32_t index)
{
	return trade->tombstone_gen != 0 && trade->tombstone_edge == index;
}

/* This node gives away whatever it may. */
static inline bool trade_drains(const struct iso_trade *trade)
{
	return (trade->ledger->flags & (ISO_NODE_DRAINING | ISO_NODE_LEAVING)) != 0;
}

/*
 * Time in units of 2^24 ns (17 ms), modulo 2^32: differences are right for
 * two years, and are only taken to what was heard of late.
 */
static inline uint32_t trade_coarse(uint64_t now_ns)
{
	return (uint32_t)(now_ns >> 24);
}

/* How long ago the newest message came, to 17 ms; at most now_ns. */
static inline uint64_t trade_age_ns(const struct iso_trade *trade, const struct trade_edge *edge)
{
	uint64_t age_ns = (uint64_t)(trade_coarse(trade->now_ns) - edge->heard_at) << 24;

	return age_ns < trade->now_ns ? age_ns : trade->now_ns;
}

static inline struct iso_share_heard trade_heard(const struct iso_trade *trade,
						 const struct trade_edge *edge)
{
	return (struct iso_share_heard){
		.valid = edge->priced,
		.at_ns = trade->now_ns - trade_age_ns(trade, edge),
		.price = { (int64_t)edge->value_q32, (int64_t)edge->upper_q32 },
		.curvature = (double)edge->curvature,
		.head_ucpu = edge->head_ucpu,
		.degree = edge->degree,
	};
}

/* The place of the message to this edge among what was shown; NULL: it is no reference. */
static inline struct trade_shown *trade_shown(struct trade_edge *edge, uint32_t seq)
{
	for (uint32_t n = 0; n < TRADE_SHOWN_MAX; n++)
		if (edge->shown[n].seq == seq)
			return &edge->shown[n];
	return NULL;
}

/* Counts a message, or its price, that was of no use; four thousand million are the most. */
static inline void iso_trade_dropped(struct iso_trade *trade, enum iso_trade_drop why)
{
	if (trade->drops[why] < UINT32_MAX)
		trade->drops[why]++;
}

/* trade_message.c: codes the price last offered for the next message. */
void iso_trade_code_price(struct iso_trade *trade, struct trade_edge *edge);

/* trade.c: what may go out on an edge beside what is under way there. */
int64_t iso_trade_allowance(const struct iso_trade *trade, uint32_t index);

/*
 * trade_limit.c: the limit of an edge; what it still lets out and in, INT64_MAX: anything;
 * as much of the peer's S as may be taken; and its price as far as it is passed on.
 */
int64_t iso_trade_limit(const struct iso_trade *trade, uint32_t index);
int64_t iso_trade_limit_out(const struct iso_trade *trade, uint32_t index);
int64_t iso_trade_limit_in(const struct iso_trade *trade, uint32_t index);
uint64_t iso_trade_limit_sent(struct iso_trade *trade, uint32_t index, uint64_t sent);
void iso_trade_limit_price(const struct iso_trade *trade, uint32_t index,
			   struct iso_share_heard *heard);

/* trade_drain.c: gives away what there is; returns how much. */
int64_t iso_trade_drain(struct iso_trade *trade);

/* trade_op.c */
void iso_trade_apply(struct iso_trade *trade, const struct iso_op *op);
void iso_trade_unapply(struct iso_trade *trade);
void iso_trade_freeze(struct iso_trade *trade);
void iso_trade_leave(struct iso_trade *trade);

/* The peer has frozen the edge, and nothing is under way on it either way. */
bool iso_trade_done(const struct iso_trade *trade, uint32_t index);

/* trade_lease.c: nobody is left who could know of a newer journal, or there was time. */
bool iso_trade_verified(const struct iso_trade *trade);

/* trade_lease.c: more than the floor may be enforced; the edge may be closed now. */
bool iso_trade_leased(const struct iso_trade *trade);
bool iso_trade_may_close(const struct iso_trade *trade, uint32_t index);

#endif
