/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/ledger.h"

#include <assert.h>
#include <string.h>

static void assert_valid(const struct iso_ledger *ledger)
{
	assert(ledger->edge_count <= ledger->edges_max);
	assert(ledger->edges_max <= ISO_DEGREE_MAX);
	assert(ledger->phase <= ISO_LEDGER_WRITTEN);
	if (ledger->phase == ISO_LEDGER_CLOSED)
		return;
	assert(iso_ledger_holdings(ledger) >= 0);
	assert(iso_ledger_durable_holdings(ledger) >= 0);
}

static bool config_possible(const struct iso_ledger_config *config)
{
	return config->budget_ucpu > 0 && config->budget_ucpu <= ISO_UNITS_MAX &&
	       config->floor_ucpu >= 0 && config->floor_ucpu <= config->budget_ucpu &&
	       config->edges_max <= ISO_DEGREE_MAX;
}

size_t iso_ledger_size(uint32_t edges_max)
{
	return sizeof(struct iso_ledger) + edges_max * sizeof(struct iso_ledger_edge);
}

enum iso_status iso_ledger_init(void *memory, size_t size, const struct iso_ledger_config *config,
				struct iso_ledger **ret_ledger)
{
	struct iso_ledger *ledger = memory;

	assert((uintptr_t)memory % _Alignof(struct iso_ledger) == 0);
	if (!config_possible(config))
		return ISO_E_RANGE;
	if (size < iso_ledger_size(config->edges_max))
		return ISO_E_SHORT;
	memset(ledger, 0, iso_ledger_size(config->edges_max));
	ledger->cluster = config->cluster;
	ledger->node = config->node;
	ledger->epoch = config->epoch;
	ledger->budget_ucpu = config->budget_ucpu;
	ledger->floor_ucpu = config->floor_ucpu;
	ledger->edges_max = config->edges_max;
	assert_valid(ledger);
	*ret_ledger = ledger;
	return ISO_OK;
}

enum iso_status iso_ledger_genesis(const struct iso_ledger_config *config, uint32_t gen,
				   int64_t endowment_ucpu, struct iso_record *ret_record)
{
	if (!config_possible(config) || gen == 0)
		return ISO_E_RANGE;
	if (endowment_ucpu < config->floor_ucpu || endowment_ucpu > config->budget_ucpu)
		return ISO_E_RANGE;
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->cluster = config->cluster;
	ret_record->node = config->node;
	ret_record->gen = gen;
	ret_record->epoch = config->epoch;
	ret_record->endowment_ucpu = endowment_ucpu;
	ret_record->seq = 1;
	assert(iso_record_check(ret_record) == ISO_OK);
	return ISO_OK;
}

enum iso_status iso_ledger_open(struct iso_ledger *ledger, const struct iso_record *record)
{
	assert_valid(ledger);
	assert(ledger->phase == ISO_LEDGER_CLOSED);
	if (iso_record_check(record) != ISO_OK || record->inc == UINT32_MAX)
		return ISO_E_MALFORMED;
	if (record->cluster != ledger->cluster || record->node != ledger->node)
		return ISO_E_FOREIGN;
	if (record->edge_count > ledger->edges_max)
		return ISO_E_FULL;
	ledger->gen = record->gen;
	ledger->inc = record->inc + 1;
	ledger->halt = record->halt;
	ledger->endowment_ucpu = record->endowment_ucpu;
	ledger->last_op = record->last_op;
	ledger->seq = record->seq;
	ledger->edge_count = record->edge_count;
	for (uint32_t k = 0; k < record->edge_count; k++)
		ledger->edges[k] = (struct iso_ledger_edge){
			.peer = record->edges[k].peer,
			.peer_gen = record->edges[k].peer_gen,
			.flags = record->edges[k].flags,
			.sent = record->edges[k].sent,
			.received = record->edges[k].received,
		};
	/* The new incarnation, and what was read: it may never have reached the disk. */
	ledger->dirty = true;
	ledger->phase = ISO_LEDGER_OPENED;
	assert_valid(ledger);
	return ISO_OK;
}

void iso_ledger_close(struct iso_ledger *ledger)
{
	assert(ledger->edge_count <= ledger->edges_max);
	ledger->phase = ISO_LEDGER_CLOSED;
}

enum iso_status iso_ledger_edge(struct iso_ledger *ledger, uint64_t peer, uint32_t peer_gen,
				uint32_t *ret_index)
{
	assert_valid(ledger);
	assert(ledger->phase == ISO_LEDGER_OPENED);
	if (peer == ledger->node || peer_gen == 0)
		return ISO_E_RANGE;
	if (iso_ledger_find(ledger, peer, ret_index) == ISO_OK)
		return ISO_OK;
	if (ledger->edge_count == ledger->edges_max)
		return ISO_E_FULL;
	*ret_index = ledger->edge_count++;
	ledger->edges[*ret_index] = (struct iso_ledger_edge){ .peer = peer, .peer_gen = peer_gen };
	return ISO_OK;
}

