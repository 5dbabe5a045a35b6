/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/ledger.h"

#include <assert.h>
#include <string.h>

#include "lib/ledger/ledger_state.h"
#include "lib/smaller.h"

void iso_ledger_assert(const struct iso_ledger *ledger)
{
	assert(ledger->edge_count <= ledger->edges_max);
	assert(ledger->edges_max <= ISO_DEGREE_MAX);
	assert(ledger->phase <= ISO_LEDGER_UNDONE);
	if (ledger->phase == ISO_LEDGER_CLOSED)
		return;
	assert(iso_ledger_holdings(ledger) >= 0);
	assert(iso_ledger_durable_holdings(ledger) >= 0);
	assert(ledger->phase >= ISO_LEDGER_PLANNING || ledger->op.kind == 0);
}

/* The sums that are kept are those of the edges. */
static void assert_sums(const struct iso_ledger *ledger)
{
	uint64_t holdings = (uint64_t)ledger->endowment_ucpu;
	uint64_t debit = 0, credit = 0, arriving = 0;

	iso_ledger_assert(ledger);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		const struct iso_ledger_edge *edge = &ledger->edges[k];

		holdings += edge->received - edge->sent;
		debit += edge->debit;
		credit += edge->credit;
		arriving += edge->arriving;
	}
	assert((int64_t)holdings == ledger->holdings_ucpu);
	assert(debit == (uint64_t)ledger->debit_ucpu);
	assert(credit == (uint64_t)ledger->credit_ucpu);
	assert(arriving == (uint64_t)ledger->arriving_ucpu);
}

bool iso_ledger_config_possible(const struct iso_ledger_config *config)
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
	if (!iso_ledger_config_possible(config))
		return ISO_E_RANGE;
	if (size < iso_ledger_size(config->edges_max))
		return ISO_E_SHORT;
	memset(ledger, 0, iso_ledger_size(config->edges_max));
	ledger->cluster = config->cluster;
	ledger->node = config->node;
	ledger->epoch = config->epoch;
	ledger->floor_ucpu = config->floor_ucpu;
	ledger->edges_max = config->edges_max;
	iso_ledger_assert(ledger);
	*ret_ledger = ledger;
	return ISO_OK;
}

enum iso_status iso_ledger_genesis(const struct iso_ledger_config *config, uint32_t gen,
				   int64_t endowment_ucpu, struct iso_record *ret_record)
{
	if (!iso_ledger_config_possible(config))
		return ISO_E_RANGE;
	if (gen == 0 && endowment_ucpu != 0)
		return ISO_E_RANGE;
	if (gen != 0 &&
	    (endowment_ucpu < config->floor_ucpu || endowment_ucpu > config->budget_ucpu))
		return ISO_E_RANGE;
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->cluster = config->cluster;
	ret_record->node = config->node;
	ret_record->gen = gen;
	ret_record->epoch = config->epoch;
	ret_record->endowment_ucpu = endowment_ucpu;
	ret_record->budget_ucpu = gen != 0 ? config->budget_ucpu : 0;
	ret_record->floor_ucpu = gen != 0 ? config->floor_ucpu : 0;
	ret_record->seq = 1;
	assert(iso_record_check(ret_record) == ISO_OK);
	return ISO_OK;
}

static void take_edges(struct iso_ledger *ledger, const struct iso_record *record)
{
	ledger->edge_count = 0;
	for (uint32_t k = 0; k < record->edge_count; k++) {
		const struct iso_record_edge *edge = &record->edges[k];

		ledger->edges[k] = (struct iso_ledger_edge){
			.peer = edge->peer,
			.peer_gen = edge->peer_gen,
			.flags = (uint16_t)edge->flags,
			.durable_flags = (uint16_t)edge->flags,
			.sent = edge->sent,
			.received = edge->received,
			.unacked = edge->sent < UINT32_MAX ? (uint32_t)edge->sent : UINT32_MAX,
		};
		ledger->edge_count++;
		iso_ledger_file(ledger, k);
	}
}

bool iso_ledger_floor_possible(const struct iso_record *record, int64_t floor_ucpu)
{
	return record->gen == 0 || record->last_op == 0 || floor_ucpu <= record->floor_ucpu;
}

