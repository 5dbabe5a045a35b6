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

/* leases: what is heard over this edge can renew a lease. */
static void fold_edge(const struct model_setup *setup, bool leases, struct trade_edge *edge)
{
	struct trade_edge folded;

	memset(&folded, 0, sizeof(folded));
	folded.dormant = edge->dormant;
	/* What a drain must know of a neighbour: that it was heard and takes more. */
	folded.priced = true;
	folded.head_ucpu = 1;
	folded.heard_at = trade_coarse(MODEL_NOW_NS);
	folded.peer_inc = setup->exact ? edge->peer_inc : edge->peer_inc != 0;
	folded.newest_seq = edge->newest_seq;
	folded.echo_seq = edge->echo_seq;
	/* What is old cannot renew a lease, as if it had not been heard at all. */
	if (folded.newest_seq == MODEL_SEQ_OLD)
		folded.newest_seq = 0;
	if (folded.echo_seq == MODEL_SEQ_OLD)
		folded.echo_seq = 0;
	if (leases)
		folded.heard_at = edge->heard_at;
	else
		folded.newest_seq = folded.echo_seq = folded.peer_inc != 0;
	if (!leases && !setup->exact)
		folded.newest_seq = folded.echo_seq = folded.peer_inc = 0;
	*edge = folded;
}

static void fold_lease(const struct model_setup *setup, uint32_t node, struct iso_trade *trade)
{
	struct iso_lease *lease = &trade->lease;
	bool valid = lease->deadline_ns > MODEL_NOW_NS;

	memset(lease->sent, 0, sizeof(lease->sent));
	lease->seq = trade->seq = MODEL_SEQ_NEW;
	lease->newest_ns = MODEL_NOW_NS;
	if (!model_leases(setup)) {
		trade->started_ns = MODEL_NOW_NS;
		return;
	}
	lease->sent[MODEL_SEQ_NEW] = (uint32_t)(MODEL_NOW_NS >> MODEL_LEASE_BITS);
	lease->sent[MODEL_SEQ_OLD] = (uint32_t)(MODEL_LONG_AGO_NS >> MODEL_LEASE_BITS);
	lease->deadline_ns = valid ? MODEL_NOW_NS + MODEL_LEASE_NS : MODEL_LONG_AGO_NS;
	if (node != MODEL_CANDIDATE)
		lease->deadline_ns = MODEL_NOW_NS + MODEL_LEASE_NS;
}

/* What would be undone is of use only while it can be. */
static void fold_op(const struct model_setup *setup, struct iso_trade *trade)
{
	bool can_undo = setup->full != 0 && trade->ledger->op.kind != 0;

	if (can_undo && trade->op_edge != UINT32_MAX) {
		bool leases = model_leases(setup) && trade->before_op.peer_inc != 0;

		fold_edge(setup, leases, &trade->before_op);
	} else {
		memset(&trade->before_op, 0, sizeof(trade->before_op));
	}
	if (can_undo)
		return;
	trade->op_kind = 0;
	trade->op_status = ISO_OK;
	trade->op_moved_ucpu = 0;
	trade->op_edge = 0;
	trade->closing_before = trade->leaving_before = trade->frozen_before = 0;
}

static void fold_prices(const struct model_setup *setup, uint32_t node)
{
	struct iso_trade *trade = model_trade(node);

	for (uint32_t k = 0; k < trade->edges_max; k++) {
		bool candidate = k < trade->ledger->edge_count &&
				 trade->ledger->edges[k].peer == model_id(MODEL_CANDIDATE);

		fold_edge(setup, model_leases(setup) && candidate, &trade->edges[k]);
	}
	fold_lease(setup, node, trade);
	memset(trade->drops, 0, sizeof(trade->drops));
	memset(&trade->offer, 0, sizeof(trade->offer));
	memset(&trade->gave, 0, sizeof(trade->gave));
	memset(&trade->cost, 0, sizeof(trade->cost));
	memset(&trade->box, 0, sizeof(trade->box));
	trade->cost.kind = ISO_COST_QUADRATIC;
	trade->cost.penalty = ISO_PENALTY_NONE;
	trade->cost.weight = 1;
	trade->cost.kappa = 1;
	trade->gave_edge = 0;
	trade->hold = false;
	trade->turn = 0;
	trade->now_ns = MODEL_NOW_NS;
	trade->head_ucpu = 0;
	trade->degree = 0;
	trade->received = 0;
	trade->enforced_ucpu = trade->before_ucpu = 0;
	trade->vouched = trade->withheld = 0;
	fold_op(setup, trade);
	if (trade->ended_gen == 0)
		trade->ended_edge = 0;
}

