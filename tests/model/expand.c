/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/act.h"

/* One state whose successors are being made. */
struct expansion {
	struct model_cluster *cluster;
	const struct model_key *key;
	model_next_fn *fn;
	void *context;
};

static struct model_key spend(const struct expansion *from, enum model_left what, uint8_t count)
{
	struct model_key key = *from->key;

	assert(key.left[what] >= count);
	key.left[what] -= count;
	return key;
}

/* The node makes a step; everything else of the key is as it shall be. */
static void emit(const struct expansion *from, struct model_action action,
		 const struct model_outcome *outcome, const struct model_key *key)
{
	struct model_key next = *key;

	next.node[action.node] = outcome->number;
	if (memcmp(&next, from->key, sizeof(next)) != 0)
		from->fn(from->context, action, &next);
}

/* key: with what the step costs already spent. */
static void try_action(const struct expansion *from, struct model_action action,
		       const struct model_key *key)
{
	const struct model_request request = { .kind = action.kind, .a = action.a, .b = action.b };
	const struct model_outcome *outcome =
	    model_act(from->cluster, from->key, action.node, &request);

	if (outcome->number != MODEL_IMPOSSIBLE)
		emit(from, action, outcome, key);
}

static void try_step(const struct expansion *from, uint32_t node, enum model_kind kind)
{
	try_action(from, (struct model_action){ (uint8_t)kind, (uint8_t)node, 0, 0 }, from->key);
}

/* a, b: given to the first and second peer. */
static void try_tick(const struct expansion *from, uint32_t node)
{
	const struct model_setup *setup = &from->cluster->setup;

	for (uint8_t a = 0; a <= setup->debit_max; a++)
		for (uint8_t b = 0; b <= setup->debit_max; b++) {
			uint8_t count = (uint8_t)((a > 0) + (b > 0));
			uint8_t kind = count == 0 ? MODEL_TICKS : MODEL_GIVES;
			struct model_key key;

			if (count > from->key->left[LEFT_DEBITS])
				continue;
			key = spend(from, LEFT_DEBITS, count);
			try_action(from, (struct model_action){ kind, (uint8_t)node, a, b }, &key);
		}
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct model_message));
}

static void put_message(struct model_channel *channel, const struct model_message *message)
{
	for (uint8_t k = 0; k < channel->count; k++)
		if (compare(&channel->messages[k], message) == 0)
			return;
	assert(channel->count < MODEL_CHANNEL_MAX);
	channel->messages[channel->count++] = *message;
	qsort(channel->messages, channel->count, sizeof(*message), compare);
}

/* a: to which peer. */
static void try_send(const struct expansion *from, uint32_t node)
{
	bool exact = from->cluster->setup.exact;

	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		uint32_t index = model_channel_index(node, k);
		const struct model_request request = { .kind = MODEL_SENDS,
						       .a = (uint8_t)model_peer(node, k) };
		struct model_key key = *from->key;
		const struct model_outcome *outcome =
		    model_act(from->cluster, from->key, node, &request);
		struct model_message message = outcome->message;
		struct model_channel channel;

		if (outcome->number == MODEL_IMPOSSIBLE)
			continue;
		/* One that says nothing changes nobody. */
		if (!exact && message.sent == 0)
			continue;
		if (!exact)
			model_message_fold(&message);
		channel = *model_channel(from->cluster, from->key, index);
		put_message(&channel, &message);
		key.channel[index] = model_keep_channel(from->cluster, &channel);
		emit(from,
		     (struct model_action){ MODEL_SENDS, (uint8_t)node, request.a, 0 }, outcome,
		     &key);
	}
}

/* a: from which peer, b: its S. */
static void try_message(const struct expansion *from, uint32_t node, uint32_t peer,
			struct model_message message)
{
	struct model_request request = { .kind = MODEL_RECEIVES, .a = (uint8_t)peer };
	const struct model_outcome *outcome;

