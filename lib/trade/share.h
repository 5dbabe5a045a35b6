/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SHARE_H
#define ISO_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/trade/cost.h"
#include "lib/quant/quant.h"

/*
 * Who gives how much: how prices are coded on an edge, the price a node
 * shows, and the flow over an edge.  Everything here is advice: the ledger
 * conserves the sum whatever these functions return.
 */

enum iso_share_mode {
	/* Quantise the difference from the neighbour's price, as both ends know it: the
	   error shrinks with the gap and vanishes at agreement. */
	ISO_SHARE_DIFFERENCE = 1,
	ISO_SHARE_LOG,          /* as published: both prices log-quantised around zero */
	ISO_SHARE_UNIFORM,      /* both prices rounded to multiples of uniform_step_q32 */
	ISO_SHARE_NONE,         /* exact prices */
};

struct iso_share_params {
	enum iso_share_mode mode;
	const struct iso_quant *quant;  /* borrowed for as long as the params are used */
	int64_t uniform_step_q32;       /* > 0; UNIFORM only */
	double gamma;                   /* step, 0 < gamma <= 1; 0.9 */
	double dead_band;               /* fraction of |price| that is no gap; 0.005 */
	double relay_allow;             /* head-room beyond the ceiling, fraction of it; 0.01 */
	bool stop_and_wait;             /* one transfer in flight per direction of an edge */
	uint64_t base_age_ns;           /* T_base: no reference is older; 32 ticks */
	uint64_t fresh_age_ns;          /* T_fresh: no older price enters the neighbourhood's */
};

/* ISO_E_RANGE: a parameter outside of what its comment says. */
ISO_MUST_USE enum iso_status iso_share_check(const struct iso_share_params *params);

/* A price as it travels, and as both ends will know it. */
struct iso_share_code {
	int16_t symbol;
	int64_t exact_q32;      /* NONE only, else 0 */
	int64_t value_q32;      /* reconstruction */
};

/*
 * Codes a price against a reference; the reference is 0 except in mode
 * DIFFERENCE, where it is the neighbour's price as decoded from the message
 * that the code will name as its base.
 */
struct iso_share_code iso_share_encode(const struct iso_share_params *params, int64_t price_q32,
				       int64_t reference_q32);

/*
 * A neighbour's price: its reconstruction, and in mode DIFFERENCE the largest
 * price that has this code (in the other modes the reconstruction again).
 * Both have 24 significant bits; the first is rounded to the nearest, the
 * second up.  ISO_E_UNKNOWN: the symbol is in no table.
 */
struct iso_share_price {
	int64_t value_q32;
	int64_t upper_q32;
};
ISO_MUST_USE enum iso_status iso_share_decode(const struct iso_share_params *params, int16_t symbol,
					      int64_t exact_q32, int64_t reference_q32,
					      struct iso_share_price *ret_price);

/* What was heard from a neighbour in its newest decoded message. */
struct iso_share_heard {
	bool valid;
	uint64_t at_ns;
	struct iso_share_price price;
	double curvature;
	int64_t head_ucpu;
	uint32_t degree;
};

/*
 * The price a node shows at share x:
 *
 *     p = G(x) + mu,   mu = m - clamp(m, G(floor), G(ceiling)),
 *     m = sum c_k price_k / sum c_k,   c_k = 1 / (L + L_k),
 *
 * over the neighbours heard within T_fresh.  Inside the box mu is 0.  A
 * saturated node shows its neighbourhood's price, so that it relays instead
 * of blocking the graph; at equilibrium G(x) = clamp(lambda, G(floor),
 * G(ceiling)), the optimality condition.
 *
 * What does not change while a tick hands out units is taken once: mu, with L
 * at the share at the tick's beginning.  All G of a tick must come from the
 * same cost, or measurement noise would be amplified.
 */
struct iso_share_crowd {
	double curvature;       /* L of this node */
	double weights;         /* sum of c_k */
	double prices_q32;      /* sum of c_k price_k */
};

/* Nobody heard yet. */
struct iso_share_crowd iso_share_crowd(const struct iso_cost *cost, const struct iso_box *box,
				       int64_t share_ucpu);

/* Takes in a neighbour, if its price is known and not too old; now_ns >= heard->at_ns. */
void iso_share_crowd_add(struct iso_share_crowd *crowd, const struct iso_share_params *params,
			 const struct iso_share_heard *heard, uint64_t now_ns);

/* mu */
int64_t iso_share_relay(const struct iso_share_crowd *crowd, const struct iso_cost *cost,
			const struct iso_box *box);

struct iso_share_offer {
	int64_t price_q32;      /* p */
	int64_t marginal_q32;   /* G(x) */
	double curvature;       /* L */
};

struct iso_share_offer iso_share_offer(const struct iso_cost *cost, const struct iso_box *box,
				       int64_t share_ucpu, int64_t relay_q32);

enum iso_share_reason {
	ISO_SHARE_SILENT = 0,   /* no new message from this neighbour since the last decision */
	ISO_SHARE_WAITING,      /* the last transfer is not acknowledged yet */
	ISO_SHARE_CHEAPER,      /* this node is not certainly the dearer one */
	ISO_SHARE_DEAD_BAND,    /* dearer, but by less than the dead band */
	ISO_SHARE_COLLECTING,   /* the flow is below one unit; kept in the remainder */
	ISO_SHARE_FLOOR,        /* nothing above the floor to give */
	ISO_SHARE_FULL,         /* the neighbour has no head-room */
	ISO_SHARE_GAVE,
	ISO_SHARE_HELD,         /* the shell asked not to give, or the node has halted */
	ISO_SHARE_ABORTED,      /* decided, then undone: the quota could not be lowered */
	ISO_SHARE_LEAVING,      /* the neighbour gives away what it has and leaves */
	ISO_SHARE_LIMIT,        /* it was given as much as it is trusted with */
};

/* A phrase that completes "gave nothing to NODE: ". */
const char *iso_share_reason_text(enum iso_share_reason reason);

/* One decision, as it was made. */
struct iso_share_decision {
	enum iso_share_reason reason;
	int64_t own_q32;        /* price of this node */
	int64_t upper_q32;      /* the neighbour's, at most */
	int64_t gap_q32;        /* after the dead band; > 0: would give */
	double wanted_ucpu;     /* flow of this decision, before remainder and caps */
	int64_t given_ucpu;
};

/*
 * The flow rule, for one fresh message of a neighbour:
 *
 *     g = p - upper, less the dead band;   want = gamma w g / (L + L_j),  w = 2 / (1 + max degree)
 *     r = max(r + want, -1);  d = min(floor(r), g / (L + L_j), room, head);  r = min(r - d, 1)
 *
 * With c = gamma w / (L + L_j) the iteration is stable on any graph for
 * gamma <= 1.  d <= g / (L + L_j) makes each transfer lower the total cost.
 * room_ucpu: what may leave this node, >= 0.
 */
struct iso_share_decision iso_share_flow(const struct iso_share_params *params,
					 const struct iso_share_offer *offer, uint32_t degree,
					 const struct iso_share_heard *heard, int64_t room_ucpu,
					 double *remainder_ucpu);

/* max(0, ceiling (1 + relay_allow) - share): how much may be sent to this node. */
int64_t iso_share_head(const struct iso_share_params *params, int64_t ceiling_ucpu,
		       int64_t share_ucpu);

#endif