/* The configuration says generation 1; later ones come from the administrator alone. */
void model_make_process(const struct model_setup *setup, uint32_t node)
{
	/* Static and set by fields: what is copied to the memory has no padding left to chance. */
	static struct iso_trade_peer all_peers[MODEL_NODES][MODEL_EDGES];
	static struct iso_trade_config config;
	static int64_t limits[MODEL_EDGES];
	struct iso_trade_peer *peers = all_peers[node];
	struct iso_trade *trade;
	enum iso_status status;

	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		uint32_t peer = (node + 1 + k) % MODEL_NODES;

		peers[k].node = model_id(peer);
		peers[k].gen = 1;
		limits[k] = setup->limit != 0 ? setup->limit : INT64_MAX;
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
	config.lease = (struct iso_lease_params){ 0 };
	if (model_leases(setup))
		config.lease = (struct iso_lease_params){ .lease_ns = MODEL_LEASE_NS,
							  .promise_ns = MODEL_PROMISE_NS };
	config.edges_max = MODEL_EDGES;
	config.peers = peers;
	config.peer_count = MODEL_EDGES;
	config.limits_ucpu = limits;
	image_bytes = iso_trade_size(&config);
	assert(image_bytes > 0 && image_bytes <= MODEL_IMAGE_MAX);
	status = iso_trade_init(live[node].image, MODEL_IMAGE_MAX, &config, &trade);
	assert(status == ISO_OK);
	fold_prices(setup, node);
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

struct iso_ledger_config model_ledger_config(const struct model_setup *setup, uint32_t node)
{
	return (struct iso_ledger_config){ .cluster = MODEL_CLUSTER,
					   .node = model_id(node),
					   .epoch = MODEL_EPOCH,
					   .budget_ucpu = MODEL_NODES * setup->share,
					   .floor_ucpu = setup->floor,
					   .edges_max = MODEL_EDGES };
}

void model_node_init(const struct model_setup *setup)
{
	struct iso_record record;
	enum iso_status status = iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant);

	assert(status == ISO_OK);
	memset(live, 0, sizeof(live));
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		struct iso_ledger_config config = model_ledger_config(setup, i);

		model_make_process(setup, i);
		status = iso_ledger_genesis(&config, 1, setup->share, &record);
		assert(status == ISO_OK);
		model_make_journal(&live[i].outside, model_pack(&record));
		live[i].outside.enforced = setup->dark;
		live[i].outside.lease = model_leases(setup);
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

	fold_prices(setup, node);
	if (setup->exact)
		return;
	fold_numbers(&live[node].outside, ledger);
	trade->lease.inc = ledger->inc;
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		struct iso_ledger_edge *edge = &ledger->edges[k];
		bool arrived = (ledger->flags & ISO_NODE_LEAVING) != 0 && edge->unacked == 0;

		/* Only of use to one who leaves: has all arrived? */
		edge->unacked = arrived ? 0 : (uint32_t)edge->sent;
	}
	if (ledger->phase == ISO_LEDGER_IDLE)
		ledger->enforced_ucpu = ledger->ceiling_ucpu = 0;
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

	model_make_process(setup, node);
	outside->pc = MODEL_DOWN;
	outside->pending = 0;
	outside->op = outside->op_peer = 0;
	outside->op_moved = 0;
	memset(outside->amount, 0, sizeof(outside->amount));
	return true;
}

