/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * One tick of the trading core at the largest degree: a message of every
 * neighbour taken in, prices and transfers decided, the quota lowered, the record
 * made and encoded, the messages of the next tick written.  The reference is what no
 * protocol with these frames can do without: decode and encode as many.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trade/trade.h"
#include "tests/bench/bench.h"

#define DEGREE	   ISO_DEGREE_MAX
#define CENTRE	   1000u
#define SHARE_UCPU 1000000
#define TICK_NS	   1000000000u
#define TICKS	   200
#define PAIRS	   15

static struct iso_quant quant;
static uint8_t slot[ISO_SLOT_BYTES];
static uint8_t frames[DEGREE][ISO_EDGE_BYTES], sent[DEGREE][ISO_EDGE_BYTES];

struct node {
	struct iso_trade *trade;
	size_t bytes;
	int64_t enforced_ucpu;
	uint64_t seq;
};

static void must(enum iso_status status)
{
	if (status != ISO_OK)
		abort();
}

static struct node make_node(uint64_t id, const struct iso_trade_peer *peers, uint32_t count)
{
	struct iso_trade_config config = {
		.cluster = 77,
		.node = id,
		.epoch = 1,
		.budget_ucpu = (int64_t)SHARE_UCPU * (DEGREE + 1),
		.floor_ucpu = SHARE_UCPU / 100,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .uniform_step_q32 = ISO_PRICE_ONE / 64,
			   .gamma = 0.9,
			   .dead_band = 0.005,
			   .relay_allow = 0.01,
			   .stop_and_wait = true,
			   .base_age_ns = 32ull * TICK_NS,
			   .fresh_age_ns = 10ull * TICK_NS },
		.edges_max = count,
		.peers = peers,
		.peer_count = count,
	};
	struct node node = { .bytes = iso_trade_size(&config), .enforced_ucpu = SHARE_UCPU };
	void *memory = aligned_alloc(64, (node.bytes + 63) / 64 * 64);
	struct iso_record record;

	if (memory == NULL)
		abort();
	must(iso_trade_init(memory, node.bytes, &config, &node.trade));
	must(iso_trade_genesis(&config, 1, SHARE_UCPU, &record));
	node.seq = record.seq;
	must(iso_trade_open(node.trade, &record));
	return node;
}

/* demand_ucpu: differs from tick to tick and node to node, so that units keep flowing. */
static void tick(struct node *node, uint64_t now_ns, int64_t demand_ucpu)
{
	struct iso_trade_input input = {
		.now_ns = now_ns,
		.enforced_ucpu = node->enforced_ucpu,
		.ceiling_ucpu = (int64_t)SHARE_UCPU * 8,
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1,
			  .demand_ucpu = demand_ucpu },
	};
	struct iso_trade_plan plan;
	struct iso_record record;
	uint64_t peer;

	must(iso_trade_begin(node->trade, &input, &plan));
	if (plan.lower) {
		node->enforced_ucpu = plan.limit_ucpu;
		must(iso_trade_lowered(node->trade, plan.limit_ucpu));
	}
	if (plan.record) {
		iso_trade_record(node->trade, &record);
		iso_record_encode(&record, slot);
		node->seq = record.seq;
	}
	node->enforced_ucpu = iso_trade_commit(node->trade, node->seq);
	for (uint32_t k = 0; k < iso_trade_edges(node->trade); k++)
		must(iso_trade_message(node->trade, k, &peer, sent[k]));
}

struct star {
	struct node centre, leaves[DEGREE];
	uint64_t now_ns;
	uint32_t ticks;
};

static void make_star(struct star *star)
{
	struct iso_trade_peer peers[DEGREE], centre = { CENTRE, 1 };

	for (uint32_t k = 0; k < DEGREE; k++) {
		peers[k] = (struct iso_trade_peer){ CENTRE + 1 + k, 1 };
		star->leaves[k] = make_node(peers[k].node, &centre, 1);
	}
	star->centre = make_node(CENTRE, peers, DEGREE);
	star->now_ns = TICK_NS;
	tick(&star->centre, star->now_ns, SHARE_UCPU);
}

