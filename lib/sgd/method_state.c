/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/method.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/sgd/rule.h"

/*
 * The durable state as bytes, little-endian:
 *
 *      head    magic, version, kind, workers, params, flags: 4 each
 *      totals  11 numbers of 8 (those of enum total, below)
 *      x       params doubles
 *      and with a table (ringleader, ia2sgd):
 *      entries how many follow, 8
 *      sum     params doubles
 *      entry   worker, count, fresh, 0: 4 each; version 8; params floats; by rising worker
 *
 * Of ringleader's two tables it is the one whose gradients are still to be used: in phase 2
 * that of the next round, so that a resumed run begins in a phase 1.  The sum is kept as
 * it is, not added up again, so that a resumed run has the same x to the last bit.
 */

#define MAGIC         0x4d4f5349u /* "ISOM" */
#define STATE_VERSION 1u
#define FLAG_UPDATING 1u /* ia2sgd: its table was full once */
#define HEAD_BYTES    (6 * 4)
#define ENTRY_BYTES   (4 * 4 + 8)
/* So that no sum of two counts overflows. */
#define COUNT_MAX ((uint64_t)1 << 62)

enum total {
	ROUNDS,
	UPDATES,
	STARTED,
	USED,
	BUFFERED,
	IGNORED,
	STOPPED,
	LOST,
	LATE,
	DELAY_MAX,
	DELAY_SUM,
	TOTALS,
};

static const struct iso_rule_table *kept_table(const struct iso_method *method)
{
	if (!method->rule->table || method->rule->same_point)
		return NULL;
	return method->rule->table_next && method->updating ? &method->table_next : &method->table;
}

static size_t bytes_for(const struct iso_method *method, uint64_t entries)
{
	size_t params = method->config.params;
	size_t bytes = HEAD_BYTES + TOTALS * 8 + params * 8;

	if (kept_table(method) != NULL)
		bytes += 8 + params * 8 + entries * (ENTRY_BYTES + params * 4);
	return bytes;
}

size_t iso_method_state_bytes(const struct iso_method *method)
{
	const struct iso_rule_table *table = kept_table(method);

	return bytes_for(method, table == NULL ? 0 : table->filled);
}

static void put_u32(uint8_t **at, uint32_t value)
{
	iso_put_le(*at, value, 4);
	*at += 4;
}

static void put_u64(uint8_t **at, uint64_t value)
{
	iso_put_le(*at, value, 8);
	*at += 8;
}

static void put_doubles(uint8_t **at, const double *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put_u64(at, iso_bits_of_double(values[i]));
}

static void put_floats(uint8_t **at, const float *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		put_u32(at, bits);
	}
}

/* What will never arrive after a restore is lost; so is what no table of the state holds. */
static void put_totals(uint8_t **at, const struct iso_method *method)
{
	const struct iso_method_totals *totals = &method->totals;
	const struct iso_rule_table *table = kept_table(method);
	uint64_t buffered = table == NULL ? 0 : table->fresh;

	assert(totals->buffered >= buffered);
	const uint64_t values[TOTALS] = {
		[ROUNDS] = totals->rounds,
		[UPDATES] = totals->updates,
		[STARTED] = totals->started,
		[USED] = totals->used,
		[BUFFERED] = buffered,
		[IGNORED] = totals->ignored,
		[STOPPED] = totals->stopped,
		[LOST] = totals->lost + totals->in_flight + (totals->buffered - buffered),
		[LATE] = totals->late,
		[DELAY_MAX] = totals->delay_max,
		[DELAY_SUM] = totals->delay_sum,
	};
	for (unsigned i = 0; i < TOTALS; i++)
		put_u64(at, values[i]);
}

