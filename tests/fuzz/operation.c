/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A node under an administrator and neighbours who say anything: whatever
 * operations, messages, aborted ticks, starts and admissions come, in any
 * order, each record can be one, and what is owned is what the plans say.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/trade/trade.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static struct iso_trade_config config;
static struct iso_trade *trade;
static struct iso_record disk;
static uint64_t now_ns;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t take(struct input *input, unsigned bytes)
{
	uint64_t value = 0;

	for (; bytes > 0 && input->left > 0; bytes--, input->left--)
		value = value << 8 | *input->at++;
	return value;
}

static void start(void)
{
	static uint64_t memory[4096];
	static const struct iso_trade_peer peers[] = { { 1002, 1 }, { 1003, 2 } };
	static struct iso_quant quant;

	must(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant) == ISO_OK);
	config = (struct iso_trade_config){
		.cluster = 77,
		.node = 1001,
		.epoch = 1,
		.budget_ucpu = 2000000,
		.floor_ucpu = 10000,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .base_age_ns = 1000,
			   .fresh_age_ns = 1000 },
		.lease = { .lease_ns = 20, .promise_ns = 30, .guard_ns = 3 },
		.edges_max = 4,
		.peers = peers,
		.peer_count = 2,
	};
	now_ns = 1;
	must(iso_trade_init(memory, sizeof(memory), &config, &trade) == ISO_OK);
	must(iso_trade_genesis(&config, 1, 1000000, &disk) == ISO_OK);
	must(iso_trade_open(trade, &disk) == ISO_OK);
}

static struct iso_op operation(struct input *input)
{
	struct iso_op op;

	/* One after the other: within an initializer the order would be the compiler's. */
	op.kind = (enum iso_op_kind)(take(input, 1) % 12);
	op.id = disk.last_op + take(input, 1) % 4;
	op.gen = disk.gen + (uint32_t)(take(input, 1) == 1);
	op.amount_ucpu = (int64_t)take(input, 3);
	op.budget_ucpu = (int64_t)take(input, 3);
	op.peer = 1001 + take(input, 1) % 6;
	op.peer_gen = (uint32_t)take(input, 1) % 4;
	op.sent = take(input, 3);
	op.received = take(input, 3);
	op.on = take(input, 1) % 2 != 0;
	return op;
}

/* A FOLD with the right numbers would hardly be guessed. */
static void certify(struct iso_op *op)
{
	for (uint32_t k = 0; k < disk.edge_count; k++) {
		if (disk.edges[k].peer != op->peer || op->kind != ISO_OP_FOLD)
			continue;
		op->peer_gen = disk.edges[k].peer_gen;
		op->sent = disk.edges[k].sent;
		op->received = disk.edges[k].received;
	}
}

static int64_t moved(const struct iso_op *op, const struct iso_trade_plan *plan)
{
	if (op == NULL || plan->op_status != ISO_OK)
		return 0;
	if (op->kind == ISO_OP_MINT)
		return plan->op_moved_ucpu;
	return op->kind == ISO_OP_BURN ? -plan->op_moved_ucpu : 0;
}

static void finish(const struct iso_op *op, struct iso_trade_plan *plan, bool is_stuck,
		   int64_t before_ucpu)
{
	uint8_t slot[ISO_SLOT_BYTES];
	struct iso_record again;

	if (plan->lower && is_stuck)
		iso_trade_abort(trade, plan);
	else if (plan->lower)
		must(iso_trade_lowered(trade, plan->limit_ucpu) == ISO_OK);
	must(plan->share_ucpu ==
	     before_ucpu + plan->credited_ucpu - plan->debited_ucpu + moved(op, plan));
	must(plan->target_ucpu <= plan->share_ucpu);
	if (plan->record) {
		uint64_t last_op = disk.last_op;

		iso_trade_record(trade, &disk);
		must(iso_record_check(&disk) == ISO_OK);
		must(disk.last_op >= last_op);
		iso_record_encode(&disk, slot);
		must(iso_record_decode(slot, &again) == ISO_OK);
	}
	must(iso_record_holdings(&disk) == plan->share_ucpu);
	must(iso_trade_commit(trade, disk.seq) == plan->target_ucpu);
	if (op != NULL && plan->op_status == ISO_OK)
		must(disk.last_op == op->id);
	for (uint32_t k = 0; k < iso_trade_edges(trade); k++) {
		uint8_t bytes[ISO_EDGE_BYTES];
		struct iso_edge_frame frame;
		uint64_t peer;

		if (iso_trade_message(trade, k, &peer, bytes) == ISO_OK)
			must(iso_edge_decode(bytes, sizeof(bytes), &frame) == ISO_OK);
	}
}