/* Everybody else's tick: what the centre said comes in, what it will hear is made. */
static void tick_leaves(struct star *star)
{
	static uint8_t said[DEGREE][ISO_EDGE_BYTES];

	memcpy(said, sent, sizeof(said));
	star->now_ns += TICK_NS;
	star->ticks++;
	for (uint32_t k = 0; k < DEGREE; k++) {
		int64_t demand_ucpu = SHARE_UCPU / 2 + SHARE_UCPU / 8 * ((k + star->ticks) % 16);

		/* Dropped as long as the leaf is not open. */
		(void)!iso_trade_receive(star->leaves[k].trade, star->now_ns, CENTRE, said[k],
					 ISO_EDGE_BYTES);
		tick(&star->leaves[k], star->now_ns, demand_ucpu);
		memcpy(frames[k], sent[0], ISO_EDGE_BYTES);
	}
}

static uint64_t tick_centre(struct star *star)
{
	int64_t demand_ucpu = SHARE_UCPU / 2 + SHARE_UCPU / 4 * (star->ticks % 8);
	uint64_t from_ns = bench_cpu_ns();

	for (uint32_t k = 0; k < DEGREE; k++)
		must(iso_trade_receive(star->centre.trade, star->now_ns, CENTRE + 1 + k, frames[k],
				       ISO_EDGE_BYTES));
	tick(&star->centre, star->now_ns, demand_ucpu);
	return bench_cpu_ns() - from_ns;
}

static uint64_t frames_alone(void)
{
	struct iso_edge_frame frame;
	uint64_t from_ns = bench_cpu_ns();

	for (uint32_t k = 0; k < DEGREE; k++) {
		must(iso_edge_decode(frames[k], ISO_EDGE_BYTES, &frame));
		iso_edge_encode(&frame, sent[k]);
	}
	return bench_cpu_ns() - from_ns;
}

/* Reading the clock is part of both sides alike; it is taken off. */
static uint64_t clock_alone(void)
{
	uint64_t from_ns = bench_cpu_ns();

	return bench_cpu_ns() - from_ns;
}

static void add_pair(struct star *star, struct bench_pairs *frames_pairs,
		     struct bench_pairs *goal_pairs)
{
	static uint8_t kept[DEGREE][ISO_EDGE_BYTES];
	uint64_t ours_ns = 0, reference_ns = 0, clock_ns = 0;

	for (int n = 0; n < TICKS; n++) {
		tick_leaves(star);
		ours_ns += tick_centre(star);
		memcpy(kept, sent, sizeof(kept));
		reference_ns += frames_alone();
		memcpy(sent, kept, sizeof(kept));
		clock_ns += clock_alone();
	}
	double ours_us = (double)(ours_ns - clock_ns) / TICKS / 1000;
	double reference_us = (double)(reference_ns - clock_ns) / TICKS / 1000;

	bench_add(frames_pairs, ours_us, reference_us);
	bench_add(goal_pairs, ours_us, 20);
}

int main(void)
{
	static struct star star;
	struct bench_pairs against_frames = { 0 }, against_goal = { 0 }, memory = { 0 };
	struct iso_trade_status status;

	must(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	make_star(&star);
	tick_leaves(&star);
	for (int i = 0; i < PAIRS; i++)
		add_pair(&star, &against_frames, &against_goal);
	iso_trade_status(star.centre.trade, &status);
	/* Something was traded, or half of the work was never done. */
	if (status.record_seq < PAIRS * TICKS / 2)
		abort();
	bench_print("tick of 64 edges / 64 frames decoded and encoded", "us", &against_frames, -1);
	bench_print("tick of 64 edges / 20 us", "us", &against_goal, 1);
	bench_add(&memory, (double)star.centre.bytes / 1024, 8);
	bench_print("memory of a node of 64 edges / 8 KiB", "KiB", &memory, 1);
	return 0;
}