static void put_table(uint8_t **at, const struct iso_method *method,
		      const struct iso_rule_table *table)
{
	uint32_t params = method->config.params;

	put_u64(at, table->filled);
	put_doubles(at, table->sum, params);
	for (uint32_t i = 0; i < method->config.workers; i++) {
		const struct iso_rule_entry *entry = &table->entries[i];

		if (entry->count == 0)
			continue;
		put_u32(at, i);
		put_u32(at, entry->count);
		put_u32(at, iso_rule_fresh(table, entry));
		put_u32(at, 0);
		put_u64(at, entry->version);
		if (params > 0)
			put_floats(at, table->means + (size_t)i * params, params);
	}
}

void iso_method_save(const struct iso_method *method, uint8_t *ret_bytes)
{
	const struct iso_rule_table *table = kept_table(method);
	bool warm = method->config.kind == ISO_METHOD_IA2SGD && method->updating;
	uint8_t *at = ret_bytes;

	put_u32(&at, MAGIC);
	put_u32(&at, STATE_VERSION);
	put_u32(&at, method->config.kind);
	put_u32(&at, method->config.workers);
	put_u32(&at, method->config.params);
	put_u32(&at, warm ? FLAG_UPDATING : 0);
	put_totals(&at, method);
	put_doubles(&at, method->x, method->config.params);
	if (table != NULL)
		put_table(&at, method, table);
	assert(at == ret_bytes + iso_method_state_bytes(method));
}

static uint32_t get_u32(const uint8_t **at)
{
	*at += 4;
	return (uint32_t)iso_get_le(*at - 4, 4);
}

static uint64_t get_u64(const uint8_t **at)
{
	*at += 8;
	return iso_get_le(*at - 8, 8);
}

static double get_double(const uint8_t **at)
{
	return iso_double_of_bits(get_u64(at));
}

