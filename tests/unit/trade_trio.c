/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/trade_trio.h"

#include <string.h>

#include "tests/test.h"

struct member members[TRIO_NODES];
uint64_t now_ns;
bool cut[TRIO_NODES][TRIO_NODES];

static struct iso_quant quant;
static struct iso_lease_params lease;

static void make(uint32_t i)
{
	struct member *member = &members[i];

	member->config = (struct iso_trade_config){
		.cluster = 77,
		.node = 1001 + i,
		.epoch = 3,
		.budget_ucpu = TRIO_BUDGET_UCPU,
		.floor_ucpu = TRIO_FLOOR_UCPU,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .dead_band = 0.005,
			   .relay_allow = 0.01,
			   .base_age_ns = 32 * TRIO_TICK_NS,
			   .fresh_age_ns = 50 * TRIO_TICK_NS },
		.lease = lease,
		.edges_max = 4,
		.peers = member->peers,
	};
	for (uint32_t j = 0; j < TRIO_NODES; j++)
		if (j != i)
			member->peers[member->config.peer_count++] =
			    (struct iso_trade_peer){ 1001 + j, 1 };
	ck_assert_ok(iso_trade_init(member->memory, sizeof(member->memory), &member->config,
				    &member->trade));
	member->demand_ucpu = 1000000;
}

void trio_set_up(void)
{
	memset(members, 0, sizeof(members));
	memset(cut, 0, sizeof(cut));
	now_ns = 1000 * S;
	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	for (uint32_t i = 0; i < TRIO_NODES; i++) {
		make(i);
		ck_assert_ok(
		    iso_trade_genesis(&members[i].config, 1, TRIO_SHARE_UCPU, &members[i].disk));
		ck_assert_ok(iso_trade_open(members[i].trade, &members[i].disk));
	}
}

void trio_set_up_leased(void)
{
	lease = (struct iso_lease_params){ .lease_ns = 5 * S,
					   .promise_ns = 6 * S,
					   .guard_ns = S / 5 };
	trio_set_up();
	lease = (struct iso_lease_params){ 0 };
}

static struct iso_trade_plan begin(uint32_t i, const struct iso_op *op)
{
	struct member *member = &members[i];
	struct iso_trade_input input = {
		.now_ns = now_ns,
		.enforced_ucpu = member->enforced_ucpu,
		.ceiling_ucpu = 2500000,
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1,
			  .demand_ucpu = member->demand_ucpu },
		.op = op,
	};
	struct iso_trade_plan plan;

	ck_assert_ok(iso_trade_begin(member->trade, &input, &plan));
	return plan;
}

static void finish(uint32_t i, struct iso_trade_plan *plan)
{
	struct member *member = &members[i];

	if (plan->lower && member->is_stuck) {
		ck_assert_int_eq(iso_trade_lowered(member->trade, member->enforced_ucpu),
				 ISO_E_RANGE);
		iso_trade_abort(member->trade, plan);
	} else if (plan->lower) {
		member->enforced_ucpu = plan->limit_ucpu;
		ck_assert_ok(iso_trade_lowered(member->trade, member->enforced_ucpu));
	}
	if (plan->record)
		iso_trade_record(member->trade, &member->disk);
	int64_t target = iso_trade_commit(member->trade, member->disk.seq);
	if (target > member->enforced_ucpu)
		member->enforced_ucpu = target;
	memset(member->has_said, 0, sizeof(member->has_said));
	for (uint32_t k = 0; k < iso_trade_edges(member->trade); k++) {
		uint8_t bytes[ISO_EDGE_BYTES];
		uint64_t peer = 0;

		if (iso_trade_message(member->trade, k, &peer, bytes) != ISO_OK ||
		    peer > 1000 + TRIO_NODES)
			continue;
		memcpy(member->said[peer - 1001], bytes, sizeof(bytes));
		member->has_said[peer - 1001] = true;
	}
}

struct iso_trade_plan trio_tick(uint32_t i, const struct iso_op *op)
{
	struct iso_trade_plan plan = begin(i, op);

	finish(i, &plan);
	return plan;
}