	if (!from->cluster->setup.exact)
		model_message_unfold(&message, model_summary(from->cluster, from->key, peer),
				     model_summary(from->cluster, from->key, node), node);
	request.message = message;
	outcome = model_act(from->cluster, from->key, node, &request);
	if (outcome->number != MODEL_IMPOSSIBLE)
		emit(from,
		     (struct model_action){ MODEL_RECEIVES, (uint8_t)node, (uint8_t)peer,
					    message.sent },
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
	struct model_key key = spend(from, LEFT_CRASHES, 1);

	if (!model_summary(from->cluster, from->key, node)->unsynced)
		ways = MODEL_WHOLE + 1;
	for (uint8_t a = 0; a < ways; a++)
		for (uint8_t b = 0; b < ways; b++)
			try_action(from,
				   (struct model_action){ MODEL_POWER_LOST, (uint8_t)node, a, b },
				   &key);
}

/* a: which half was written. */
static void try_halves(const struct expansion *from, uint32_t node, enum model_kind kind)
{
	uint8_t ways = from->cluster->setup.torn ? MODEL_WRITES : MODEL_LOST + 1;
	bool fails = kind == MODEL_SYNC_FAILS;
	struct model_key key = spend(from, fails ? LEFT_FAILURES : LEFT_CRASHES, 1);

	for (uint8_t how = fails ? MODEL_LOST : MODEL_HEAD; how < ways; how++)
		try_action(from, (struct model_action){ (uint8_t)kind, (uint8_t)node, how, 0 },
			   &key);
}

static void try_faults(const struct expansion *from, uint32_t node)
{
	const uint8_t *left = from->key->left;
	uint8_t pc = model_summary(from->cluster, from->key, node)->pc;
	struct model_key key;

	if (left[LEFT_STUCK] > 0 && pc == MODEL_LOWERING) {
		key = spend(from, LEFT_STUCK, 1);
		try_action(from, (struct model_action){ MODEL_STICKS, (uint8_t)node, 0, 0 }, &key);
	}
	if (left[LEFT_FAILURES] > 0 && (pc == MODEL_WRITTEN || pc == MODEL_READ))
		try_halves(from, node, MODEL_SYNC_FAILS);
	if (left[LEFT_CRASHES] == 0)
		return;
	key = spend(from, LEFT_CRASHES, 1);
	try_action(from, (struct model_action){ MODEL_KILLED, (uint8_t)node, 0, 0 }, &key);
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
					       (uint8_t)model_peer(node, k), 0 };

		if (model_channel(from->cluster, from->key, index)->count == 0)
			continue;

		struct model_key key = spend(from, LEFT_LOSSES, 1);

		key.channel[index] = model_keep_channel(from->cluster, &empty);
		from->fn(from->context, action, &key);
	}
}

/* The last node only: which of them makes no difference. */
static void try_rejoin(const struct expansion *from)
{
	struct model_action action = { MODEL_REJOINS, MODEL_NODES - 1, 0, 0 };
	struct model_key key = spend(from, LEFT_REJOINS, 1);

	for (uint32_t i = 0; i < MODEL_NODES; i++)
		memcpy(model_live(i), pool_get(&from->cluster->nodes[i], from->key->node[i]),
		       from->cluster->nodes[i].size);
	if (!model_rejoin(&from->cluster->setup, MODEL_NODES - 1))
		return;
	for (uint32_t i = 0; i < MODEL_NODES; i++)
		key.node[i] = model_keep_node(from->cluster, i);
	from->fn(from->context, action, &key);
}

static void expand_node(const struct expansion *from, uint32_t node)
{
	const struct model_setup *setup = &from->cluster->setup;

	switch ((enum model_pc)model_summary(from->cluster, from->key, node)->pc) {
	case MODEL_DOWN: try_step(from, node, MODEL_READS); break;
	case MODEL_READ:
		try_step(from, node, MODEL_RESYNCS);
		try_receive(from, node);
		break;
	case MODEL_OPENED:
		try_tick(from, node);
		try_receive(from, node);
		break;
	case MODEL_IDLE:
		try_tick(from, node);
		try_send(from, node);
		try_receive(from, node);
		/* By mutants only. */
		if (setup->mutant == MODEL_SEND_UNLOWERED)
			try_step(from, node, MODEL_LOWERS);
		if (setup->mutant == MODEL_SEND_EARLY)
			try_step(from, node, MODEL_SYNCS);
		break;
	case MODEL_LOWERING: try_step(from, node, MODEL_LOWERS); break;
	case MODEL_READY:
		try_step(from, node, MODEL_RECORDS);
		try_step(from, node, MODEL_COMMITS);
		break;
	case MODEL_WRITTEN:
		try_step(from, node, MODEL_SYNCS);
		if (setup->mutant == MODEL_RAISE_EARLY)
			try_step(from, node, MODEL_RAISES_EARLY);
		if (setup->mutant == MODEL_SEND_EARLY)
			try_step(from, node, MODEL_COMMITS);
		break;
	case MODEL_SYNCED: try_step(from, node, MODEL_COMMITS); break;
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
	if (key->left[LEFT_REJOINS] > 0)
		try_rejoin(&from);
}