enum iso_status iso_ledger_open(struct iso_ledger *ledger, const struct iso_record *record)
{
	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_CLOSED);
	if (iso_record_check(record) != ISO_OK || record->inc == UINT32_MAX)
		return ISO_E_MALFORMED;
	if (record->cluster != ledger->cluster || record->node != ledger->node)
		return ISO_E_FOREIGN;
	if (record->edge_count > ledger->edges_max)
		return ISO_E_FULL;
	if (!iso_ledger_floor_possible(record, ledger->floor_ucpu))
		return ISO_E_RANGE;
	ledger->gen = record->gen;
	ledger->inc = record->inc + 1;
	ledger->halt = ledger->durable_halt = record->halt;
	ledger->flags = record->flags;
	ledger->endowment_ucpu = record->endowment_ucpu;
	ledger->budget_ucpu = record->budget_ucpu;
	ledger->last_op = record->last_op;
	ledger->last_op_ucpu = record->last_op_ucpu;
	ledger->seq = record->seq;
	memset(&ledger->op, 0, sizeof(ledger->op));
	ledger->holdings_ucpu = iso_record_holdings(record);
	ledger->debit_ucpu = ledger->credit_ucpu = ledger->arriving_ucpu = 0;
	take_edges(ledger, record);
	/* The new incarnation, and what was read: it may never have reached the disk. */
	ledger->dirty = true;
	ledger->begun = false;
	ledger->phase = ISO_LEDGER_OPENED;
	iso_ledger_assert(ledger);
	return ISO_OK;
}

void iso_ledger_close(struct iso_ledger *ledger)
{
	assert(ledger->edge_count <= ledger->edges_max);
	ledger->phase = ISO_LEDGER_CLOSED;
}

int64_t iso_ledger_under_way(const struct iso_ledger *ledger, uint32_t index)
{
	assert(index < ledger->edge_count);
	return ledger->edges[index].unacked < UINT32_MAX ? ledger->edges[index].unacked : INT64_MAX;
}

bool iso_ledger_edge_open(const struct iso_ledger *ledger, uint32_t index)
{
	assert(index < ledger->edge_count);
	return ledger->edges[index].flags == 0;
}

