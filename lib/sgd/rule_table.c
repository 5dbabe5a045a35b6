/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule.h"

#include <assert.h>
#include <string.h>

#include "lib/sgd/rule_vector.h"

/*
 * The tables of malenia, ringleader and ia2sgd.  The sum over the workers' means is kept
 * up with each arrival, so that an update costs O(params) and not O(workers x params).
 * An entry holds gradients of one point: one of a newer point starts it anew, and what
 * was in it and had never been used counts as ignored.
 */

static float *mean_of(const struct iso_method *method, const struct iso_rule_table *table,
		      uint32_t worker)
{
	uint32_t params = method->config.params;

	return params == 0 ? NULL : table->means + (size_t)worker * params;
}

void iso_rule_table_clear(struct iso_method *method, struct iso_rule_table *table)
{
	size_t workers = method->config.workers, params = method->config.params;

	assert(method->totals.buffered >= table->fresh);
	method->totals.buffered -= table->fresh;
	method->totals.ignored += table->fresh;
	table->fresh = 0;
	table->fresh_versions = 0;
	table->filled = 0;
	memset(table->entries, 0, workers * sizeof(*table->entries));
	if (params > 0)
		memset(table->sum, 0, params * sizeof(*table->sum));
}

/* What the entry holds and nobody has used is given up. */
static void ignore(struct iso_method *method, struct iso_rule_table *table,
		   struct iso_rule_entry *entry)
{
	uint32_t fresh = iso_rule_fresh(table, entry);

	assert(table->fresh >= fresh);
	table->fresh -= fresh;
	table->fresh_versions -= fresh * entry->version;
	method->totals.buffered -= fresh;
	method->totals.ignored += fresh;
	entry->fresh = 0;
	entry->count = 0;
}

static void count_one(struct iso_method *method, struct iso_rule_table *table,
		      struct iso_rule_entry *entry, uint64_t version)
{
	assert(version <= method->totals.updates);
	entry->fresh = iso_rule_fresh(table, entry) + 1;
	entry->use = table->uses;
	entry->version = version;
	entry->count++;
	table->fresh++;
	table->fresh_versions += version;
	method->totals.buffered++;
}

void iso_rule_table_replace(struct iso_method *method, struct iso_rule_table *table,
			    const struct iso_method_arrival *arrival)
{
	struct iso_rule_entry *entry = &table->entries[arrival->worker];
	float *mean = mean_of(method, table, arrival->worker);

	if (entry->count == 0) {
		iso_vector_enter(mean, table->sum, arrival->gradient, method->config.params);
		table->filled++;
	} else {
		iso_vector_replace(mean, table->sum, arrival->gradient, method->config.params);
		ignore(method, table, entry);
	}
	assert(table->filled <= method->config.workers);
	count_one(method, table, entry, arrival->version);
}

void iso_rule_table_add(struct iso_method *method, struct iso_rule_table *table,
			const struct iso_method_arrival *arrival)
{
	struct iso_rule_entry *entry = &table->entries[arrival->worker];

	if (entry->count == 0 || entry->version != arrival->version) {
		iso_rule_table_replace(method, table, arrival);
		return;
	}
	iso_vector_mean(mean_of(method, table, arrival->worker), table->sum, arrival->gradient,
			method->config.params, entry->count + 1);
	count_one(method, table, entry, arrival->version);
}

void iso_rule_table_remove(struct iso_method *method, struct iso_rule_table *table, uint32_t worker)
{
	struct iso_rule_entry *entry = &table->entries[worker];

	if (entry->count == 0)
		return;
	iso_vector_subtract(table->sum, mean_of(method, table, worker), method->config.params);
	ignore(method, table, entry);
	assert(table->filled > 0);
	table->filled--;
}

void iso_rule_table_use(struct iso_method *method, struct iso_rule_table *table)
{
	assert(method->totals.buffered >= table->fresh);
	method->totals.buffered -= table->fresh;
	method->totals.used += table->fresh;
	method->totals.delay_sum += table->fresh * method->totals.updates - table->fresh_versions;
	table->fresh = 0;
	table->fresh_versions = 0;
	table->uses++;
}
