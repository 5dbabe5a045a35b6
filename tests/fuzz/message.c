/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/trade/trade.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One real node that hears whatever its authenticated neighbour cares to say. */
static struct iso_trade *fresh_node(void)
{
	static uint64_t memory[8192];
	static struct iso_quant quant;
	const struct iso_trade_peer peer = { 1002, 1 };
	struct iso_trade_config config = {
		.cluster = 77,
		.node = 1001,
		.epoch = 1,
		.budget_ucpu = 2000000,
		.floor_ucpu = 10000,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .dead_band = 0.005,
			   .base_age_ns = 1,
			   .fresh_age_ns = 1 },
		.edges_max = 2,
		.peers = &peer,
		.peer_count = 1,
	};
	struct iso_record record;
	struct iso_trade *trade = NULL;

	if (iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant) != ISO_OK ||
	    iso_trade_init(memory, sizeof(memory), &config, &trade) != ISO_OK ||
	    iso_trade_genesis(&config, 1, 1000000, &record) != ISO_OK ||
	    iso_trade_open(trade, &record) != ISO_OK)
		abort();
	return trade;
}

static void tick(struct iso_trade *trade, uint64_t now_ns)
{
	struct iso_trade_input input = {
		.now_ns = now_ns,
		.enforced_ucpu = 10000,
		.ceiling_ucpu = 1500000,
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1,
			  .demand_ucpu = 500000 },
	};
	struct iso_trade_status status;
	struct iso_trade_plan plan;
	struct iso_record record = { 0 };

	if (iso_trade_begin(trade, &input, &plan) != ISO_OK)
		abort();
	if (plan.lower && iso_trade_lowered(trade, plan.limit_ucpu) != ISO_OK)
		abort();
	iso_trade_status(trade, &status);
	record.seq = status.record_seq;
	if (plan.record)
		iso_trade_record(trade, &record);
	if (iso_trade_commit(trade, record.seq) < 0)
		abort();
	/* Whatever was heard: a sender that knows of a larger budget may have sent as much. */
	if (plan.share_ucpu < 10000 || plan.share_ucpu > ISO_UNITS_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_trade *trade = fresh_node();
	uint8_t frame[ISO_EDGE_BYTES];
	struct iso_trade_status status;

	tick(trade, 1);
	(void)!iso_trade_receive(trade, 2, 1002, data, size);
	tick(trade, 2);
	if (size < sizeof(frame))
		return 0;
	/* Past the envelope, so that the fields themselves are tried. */
	memcpy(frame, data, sizeof(frame));
	iso_trade_status(trade, &status);
	iso_put_le(frame + 24, status.digest, 8);
	iso_put_le(frame + 144, iso_checksum(frame, 144), 8);
	(void)!iso_trade_receive(trade, 3, 1002, frame, sizeof(frame));
	tick(trade, 3);
	(void)!iso_trade_receive(trade, 4, 1002, frame, sizeof(frame));
	tick(trade, 4);
	return 0;
}