enum iso_status iso_ledger_find(const struct iso_ledger *ledger, uint64_t peer, uint32_t *ret_index)
{
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		if (ledger->edges[k].peer != peer)
			continue;
		*ret_index = k;
		return ISO_OK;
	}
	return ISO_E_UNKNOWN;
}

bool iso_ledger_edge_open(const struct iso_ledger *ledger, uint32_t index)
{
	assert(index < ledger->edge_count);
	return ledger->edges[index].flags == 0;
}

/* Never undone by the node itself: what is in flight is unknown to it. */
static enum iso_status halt(struct iso_ledger *ledger, enum iso_halt why)
{
	assert(ledger->halt == ISO_HALT_NONE);
	assert(why != ISO_HALT_NONE);
	ledger->halt = why;
	ledger->dirty = true;
	return ISO_E_HALTED;
}

enum iso_status iso_ledger_heard(struct iso_ledger *ledger, uint32_t index,
				 const struct iso_ledger_news *news)
{
	assert(ledger->phase == ISO_LEDGER_IDLE);
	assert(iso_ledger_edge_open(ledger, index));

	struct iso_ledger_edge *edge = &ledger->edges[index];

	if (ledger->halt != ISO_HALT_NONE)
		return ISO_E_HALTED;
	/* Only durable debits were ever told to anybody, and only durable incarnations spoke. */
	if (news->received > edge->sent - edge->debit || news->known_inc > ledger->inc)
		return halt(ledger, ISO_HALT_AMNESIA);
	if (news->sent > edge->received &&
	    news->sent - edge->received > (uint64_t)ledger->budget_ucpu)
		return halt(ledger, ISO_HALT_OVERDRAFT);
	if (news->sent > edge->seen)
		edge->seen = news->sent;
	if (news->received > edge->acked)
		edge->acked = news->received;
	return ISO_OK;
}

int64_t iso_ledger_holdings(const struct iso_ledger *ledger)
{
	uint64_t holdings = (uint64_t)ledger->endowment_ucpu;

	for (uint32_t k = 0; k < ledger->edge_count; k++)
		holdings += ledger->edges[k].received - ledger->edges[k].sent;
	return (int64_t)holdings;
}

int64_t iso_ledger_durable_holdings(const struct iso_ledger *ledger)
{
	uint64_t holdings = (uint64_t)iso_ledger_holdings(ledger);

	for (uint32_t k = 0; k < ledger->edge_count; k++)
		holdings += ledger->edges[k].debit - ledger->edges[k].credit;
	return (int64_t)holdings;
}

int64_t iso_ledger_begin(struct iso_ledger *ledger)
{
	int64_t credited = 0;

	assert_valid(ledger);
	assert(ledger->phase == ISO_LEDGER_OPENED || ledger->phase == ISO_LEDGER_IDLE);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		struct iso_ledger_edge *edge = &ledger->edges[k];

		assert(edge->debit == 0);
		assert(edge->credit == 0);
		if (ledger->halt != ISO_HALT_NONE || (edge->flags & ISO_EDGE_STATE_CLOSED) != 0)
			continue;
		if (edge->seen <= edge->received)
			continue;
		edge->credit = edge->seen - edge->received;
		edge->received = edge->seen;
		credited += (int64_t)edge->credit;
	}
	ledger->phase = ISO_LEDGER_PLANNING;
	assert_valid(ledger);
	return credited;
}

int64_t iso_ledger_room(const struct iso_ledger *ledger)
{
	int64_t room = iso_ledger_holdings(ledger) - ledger->floor_ucpu;

	return room > 0 && ledger->halt == ISO_HALT_NONE ? room : 0;
}