enum iso_status trio_hear(uint32_t i, uint32_t from)
{
	return iso_trade_receive(members[i].trade, now_ns, 1001 + from, members[from].said[i],
				 ISO_EDGE_BYTES);
}

enum iso_status trio_hear_forged(uint32_t i, uint64_t from, const struct iso_edge_frame *frame)
{
	uint8_t bytes[ISO_EDGE_BYTES];

	iso_edge_encode(frame, bytes);
	return iso_trade_receive(members[i].trade, now_ns, from, bytes, sizeof(bytes));
}

void trio_check_sum(int64_t total_ucpu)
{
	int64_t sum = 0, enforced = 0;

	for (uint32_t i = 0; i < TRIO_NODES; i++) {
		sum += iso_record_holdings(&members[i].disk);
		enforced += members[i].enforced_ucpu;
		ck_assert_int_le(members[i].enforced_ucpu, iso_record_holdings(&members[i].disk));
		for (uint32_t k = 0; k < members[i].disk.edge_count; k++) {
			const struct iso_record_edge *edge = &members[i].disk.edges[k];
			const struct iso_record *peer = &members[edge->peer - 1001].disk;

			for (uint32_t m = 0; m < peer->edge_count; m++)
				if (peer->edges[m].peer == 1001 + i)
					sum += (int64_t)(edge->sent - peer->edges[m].received);
		}
	}
	ck_assert_int_eq(sum, total_ucpu);
	ck_assert_int_le(enforced, total_ucpu);
}

static void round_with(uint32_t i, const struct iso_op *op, struct iso_trade_plan *ret_plan)
{
	now_ns += TRIO_TICK_NS;
	for (uint32_t n = 0; n < TRIO_NODES; n++) {
		if (members[n].is_off)
			continue;
		struct iso_trade_plan plan = trio_tick(n, n == i ? op : NULL);

		if (n == i && ret_plan != NULL)
			*ret_plan = plan;
	}
	for (uint32_t n = 0; n < TRIO_NODES; n++)
		for (uint32_t m = 0; m < TRIO_NODES; m++)
			if (!members[m].is_off && !members[n].is_off && !cut[n][m] &&
			    members[n].has_said[m])
				(void)!trio_hear(m, n);
}

void trio_rounds(unsigned count)
{
	while (count-- > 0)
		round_with(TRIO_NODES, NULL, NULL);
}

struct iso_trade_plan trio_apply(uint32_t i, const struct iso_op *op)
{
	struct iso_trade_plan plan = { 0 };

	round_with(i, op, &plan);
	return plan;
}

struct iso_trade_status trio_status(uint32_t i)
{
	struct iso_trade_status status;

	iso_trade_status(members[i].trade, &status);
	return status;
}

struct iso_trade_edge trio_edge(uint32_t i, uint32_t j)
{
	struct iso_trade_edge edge = { 0 };

	for (uint32_t k = 0; k < iso_trade_edges(members[i].trade); k++) {
		ck_assert_ok(iso_trade_edge(members[i].trade, k, &edge));
		if (edge.peer == 1001 + j)
			return edge;
	}
	ck_abort_msg("no edge");
	return edge;
}

struct iso_edge_frame trio_said(uint32_t i, uint32_t j)
{
	struct iso_edge_frame frame;

	ck_assert(members[i].has_said[j]);
	ck_assert_ok(iso_edge_decode(members[i].said[j], ISO_EDGE_BYTES, &frame));
	frame.flags = (uint16_t)(frame.flags & ~ISO_EDGE_REFERABLE);
	return frame;
}

void trio_fold(uint32_t i, uint32_t gone, uint64_t id)
{
	struct iso_trade_edge edge = trio_edge(i, gone);
	struct iso_op op = { .id = id,
			     .kind = ISO_OP_FOLD,
			     .gen = 1,
			     .peer = 1001 + gone,
			     .peer_gen = 1,
			     .sent = edge.sent,
			     .received = edge.received };

	ck_assert_ok(trio_apply(i, &op).op_status);
	ck_assert_uint_eq(trio_edge(i, gone).flags, ISO_EDGE_STATE_FOLDED);
	ck_assert(!members[i].has_said[gone]);
}
