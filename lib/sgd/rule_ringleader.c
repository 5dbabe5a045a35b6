/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule.h"

#include <assert.h>

/*
 * ringleader (arXiv 2509.22860): data is heterogeneous, and no gradient is thrown away.
 * A table has the mean of each worker's gradients.  A round is
 *
 *      phase 1: until every worker has an entry, arrivals go into it; a worker continues
 *              at the point it last received.
 *      phase 2: exactly one update for each worker.  The one that completed the table is first;
 *              then each arrival of a worker without its update goes into the table, x moves by
 *              -gamma (1/n) sum of the means, and the worker is given the new point.  What comes
 *              from the others is kept in a second table, and they continue at their point.
 *      Then the second table becomes the first.
 *
 * So an entry holds gradients of one point, and delays are at most 2n - 2.
 *
 * Who comes and goes.  A newcomer is waited for in phase 1; in phase 2 it waits in the
 * second table for the next round.  The entries of a leaver stay in the mean until their
 * round is over and are then gone by themselves; it gets no update.  If a worker comes
 * back it starts at the current point, and its entry anew: what was in it and had never
 * been used counts as ignored.
 *
 * A worker that has nothing left in flight in phase 2, as its work was lost, has its update
 * made at once with the entry it has: nobody waits for it.
 *
 * Threads.  A worker that runs several computations at once has all of them at one point.
 * In phase 2 those at the old point go into the table as they come, their threads wait, and
 * the last of them is the arrival that its update waits for; then all start at the new
 * point.  So no thread works in vain, and the bound on the delay stays.
 *
 * Capped: a worker starts at most a_i + 1 in a round.  The last of them is kept for its new
 * point, so that it begins the next round with an entry, or with one on its way; one that has
 * nothing in flight when phase 2 begins has its update at once.  A worker without an entry and
 * without a computation (the first round, a newcomer) may start one that is not counted.
 */

static bool is_collecting(const struct iso_method *method)
{
	return !method->updating;
}

/* How many the worker may start now. */
static uint32_t allowed(const struct iso_method *method, uint32_t index)
{
	const struct iso_rule_worker *worker = &method->workers[index];

	if (worker->expected)
		return 0;
	if (!method->config.capped)
		return worker->depth;
	if (method->updating)
		return worker->tasks;
	return worker->tasks > 0 ? worker->tasks - 1 : 0;
}

static void refill(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = &method->workers[index];
	uint32_t free_slots = iso_rule_free(worker);
	uint32_t starts = allowed(method, index);

	if (method->between)
		return;
	if (starts > free_slots)
		starts = free_slots;
	if (method->config.capped)
		worker->tasks -= starts;
	if (starts == 0 && iso_rule_outstanding(worker) == 0 && is_collecting(method) &&
	    method->table.entries[index].count == 0)
		starts = 1;
	iso_rule_start(method, index, starts);
}

static void update_for(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = &method->workers[index];
	uint64_t delay = method->totals.updates - method->oldest;

	assert(method->updating);
	assert(worker->expected);
	assert(method->updates_left > 0);
	if (delay > method->totals.delay_max)
		method->totals.delay_max = delay;
	iso_rule_table_use(method, &method->table);
	iso_rule_update(method, method->table.sum, method->table.filled);
	worker->expected = false;
	method->updates_left--;
	worker->point = method->totals.updates;
	worker->has_point = false;
}

/* All that it had at its old point is in. */
static void update_if_idle(struct iso_method *method, uint32_t index)
{
	const struct iso_rule_worker *worker = &method->workers[index];

	if (!worker->expected || iso_rule_outstanding(worker) > 0)
		return;
	update_for(method, index);
	refill(method, index);
}

static void find_oldest(struct iso_method *method)
{
	method->oldest = method->totals.updates;
	for (uint32_t i = 0; i < method->config.workers; i++) {
		const struct iso_rule_entry *entry = &method->table.entries[i];

		if (entry->count > 0 && entry->version < method->oldest)
			method->oldest = entry->version;
	}
}

/* Phase 2; first the update for the worker that completed the table, if it was one. */
static void open_updates(struct iso_method *method, uint32_t first)
{
	assert(method->missing == 0);
	method->updating = true;
	method->updates_left = method->present;
	find_oldest(method);
	for (uint32_t i = 0; i < method->config.workers; i++)
		method->workers[i].expected = iso_rule_present(&method->workers[i]);
	if (first != ISO_RULE_NONE)
		update_if_idle(method, first);
	for (uint32_t i = 0; method->config.capped && i < method->config.workers; i++)
		update_if_idle(method, i);
}

