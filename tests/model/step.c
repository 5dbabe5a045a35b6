/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "tests/model/node_private.h"

bool model_read(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_record record;
	enum iso_status status;

	if (outside->pc != MODEL_DOWN)
		return false;
	if (model_recover(outside->cache, node, &record) != ISO_OK) {
		outside->pc = MODEL_REFUSED;
		return true;
	}
	status = iso_trade_open(model_trade(node), &record);
	assert(status == ISO_OK);
	outside->pc = MODEL_READ;
	if (setup->mutant == MODEL_TRUST_CACHE || setup->mutant == MODEL_NO_RESYNC)
		outside->pc = MODEL_OPENED;
	return true;
}

bool model_resync(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;

	(void)setup;
	if (outside->pc != MODEL_READ)
		return false;
	model_write_back(outside);
	outside->pc = MODEL_OPENED;
	return true;
}

bool model_begin(const struct model_setup *setup, uint32_t node, const uint8_t debits[MODEL_NODES])
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_ledger *ledger = model_ledger(node);

	if (outside->pc != MODEL_OPENED && outside->pc != MODEL_IDLE)
		return false;
	/* Sent first, and made durable before anything else. */
	if (setup->mutant == MODEL_SEND_EARLY && outside->pc == MODEL_IDLE &&
	    outside->unsynced != 0)
		return false;
	(void)iso_ledger_begin(ledger);
	for (uint32_t peer = 0; peer < MODEL_NODES; peer++) {
		if (debits[peer] == 0)
			continue;
		if (debits[peer] > iso_ledger_room(ledger))
			return false;
		iso_ledger_debit(ledger, model_edge_to(node, peer), debits[peer]);
	}
	iso_ledger_plan(ledger, setup->ceiling, outside->enforced);
	outside->pc = ledger->phase == ISO_LEDGER_LOWERING ? MODEL_LOWERING : MODEL_READY;
	return true;
}

static bool only_tells(const struct model_setup *setup)
{
	return setup->mutant == MODEL_SEND_UNLOWERED || setup->mutant == MODEL_LOWER_LATE;
}

bool model_lower(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;
	int64_t limit = iso_ledger_limit(model_ledger(node));

	/* What was only said to be done is done at last. */
	if (setup->mutant == MODEL_SEND_UNLOWERED && outside->pc == MODEL_IDLE &&
	    outside->enforced > limit) {
		outside->enforced = (uint8_t)limit;
		return true;
	}
	if (outside->pc != MODEL_LOWERING)
		return false;

	enum iso_status status = iso_trade_lowered(model_trade(node), limit);

	assert(status == ISO_OK);
	if (!only_tells(setup))
		outside->enforced = (uint8_t)limit;
	outside->pc = MODEL_READY;
	return true;
}

bool model_record(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_record record;

	(void)setup;
	if (outside->pc != MODEL_READY || !iso_ledger_changed(model_ledger(node)))
		return false;
	iso_trade_record(model_trade(node), &record);
	outside->cache[record.seq % 2] =
	    (struct model_slot){ model_pack(&record), (uint8_t)record.seq };
	outside->unsynced |= (uint8_t)(1u << record.seq % 2);
	outside->pc = MODEL_WRITTEN;
	return true;
}

bool model_sync(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;

	if (setup->mutant == MODEL_SEND_EARLY && outside->pc == MODEL_IDLE &&
	    outside->unsynced != 0) {
		model_write_back(outside);
		return true;
	}
	if (outside->pc != MODEL_WRITTEN || setup->mutant == MODEL_SEND_EARLY)
		return false;
	model_write_back(outside);
	outside->pc = MODEL_SYNCED;
	return true;
}

bool model_raise_early(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;
	int64_t target = iso_ledger_target(model_ledger(node));

	if (setup->mutant != MODEL_RAISE_EARLY || outside->pc != MODEL_WRITTEN ||
	    target <= outside->enforced)
		return false;
	outside->enforced = (uint8_t)target;
	return true;
}

