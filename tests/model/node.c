/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/node.h"

#include <assert.h>
#include <string.h>

#include "tests/model/node_private.h"

static struct model_node live[MODEL_NODES];
static struct iso_quant quant;
static size_t image_bytes;

struct iso_trade *model_trade(uint32_t node)
{
	return (struct iso_trade *)live[node].image;
}

struct iso_ledger *model_ledger(uint32_t node)
{
	return model_trade(node)->ledger;
}

struct model_node *model_live(uint32_t node)
{
	return &live[node];
}

size_t model_node_bytes(void)
{
	return offsetof(struct model_node, image) + image_bytes;
}

static void fold_prices(struct iso_trade *trade)
{
	for (uint32_t k = 0; k < trade->edges_max; k++) {
		struct trade_edge *edge = &trade->edges[k];
		uint32_t inc = edge->peer_inc;
		bool dormant = edge->dormant;

		memset(edge, 0, sizeof(*edge));
		edge->peer_inc = inc;
		edge->newest_seq = edge->echo_seq = inc != 0;
		edge->dormant = dormant;
	}
	memset(trade->drops, 0, sizeof(trade->drops));
	memset(&trade->offer, 0, sizeof(trade->offer));
	memset(&trade->gave, 0, sizeof(trade->gave));
	memset(&trade->cost, 0, sizeof(trade->cost));
	trade->cost.kind = ISO_COST_QUADRATIC;
	trade->cost.penalty = ISO_PENALTY_NONE;
	trade->cost.weight = 1;
	trade->cost.kappa = 1;
	trade->gave_edge = 0;
	trade->hold = false;
	trade->turn = 0;
	trade->now_ns = 0;
	trade->seq = 1;
	trade->head_ucpu = 0;
	/* Nothing here hears a tombstone. */
	trade->ended_edge = trade->ended_gen = 0;
	trade->tombstone_edge = trade->tombstone_gen = 0;
	trade->received = 0;
}

void model_make_process(const struct model_setup *setup, uint32_t node,
			const uint32_t gens[MODEL_NODES])
{
	/* Static and set by fields: what is copied to the memory has no padding left to chance. */
	static struct iso_trade_peer all_peers[MODEL_NODES][MODEL_EDGES];
	static struct iso_trade_config config;
	struct iso_trade_peer *peers = all_peers[node];
	struct iso_trade *trade;
	enum iso_status status;

	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		uint32_t peer = (node + 1 + k) % MODEL_NODES;

		peers[k].node = model_id(peer);
		peers[k].gen = gens[peer];
	}
	config.cluster = MODEL_CLUSTER;
	config.node = model_id(node);
	config.epoch = MODEL_EPOCH;
	config.budget_ucpu = 3 * setup->share;
	config.floor_ucpu = setup->floor;
	config.share.mode = ISO_SHARE_DIFFERENCE;
	config.share.quant = &quant;
	config.share.uniform_step_q32 = 1;
	config.share.gamma = 0.5;
	config.share.base_age_ns = 1;
	config.share.fresh_age_ns = 1;
	config.edges_max = MODEL_EDGES;
	config.peers = peers;
	config.peer_count = MODEL_EDGES;
	image_bytes = iso_trade_size(&config);
	assert(image_bytes > 0 && image_bytes <= MODEL_IMAGE_MAX);
	status = iso_trade_init(live[node].image, MODEL_IMAGE_MAX, &config, &trade);
	assert(status == ISO_OK);
	fold_prices(trade);
}

static void peer_gens(uint32_t node, uint32_t ret_gens[MODEL_NODES])
{
	const struct iso_trade *trade = model_trade(node);

	for (uint32_t k = 0; k < trade->peer_count; k++)
		ret_gens[model_of_id(trade->peers[k].node)] = trade->peers[k].gen;
}

void model_make_journal(struct model_outside *outside, struct model_record record)
{
	for (uint8_t seq = 1; seq <= 2; seq++) {
		record.seq = seq;
		outside->disk[seq % 2] = (struct model_slot){ record, seq };
	}
	memcpy(outside->cache, outside->disk, sizeof(outside->cache));
	outside->unsynced = 0;
}

void model_node_init(const struct model_setup *setup)
{
	struct iso_ledger_config config = { .cluster = MODEL_CLUSTER,
					    .epoch = MODEL_EPOCH,
					    .budget_ucpu = 3 * setup->share,
					    .floor_ucpu = setup->floor,
					    .edges_max = MODEL_EDGES };
	const uint32_t gens[MODEL_NODES] = { 1, 1, 1 };
	struct iso_record record;
	enum iso_status status = iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant);

	assert(status == ISO_OK);
	memset(live, 0, sizeof(live));
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		model_make_process(setup, i, gens);
		config.node = model_id(i);
		status = iso_ledger_genesis(&config, 1, setup->share, &record);
		assert(status == ISO_OK);
		model_make_journal(&live[i].outside, model_pack(&record));
		live[i].outside.enforced = setup->dark;
	}
}

/* The four slots of a node. */
static struct model_slot *slot_of(struct model_outside *outside, uint32_t k)
{
	return k < 2 ? &outside->cache[k] : &outside->disk[k - 2];
}

static void lower_seq(uint8_t *least, uint64_t seq)
{
	if (seq < *least)
		*least = (uint8_t)seq;
}

