/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule.h"

#include <assert.h>

/*
 * ia2sgd (Ringleader section 3.3): a table of the latest gradient of each worker.  Until every
 * present worker has an entry, all compute at x^0 and a newer gradient replaces the
 * older.  From then on each arrival replaces its worker's entry, x -= gamma mean(table), and the
 * worker starts at the new x.
 *
 * The mean is over the entries there are.  A worker that comes later counts from its first
 * gradient on, and nobody waits for it; that of a leaver is forgotten at once.  Entries from
 * a saved state are kept for workers that come back within two updates for each entry,
 * then those of absent workers are forgotten.
 */

static void update(struct iso_method *method, uint64_t version)
{
	uint64_t delay = method->totals.updates - version;

	if (delay > method->totals.delay_max)
		method->totals.delay_max = delay;
	iso_rule_table_use(method, &method->table);
	iso_rule_update(method, method->table.sum, method->table.filled);
}

static void forget_absent(struct iso_method *method)
{
	if (method->forget_at == 0 || method->totals.updates < method->forget_at)
		return;
	method->forget_at = 0;
	for (uint32_t i = 0; i < method->config.workers; i++)
		if (!iso_rule_present(&method->workers[i]))
			iso_rule_table_remove(method, &method->table, i);
}

static void ia2sgd_join(struct iso_method *method, uint32_t worker)
{
	if (method->table.entries[worker].count == 0)
		method->missing++;
	iso_rule_fill(method, worker);
}

static void ia2sgd_leave(struct iso_method *method, uint32_t worker, uint32_t gone)
{
	(void)gone;
	if (method->table.entries[worker].count == 0)
		method->missing--;
	iso_rule_table_remove(method, &method->table, worker);
	if (method->table.filled == 0)
		method->updating = false;
}

static enum iso_method_verdict ia2sgd_arrive(struct iso_method *method,
					     const struct iso_method_arrival *arrival)
{
	const struct iso_rule_entry *entry = &method->table.entries[arrival->worker];
	enum iso_method_verdict verdict = ISO_METHOD_BUFFERED;

	if (entry->count > 0 && arrival->version < entry->version) {
		/* With several threads: not the latest. */
		iso_rule_fill(method, arrival->worker);
		return ISO_METHOD_IGNORED;
	}
	if (entry->count == 0)
		method->missing--;
	iso_rule_table_replace(method, &method->table, arrival);
	if (method->missing == 0)
		method->updating = true;
	if (method->updating) {
		update(method, arrival->version);
		forget_absent(method);
		verdict = ISO_METHOD_USED;
	}
	iso_rule_fill(method, arrival->worker);
	return verdict;
}

const struct iso_rule iso_rule_ia2sgd = {
	.join = ia2sgd_join,
	.leave = ia2sgd_leave,
	.arrive = ia2sgd_arrive,
	.lost = iso_rule_fill_lost,
	.refill = iso_rule_fill,
	.table = true,
};
