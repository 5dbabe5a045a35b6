/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/emit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct model_key model_spend(const struct expansion *from, enum model_left what, uint8_t count)
{
	struct model_key key = *from->key;

	assert(key.left[what] >= count);
	key.left[what] -= count;
	return key;
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

static void outdate_message(const struct model_setup *setup, bool by_candidate,
			    struct model_message *message)
{
	if (by_candidate)
		message->seq = MODEL_SEQ_OLD;
	else if (message->echo_seq != 0)
		message->echo_seq = setup->late != 0 ? MODEL_SEQ_OLD : 0;
}

/* What the candidate has sent until now renews no lease any more, whoever has it. */
void model_outdate_all(const struct expansion *from, struct model_key *key)
{
	const struct model_request request = { .kind = MODEL_OUTDATES };

	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		uint32_t peer = model_peer(MODEL_CANDIDATE, k);
		uint32_t indices[2] = { model_channel_index(MODEL_CANDIDATE, k),
					model_channel_from(MODEL_CANDIDATE, k) };

		key->node[peer] = model_act(from->cluster, key, peer, &request)->number;
		for (uint32_t n = 0; n < 2; n++) {
			const struct model_channel *before =
			    model_channel(from->cluster, key, indices[n]);
			struct model_channel after = { 0 };

			for (uint8_t m = 0; m < before->count; m++) {
				struct model_message message = before->messages[m];

				outdate_message(&from->cluster->setup, n == 0, &message);
				if (message.sent != 0 || message.flags != 0 ||
				    message.echo_seq != 0)
					put_message(&after, &message);
			}
			key->channel[indices[n]] = model_keep_channel(from->cluster, &after);
		}
	}
}

/*
 * One that says nothing changes nobody, unless it renews a lease or is answered
 * with a tombstone; and nobody reads what is sent to one who is off for ever.
 */
static bool matters(const struct expansion *from, uint32_t node, uint32_t peer,
		    const struct model_message *message)
{
	const struct model_setup *setup = &from->cluster->setup;

	if ((model_world(from->cluster, from->key)->off & 1u << peer) != 0 &&
	    setup->script != MODEL_DECLARES_REJOINS)
		return false;
	if (message->sent != 0 || message->flags != 0)
		return true;
	return model_leases(setup) &&
	       (node == MODEL_CANDIDATE ||
		(peer == MODEL_CANDIDATE && message->echo_seq == MODEL_SEQ_NEW));
}

/* The message to the k-th peer is on its way from now on. */
bool model_send_to(const struct expansion *from, uint32_t node, uint32_t k, struct model_key *key)
{
	const struct model_setup *setup = &from->cluster->setup;
	uint32_t index = model_channel_index(node, k);
	const struct model_request request = { .kind = MODEL_SENDS,
					       .a = (uint8_t)model_peer(node, k) };
	const struct model_outcome *outcome = model_act(from->cluster, key, node, &request);
	struct model_message message = outcome->message;
	struct model_channel channel;

	if (outcome->number == MODEL_IMPOSSIBLE ||
	    (!setup->exact && !matters(from, node, model_peer(node, k), &message)))
		return false;
	if (!setup->exact)
		model_message_fold(setup, &message);
	channel = *model_channel(from->cluster, key, index);
	put_message(&channel, &message);
	key->node[node] = outcome->number;
	key->channel[index] = model_keep_channel(from->cluster, &channel);
	return true;
}

/* A step of a tick, or of a start. */
static bool of_tick(struct model_action action)
{
	static const bool steps[MODEL_KINDS] = {
		[MODEL_READS] = true,	[MODEL_RESYNCS] = true,	   [MODEL_TICKS] = true,
		[MODEL_GIVES] = true,	[MODEL_LOWERS] = true,	   [MODEL_RECORDS] = true,
		[MODEL_SYNCS] = true,	[MODEL_COMMITS] = true,	   [MODEL_ADMITS] = true,
		[MODEL_REOPENS] = true, [MODEL_TICKS_MUTE] = true, [MODEL_COMES_LATE] = true,
	};

	return steps[action.kind];
}

/*
 * Whoever ends a tick sends at once.  That is no less than to send later or
 * not at all: no message need ever arrive.
 */
static void send_all(const struct expansion *from, struct model_action action,
		     struct model_key *key)
{
	uint8_t pc = model_summary(from->cluster, key, action.node)->pc;

	if (from->cluster->setup.script == MODEL_NO_SCRIPT || pc != MODEL_IDLE || !of_tick(action))
		return;
	for (uint32_t k = 0; k < MODEL_EDGES; k++)
		(void)model_send_to(from, action.node, k, key);
}