/* Both only ever grow; seq by an even number, since its parity chooses the slot. */
static void fold_numbers(struct model_outside *outside, struct iso_ledger *ledger)
{
	bool open = ledger->phase != ISO_LEDGER_CLOSED;
	uint8_t seq = UINT8_MAX, inc = UINT8_MAX;

	for (uint32_t k = 0; k < 4; k++) {
		lower_seq(&seq, slot_of(outside, k)->head.seq);
		lower_seq(&seq, slot_of(outside, k)->tail_seq);
		lower_seq(&inc, slot_of(outside, k)->head.inc);
	}
	if (open) {
		lower_seq(&seq, ledger->seq);
		lower_seq(&inc, ledger->inc);
	}
	seq = (uint8_t)((seq - 1) / 2 * 2);
	inc = inc > 0 ? inc - 1 : 0; /* 0 is a journal that was never opened */
	for (uint32_t k = 0; k < 4; k++) {
		slot_of(outside, k)->head.seq -= seq;
		slot_of(outside, k)->tail_seq -= seq;
		slot_of(outside, k)->head.inc -= inc;
	}
	if (!open)
		return;
	ledger->seq -= seq;
	ledger->inc -= inc;
}

void model_node_fold(const struct model_setup *setup, uint32_t node)
{
	struct iso_trade *trade = model_trade(node);
	struct iso_ledger *ledger = trade->ledger;

	fold_prices(trade);
	if (setup->exact)
		return;
	fold_numbers(&live[node].outside, ledger);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		trade->edges[k].peer_inc = 0;
		trade->edges[k].newest_seq = trade->edges[k].echo_seq = 0;
		ledger->edges[k].unacked = (uint32_t)ledger->edges[k].sent;
	}
	if (ledger->phase == ISO_LEDGER_IDLE)
		ledger->enforced_ucpu = 0;
}

uint32_t model_edge_to(uint32_t node, uint32_t peer)
{
	uint32_t index = 0;
	enum iso_status status = iso_ledger_find(model_ledger(node), model_id(peer), &index);

	assert(status == ISO_OK);
	return index;
}

bool model_die(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &live[node].outside;
	uint32_t gens[MODEL_NODES] = { 0 };

	peer_gens(node, gens);
	model_make_process(setup, node, gens);
	outside->pc = MODEL_DOWN;
	outside->pending = 0;
	memset(outside->amount, 0, sizeof(outside->amount));
	return true;
}

static int64_t holdings(const struct iso_ledger *ledger, bool durable)
{
	int64_t sum = ledger->endowment_ucpu;

	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		const struct iso_ledger_edge *edge = &ledger->edges[k];

		sum += (int64_t)edge->received - (int64_t)edge->sent;
		if (durable)
			sum += (int64_t)edge->debit - (int64_t)edge->credit;
	}
	return sum;
}

static void lower_to(int8_t *least, int64_t value)
{
	if (value < *least)
		*least = (int8_t)value;
}

static void raise_to(uint8_t *most, uint64_t value)
{
	if (value > *most)
		*most = (uint8_t)value;
}

static void add_memory(uint32_t node, struct model_summary *summary)
{
	const struct iso_ledger *ledger = model_ledger(node);

	if (ledger->phase == ISO_LEDGER_CLOSED)
		return;
	summary->halted = ledger->halt != ISO_HALT_NONE;
	summary->equation = iso_ledger_holdings(ledger) == holdings(ledger, false) &&
			    iso_ledger_durable_holdings(ledger) == holdings(ledger, true);
	lower_to(&summary->share_least, holdings(ledger, false));
	lower_to(&summary->share_least, holdings(ledger, true));
	summary->target = (int8_t)iso_ledger_target(ledger);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		const struct iso_ledger_edge *edge = &ledger->edges[k];
		uint32_t peer = model_of_id(edge->peer);

		summary->sent[peer] = (uint8_t)edge->sent;
		raise_to(&summary->received_most[peer], edge->received);
	}
}

static bool add_journal(const struct model_slot slots[2], uint32_t node, bool disk,
			struct model_summary *summary)
{
	struct iso_record record;

	if (model_recover(slots, node, &record) != ISO_OK)
		return false;
	lower_to(&summary->share_least, iso_record_holdings(&record));
	if (disk) {
		summary->endowment = (int8_t)record.endowment_ucpu;
		summary->share_disk = (int8_t)iso_record_holdings(&record);
		summary->inc_disk = (uint8_t)record.inc;
		summary->halted = summary->halted || record.halt != ISO_HALT_NONE;
	}
	for (uint32_t k = 0; k < record.edge_count; k++) {
		uint32_t peer = model_of_id(record.edges[k].peer);

		if (disk) {
			summary->sent_disk[peer] = (uint8_t)record.edges[k].sent;
			summary->received_disk[peer] = (uint8_t)record.edges[k].received;
		}
		raise_to(&summary->received_most[peer], record.edges[k].received);
	}
	return true;
}

void model_node_summary(uint32_t node, struct model_summary *ret_summary)
{
	const struct model_outside *outside = &live[node].outside;

	*ret_summary = (struct model_summary){
		.pc = outside->pc,
		.enforced = outside->enforced,
		.unsynced = outside->unsynced != 0,
		.equation = true,
		.share_least = INT8_MAX,
	};
	add_memory(node, ret_summary);
	ret_summary->damaged = !add_journal(outside->disk, node, true, ret_summary);
	(void)add_journal(outside->cache, node, false, ret_summary);
}
