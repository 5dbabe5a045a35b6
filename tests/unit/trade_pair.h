/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_TRADE_PAIR_H
#define ISO_TESTS_TRADE_PAIR_H

#include "lib/trade/trade.h"

/*
 * Two neighbours, 1001 and 1002, with 1 CPU each: the left one is in need of less,
 * the right one of more.
 */

#define PAIR_MEMORY_WORDS 8192u
#define PAIR_TICK_NS	  200000000u

struct side {
	struct iso_trade_peer peer;
	struct iso_trade_config config;
	struct iso_trade *trade;
	uint64_t memory[PAIR_MEMORY_WORDS];
	struct iso_record disk;
	int64_t enforced_ucpu;
	int64_t ceiling_ucpu;
	int64_t demand_ucpu;
	bool hold, paused, release;
	uint64_t now_ns;
	uint8_t message[ISO_EDGE_BYTES];
};

extern struct side left, right;

/* Both are open, and nobody has ticked. */
void pair_set_up(void);
struct iso_trade_config pair_config(const struct iso_trade_peer *peer, uint64_t node);

/* A tick is its beginning and the rest: the limit, the record and the message. */
struct iso_trade_plan pair_begin(struct side *side);
void pair_finish(struct side *side, const struct iso_trade_plan *plan);
struct iso_trade_plan pair_tick(struct side *side);

/* A message comes to a side as if it were the other one's. */
enum iso_status pair_hear(struct side *side, const uint8_t *bytes);
/* Both tick, then each hears the other. */
void pair_exchange(void);

struct iso_trade_status pair_status(const struct side *side);
struct iso_trade_edge pair_edge(const struct side *side);
struct iso_edge_frame pair_frame(const uint8_t *bytes);

/* in_flight_ucpu: is under way between the two; negative: any amount. */
void pair_audit_proves(int64_t in_flight_ucpu);

#endif
