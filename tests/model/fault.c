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
	/* A burn is undone as if it had never come. */
	if (model_ledger(node)->last_op < outside->op)
		outside->op = outside->op_peer = 0;
	if (outside->op == 0)
		outside->op_moved = 0;
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

bool model_disk_full(const struct model_setup *setup, uint32_t node, uint8_t how,
		     struct model_answer *ret_answer)
{
	uint32_t number = (model_ledger(node)->seq + 1) % 2;
	struct model_outside *outside = &model_live(node)->outside;
	struct iso_ledger *ledger = model_ledger(node);
	struct model_slot *slot, before;
	struct iso_trade_plan plan;
	struct model_answer answer;

	if (outside->pc != MODEL_READY || !iso_ledger_changed(ledger))
		return false;
	slot = &outside->cache[number];
	before = *slot;
	if (!model_record(setup, node, &answer))
		return false;
	if (how >= MODEL_AT_SYNC) {
		outside->disk[number] = model_written(outside->disk[number], slot,
						      (enum model_write)(how - MODEL_AT_SYNC));
		*slot = before;
	} else {
		*slot = model_written(before, slot, (enum model_write)how);
	}
	if (setup->mutant == MODEL_FULL_GOES_ON) {
		outside->pc = MODEL_SYNCED;
		return model_commit(setup, node, ret_answer);
	}
	bool is_begun = iso_trade_undo(model_trade(node), &plan);
	assert(!plan.record && plan.credited_ucpu == 0 && plan.debited_ucpu == 0);
	if (ledger->last_op < outside->op)
		outside->op = outside->op_peer = 0;
	if (outside->op == 0)
		outside->op_moved = 0;
	outside->pc = is_begun ? MODEL_READY : MODEL_OPENED;
	return !is_begun || model_commit(setup, node, ret_answer);
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
	struct model_answer answer;

	if (outside->pc != MODEL_READY || !iso_ledger_changed(model_ledger(node)))
		return false;
	slot = &outside->cache[(model_ledger(node)->seq + 1) % 2];
	before = *slot;
	if (!model_record(setup, node, &answer))
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
	outside->lease = false;
	outside->enforced = setup->dark;
	return model_die(setup, node);
}

bool model_expire(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;

	model_trade(node)->lease.deadline_ns = MODEL_LONG_AGO_NS;
	outside->lease = false;
	if (outside->enforced > setup->floor)
		outside->enforced = setup->floor;
	return true;
}

/* The edge to the candidate, in memory; NULL: there is none, or no process. */
static struct trade_edge *edge_to_candidate(uint32_t node)
{
	struct iso_trade *trade = model_trade(node);
	uint32_t index;

	if (trade->ledger->phase == ISO_LEDGER_CLOSED ||
	    iso_ledger_find(trade->ledger, model_id(MODEL_CANDIDATE), &index) != ISO_OK)
		return NULL;
	return &trade->edges[index];
}

bool model_outdate(const struct model_setup *setup, uint32_t node)
{
	struct trade_edge *edge = edge_to_candidate(node);

	(void)setup;
	if (edge != NULL)
		edge->newest_seq = edge->echo_seq = 0;
	return true;
}

bool model_age(const struct model_setup *setup, uint32_t node)
{
	struct trade_edge *edge = edge_to_candidate(node);

	(void)setup;
	if (edge == NULL)
		return true;
	if (model_trade(node)->started_ns == MODEL_NOW_NS)
		model_trade(node)->started_ns = MODEL_BEFORE_NS;
	if (edge->heard_at == trade_coarse(MODEL_NOW_NS))
		edge->heard_at = trade_coarse(MODEL_BEFORE_NS);
	return true;
}

bool model_forget_promise(const struct model_setup *setup, uint32_t node)
{
	struct trade_edge *edge = edge_to_candidate(node);

	(void)setup;
	if (edge == NULL)
		return false;
	model_trade(node)->started_ns = MODEL_LONG_AGO_NS;
	if (edge->heard_at != 0)
		edge->heard_at = trade_coarse(MODEL_LONG_AGO_NS);
	return true;
}

bool model_switch_off(const struct model_setup *setup, uint32_t node)
{
	struct model_outside *outside = &model_live(node)->outside;

	memcpy(outside->cache, outside->disk, sizeof(outside->cache));
	outside->unsynced = 0;
	outside->lease = false;
	outside->enforced = 0;
	return model_die(setup, node);
}

bool model_replace(const struct model_setup *setup, uint32_t node)
{
	struct iso_ledger_config config = model_ledger_config(setup, node);
	struct iso_record record;
	enum iso_status status = iso_ledger_genesis(&config, 0, 0, &record);

	assert(status == ISO_OK);
	(void)model_die(setup, node);
	model_make_journal(&model_live(node)->outside, model_pack(&record));
	return true;
}