static void next_round(struct iso_method *method)
{
	struct iso_rule_table old = method->table;

	assert(method->updates_left == 0);
	method->table = method->table_next;
	iso_rule_table_clear(method, &old);
	method->table_next = old;
	method->updating = false;
	method->missing = 0;
	for (uint32_t i = 0; i < method->config.workers; i++)
		if (iso_rule_present(&method->workers[i]) && method->table.entries[i].count == 0)
			method->missing++;
	method->totals.rounds++;
	method->between = method->config.capped;
}

/*
 * After each event: what follows from the table's state.  A full table opens phase 2 with
 * the next arrival; if that may be long or never, because the cap leaves workers idle, at
 * once.  Not so after a leave, which may be one half of a worker's restart.
 */
static void settle(struct iso_method *method, bool begun)
{
	if (is_collecting(method)) {
		if (method->between || method->missing > 0 || method->present == 0)
			return;
		if (!begun && iso_rule_outstanding_all(method) > 0)
			return;
		open_updates(method, ISO_RULE_NONE);
	}
	if (method->updates_left == 0)
		next_round(method);
}

static void ringleader_join(struct iso_method *method, uint32_t worker)
{
	if (is_collecting(method) && method->table.entries[worker].count == 0)
		method->missing++;
	refill(method, worker);
	settle(method, false);
}

static void ringleader_leave(struct iso_method *method, uint32_t index, uint32_t gone)
{
	struct iso_rule_worker *worker = &method->workers[index];

	(void)gone;
	worker->tasks = 0;
	if (is_collecting(method) && method->table.entries[index].count == 0)
		method->missing--;
	if (worker->expected) {
		worker->expected = false;
		method->updates_left--;
	}
	settle(method, false);
}

static void ringleader_begin(struct iso_method *method, const uint32_t *tasks)
{
	assert(is_collecting(method));
	for (uint32_t i = 0; i < method->config.workers; i++) {
		struct iso_rule_worker *worker = &method->workers[i];

		if (!iso_rule_present(worker))
			continue;
		assert(tasks[i] < UINT32_MAX);
		worker->tasks = tasks[i] + 1;
		refill(method, i);
	}
	settle(method, true);
}

static void ringleader_lost(struct iso_method *method, uint32_t index, uint32_t count)
{
	if (method->config.capped)
		method->workers[index].tasks += count;
	refill(method, index);
	update_if_idle(method, index);
	settle(method, false);
}

/* Into the table of this round; the first entry of a worker may open phase 2. */
static void collect(struct iso_method *method, const struct iso_method_arrival *arrival)
{
	uint32_t worker = arrival->worker;
	const struct iso_rule_entry *entry = &method->table.entries[worker];
	bool newer = entry->version != arrival->version;

	if (is_collecting(method) && entry->count == 0)
		method->missing--;
	iso_rule_table_add(method, &method->table, arrival);
	if (is_collecting(method)) {
		if (method->missing == 0 && !method->between)
			open_updates(method, worker);
		return;
	}
	if (newer) /* it had come back */
		find_oldest(method);
	update_if_idle(method, worker);
}

static enum iso_method_verdict ringleader_arrive(struct iso_method *method,
						 const struct iso_method_arrival *arrival)
{
	const struct iso_rule_worker *worker = &method->workers[arrival->worker];
	uint64_t updates = method->totals.updates;

	assert(arrival->version == worker->point);
	if (method->updating && !worker->expected)
		iso_rule_table_add(method, &method->table_next, arrival);
	else
		collect(method, arrival);
	refill(method, arrival->worker);
	settle(method, false);
	return method->totals.updates == updates ? ISO_METHOD_BUFFERED : ISO_METHOD_USED;
}

const struct iso_rule iso_rule_ringleader = {
	.join = ringleader_join,
	.leave = ringleader_leave,
	.begin = ringleader_begin,
	.arrive = ringleader_arrive,
	.lost = ringleader_lost,
	.refill = refill,
	.table = true,
	.table_next = true,
	.last_point = true,
};
