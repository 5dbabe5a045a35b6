/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "tests/model/emit.h"

/* What is sent to a node that is off for ever is read by nobody. */
static void forget_channels(const struct expansion *from, uint32_t node, struct model_key *key)
{
	const struct model_channel empty = { 0 };

	for (uint32_t k = 0; k < MODEL_EDGES; k++)
		key->channel[model_channel_from(node, k)] =
		    model_keep_channel(from->cluster, &empty);
}

static void switch_power(const struct expansion *from, uint32_t node, bool off,
			 struct model_key *key)
{
	const struct model_request request = { .kind = off ? MODEL_SWITCHES_OFF : MODEL_REPLACES };

	key->node[node] = model_act(from->cluster, from->key, node, &request)->number;
	if (off && from->cluster->setup.script != MODEL_DECLARES_REJOINS)
		forget_channels(from, node, key);
}

/* a: of which procedure. */
static void try_order(const struct expansion *from, uint8_t track)
{
	const struct model_action action = { .kind = MODEL_ORDERS, .a = track };
	const struct model_summary *nodes[MODEL_NODES];
	struct model_world world = *model_world(from->cluster, from->key);
	struct model_key key = *from->key;
	uint8_t off = world.off;

	model_summaries(from->cluster, from->key, nodes);
	if (!model_order(&from->cluster->setup, &world, nodes, track))
		return;
	for (uint32_t i = 0; i < MODEL_NODES; i++)
		if (((world.off ^ off) & 1u << i) != 0)
			switch_power(from, i, (world.off & 1u << i) != 0, &key);
	key.world = model_keep_world(from->cluster, &world);
	from->fn(from->context, action, &key);
}

/* Of those that may be buried without being asked: it never starts again. */
static void try_die(const struct expansion *from)
{
	const struct model_action action = { .kind = MODEL_DIES, .node = MODEL_CANDIDATE };
	const struct model_summary *node = model_summary(from->cluster, from->key, MODEL_CANDIDATE);
	struct model_world world = *model_world(from->cluster, from->key);
	struct model_key key = *from->key;

	/* One who is let in again is there. */
	if (node->pc != MODEL_DOWN || (world.off & 1u << MODEL_CANDIDATE) != 0 ||
	    world.gen[MODEL_CANDIDATE] != 1)
		return;
	world.off |= 1u << MODEL_CANDIDATE;
	key.world = model_keep_world(from->cluster, &world);
	from->fn(from->context, action, &key);
}

/* Nobody renews the candidate's lease any more. */
static bool all_closing(const struct expansion *from)
{
	const struct model_world *world = model_world(from->cluster, from->key);

	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		const struct model_summary *node = model_summary(from->cluster, from->key, i);

		if (i != MODEL_CANDIDATE && (world->off & 1u << i) == 0 && !node->closing &&
		    node->halt == ISO_HALT_NONE)
			return false;
	}
	return true;
}

/* Something is not from before the newest lease ran out. */
static bool any_lately(const struct expansion *from)
{
	for (uint32_t i = 0; i < MODEL_NODES; i++)
		if (i != MODEL_CANDIDATE && model_summary(from->cluster, from->key, i)->lately)
			return true;
	return model_summary(from->cluster, from->key, MODEL_CANDIDATE)->leased;
}

static void try_lease_ends(const struct expansion *from)
{
	struct model_action action = { .kind = MODEL_LEASE_ENDS_SOON, .node = MODEL_CANDIDATE };
	struct model_request request = { .kind = MODEL_AGES };
	struct model_key key = *from->key;

	if (!any_lately(from))
		return;
	if (all_closing(from))
		action.kind = MODEL_LEASE_ENDS;
	else if (key.left[LEFT_DELAYS] == 0)
		return;
	else
		key.left[LEFT_DELAYS]--;
	model_outdate_all(from, &key);
	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		uint32_t peer = model_peer(MODEL_CANDIDATE, k);

		key.node[peer] = model_act(from->cluster, &key, peer, &request)->number;
	}
	request.kind = action.kind;
	model_emit(from, action, model_act(from->cluster, from->key, MODEL_CANDIDATE, &request),
		   &key);
}

/* Promises are longer than leases: what was promised just now ends after them. */
static void try_promise_ends(const struct expansion *from, uint32_t node)
{
	struct model_action action = { .kind = MODEL_PROMISE_ENDS_SOON, .node = (uint8_t)node };
	const struct model_summary *summary = model_summary(from->cluster, from->key, node);

	if (node == MODEL_CANDIDATE || summary->lately)
		return;
	if (summary->closing)
		action.kind = MODEL_PROMISE_ENDS;
	else if (from->cluster->setup.delays == 0)
		return;
	model_try_action(from, action, from->key);
}

void model_expand_world(const struct expansion *from)
{
	for (uint8_t track = 0; track < MODEL_TRACKS; track++)
		try_order(from, track);
	if (!model_leases(&from->cluster->setup))
		return;
	try_die(from);
	try_lease_ends(from);
	for (uint32_t i = 0; i < MODEL_NODES; i++)
		try_promise_ends(from, i);
}