bool iso_ledger_edge_credits(const struct iso_ledger *ledger, uint32_t index)
{
	assert(index < ledger->edge_count);
	return (ledger->edges[index].flags & (ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FOLDED)) == 0;
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

void iso_ledger_void(struct iso_ledger *ledger)
{
	assert(ledger->phase == ISO_LEDGER_IDLE);
	if (ledger->halt == ISO_HALT_NONE)
		(void)halt(ledger, ISO_HALT_BURIED);
}

/* More than a neighbour can have sent, or than any ledger holds. */
static bool overdraft(const struct iso_ledger *ledger, const struct iso_ledger_edge *edge,
		      const struct iso_ledger_news *news)
{
	uint64_t seen = edge->received + edge->arriving, sent = news->sent;
	int64_t most_ucpu = ledger->budget_ucpu;

	/* While a budget is being raised, some nodes know of it and some do not yet. */
	if (news->budget_ucpu > most_ucpu)
		most_ucpu = news->budget_ucpu;
	most_ucpu = iso_smaller_i64(most_ucpu, ISO_LEDGER_UNDER_WAY_MAX);
	if (sent <= seen)
		return false;
	if (sent > (uint64_t)ISO_UNITS_MAX || sent - edge->received > (uint64_t)most_ucpu)
		return true;
	return (int64_t)(sent - seen) >
	       ISO_UNITS_MAX - ledger->holdings_ucpu - ledger->arriving_ucpu;
}

enum iso_status iso_ledger_heard(struct iso_ledger *ledger, uint32_t index,
				 const struct iso_ledger_news *news)
{
	assert(ledger->phase == ISO_LEDGER_IDLE);
	assert(index < ledger->edge_count);

	struct iso_ledger_edge *edge = &ledger->edges[index];

	if (ledger->halt != ISO_HALT_NONE)
		return ISO_E_HALTED;
	if (!iso_ledger_edge_credits(ledger, index))
		return ISO_E_UNKNOWN;
	/* Only durable debits were ever told to anybody, and only durable incarnations spoke. */
	if (news->received > edge->sent - edge->debit || news->known_inc > ledger->inc)
		return halt(ledger, ISO_HALT_AMNESIA);
	if (overdraft(ledger, edge, news))
		return halt(ledger, ISO_HALT_OVERDRAFT);
	if (news->sent > edge->received + edge->arriving) {
		uint32_t arriving = (uint32_t)(news->sent - edge->received);

		ledger->arriving_ucpu += (int64_t)arriving - edge->arriving;
		edge->arriving = arriving;
	}
	if (edge->sent - news->received < edge->unacked)
		edge->unacked = (uint32_t)(edge->sent - news->received);
	return ISO_OK;
}

int64_t iso_ledger_holdings(const struct iso_ledger *ledger)
{
	return ledger->holdings_ucpu;
}

int64_t iso_ledger_durable_holdings(const struct iso_ledger *ledger)
{
	return ledger->holdings_ucpu + ledger->debit_ucpu - ledger->credit_ucpu -
	       ledger_op_change(ledger);
}

int64_t iso_ledger_begin(struct iso_ledger *ledger)
{
	assert_sums(ledger);
	assert(ledger->phase == ISO_LEDGER_OPENED || ledger->phase == ISO_LEDGER_IDLE);
	for (uint32_t k = 0; k < ledger->edge_count && ledger->halt == ISO_HALT_NONE; k++) {
		struct iso_ledger_edge *edge = &ledger->edges[k];

		assert(edge->debit == 0);
		assert(edge->credit == 0);
		if (edge->arriving == 0 || !iso_ledger_edge_credits(ledger, k))
			continue;
		edge->credit = edge->arriving;
		edge->received += edge->credit;
		edge->arriving = 0;
		ledger->credit_ucpu += edge->credit;
	}
	ledger->arriving_ucpu -= ledger->credit_ucpu;
	ledger->holdings_ucpu += ledger->credit_ucpu;
	ledger->phase = ISO_LEDGER_PLANNING;
	iso_ledger_assert(ledger);
	return ledger->credit_ucpu;
}

int64_t iso_ledger_room(const struct iso_ledger *ledger)
{
	int64_t kept = (ledger->flags & ISO_NODE_LEAVING) != 0 ? 0 : ledger->floor_ucpu;
	int64_t room = ledger->holdings_ucpu - kept;

	return room > 0 && ledger->halt == ISO_HALT_NONE ? room : 0;
}

void iso_ledger_debit(struct iso_ledger *ledger, uint32_t index, int64_t amount_ucpu)
{
	/* The whole is checked before and after by begin and commit. */
	assert(ledger->phase == ISO_LEDGER_PLANNING);
	assert(iso_ledger_edge_open(ledger, index));
	assert(amount_ucpu > 0);
	assert(amount_ucpu <= iso_ledger_room(ledger));
	assert(ledger->edges[index].unacked + amount_ucpu <= ISO_LEDGER_UNDER_WAY_MAX);
	ledger->edges[index].sent += (uint64_t)amount_ucpu;
	ledger->edges[index].debit += (uint32_t)amount_ucpu;
	ledger->edges[index].unacked += (uint32_t)amount_ucpu;
	assert(ledger->edges[index].sent <= (uint64_t)ISO_UNITS_MAX);
	ledger->debit_ucpu += amount_ucpu;
	ledger->holdings_ucpu -= amount_ucpu;
}

int64_t iso_ledger_target(const struct iso_ledger *ledger)
{
	int64_t target = iso_smaller_i64(iso_ledger_holdings(ledger), ledger->ceiling_ucpu);

	return ledger->halt == ISO_HALT_NONE ? target : iso_smaller_i64(target, ledger->floor_ucpu);
}

int64_t iso_ledger_limit(const struct iso_ledger *ledger)
{
	return iso_smaller_i64(iso_ledger_target(ledger), iso_ledger_durable_holdings(ledger));
}

bool iso_ledger_changed(const struct iso_ledger *ledger)
{
	return ledger->dirty || ledger->op.kind != 0 || ledger->debit_ucpu != 0 ||
	       ledger->credit_ucpu != 0;
}

void iso_ledger_plan(struct iso_ledger *ledger, int64_t ceiling_ucpu, int64_t enforced_ucpu)
{
	iso_ledger_assert(ledger);
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
	iso_ledger_assert(ledger);
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
	int64_t undone = ledger->debit_ucpu;

	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_LOWERING || ledger->phase == ISO_LEDGER_READY);
	for (uint32_t k = 0; k < ledger->edge_count && undone != 0; k++) {
		struct iso_ledger_edge *edge = &ledger->edges[k];

		edge->sent -= edge->debit;
		edge->unacked -= edge->debit;
		edge->debit = 0;
	}
	ledger->holdings_ucpu += undone;
	ledger->debit_ucpu = 0;
	iso_ledger_unburn(ledger);
	ledger->phase = ISO_LEDGER_READY;
	iso_ledger_assert(ledger);
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
	ret_record->flags = ledger->flags;
	ret_record->endowment_ucpu = ledger->endowment_ucpu;
	ret_record->budget_ucpu = ledger->budget_ucpu;
	ret_record->floor_ucpu = ledger->gen != 0 ? ledger->floor_ucpu : 0;
	ret_record->last_op = ledger->last_op;
	ret_record->last_op_ucpu = ledger->last_op_ucpu;
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
	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_READY);
	assert(iso_ledger_changed(ledger));
	fill_record(ledger, ledger->seq + 1, ret_record);
	assert(iso_record_check(ret_record) == ISO_OK);
	ledger->phase = ISO_LEDGER_WRITTEN;
}

