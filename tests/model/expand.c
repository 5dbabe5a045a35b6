/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "lib/wire/edge.h"
#include "tests/model/emit.h"

/* Whether the channel has this tombstone already. */
static bool tombstone_sent(const struct expansion *from, uint32_t node, uint32_t peer, uint8_t gen)
{
	uint32_t k = model_peer(node, 0) == peer ? 0 : 1;
	const struct model_channel *channel =
	    model_channel(from->cluster, from->key, model_channel_index(node, k));

	for (uint8_t n = 0; n < channel->count; n++)
		if ((channel->messages[n].flags & ISO_EDGE_TOMBSTONE) != 0 &&
		    channel->messages[n].destination_gen == gen)
			return true;
	return false;
}

/* It has a tombstone to send, and begins the next tick before it has. */
static bool is_mute(const struct expansion *from, uint32_t node)
{
	const struct model_summary *summary = model_summary(from->cluster, from->key, node);

	return summary->tombstone_gen != 0 &&
	       !tombstone_sent(from, node, summary->tombstone_for, summary->tombstone_gen) &&
	       (model_world(from->cluster, from->key)->off & 1u << summary->tombstone_for) == 0;
}

/* a, b: given to the first and second peer. */
static void try_tick(const struct expansion *from, uint32_t node, const struct model_op *op)
{
	const struct model_setup *setup = &from->cluster->setup;

	for (uint8_t a = 0; a <= setup->debit_max; a++)
		for (uint8_t b = 0; b <= setup->debit_max; b++) {
			struct model_action action = { MODEL_TICKS, (uint8_t)node, a, b, 0 };
			uint8_t count = (uint8_t)((a > 0) + (b > 0));
			struct model_key key;

			if (count > from->key->left[LEFT_DEBITS])
				continue;
			if (count != 0)
				action.kind = MODEL_GIVES;
			else if (is_mute(from, node))
				action.kind = MODEL_TICKS_MUTE;
			key = model_spend(from, LEFT_DEBITS, count);
			model_try(from, action, op, &key);
		}
}

/* What the administrator asks of a node, and has asked of it. */
static void try_ops(const struct expansion *from, uint32_t node)
{
	const struct model_world *world = model_world(from->cluster, from->key);

	for (uint8_t k = 0; k < world->op_count; k++) {
		const struct model_op op = world->ops[k];
		struct model_action action = { .kind = MODEL_COMES_LATE, .node = (uint8_t)node };

		if (op.node != node)
			continue;
		if (op.kind == MODEL_OP_ADMIT) {
			action.kind = MODEL_ADMITS;
			if (world->pending[node] == op.id)
				model_try(from, action, &op, from->key);
		} else if (world->pending[node] == op.id) {
			try_tick(from, node, &op);
		} else if (from->cluster->setup.late) {
			model_try(from, action, &op, from->key);
		}
	}
}

/* a: to which peer. */
static void try_send(const struct expansion *from, uint32_t node)
{
	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		const struct model_action action = { MODEL_SENDS, (uint8_t)node,
						     (uint8_t)model_peer(node, k), 0, 0 };
		struct model_key key = *from->key;

		if (model_send_to(from, node, k, &key) && memcmp(&key, from->key, sizeof(key)) != 0)
			from->fn(from->context, action, &key);
	}
}

/* It takes nothing from such a life, but tells it once more. */
static bool is_ghost(const struct expansion *from, uint32_t node, uint32_t peer,
		     const struct model_message *message)
{
	const struct model_summary *summary = model_summary(from->cluster, from->key, node);
	uint8_t ended = ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FOLDED;

	if (message->source_gen > summary->edge_gen[peer])
		return false;
	if (message->source_gen == summary->edge_gen[peer] &&
	    (summary->edge_flags[peer] & ended) == 0)
		return false;
	return tombstone_sent(from, node, peer, message->source_gen) ||
	       (model_world(from->cluster, from->key)->off & 1u << peer) != 0;
}

/* a: from which peer, b: its S. */
static void try_message(const struct expansion *from, uint32_t node, uint32_t peer,
			struct model_message message)
{
	struct model_request request = { .kind = MODEL_RECEIVES, .a = (uint8_t)peer };
	const struct model_outcome *outcome;

	if (!from->cluster->setup.exact)
		model_message_unfold(&from->cluster->setup, &message,
				     model_summary(from->cluster, from->key, peer),
				     model_summary(from->cluster, from->key, node), node);
	if (is_ghost(from, node, peer, &message))
		request.kind = MODEL_HEARS_AGAIN;
	request.message = message;
	outcome = model_act(from->cluster, from->key, node, &request);
	if (outcome->number == MODEL_IMPOSSIBLE)
		return;
	model_emit(
	    from,
	    (struct model_action){ request.kind, (uint8_t)node, (uint8_t)peer, message.sent, 0 },
	    outcome, from->key);
}

static void try_receive(const struct expansion *from, uint32_t node)
{
	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		struct model_channel channel =
		    *model_channel(from->cluster, from->key, model_channel_from(node, k));

		for (uint8_t n = 0; n < channel.count; n++)
			try_message(from, node, model_peer(node, k), channel.messages[n]);
	}
}

/* a, b: what became of either slot. */
static void try_power(const struct expansion *from, uint32_t node)
{
	uint8_t ways = from->cluster->setup.torn ? MODEL_WRITES : MODEL_LOST + 1;
	struct model_key key = model_spend(from, LEFT_CRASHES, 1);

	if (!model_summary(from->cluster, from->key, node)->unsynced)
		ways = MODEL_WHOLE + 1;
	for (uint8_t a = 0; a < ways; a++)
		for (uint8_t b = 0; b < ways; b++)
			model_try_action(
			    from, (struct model_action){ MODEL_POWER_LOST, (uint8_t)node, a, b, 0 },
			    &key);
}