static int64_t holdings(const struct iso_ledger *ledger, bool durable)
{
	int64_t sum = ledger->endowment_ucpu;
	struct iso_record record;

	if (durable) {
		iso_ledger_durable(ledger, &record);
		return iso_record_holdings(&record);
	}
	for (uint32_t k = 0; k < ledger->edge_count; k++)
		sum += (int64_t)ledger->edges[k].received - (int64_t)ledger->edges[k].sent;
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

bool model_leased(const struct model_setup *setup, uint32_t node)
{
	return !model_leases(setup) || iso_trade_lease_deadline(model_trade(node)) > MODEL_NOW_NS;
}

/* What is enforced in the end, said in other words than lib/ledger's. */
static int8_t target_of(const struct model_setup *setup, uint32_t node)
{
	const struct iso_ledger *ledger = model_ledger(node);
	int64_t target = holdings(ledger, false);

	if (target > setup->ceiling)
		target = setup->ceiling;
	if ((ledger->halt != ISO_HALT_NONE || !model_leased(setup, node)) && target > setup->floor)
		target = setup->floor;
	return (int8_t)target;
}

static void add_memory(const struct model_setup *setup, uint32_t node,
		       struct model_summary *summary)
{
	const struct iso_ledger *ledger = model_ledger(node);

	if (ledger->phase == ISO_LEDGER_CLOSED)
		return;
	if (ledger->halt != ISO_HALT_NONE)
		summary->halt = (uint8_t)ledger->halt;
	summary->flags |= (uint8_t)ledger->flags;
	summary->equation = iso_ledger_holdings(ledger) == holdings(ledger, false) &&
			    iso_ledger_durable_holdings(ledger) == holdings(ledger, true);
	lower_to(&summary->share_least, holdings(ledger, false));
	lower_to(&summary->share_least, holdings(ledger, true));
	summary->share = (int8_t)holdings(ledger, false);
	summary->target = target_of(setup, node);
	summary->leased = summary->leased || (model_leases(setup) && model_leased(setup, node));
	summary->tombstone_gen = (uint8_t)model_trade(node)->tombstone_gen;
	if (summary->tombstone_gen != 0)
		summary->tombstone_for =
		    (uint8_t)model_of_id(ledger->edges[model_trade(node)->tombstone_edge].peer);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		const struct iso_ledger_edge *edge = &ledger->edges[k];
		const struct trade_edge *volatile_edge = &model_trade(node)->edges[k];
		uint32_t peer = model_of_id(edge->peer);

		if (peer == MODEL_CANDIDATE) {
			summary->lately = model_trade(node)->started_ns == MODEL_NOW_NS ||
					  volatile_edge->heard_at == trade_coarse(MODEL_NOW_NS);
			summary->closing = trade_bit(model_trade(node)->closing, k) ||
					   !iso_ledger_edge_credits(ledger, k);
		}
		summary->sent[peer] = (uint8_t)edge->sent;
		summary->edge_gen[peer] = (uint8_t)edge->peer_gen;
		summary->edge_flags[peer] = (uint8_t)edge->flags;
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
	summary->flags |= (uint8_t)record.flags;
	if (disk) {
		summary->endowment = (int8_t)record.endowment_ucpu;
		summary->share_disk = (int8_t)iso_record_holdings(&record);
		summary->inc_disk = (uint8_t)record.inc;
		summary->gen_disk = (uint8_t)record.gen;
		summary->halt_disk = (uint8_t)record.halt;
		summary->last_op_disk = (uint8_t)record.last_op;
		summary->last_moved_disk = (int8_t)record.last_op_ucpu;
		if (record.halt != ISO_HALT_NONE)
			summary->halt = (uint8_t)record.halt;
	}
	for (uint32_t k = 0; k < record.edge_count; k++) {
		uint32_t peer = model_of_id(record.edges[k].peer);

		if (disk) {
			summary->edge_gen_disk[peer] = (uint8_t)record.edges[k].peer_gen;
			summary->edge_flags_disk[peer] = (uint8_t)record.edges[k].flags;
			summary->sent_disk[peer] = (uint8_t)record.edges[k].sent;
			summary->received_disk[peer] = (uint8_t)record.edges[k].received;
		}
		raise_to(&summary->received_most[peer], record.edges[k].received);
	}
	return true;
}

void model_node_summary(const struct model_setup *setup, uint32_t node,
			struct model_summary *ret_summary)
{
	const struct model_outside *outside = &live[node].outside;

	*ret_summary = (struct model_summary){
		.pc = outside->pc,
		.enforced = outside->enforced,
		.unsynced = outside->unsynced != 0,
		.leased = outside->lease,
		.equation = true,
		.share_least = INT8_MAX,
	};
	add_memory(setup, node, ret_summary);
	ret_summary->damaged = !add_journal(outside->disk, node, true, ret_summary);
	(void)add_journal(outside->cache, node, false, ret_summary);
}
