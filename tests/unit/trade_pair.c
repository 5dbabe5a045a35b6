/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/trade_pair.h"

#include <string.h>

#include "tests/test.h"

struct side left, right;

static struct iso_quant quant;

struct iso_trade_config pair_config(const struct iso_trade_peer *peer, uint64_t node)
{
	return (struct iso_trade_config){
		.cluster = 77,
		.node = node,
		.epoch = 3,
		.budget_ucpu = 2000000,
		.floor_ucpu = 100000,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .dead_band = 0.005,
			   .relay_allow = 0.01,
			   .stop_and_wait = true,
			   .base_age_ns = 32 * (uint64_t)PAIR_TICK_NS,
			   .fresh_age_ns = 50 * (uint64_t)PAIR_TICK_NS },
		.peers = peer,
		.peer_count = 1,
	};
}

static void start(struct side *side, uint64_t node, uint64_t peer, int64_t demand_ucpu)
{
	memset(side, 0, sizeof(*side));
	side->peer = (struct iso_trade_peer){ peer, 1 };
	side->config = pair_config(&side->peer, node);
	side->ceiling_ucpu = 1800000;
	side->demand_ucpu = demand_ucpu;
	ck_assert_ok(
	    iso_trade_init(side->memory, sizeof(side->memory), &side->config, &side->trade));
	ck_assert_ok(iso_trade_genesis(&side->config, 1, 1000000, &side->disk));
	ck_assert_ok(iso_trade_open(side->trade, &side->disk));
}

void pair_set_up(void)
{
	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	start(&left, 1001, 1002, 400000);
	start(&right, 1002, 1001, 1600000);
}

struct iso_trade_plan pair_begin(struct side *side)
{
	struct iso_trade_input input = {
		.now_ns = side->now_ns += PAIR_TICK_NS,
		.enforced_ucpu = side->enforced_ucpu,
		.ceiling_ucpu = side->ceiling_ucpu,
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1,
			  .demand_ucpu = side->demand_ucpu },
		.hold = side->hold,
		.paused = side->paused,
		.release = side->release,
	};
	struct iso_trade_plan plan;

	ck_assert_ok(iso_trade_begin(side->trade, &input, &plan));
	return plan;
}

void pair_finish(struct side *side, const struct iso_trade_plan *plan)
{
	uint64_t peer = 0;
	int64_t target;

	if (plan->lower) {
		side->enforced_ucpu = plan->limit_ucpu;
		ck_assert_ok(iso_trade_lowered(side->trade, side->enforced_ucpu));
	}
	if (plan->record)
		iso_trade_record(side->trade, &side->disk);
	target = iso_trade_commit(side->trade, side->disk.seq);
	ck_assert_int_eq(target, plan->target_ucpu);
	side->enforced_ucpu = target;
	if (iso_trade_message(side->trade, 0, &peer, side->message) == ISO_OK)
		ck_assert_uint_eq(peer, side->peer.node);
}

struct iso_trade_plan pair_tick(struct side *side)
{
	struct iso_trade_plan plan = pair_begin(side);

	pair_finish(side, &plan);
	return plan;
}

enum iso_status pair_hear(struct side *side, const uint8_t *bytes)
{
	return iso_trade_receive(side->trade, side->now_ns, side->peer.node, bytes, ISO_EDGE_BYTES);
}

void pair_exchange(void)
{
	pair_tick(&left);
	pair_tick(&right);
	ck_assert_ok(pair_hear(&left, right.message));
	ck_assert_ok(pair_hear(&right, left.message));
}

struct iso_trade_status pair_status(const struct side *side)
{
	struct iso_trade_status status;

	iso_trade_status(side->trade, &status);
	return status;
}

struct iso_trade_edge pair_edge(const struct side *side)
{
	struct iso_trade_edge edge;

	ck_assert_ok(iso_trade_edge(side->trade, 0, &edge));
	return edge;
}

struct iso_edge_frame pair_frame(const uint8_t *bytes)
{
	struct iso_edge_frame frame;

	ck_assert_ok(iso_edge_decode(bytes, ISO_EDGE_BYTES, &frame));
	return frame;
}

void pair_audit_proves(int64_t in_flight_ucpu)
{
	static struct iso_audit_node nodes[2];
	struct iso_audit_result result;

	iso_trade_snapshot(left.trade, left.enforced_ucpu, left.ceiling_ucpu, &nodes[0]);
	iso_trade_snapshot(right.trade, right.enforced_ucpu, right.ceiling_ucpu, &nodes[1]);
	iso_audit_run(nodes, 2, &(struct iso_audit_terms){ .budget_ucpu = 2000000 }, &result);
	ck_assert_msg(result.proven, "%s", iso_audit_text(result.finding[0].check));
	if (in_flight_ucpu >= 0)
		ck_assert_int_eq(result.in_flight_ucpu, in_flight_ucpu);
}