static void tick(struct input *input, const struct iso_op *op)
{
	struct iso_trade_input tick = {
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1 },
		.op = op,
	};

	now_ns += take(input, 1);
	tick.now_ns = now_ns;
	tick.enforced_ucpu = (int64_t)take(input, 3);
	tick.ceiling_ucpu = 1 + (int64_t)take(input, 3);
	tick.cost.demand_ucpu = (int64_t)take(input, 3);

	int64_t before_ucpu = iso_record_holdings(&disk);
	struct iso_trade_plan plan;

	must(iso_trade_begin(trade, &tick, &plan) == ISO_OK);
	finish(op, &plan, take(input, 1) % 4 == 1, before_ucpu);
}

static void message(struct input *input)
{
	struct iso_trade_status status;

	iso_trade_status(trade, &status);
	struct iso_edge_frame frame = {
		.cluster = 77, .epoch = 1, .digest = status.digest, .destination = 1001
	};
	uint8_t bytes[ISO_EDGE_BYTES];

	frame.source = 1001 + take(input, 1) % 6;
	frame.source_gen = 1 + (uint32_t)take(input, 1) % 3;
	frame.destination_gen = status.gen + (uint32_t)(take(input, 1) == 1);
	frame.inc = 1 + (uint32_t)take(input, 1) % 3;
	frame.seq = 1 + take(input, 1);
	frame.sent = take(input, 3);
	frame.received = take(input, 3);
	frame.symbol = (int16_t)take(input, 2);
	frame.curvature = (double)take(input, 1);
	frame.head_ucpu = (int64_t)take(input, 3);
	frame.budget_ucpu = 1 + (int64_t)take(input, 3);
	frame.degree = (uint16_t)take(input, 1);
	frame.flags = (uint16_t)(take(input, 1) & ISO_EDGE_FLAGS);
	frame.echo_seq = take(input, 1);
	frame.echo_inc = frame.echo_seq != 0 ? status.inc : 0;
	if (frame.destination_gen == 0)
		return;
	iso_edge_encode(&frame, bytes);
	(void)!iso_trade_receive(trade, now_ns, frame.source, bytes, sizeof(bytes));
}

static void admit(struct input *input)
{
	const struct iso_ledger_peer peers[] = { { 1002, 3 }, { 1003, 3 } };
	struct iso_ledger_admission admission = { .peers = peers };
	struct iso_record record;

	admission.id = disk.last_op + take(input, 1) % 4;
	admission.gen = disk.gen + (uint32_t)take(input, 1) % 3;
	admission.endowment_ucpu = (int64_t)take(input, 3);
	admission.budget_ucpu = (int64_t)take(input, 4);
	admission.peer_count = (uint32_t)take(input, 1) % 3;
	if (iso_trade_admit(&config, &disk, &admission, &record) != ISO_OK)
		return;
	must(iso_record_check(&record) == ISO_OK);
	must(record.halt == ISO_HALT_NONE);
	disk = record;
	iso_trade_close(trade);
	must(iso_trade_open(trade, &disk) == ISO_OK);
	tick(input, NULL);
}

static void restart(struct input *input)
{
	iso_trade_close(trade);
	must(iso_trade_open(trade, &disk) == ISO_OK);
	iso_trade_lease_resume(trade, take(input, 2));
	tick(input, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };

	start();
	tick(&input, NULL);
	while (input.left > 0) {
		uint64_t what = take(&input, 1) % 8;

		if (what == 0) {
			restart(&input);
		} else if (what == 1) {
			admit(&input);
		} else if (what < 5) {
			message(&input);
		} else {
			struct iso_op op = operation(&input);

			if (what == 7)
				certify(&op);
			tick(&input, &op);
		}
	}
	return 0;
}
