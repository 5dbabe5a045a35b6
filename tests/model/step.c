/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "tests/model/node_private.h"

/* The others say what becomes of a price. */
#define FLAGS (ISO_EDGE_LEAVING | ISO_EDGE_FROZEN | ISO_EDGE_TOMBSTONE)

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
	if (outside->lease)
		iso_trade_lease_resume(model_trade(node), MODEL_NOW_NS + MODEL_LEASE_NS);
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

static struct iso_op unpack_op(const struct model_op *op)
{
	return (struct iso_op){
		.id = op->id,
		.kind = (enum iso_op_kind)op->kind,
		.gen = op->gen,
		.amount_ucpu = op->amount,
		.budget_ucpu = op->budget,
		.peer = op->peer_gen != 0 ? model_id(op->peer) : 0,
		.peer_gen = op->peer_gen,
		.sent = op->sent,
		.received = op->received,
		.on = op->on != 0,
	};
}

/* To be answered after the commit, if there is something to answer. */
static void note_op(struct model_outside *outside, const struct model_op *op,
		    const struct iso_ledger *ledger, enum iso_status status, int64_t moved)
{
	if (op->id == 0)
		return;
	if (status == ISO_E_STALE && ledger->last_op == op->id)
		moved = ledger->last_op_ucpu;
	else if (status != ISO_OK)
		return;
	outside->op = op->id;
	outside->op_peer = op->peer;
	outside->op_moved = (int8_t)moved;
}

/* The order of iso_trade_begin(), with other transfers than its prices would make. */
static bool begin_giving(const struct model_setup *setup, uint32_t node,
			 const uint8_t debits[MODEL_NODES], const struct iso_op *op)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_trade *trade = model_trade(node);
	struct iso_ledger *ledger = trade->ledger;
	int64_t ceiling = iso_trade_leased(trade) ? setup->ceiling : setup->floor;

	(void)iso_ledger_begin(ledger);
	iso_trade_apply(trade, op);
	iso_trade_freeze(trade);
	iso_trade_leave(trade);
	for (uint32_t peer = 0; peer < MODEL_NODES; peer++) {
		uint32_t index;

		if (debits[peer] == 0)
			continue;
		if (iso_ledger_find(ledger, model_id(peer), &index) != ISO_OK ||
		    !trade_edge_gives(trade, index) || debits[peer] > iso_ledger_room(ledger) ||
		    debits[peer] > iso_trade_limit_out(trade, index))
			return false;
		iso_ledger_debit(ledger, index, debits[peer]);
	}
	iso_ledger_plan(ledger, ceiling, outside->enforced);
	return true;
}

static void begin_by_price(const struct model_setup *setup, uint32_t node, const struct iso_op *op)
{
	struct iso_trade *trade = model_trade(node);
	const struct iso_trade_input input = { .now_ns = MODEL_NOW_NS,
					       .enforced_ucpu = model_live(node)->outside.enforced,
					       .ceiling_ucpu = setup->ceiling,
					       .cost = trade->cost,
					       .op = op };
	struct iso_trade_plan plan;
	enum iso_status status = iso_trade_begin(trade, &input, &plan);

	assert(status == ISO_OK);
	assert(plan.op_status == trade->op_status);
}

bool model_begin(const struct model_setup *setup, uint32_t node, const uint8_t debits[MODEL_NODES],
		 const struct model_op *op)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_trade *trade = model_trade(node);
	const struct iso_op unpacked = unpack_op(op);
	bool gives = false;

	if (outside->pc != MODEL_OPENED && outside->pc != MODEL_IDLE)
		return false;
	/* Sent first, and made durable before anything else. */
	if (setup->mutant == MODEL_SEND_EARLY && outside->pc == MODEL_IDLE &&
	    outside->unsynced != 0)
		return false;
	for (uint32_t peer = 0; peer < MODEL_NODES; peer++)
		gives = gives || debits[peer] != 0;
	if (!gives)
		begin_by_price(setup, node, op->id != 0 ? &unpacked : NULL);
	else if (!begin_giving(setup, node, debits, op->id != 0 ? &unpacked : NULL))
		return false;
	note_op(outside, op, trade->ledger, trade->op_status, trade->op_moved_ucpu);
	outside->pc = trade->ledger->phase == ISO_LEDGER_LOWERING ? MODEL_LOWERING : MODEL_READY;
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

/* As it would be answered from this record. */
static struct model_answer answer_from(const struct iso_record *record,
				       const struct model_outside *outside)
{
	struct model_answer answer = { .id = outside->op,
				       .moved = outside->op_moved,
				       .endowment = (int8_t)record->endowment_ucpu };

	for (uint32_t k = 0; k < record->edge_count; k++) {
		if (record->edges[k].peer != model_id(outside->op_peer))
			continue;
		answer.sent = (uint8_t)record->edges[k].sent;
		answer.received = (uint8_t)record->edges[k].received;
	}
	return answer;
}

bool model_record(const struct model_setup *setup, uint32_t node, struct model_answer *ret_answer)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_record record;

	if (outside->pc != MODEL_READY || !iso_ledger_changed(model_ledger(node)))
		return false;
	iso_trade_record(model_trade(node), &record);
	outside->cache[record.seq % 2] =
	    (struct model_slot){ model_pack(&record), (uint8_t)record.seq };
	outside->unsynced |= (uint8_t)(1u << record.seq % 2);
	outside->pc = MODEL_WRITTEN;
	if (setup->mutant == MODEL_ANSWER_EARLY)
		*ret_answer = answer_from(&record, outside);
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