static float get_float(const uint8_t **at)
{
	uint32_t bits = get_u32(at);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool doubles_finite(const uint8_t **at, uint32_t count)
{
	bool finite = true;

	for (uint32_t i = 0; i < count; i++)
		finite &= fabs(get_double(at)) < HUGE_VAL;
	return finite;
}

static bool floats_finite(const uint8_t **at, uint32_t count)
{
	bool finite = true;

	for (uint32_t i = 0; i < count; i++)
		finite &= fabs((double)get_float(at)) < HUGE_VAL;
	return finite;
}

static bool totals_valid(const uint64_t values[TOTALS])
{
	for (unsigned i = 0; i < TOTALS; i++)
		if (values[i] >= COUNT_MAX / TOTALS)
			return false;
	if (values[DELAY_MAX] > values[UPDATES])
		return false;
	return values[STARTED] ==
	       values[USED] + values[BUFFERED] + values[IGNORED] + values[STOPPED] + values[LOST];
}

/* The entries' numbers; what they hold in all must be what the totals say. */
static bool entries_valid(const struct iso_method *method, const uint8_t **at, uint64_t entries,
			  const uint64_t totals[TOTALS])
{
	uint64_t fresh_all = 0, next_worker = 0;

	for (uint64_t i = 0; i < entries; i++) {
		uint32_t worker = get_u32(at), count = get_u32(at), fresh = get_u32(at);

		if (worker < next_worker || worker >= method->config.workers)
			return false;
		if (count == 0 || fresh > count || get_u32(at) != 0)
			return false;
		if (get_u64(at) > totals[UPDATES] || !floats_finite(at, method->config.params))
			return false;
		next_worker = (uint64_t)worker + 1;
		fresh_all += fresh;
	}
	return fresh_all == totals[BUFFERED];
}

static enum iso_status check_head(const struct iso_method *method, const uint8_t **at,
				  uint32_t *ret_flags)
{
	if (get_u32(at) != MAGIC)
		return ISO_E_MALFORMED;
	if (get_u32(at) != STATE_VERSION)
		return ISO_E_VERSION;
	bool same = get_u32(at) == method->config.kind;
	same &= get_u32(at) == method->config.workers;
	same &= get_u32(at) == method->config.params;
	if (!same)
		return ISO_E_CONFIG;
	*ret_flags = get_u32(at);
	if (*ret_flags > (method->config.kind == ISO_METHOD_IA2SGD ? FLAG_UPDATING : 0))
		return ISO_E_MALFORMED;
	return ISO_OK;
}

/* Everything, before anything of the method is touched. */
static enum iso_status check(const struct iso_method *method, const uint8_t *bytes, size_t size)
{
	uint32_t params = method->config.params, flags = 0;
	uint64_t totals[TOTALS], entries = 0;
	const uint8_t *at = bytes;

	if (size < HEAD_BYTES)
		return ISO_E_SHORT;
	enum iso_status status = check_head(method, &at, &flags);
	if (status != ISO_OK)
		return status;
	if (size < bytes_for(method, 0))
		return ISO_E_SHORT;
	for (unsigned i = 0; i < TOTALS; i++)
		totals[i] = get_u64(&at);
	if (!totals_valid(totals) || !doubles_finite(&at, params))
		return ISO_E_MALFORMED;
	if (kept_table(method) != NULL)
		entries = get_u64(&at);
	else if (totals[BUFFERED] > 0)
		return ISO_E_MALFORMED;
	if (entries > method->config.workers || (flags != 0 && entries == 0))
		return ISO_E_MALFORMED;
	if (size != bytes_for(method, entries))
		return size < bytes_for(method, entries) ? ISO_E_SHORT : ISO_E_LONG;
	if (kept_table(method) == NULL)
		return ISO_OK;
	if (!doubles_finite(&at, params) || !entries_valid(method, &at, entries, totals))
		return ISO_E_MALFORMED;
	return ISO_OK;
}

static void take_totals(struct iso_method *method, const uint8_t **at)
{
	uint64_t values[TOTALS];

	for (unsigned i = 0; i < TOTALS; i++)
		values[i] = get_u64(at);
	method->totals = (struct iso_method_totals){
		.rounds = values[ROUNDS],
		.updates = values[UPDATES],
		.started = values[STARTED],
		.used = values[USED],
		.buffered = values[BUFFERED],
		.ignored = values[IGNORED],
		.stopped = values[STOPPED],
		.lost = values[LOST],
		.late = values[LATE],
		.delay_max = values[DELAY_MAX],
		.delay_sum = values[DELAY_SUM],
	};
}

static void take_table(struct iso_method *method, struct iso_rule_table *table, const uint8_t **at)
{
	uint32_t params = method->config.params;

	table->filled = (uint32_t)get_u64(at);
	for (uint32_t j = 0; j < params; j++)
		table->sum[j] = get_double(at);
	for (uint32_t i = 0; i < table->filled; i++) {
		uint32_t worker = get_u32(at);
		struct iso_rule_entry *entry = &table->entries[worker];

		entry->count = get_u32(at);
		entry->fresh = get_u32(at);
		(void)get_u32(at);
		entry->version = get_u64(at);
		entry->use = table->uses;
		table->fresh += entry->fresh;
		table->fresh_versions += entry->fresh * entry->version;
		for (uint32_t j = 0; j < params; j++)
			table->means[(size_t)worker * params + j] = get_float(at);
	}
}

enum iso_status iso_method_restore(struct iso_method *method, const uint8_t *bytes, size_t size)
{
	assert(method->totals.started == 0);
	assert(method->present == 0);
	enum iso_status status = check(method, bytes, size);
	if (status != ISO_OK)
		return status;
	uint32_t flags = (uint32_t)iso_get_le(bytes + HEAD_BYTES - 4, 4);
	const uint8_t *at = bytes + HEAD_BYTES;
	take_totals(method, &at);
	for (uint32_t i = 0; i < method->config.params; i++)
		method->x[i] = get_double(&at);
	if (kept_table(method) != NULL)
		take_table(method, &method->table, &at);
	method->updating = flags == FLAG_UPDATING;
	method->forget_at = method->totals.updates + 2 * (uint64_t)method->table.filled;
	assert(at == bytes + size);
	return ISO_OK;
}
