/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/act.h"

#include <assert.h>
#include <string.h>

#include "tests/model/node_private.h"

/*
 * A tick with nothing to lower or to write is one step: between its begin and
 * its commit nobody could see a difference.  If it raises nothing either, it is none.
 */
static bool tick(const struct model_setup *setup, uint32_t node,
		 const struct model_request *request, struct model_answer *ret_answer)
{
	const struct model_outside *outside = &model_live(node)->outside;
	uint8_t debits[MODEL_NODES] = { 0 }, enforced = outside->enforced;
	bool idle = outside->pc == MODEL_IDLE;

	debits[model_peer(node, 0)] = request->a;
	debits[model_peer(node, 1)] = request->b;
	if (!model_begin(setup, node, debits, &request->op))
		return false;
	if (!idle || outside->pc != MODEL_READY || iso_ledger_changed(model_ledger(node)))
		return true;
	if (!model_commit(setup, node, ret_answer))
		return false;
	return !setup->exact || outside->enforced != enforced;
}

static bool lose_power(const struct model_setup *setup, uint32_t node,
		       const struct model_request *request)
{
	const enum model_write how[2] = { request->a, request->b };
	uint8_t unsynced = model_live(node)->outside.unsynced;

	/* What is not unsynced is whole. */
	for (uint32_t k = 0; k < 2; k++)
		if ((unsynced & 1u << k) == 0 && how[k] != MODEL_WHOLE)
			return false;
	return model_power(setup, node, how);
}

static bool perform(const struct model_setup *setup, uint32_t node,
		    const struct model_request *request, struct model_outcome *outcome)
{
	switch ((enum model_kind)request->kind) {
	case MODEL_READS: return model_read(setup, node);
	case MODEL_RESYNCS: return model_resync(setup, node);
	case MODEL_TICKS:
	case MODEL_TICKS_MUTE:
	case MODEL_GIVES:
	case MODEL_COMES_LATE: return tick(setup, node, request, &outcome->answer);
	case MODEL_LOWERS: return model_lower(setup, node);
	case MODEL_RECORDS: return model_record(setup, node, &outcome->answer);
	case MODEL_SYNCS: return model_sync(setup, node);
	case MODEL_RAISES_EARLY: return model_raise_early(setup, node);
	case MODEL_COMMITS: return model_commit(setup, node, &outcome->answer);
	case MODEL_SENDS: return model_message(setup, node, request->a, &outcome->message);
	case MODEL_RECEIVES:
	case MODEL_HEARS_AGAIN: return model_receive(setup, node, request->a, &request->message);
	case MODEL_STICKS: return model_stuck(setup, node);
	case MODEL_SYNC_FAILS: return model_sync_fails(setup, node, request->a);
	case MODEL_DISK_FULL:
		return model_disk_full(setup, node, request->a, &outcome->answer);
	case MODEL_KILLED: return model_kill(setup, node);
	case MODEL_KILLED_WRITING: return model_kill_writing(setup, node, request->a);
	case MODEL_POWER_LOST: return lose_power(setup, node, request);
	case MODEL_ADMITS: return model_admit(setup, node, &request->op, &outcome->answer);
	case MODEL_REOPENS: return model_admitted(setup, node, &outcome->answer);
	case MODEL_SWITCHES_OFF: return model_switch_off(setup, node);
	case MODEL_REPLACES: return model_replace(setup, node);
	case MODEL_LEASE_ENDS:
	case MODEL_LEASE_ENDS_SOON: return model_expire(setup, node);
	case MODEL_PROMISE_ENDS_SOON:
	case MODEL_PROMISE_ENDS: return model_forget_promise(setup, node);
	case MODEL_AGES: return model_age(setup, node);
	case MODEL_OUTDATES: return model_outdate(setup, node);
	case MODEL_ORDERS:
	case MODEL_DIES:
	case MODEL_ERASES:
	case MODEL_KINDS: break;
	}
	assert(!"a step of one node");
	return false;
}

static struct model_outcome *room_for_outcome(struct model_cluster *cluster)
{
	if (cluster->outcomes_max < cluster->requests.capacity) {
		cluster->outcomes_max = cluster->requests.capacity;
		cluster->outcomes = pool_resize(cluster->outcomes, cluster->outcomes_max,
						sizeof(*cluster->outcomes));
	}
	return cluster->outcomes;
}

const struct model_outcome *model_act(struct model_cluster *cluster, const struct model_key *key,
				      uint32_t node, const struct model_request *request)
{
	const struct pool *pool = &cluster->nodes[node];
	struct model_asked asked;
	struct model_outcome outcome = { .number = MODEL_IMPOSSIBLE };
	uint32_t number;
	bool added;

	memset(&asked, 0, sizeof(asked));
	asked.from = key->node[node];
	asked.node = (uint8_t)node;
	asked.kind = request->kind;
	asked.a = request->a;
	asked.b = request->b;
	asked.message = request->message;
	asked.op = request->op;
	number = pool_find(&cluster->requests, &asked);
	if (number != POOL_NONE)
		return &cluster->outcomes[number];
	memcpy(model_live(node), pool_get(pool, asked.from), pool->size);
	if (perform(&cluster->setup, node, request, &outcome))
		outcome.number = model_keep_node(cluster, node);
	number = pool_add(&cluster->requests, &asked, &added);
	room_for_outcome(cluster)[number] = outcome;
	return &cluster->outcomes[number];
}