bool model_commit(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_ledger *ledger = model_ledger(node);
	bool recorded = outside->pc == MODEL_SYNCED ||
			(outside->pc == MODEL_WRITTEN && setup->mutant == MODEL_SEND_EARLY);
	int64_t entitled;

	if (!recorded && (outside->pc != MODEL_READY || iso_ledger_changed(ledger)))
		return false;
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		uint8_t debit = (uint8_t)ledger->edges[k].debit;

		if (setup->mutant == MODEL_AMOUNTS && debit != 0)
			outside->amount[k] = debit;
		if (setup->mutant == MODEL_NO_RETRANSMISSION && debit != 0)
			outside->pending |= (uint8_t)(1u << k);
	}
	entitled = iso_trade_commit(model_trade(node), ledger->seq + recorded);
	assert(entitled >= 0 && entitled <= 3 * setup->share);
	if (entitled > outside->enforced || setup->mutant == MODEL_LOWER_LATE)
		outside->enforced = (uint8_t)entitled;
	outside->pc = MODEL_IDLE;
	return true;
}

bool model_message(const struct model_setup *setup, uint32_t node, uint32_t peer,
		   struct model_message *ret_message)
{
	struct model_outside *outside = &model_live(node)->outside;
	uint32_t index;
	uint8_t bytes[ISO_EDGE_BYTES];
	struct iso_edge_frame frame;
	enum iso_status status;
	uint64_t to;

	if (outside->pc != MODEL_IDLE)
		return false;
	index = model_edge_to(node, peer);
	if (setup->mutant == MODEL_NO_RETRANSMISSION && (outside->pending & 1u << index) == 0)
		return false;
	if (iso_trade_message(model_trade(node), index, &to, bytes) != ISO_OK)
		return false;
	assert(to == model_id(peer));
	status = iso_edge_decode(bytes, sizeof(bytes), &frame);
	assert(status == ISO_OK);
	*ret_message = (struct model_message){
		.source_gen = (uint8_t)frame.source_gen,
		.destination_gen = (uint8_t)frame.destination_gen,
		.sent = (uint8_t)frame.sent,
		.received = (uint8_t)frame.received,
		.inc = (uint8_t)frame.inc,
		.echo_inc = (uint8_t)frame.echo_inc,
	};
	outside->pending &= (uint8_t) ~(1u << index);
	if (setup->mutant == MODEL_AMOUNTS)
		ret_message->sent = outside->amount[index];
	return true;
}

void model_message_fold(struct model_message *message)
{
	message->received = 0;
	message->inc = 0;
	message->echo_inc = 0;
}

void model_message_unfold(struct model_message *message, const struct model_summary *sender,
			  const struct model_summary *receiver, uint32_t receiver_node)
{
	message->received = sender->received_disk[receiver_node];
	message->inc = 1;
	message->echo_inc = receiver->inc_disk;
}

bool model_receive(const struct model_setup *setup, uint32_t node, uint32_t peer,
		   const struct model_message *message)
{
	struct iso_trade *trade = model_trade(node);
	struct iso_edge_frame frame = {
		.cluster = MODEL_CLUSTER,
		.epoch = MODEL_EPOCH,
		.digest = trade->digest,
		.source = model_id(peer),
		.destination = model_id(node),
		.source_gen = message->source_gen,
		.destination_gen = message->destination_gen,
		.inc = message->inc,
		.seq = 1,
		.sent = message->sent,
		.received = message->received,
		.echo_inc = message->echo_inc,
		.echo_seq = message->echo_inc != 0,
		.budget_ucpu = trade->ledger->budget_ucpu,
		.degree = MODEL_EDGES,
	};
	uint8_t bytes[ISO_EDGE_BYTES];

	uint8_t pc = model_live(node)->outside.pc;

	if (pc != MODEL_READ && pc != MODEL_OPENED && pc != MODEL_IDLE)
		return false;
	if (setup->mutant == MODEL_AMOUNTS)
		frame.sent += trade->ledger->edges[model_edge_to(node, peer)].received;
	iso_edge_encode(&frame, bytes);
	/* What it makes of the message is seen in its memory. */
	(void)!iso_trade_receive(trade, 0, model_id(peer), bytes, sizeof(bytes));
	return true;
}