/* The candidate's process has ended, or its life: a later one cannot use what this one sent. */
static bool starts_anew(const struct expansion *from, struct model_action action,
			const struct model_key *next)
{
	uint8_t before, after;

	if (!model_leases(&from->cluster->setup) || action.node != MODEL_CANDIDATE)
		return false;
	before = model_summary(from->cluster, from->key, MODEL_CANDIDATE)->pc;
	after = model_summary(from->cluster, next, MODEL_CANDIDATE)->pc;
	return before != after && (after == MODEL_DOWN || after == MODEL_ADMITTED);
}

/* The node makes a step; everything else of the key is as it shall be. */
void model_emit(const struct expansion *from, struct model_action action,
		const struct model_outcome *outcome, const struct model_key *key)
{
	struct model_key next = *key;

	next.node[action.node] = outcome->number;
	if (starts_anew(from, action, &next))
		model_outdate_all(from, &next);
	send_all(from, action, &next);
	if (memcmp(&next, from->key, sizeof(next)) != 0)
		from->fn(from->context, action, &next);
}

/* Also the same with an answer that reaches the administrator; then a is 1. */
static void emit_answered(const struct expansion *from, struct model_action action,
			  const struct model_outcome *outcome, const struct model_key *key)
{
	struct model_world world = *model_world(from->cluster, key);
	struct model_key next = *key;

	model_emit(from, action, outcome, key);
	if (outcome->answer.id == 0)
		return;
	model_answered(&from->cluster->setup, &world, action.node, &outcome->answer);
	next.world = model_keep_world(from->cluster, &world);
	if (next.world == key->world)
		return;
	action.a = 1;
	model_emit(from, action, outcome, &next);
}

/* The only step that a node in the middle of something can make, if nobody disturbs it. */
static enum model_kind step_after(enum model_pc pc, bool can_commit)
{
	switch (pc) {
	case MODEL_READ: return MODEL_RESYNCS;
	case MODEL_OPENED: return MODEL_TICKS;
	case MODEL_LOWERING: return MODEL_LOWERS;
	case MODEL_READY: return can_commit ? MODEL_COMMITS : MODEL_RECORDS;
	case MODEL_WRITTEN: return MODEL_SYNCS;
	case MODEL_SYNCED: return MODEL_COMMITS;
	case MODEL_ADMITTED: return MODEL_REOPENS;
	case MODEL_DOWN:
	case MODEL_IDLE:
	case MODEL_REFUSED: break;
	}
	return 0;
}

/*
 * When no fault is left that could hit a node in the middle of a tick or of its start,
 * that is one step: nothing of it is seen by the others before its end.
 */
static bool undisturbed(const struct expansion *from, const struct model_key *key)
{
	return from->cluster->setup.script != MODEL_NO_SCRIPT && key->left[LEFT_CRASHES] == 0 &&
	       key->left[LEFT_STUCK] == 0 && key->left[LEFT_FAILURES] == 0 &&
	       key->left[LEFT_FULL] == 0;
}

static void run_on(const struct expansion *from, uint32_t node, const struct model_key *key,
		   struct model_outcome *outcome)
{
	struct model_key next = *key;
	bool can_commit = false;

	for (;;) {
		struct model_request request = { 0 };
		const struct model_outcome *step;

		next.node[node] = outcome->number;
		request.kind =
		    step_after(model_summary(from->cluster, &next, node)->pc, can_commit);
		if (request.kind == 0)
			return;
		step = model_act(from->cluster, &next, node, &request);
		can_commit = step->number == MODEL_IMPOSSIBLE;
		if (can_commit)
			continue;
		outcome->number = step->number;
		if (step->answer.id != 0)
			outcome->answer = step->answer;
	}
}

/* key: with what the step costs already spent. */
void model_try(const struct expansion *from, struct model_action action, const struct model_op *op,
	       const struct model_key *key)
{
	struct model_request request = { .kind = action.kind, .a = action.a, .b = action.b };
	struct model_outcome outcome;

	if (op != NULL) {
		request.op = *op;
		action.op = op->id;
	}
	outcome = *model_act(from->cluster, from->key, action.node, &request);
	if (outcome.number == MODEL_IMPOSSIBLE)
		return;
	if (undisturbed(from, key) && of_tick(action))
		run_on(from, action.node, key, &outcome);
	emit_answered(from, action, &outcome, key);
}

void model_try_action(const struct expansion *from, struct model_action action,
		      const struct model_key *key)
{
	model_try(from, action, NULL, key);
}

void model_try_step(const struct expansion *from, uint32_t node, enum model_kind kind)
{
	model_try_action(
	    from, (struct model_action){ .kind = (uint8_t)kind, .node = (uint8_t)node }, from->key);
}