bool iso_ledger_undo(struct iso_ledger *ledger)
{
	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_WRITTEN);
	ledger->holdings_ucpu = iso_ledger_durable_holdings(ledger);
	ledger->arriving_ucpu += ledger->credit_ucpu;
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		struct iso_ledger_edge *edge = &ledger->edges[k];

		edge->sent -= edge->debit;
		edge->unacked -= edge->debit;
		edge->received -= edge->credit;
		edge->arriving += edge->credit;
		edge->flags = edge->durable_flags;
		edge->debit = edge->credit = 0;
	}
	ledger->debit_ucpu = ledger->credit_ucpu = 0;
	iso_ledger_unapply(ledger);
	/* Leaving was this tick's; anything else a neighbour has shown, and it stays. */
	if (ledger->halt == ISO_HALT_LEFT)
		ledger->halt = ledger->durable_halt;
	ledger->dirty = !ledger->begun || ledger->halt != ledger->durable_halt;
	ledger->phase = ledger->begun ? ISO_LEDGER_UNDONE : ISO_LEDGER_OPENED;
	assert_sums(ledger);
	return ledger->begun;
}

void iso_ledger_commit(struct iso_ledger *ledger, uint64_t durable_seq)
{
	bool undone = ledger->phase == ISO_LEDGER_UNDONE;

	assert_sums(ledger);
	if (ledger->phase == ISO_LEDGER_WRITTEN) {
		assert(durable_seq == ledger->seq + 1);
	} else {
		assert(ledger->phase == ISO_LEDGER_READY || undone);
		assert(!iso_ledger_changed(ledger) || undone);
		assert(durable_seq == ledger->seq);
	}
	ledger->seq = durable_seq;
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		ledger->edges[k].debit = ledger->edges[k].credit = 0;
		ledger->edges[k].durable_flags = ledger->edges[k].flags;
	}
	ledger->debit_ucpu = ledger->credit_ucpu = 0;
	memset(&ledger->op, 0, sizeof(ledger->op));
	if (!undone) {
		ledger->durable_halt = ledger->halt;
		ledger->dirty = false;
	}
	ledger->begun = true;
	ledger->phase = ISO_LEDGER_IDLE;
	iso_ledger_assert(ledger);
}

void iso_ledger_durable(const struct iso_ledger *ledger, struct iso_record *ret_record)
{
	const struct iso_ledger_op *op = &ledger->op;

	iso_ledger_assert(ledger);
	assert(ledger->phase != ISO_LEDGER_CLOSED);
	fill_record(ledger, ledger->seq, ret_record);
	ret_record->halt = ledger->durable_halt;
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		ret_record->edges[k].flags = ledger->edges[k].durable_flags;
		ret_record->edges[k].sent -= ledger->edges[k].debit;
		ret_record->edges[k].received -= ledger->edges[k].credit;
	}
	if (op->kind == 0)
		return;
	ret_record->flags = op->flags;
	ret_record->endowment_ucpu = op->endowment_ucpu;
	ret_record->budget_ucpu = op->budget_ucpu;
	ret_record->last_op = op->last_op;
	ret_record->last_op_ucpu = op->last_op_ucpu;
	if (op->index < op->edge_count)
		ret_record->edges[op->index] = op->edge;
	else if (ret_record->edge_count > op->edge_count)
		ret_record->edges[op->edge_count] = (struct iso_record_edge){ 0 };
	ret_record->edge_count = op->edge_count;
}