/* a: which half was written. */
static void try_halves(const struct expansion *from, uint32_t node, enum model_kind kind)
{
	uint8_t ways = from->cluster->setup.torn ? MODEL_WRITES : MODEL_LOST + 1;
	bool fails = kind == MODEL_SYNC_FAILS;
	struct model_key key = model_spend(from, fails ? LEFT_FAILURES : LEFT_CRASHES, 1);

	for (uint8_t how = fails ? MODEL_LOST : MODEL_HEAD; how < ways; how++)
		model_try_action(
		    from, (struct model_action){ (uint8_t)kind, (uint8_t)node, how, 0, 0 }, &key);
}

/*
 * a: what the page cache has of the record: none, as is said.  Should it have some of it,
 * or two attempts make a whole one, or should fdatasync have said so and the disk have it,
 * it is durable that a node owns less than it enforces, until it starts again; but
 * even that does not change the sum.
 */
static void try_full(const struct expansion *from, uint32_t node)
{
	bool only_sum = from->cluster->setup.only_sum;
	struct model_key key = model_spend(from, LEFT_FULL, 1);
	struct model_action action = { MODEL_DISK_FULL, (uint8_t)node, MODEL_LOST, 0, 0 };

	if (!only_sum) {
		model_try_action(from, action, &key);
		return;
	}
	for (action.a = 0; action.a < MODEL_AT_SYNC + MODEL_WRITES; action.a++)
		model_try_action(from, action, &key);
}

static void try_faults(const struct expansion *from, uint32_t node)
{
	const uint8_t *left = from->key->left;
	uint8_t pc = model_summary(from->cluster, from->key, node)->pc;
	struct model_key key;

	if (left[LEFT_STUCK] > 0 && pc == MODEL_LOWERING) {
		key = model_spend(from, LEFT_STUCK, 1);
		model_try_action(
		    from, (struct model_action){ MODEL_STICKS, (uint8_t)node, 0, 0, 0 }, &key);
	}
	if (left[LEFT_FAILURES] > 0 && (pc == MODEL_WRITTEN || pc == MODEL_READ))
		try_halves(from, node, MODEL_SYNC_FAILS);
	if (left[LEFT_FULL] > 0 && pc == MODEL_READY)
		try_full(from, node);
	if (left[LEFT_CRASHES] == 0)
		return;
	key = model_spend(from, LEFT_CRASHES, 1);
	model_try_action(from, (struct model_action){ MODEL_KILLED, (uint8_t)node, 0, 0, 0 }, &key);
	if (pc == MODEL_READY)
		try_halves(from, node, MODEL_KILLED_WRITING);
	try_power(from, node);
}

/* a: of the messages to which peer. */
static void try_erase(const struct expansion *from, uint32_t node)
{
	const struct model_channel empty = { 0 };

	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		uint32_t index = model_channel_index(node, k);
		struct model_action action = { MODEL_ERASES, (uint8_t)node,
					       (uint8_t)model_peer(node, k), 0, 0 };

		if (model_channel(from->cluster, from->key, index)->count == 0)
			continue;

		struct model_key key = model_spend(from, LEFT_LOSSES, 1);

		key.channel[index] = model_keep_channel(from->cluster, &empty);
		from->fn(from->context, action, &key);
	}
}

static void expand_node(const struct expansion *from, uint32_t node)
{
	const struct model_setup *setup = &from->cluster->setup;

	if ((model_world(from->cluster, from->key)->off & 1u << node) != 0)
		return;
	switch ((enum model_pc)model_summary(from->cluster, from->key, node)->pc) {
	case MODEL_DOWN: model_try_step(from, node, MODEL_READS); break;
	case MODEL_READ:
		model_try_step(from, node, MODEL_RESYNCS);
		try_receive(from, node);
		break;
	case MODEL_OPENED:
		try_tick(from, node, NULL);
		try_receive(from, node);
		break;
	case MODEL_IDLE:
		try_tick(from, node, NULL);
		try_ops(from, node);
		try_send(from, node);
		try_receive(from, node);
		/* By mutants only. */
		if (setup->mutant == MODEL_SEND_UNLOWERED)
			model_try_step(from, node, MODEL_LOWERS);
		if (setup->mutant == MODEL_SEND_EARLY)
			model_try_step(from, node, MODEL_SYNCS);
		break;
	case MODEL_LOWERING: model_try_step(from, node, MODEL_LOWERS); break;
	case MODEL_READY:
		model_try_step(from, node, MODEL_RECORDS);
		model_try_step(from, node, MODEL_COMMITS);
		break;
	case MODEL_WRITTEN:
		model_try_step(from, node, MODEL_SYNCS);
		if (setup->mutant == MODEL_RAISE_EARLY)
			model_try_step(from, node, MODEL_RAISES_EARLY);
		if (setup->mutant == MODEL_SEND_EARLY)
			model_try_step(from, node, MODEL_COMMITS);
		break;
	case MODEL_SYNCED: model_try_step(from, node, MODEL_COMMITS); break;
	case MODEL_ADMITTED: model_try_step(from, node, MODEL_REOPENS); break;
	case MODEL_REFUSED: break;
	}
	try_faults(from, node);
}

void model_expand(struct model_cluster *cluster, const struct model_key *key, model_next_fn *fn,
		  void *context)
{
	const struct expansion from = { cluster, key, fn, context };

	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		expand_node(&from, i);
		if (key->left[LEFT_LOSSES] > 0)
			try_erase(&from, i);
	}
	model_expand_world(&from);
}
