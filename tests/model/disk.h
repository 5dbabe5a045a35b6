/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_DISK_H
#define ISO_MODEL_DISK_H

#include "lib/ledger/record.h"
#include "tests/model/setup.h"

/*
 * A journal in few bytes.  A record of two edges lies wholly in the first
 * sector of its slot, and the other sectors hold nothing but its seq; so a
 * slot is a record (its first half) and the seq of its second half.  They
 * differ where a write was torn.  The bytes are made again, by the real
 * encoder, whenever they are read.
 */
struct model_record {
	uint8_t seq; /* 0: a slot that was never written */
	uint8_t inc;
	uint8_t gen;
	uint8_t halt;
	uint8_t flags;
	int8_t endowment;
	uint8_t budget;
	uint8_t floor;
	uint8_t last_op;
	int8_t last_op_moved;
	uint8_t edge_count;
	struct {
		uint8_t peer; /* 0..2 */
		uint8_t gen;
		uint8_t flags;
		uint8_t sent;
		uint8_t received;
	} edges[MODEL_EDGES];
};

struct model_slot {
	struct model_record head;
	uint8_t tail_seq;
};

enum model_write {
	MODEL_WHOLE,
	MODEL_LOST,
	MODEL_HEAD, /* only the first half reached its place */
	MODEL_TAIL, /* only the second half */
	MODEL_WRITES
};

/* Asserts that nothing is lost on the way. */
struct model_record model_pack(const struct iso_record *record);
void model_unpack(const struct model_record *packed, uint32_t node, struct iso_record *ret_record);

/* What is in a slot after a write that did not end well. */
struct model_slot model_written(struct model_slot before, const struct model_slot *write,
				enum model_write how);

void model_encode(const struct model_slot slots[2], uint32_t node,
		  uint8_t ret_journal[ISO_JOURNAL_BYTES]);

/* By the real iso_record_recover(). */
ISO_MUST_USE enum iso_status model_recover(const struct model_slot slots[2], uint32_t node,
					   struct iso_record *ret_record);

uint64_t model_id(uint32_t node);
uint32_t model_of_id(uint64_t id);

#define MODEL_CLUSTER 77u
#define MODEL_EPOCH   1u

#endif