void iso_ledger_debit(struct iso_ledger *ledger, uint32_t index, int64_t amount_ucpu)
{
	/* The whole is checked before and after by begin and plan. */
	assert(ledger->phase == ISO_LEDGER_PLANNING);
	assert(iso_ledger_edge_open(ledger, index));
	assert(amount_ucpu > 0);
	assert(amount_ucpu <= iso_ledger_room(ledger));
	ledger->edges[index].sent += (uint64_t)amount_ucpu;
	ledger->edges[index].debit += (uint64_t)amount_ucpu;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t iso_ledger_target(const struct iso_ledger *ledger)
{
	int64_t target = smaller(iso_ledger_holdings(ledger), ledger->ceiling_ucpu);

	return ledger->halt == ISO_HALT_NONE ? target : smaller(target, ledger->floor_ucpu);
}

int64_t iso_ledger_limit(const struct iso_ledger *ledger)
{
	return smaller(iso_ledger_target(ledger), iso_ledger_durable_holdings(ledger));
}

bool iso_ledger_changed(const struct iso_ledger *ledger)
{
	if (ledger->dirty)
		return true;
	for (uint32_t k = 0; k < ledger->edge_count; k++)
		if (ledger->edges[k].debit != 0 || ledger->edges[k].credit != 0)
			return true;
	return false;
}

void iso_ledger_plan(struct iso_ledger *ledger, int64_t ceiling_ucpu, int64_t enforced_ucpu)
{
	assert_valid(ledger);
	assert(ledger->phase == ISO_LEDGER_PLANNING);
	assert(ceiling_ucpu >= 0);
	assert(enforced_ucpu >= 0);
	ledger->ceiling_ucpu = ceiling_ucpu;
	ledger->enforced_ucpu = enforced_ucpu;
	ledger->phase =
	    enforced_ucpu > iso_ledger_limit(ledger) ? ISO_LEDGER_LOWERING : ISO_LEDGER_READY;
}

enum iso_status iso_ledger_lowered(struct iso_ledger *ledger, int64_t readback_ucpu)
{
	assert_valid(ledger);
	assert(ledger->phase == ISO_LEDGER_LOWERING);
	assert(readback_ucpu >= 0);
	ledger->enforced_ucpu = readback_ucpu;
	if (readback_ucpu > iso_ledger_limit(ledger))
		return ISO_E_RANGE;
	ledger->phase = ISO_LEDGER_READY;
	return ISO_OK;
}

int64_t iso_ledger_abort(struct iso_ledger *ledger)
{
	int64_t undone = 0;

	assert_valid(ledger);
	assert(ledger->phase == ISO_LEDGER_LOWERING || ledger->phase == ISO_LEDGER_READY);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		struct iso_ledger_edge *edge = &ledger->edges[k];

		undone += (int64_t)edge->debit;
		edge->sent -= edge->debit;
		edge->debit = 0;
	}
	ledger->phase = ISO_LEDGER_READY;
	assert_valid(ledger);
	return undone;
}

static void fill_record(const struct iso_ledger *ledger, uint64_t seq,
			struct iso_record *ret_record)
{
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->cluster = ledger->cluster;
	ret_record->node = ledger->node;
	ret_record->gen = ledger->gen;
	ret_record->inc = ledger->inc;
	ret_record->epoch = ledger->epoch;
	ret_record->halt = ledger->halt;
	ret_record->endowment_ucpu = ledger->endowment_ucpu;
	ret_record->last_op = ledger->last_op;
	ret_record->seq = seq;
	ret_record->edge_count = ledger->edge_count;
	for (uint32_t k = 0; k < ledger->edge_count; k++)
		ret_record->edges[k] = (struct iso_record_edge){
			.peer = ledger->edges[k].peer,
			.peer_gen = ledger->edges[k].peer_gen,
			.flags = ledger->edges[k].flags,
			.sent = ledger->edges[k].sent,
			.received = ledger->edges[k].received,
		};
}

void iso_ledger_record(struct iso_ledger *ledger, struct iso_record *ret_record)
{
	assert_valid(ledger);
	assert(ledger->phase == ISO_LEDGER_READY);
	assert(iso_ledger_changed(ledger));
	fill_record(ledger, ledger->seq + 1, ret_record);
	assert(iso_record_check(ret_record) == ISO_OK);
	assert(iso_record_holdings(ret_record) == iso_ledger_holdings(ledger));
	ledger->phase = ISO_LEDGER_WRITTEN;
}

void iso_ledger_commit(struct iso_ledger *ledger, uint64_t durable_seq)
{
	assert_valid(ledger);
	if (ledger->phase == ISO_LEDGER_WRITTEN) {
		assert(durable_seq == ledger->seq + 1);
	} else {
		assert(ledger->phase == ISO_LEDGER_READY);
		assert(!iso_ledger_changed(ledger));
		assert(durable_seq == ledger->seq);
	}
	ledger->seq = durable_seq;
	for (uint32_t k = 0; k < ledger->edge_count; k++)
		ledger->edges[k].debit = ledger->edges[k].credit = 0;
	ledger->dirty = false;
	ledger->phase = ISO_LEDGER_IDLE;
	assert_valid(ledger);
}

void iso_ledger_durable(const struct iso_ledger *ledger, struct iso_record *ret_record)
{
	assert_valid(ledger);
	assert(ledger->phase != ISO_LEDGER_CLOSED);
	fill_record(ledger, ledger->seq, ret_record);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		ret_record->edges[k].sent -= ledger->edges[k].debit;
		ret_record->edges[k].received -= ledger->edges[k].credit;
	}
}
