/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "tests/model/node_private.h"

void model_write_back(struct model_outside *outside)
{
	for (uint32_t k = 0; k < 2; k++)
		if ((outside->unsynced & 1u << k) != 0)
			outside->disk[k] = outside->cache[k];
	outside->unsynced = 0;
}

bool model_stuck(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;
	int64_t readback = outside->enforced;
	struct iso_trade_plan plan;

	if (outside->pc != MODEL_LOWERING)
		return false;
	if (setup->mutant == MODEL_IGNORE_STUCK)
		readback = iso_ledger_limit(model_ledger(node));
	if (iso_trade_lowered(model_trade(node), readback) != ISO_OK)
		iso_trade_abort(model_trade(node), &plan);
	outside->pc = MODEL_READY;
	return true;
}

/*
 * The kernel reports the error once and takes the page for clean: what the
 * disk holds is unknown, the cache goes on showing the new bytes.
 */
bool model_sync_fails(const struct model_setup *setup, uint32_t node, enum model_write how)
{
	struct model_outside *outside = &model_live(node)->outside;

	if ((outside->pc != MODEL_WRITTEN && outside->pc != MODEL_READ) || outside->unsynced == 0)
		return false;
	for (uint32_t k = 0; k < 2; k++)
		if ((outside->unsynced & 1u << k) != 0)
			outside->disk[k] = model_written(outside->disk[k], &outside->cache[k], how);
	outside->unsynced = 0;
	if (setup->mutant != MODEL_SYNC_AGAIN)
		return model_die(setup, node);
	outside->pc = outside->pc == MODEL_WRITTEN ? MODEL_SYNCED : MODEL_OPENED;
	return true;
}

bool model_kill(const struct model_setup *setup, uint32_t node)
{
	uint8_t pc = model_live(node)->outside.pc;

	return pc != MODEL_DOWN && pc != MODEL_REFUSED && model_die(setup, node);
}

bool model_kill_writing(const struct model_setup *setup, uint32_t node, enum model_write how)
{
	struct model_outside *outside = &model_live(node)->outside;
	struct model_slot *slot, before;

	if (outside->pc != MODEL_READY || !iso_ledger_changed(model_ledger(node)))
		return false;
	slot = &outside->cache[(model_ledger(node)->seq + 1) % 2];
	before = *slot;
	if (!model_record(setup, node))
		return false;
	*slot = model_written(before, slot, how);
	return model_die(setup, node);
}

bool model_power(const struct model_setup *setup, uint32_t node, const enum model_write how[2])
{
	struct model_outside *outside = &model_live(node)->outside;

	if (outside->pc == MODEL_REFUSED)
		return false;
	for (uint32_t k = 0; k < 2; k++)
		if ((outside->unsynced & 1u << k) != 0)
			outside->disk[k] =
			    model_written(outside->disk[k], &outside->cache[k], how[k]);
	memcpy(outside->cache, outside->disk, sizeof(outside->cache));
	outside->unsynced = 0;
	outside->enforced = setup->dark;
	return model_die(setup, node);
}

/* Everything between two nodes that are at rest has arrived. */
static bool settled(uint32_t a, uint32_t b)
{
	const struct iso_ledger_edge *ab = &model_ledger(a)->edges[model_edge_to(a, b)];
	const struct iso_ledger_edge *ba = &model_ledger(b)->edges[model_edge_to(b, a)];

	return ab->sent == ba->received && ba->sent == ab->received;
}

/* The edge to a node that left is folded into the endowment of its neighbour. */
static void fold_edge(struct iso_record *record, uint32_t leaver)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < record->edge_count; k++) {
		struct iso_record_edge edge = record->edges[k];

		if (edge.peer == model_id(leaver))
			record->endowment_ucpu += (int64_t)(edge.received - edge.sent);
		else
			record->edges[kept++] = edge;
	}
	memset(&record->edges[kept], 0, (record->edge_count - kept) * sizeof(record->edges[0]));
	record->edge_count = kept;
}

bool model_rejoin(const struct model_setup *setup, uint32_t node)
{
	uint32_t gens[MODEL_NODES] = { 0 };
	struct iso_record record;

	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		if (model_live(i)->outside.pc != MODEL_IDLE || model_live(i)->outside.unsynced != 0)
			return false;
		gens[i] = model_ledger(i)->gen;
	}
	for (uint32_t k = 1; k < MODEL_NODES; k++)
		if (!settled(node, (node + k) % MODEL_NODES))
			return false;
	gens[node]++;
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		iso_ledger_durable(model_ledger(i), &record);
		if (i == node) {
			record.endowment_ucpu = iso_record_holdings(&record);
			record.gen++;
			record.inc = 0;
			record.edge_count = 0;
			memset(record.edges, 0, sizeof(record.edges));
		} else {
			fold_edge(&record, node);
		}
		model_make_journal(&model_live(i)->outside, model_pack(&record));
		model_make_process(setup, i, gens);
		model_live(i)->outside.pc = MODEL_DOWN;
	}
	return true;
}
