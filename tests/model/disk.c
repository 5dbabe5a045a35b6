/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/disk.h"

#include <assert.h>
#include <string.h>

#define ID_FIRST   1000u
#define HALF_BYTES (ISO_SLOT_BYTES / 2)

uint64_t model_id(uint32_t node)
{
	assert(node < MODEL_NODES);
	return ID_FIRST + node;
}

uint32_t model_of_id(uint64_t id)
{
	assert(id >= ID_FIRST && id < ID_FIRST + MODEL_NODES);
	return (uint32_t)(id - ID_FIRST);
}

struct model_record model_pack(const struct iso_record *record)
{
	struct model_record packed = {
		.seq = (uint8_t)record->seq,
		.inc = (uint8_t)record->inc,
		.gen = (uint8_t)record->gen,
		.halt = (uint8_t)record->halt,
		.flags = (uint8_t)record->flags,
		.endowment = (int8_t)record->endowment_ucpu,
		.budget = (uint8_t)record->budget_ucpu,
		.floor = (uint8_t)record->floor_ucpu,
		.last_op = (uint8_t)record->last_op,
		.last_op_moved = (int8_t)record->last_op_ucpu,
		.edge_count = (uint8_t)record->edge_count,
	};
	struct iso_record back;

	assert(record->edge_count <= MODEL_EDGES);
	for (uint32_t k = 0; k < record->edge_count; k++) {
		packed.edges[k].peer = (uint8_t)model_of_id(record->edges[k].peer);
		packed.edges[k].gen = (uint8_t)record->edges[k].peer_gen;
		packed.edges[k].flags = (uint8_t)record->edges[k].flags;
		packed.edges[k].sent = (uint8_t)record->edges[k].sent;
		packed.edges[k].received = (uint8_t)record->edges[k].received;
	}
	model_unpack(&packed, model_of_id(record->node), &back);
	assert(memcmp(record, &back, sizeof(back)) == 0);
	return packed;
}

void model_unpack(const struct model_record *packed, uint32_t node, struct iso_record *ret_record)
{
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->cluster = MODEL_CLUSTER;
	ret_record->node = model_id(node);
	ret_record->gen = packed->gen;
	ret_record->inc = packed->inc;
	ret_record->epoch = MODEL_EPOCH;
	ret_record->halt = (enum iso_halt)packed->halt;
	ret_record->flags = packed->flags;
	ret_record->endowment_ucpu = packed->endowment;
	ret_record->budget_ucpu = packed->budget;
	ret_record->floor_ucpu = packed->floor;
	ret_record->last_op = packed->last_op;
	ret_record->last_op_ucpu = packed->last_op_moved;
	ret_record->seq = packed->seq;
	ret_record->edge_count = packed->edge_count;
	for (uint32_t k = 0; k < packed->edge_count; k++)
		ret_record->edges[k] = (struct iso_record_edge){
			.peer = model_id(packed->edges[k].peer),
			.peer_gen = packed->edges[k].gen,
			.flags = packed->edges[k].flags,
			.sent = packed->edges[k].sent,
			.received = packed->edges[k].received,
		};
}

struct model_slot model_written(struct model_slot before, const struct model_slot *write,
				enum model_write how)
{
	if (how == MODEL_WHOLE || how == MODEL_HEAD)
		before.head = write->head;
	if (how == MODEL_WHOLE || how == MODEL_TAIL)
		before.tail_seq = write->tail_seq;
	return before;
}

static void encode_slot(const struct model_slot *slot, uint32_t node, uint8_t *out)
{
	uint8_t tail[ISO_SLOT_BYTES];
	struct model_record second = slot->head;
	struct iso_record record;

	model_unpack(&slot->head, node, &record);
	iso_record_encode(&record, out);
	if (slot->tail_seq == slot->head.seq)
		return;
	second.seq = slot->tail_seq;
	model_unpack(&second, node, &record);
	iso_record_encode(&record, tail);
	memcpy(out + HALF_BYTES, tail + HALF_BYTES, HALF_BYTES);
}

void model_encode(const struct model_slot slots[2], uint32_t node,
		  uint8_t ret_journal[ISO_JOURNAL_BYTES])
{
	for (uint32_t k = 0; k < 2; k++)
		encode_slot(&slots[k], node, ret_journal + k * ISO_SLOT_BYTES);
}

enum iso_status model_recover(const struct model_slot slots[2], uint32_t node,
			      struct iso_record *ret_record)
{
	uint8_t journal[ISO_JOURNAL_BYTES];

	model_encode(slots, node, journal);
	return iso_record_recover(journal, ret_record);
}
