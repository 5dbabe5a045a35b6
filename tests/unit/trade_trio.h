/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_TRADE_TRIO_H
#define ISO_TESTS_TRADE_TRIO_H

#include "lib/trade/trade.h"

/*
 * Three neighbours of each other, 1001 to 1003, with 1 CPU each, and operations on
 * them.  They are named by their index.
 */

#define TRIO_NODES	 3u
#define TRIO_TICK_NS	 ((uint64_t)200000000)
#define TRIO_COARSE_NS	 ((uint64_t)1 << 24) /* what an edge keeps times to */
#define TRIO_FLOOR_UCPU	 100000
#define TRIO_SHARE_UCPU	 1000000
#define TRIO_BUDGET_UCPU (3 * (int64_t)TRIO_SHARE_UCPU)
#define S		 ((uint64_t)1000000000)

struct member {
	struct iso_trade_peer peers[TRIO_NODES];
	struct iso_trade_config config;
	struct iso_trade *trade;
	uint64_t memory[8192];
	struct iso_record disk;
	int64_t enforced_ucpu, demand_ucpu;
	uint8_t said[TRIO_NODES][ISO_EDGE_BYTES]; /* to whom, in the newest tick */
	bool has_said[TRIO_NODES];
	bool is_off, is_stuck; /* no tick; its limit cannot be lowered */
};

extern struct member members[TRIO_NODES];
extern uint64_t now_ns;
extern bool cut[TRIO_NODES][TRIO_NODES]; /* what the first says does not reach the second */

void trio_set_up(void);
/* With leases of 5 s, and promises of 6 s. */
void trio_set_up_leased(void);

/* One node alone; op: NULL or what it is to do. */
struct iso_trade_plan trio_tick(uint32_t i, const struct iso_op *op);
enum iso_status trio_hear(uint32_t i, uint32_t from);

/* What nobody has said comes with the key of this node, an identity. */
enum iso_status trio_hear_forged(uint32_t i, uint64_t from, const struct iso_edge_frame *frame);

/* All tick, and then hear each other. */
void trio_rounds(unsigned count);
/* Likewise once, with an operation for one of them: its plan. */
struct iso_trade_plan trio_apply(uint32_t i, const struct iso_op *op);

struct iso_trade_status trio_status(uint32_t i);
/* The end at i of the edge to j. */
struct iso_trade_edge trio_edge(uint32_t i, uint32_t j);
/* What i has said to j, but for the mark of what may be referred to. */
struct iso_edge_frame trio_said(uint32_t i, uint32_t j);

/* Nothing is lost, and nothing enforced that is not owned. */
void trio_check_sum(int64_t total_ucpu);
/* The edges of neighbours of a node that has left or was buried become part of their A. */
void trio_fold(uint32_t i, uint32_t gone, uint64_t id);

#endif