/* What the shell answers, from the durable state; nothing more is under way then. */
static void give_answer(uint32_t node, struct model_answer *ret_answer)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_record record;

	if (outside->op != 0) {
		iso_ledger_durable(model_ledger(node), &record);
		*ret_answer = answer_from(&record, outside);
	}
	outside->op = outside->op_peer = 0;
	outside->op_moved = 0;
}

bool model_commit(const struct model_setup *setup, uint32_t node, struct model_answer *ret_answer)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_ledger *ledger = model_ledger(node);
	bool recorded = outside->pc == MODEL_SYNCED ||
			(outside->pc == MODEL_WRITTEN && setup->mutant == MODEL_SEND_EARLY);
	int64_t entitled;

	if (!recorded && (outside->pc != MODEL_READY ||
			  (iso_ledger_changed(ledger) && ledger->phase != ISO_LEDGER_UNDONE)))
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
	/* The guard is told of the deadline, and raises nothing above the floor beyond it. */
	outside->lease = model_leases(setup) && model_leased(setup, node);
	if (model_leases(setup) && !outside->lease && entitled > setup->floor &&
	    setup->mutant != MODEL_GUARD_RAISES)
		entitled = setup->floor;
	if (entitled > outside->enforced || setup->mutant == MODEL_LOWER_LATE)
		outside->enforced = (uint8_t)entitled;
	outside->pc = MODEL_IDLE;
	give_answer(node, ret_answer);
	return true;
}

bool model_admit(const struct model_setup *setup, uint32_t node, const struct model_op *op,
		 struct model_answer *ret_answer)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_ledger_config config = model_ledger_config(setup, node);
	struct iso_ledger_peer peers[MODEL_EDGES];
	struct iso_ledger_admission admission = { .id = op->id,
						  .gen = op->gen,
						  .endowment_ucpu = op->amount,
						  .budget_ucpu = op->budget,
						  .peers = peers };
	struct iso_record old, record;
	enum iso_status status;

	if (outside->pc != MODEL_IDLE)
		return false;
	for (uint32_t k = 0; k < MODEL_EDGES; k++)
		if (op->gens[k] != 0)
			peers[admission.peer_count++] =
			    (struct iso_ledger_peer){ model_id((node + 1 + k) % MODEL_NODES),
						      op->gens[k] };
	iso_ledger_durable(model_ledger(node), &old);
	status = iso_ledger_admit(&config, &old, &admission, &record);
	if (status == ISO_E_STALE && old.last_op == op->id) {
		outside->op = op->id;
		give_answer(node, ret_answer);
	}
	if (status != ISO_OK)
		return status == ISO_E_STALE;
	(void)model_die(setup, node);
	outside->cache[record.seq % 2] =
	    (struct model_slot){ model_pack(&record), (uint8_t)record.seq };
	outside->unsynced |= (uint8_t)(1u << record.seq % 2);
	outside->pc = MODEL_ADMITTED;
	outside->lease = false;
	outside->op = op->id;
	return true;
}

bool model_admitted(const struct model_setup *setup, uint32_t node, struct model_answer *ret_answer)
{
	struct model_outside *outside = &model_live(node)->outside;

	if (outside->pc != MODEL_ADMITTED)
		return false;
	model_write_back(outside);
	outside->pc = MODEL_DOWN;
	/* The shell closes and opens again with what it has just written. */
	if (!model_read(setup, node) || outside->pc != MODEL_READ)
		return false;
	outside->pc = MODEL_OPENED;
	give_answer(node, ret_answer);
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

	if (outside->pc != MODEL_IDLE ||
	    iso_ledger_find(model_ledger(node), model_id(peer), &index) != ISO_OK)
		return false;
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
		.flags = (uint8_t)frame.flags & FLAGS,
		.seq = (uint8_t)frame.seq,
		.echo_seq = (uint8_t)frame.echo_seq,
	};
	outside->pending &= (uint8_t) ~(1u << index);
	if (setup->mutant == MODEL_AMOUNTS)
		ret_message->sent = outside->amount[index];
	return true;
}

void model_message_fold(const struct model_setup *setup, struct model_message *message)
{
	message->received = 0;
	message->inc = 0;
	message->echo_inc = 0;
	if (!model_leases(setup))
		message->seq = message->echo_seq = 0;
	if (message->echo_seq == MODEL_SEQ_OLD)
		message->echo_seq = 0;
}

void model_message_unfold(const struct model_setup *setup, struct model_message *message,
			  const struct model_summary *sender, const struct model_summary *receiver,
			  uint32_t receiver_node)
{
	message->received = sender->received_disk[receiver_node];
	message->inc = 1;
	message->echo_inc = receiver->inc_disk;
	if (model_leases(setup))
		return;
	message->seq = MODEL_SEQ_OLD;
	message->echo_seq = message->echo_inc != 0;
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
		.seq = message->seq,
		.sent = message->sent,
		.received = message->received,
		.echo_inc = message->echo_seq != 0 ? message->echo_inc : 0,
		.echo_seq = message->echo_seq,
		.budget_ucpu = MODEL_NODES * setup->share,
		.degree = MODEL_EDGES,
		.flags = message->flags,
	};
	uint8_t bytes[ISO_EDGE_BYTES];

	uint8_t pc = model_live(node)->outside.pc;

	if (pc != MODEL_READ && pc != MODEL_OPENED && pc != MODEL_IDLE)
		return false;
	if (setup->mutant == MODEL_AMOUNTS)
		frame.sent += trade->ledger->edges[model_edge_to(node, peer)].received;
	iso_edge_encode(&frame, bytes);
	/* What it makes of the message is seen in its memory. */
	(void)!iso_trade_receive(trade, MODEL_NOW_NS, model_id(peer), bytes, sizeof(bytes));
	return true;
}
