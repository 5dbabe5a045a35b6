/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/record.h"

#include <assert.h>
#include <stdbool.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

#define SECTORS		     8u
#define SECTOR_PAYLOAD_BYTES 496u
#define SECTOR_SEALED_BYTES  504u
#define PAYLOAD_BYTES	     (SECTORS * SECTOR_PAYLOAD_BYTES)
#define HEADER_BYTES	     96u
#define EDGE_BYTES	     32u
#define SEAL_BYTES	     8u

_Static_assert(SECTORS *ISO_SECTOR_BYTES == ISO_SLOT_BYTES, "a slot is whole sectors");
_Static_assert(HEADER_BYTES + ISO_DEGREE_MAX * EDGE_BYTES + SEAL_BYTES <= PAYLOAD_BYTES,
	       "the largest record fits");

const char *iso_halt_text(enum iso_halt halt)
{
	switch (halt) {
	case ISO_HALT_NONE: return "it has not";
	case ISO_HALT_AMNESIA:
		return "a neighbour knows of later transfers than this journal, which must be an "
		       "old copy";
	case ISO_HALT_OVERDRAFT: return "a neighbour claims to have sent more than the budget";
	case ISO_HALT_BURIED:
		return "a neighbour says that this node was buried; it must join again";
	case ISO_HALT_LEFT: return "it gave its share away and left the cluster";
	}
	assert(!"halt");
	return "";
}

int64_t iso_record_holdings(const struct iso_record *record)
{
	uint64_t holdings = (uint64_t)record->endowment_ucpu;

	assert(record->edge_count <= ISO_DEGREE_MAX);
	for (uint32_t k = 0; k < record->edge_count; k++)
		holdings += record->edges[k].received - record->edges[k].sent;
	return (int64_t)holdings;
}

static bool in_range(int64_t units)
{
	return units >= -ISO_UNITS_MAX && units <= ISO_UNITS_MAX;
}

static bool edge_possible(const struct iso_record *record, const struct iso_record_edge *edge)
{
	if (edge->sent > (uint64_t)ISO_UNITS_MAX || edge->received > (uint64_t)ISO_UNITS_MAX)
		return false;
	if (edge->peer == record->node || edge->peer_gen == 0)
		return false;
	if ((edge->flags & ~ISO_EDGE_STATE_FLAGS) != 0)
		return false;
	if ((edge->flags & ISO_EDGE_STATE_FOLDED) == 0)
		return true;
	return edge->flags == ISO_EDGE_STATE_FOLDED && edge->sent == 0 && edge->received == 0;
}

/* Every record is checked before it is written: in linear time. */
static bool peers_differ(const struct iso_record *record)
{
	uint8_t table[2 * ISO_DEGREE_MAX] = { 0 }; /* index + 1, by a hash of the peer */

	for (uint32_t k = 0; k < record->edge_count; k++) {
		uint64_t at = record->edges[k].peer * 0x9e3779b97f4a7c15u >> 32;

		for (at %= sizeof(table); table[at] != 0; at = (at + 1) % sizeof(table))
			if (record->edges[table[at] - 1].peer == record->edges[k].peer)
				return false;
		table[at] = (uint8_t)(k + 1);
	}
	return true;
}

/* What the state of the node as a whole demands. */
static bool life_possible(const struct iso_record *record)
{
	if (record->halt > ISO_HALT_LEFT || (record->flags & ~ISO_NODE_FLAGS) != 0)
		return false;
	if (record->halt == ISO_HALT_LEFT && iso_record_holdings(record) != 0)
		return false;
	if (record->gen != 0)
		return record->budget_ucpu > 0;
	return record->edge_count == 0 && record->endowment_ucpu == 0 && record->budget_ucpu == 0 &&
	       record->floor_ucpu == 0 && record->halt == ISO_HALT_NONE && record->flags == 0;
}

enum iso_status iso_record_check(const struct iso_record *record)
{
	int64_t holdings;

	if (record->edge_count > ISO_DEGREE_MAX)
		return ISO_E_MALFORMED;
	if (record->seq == 0 || record->seq > (uint64_t)ISO_UNITS_MAX / 8)
		return ISO_E_MALFORMED;
	if (!in_range(record->floor_ucpu) || record->floor_ucpu < 0)
		return ISO_E_MALFORMED;
	if (!in_range(record->endowment_ucpu) || !in_range(record->budget_ucpu) ||
	    !in_range(record->last_op_ucpu) || record->last_op > (uint64_t)ISO_UNITS_MAX)
		return ISO_E_MALFORMED;
	for (uint32_t k = 0; k < record->edge_count; k++)
		if (!edge_possible(record, &record->edges[k]))
			return ISO_E_MALFORMED;
	if (!life_possible(record) || !peers_differ(record))
		return ISO_E_MALFORMED;
	holdings = iso_record_holdings(record);
	return holdings >= 0 && in_range(holdings) ? ISO_OK : ISO_E_MALFORMED;
}

static void put_payload(const struct iso_record *record, uint8_t *out)
{
	uint32_t length = HEADER_BYTES + record->edge_count * EDGE_BYTES + SEAL_BYTES;
	uint8_t *at = out + HEADER_BYTES;

	memset(out, 0, PAYLOAD_BYTES);
	iso_put_le(out, ISO_RECORD_MAGIC, 4);
	iso_put_le(out + 4, ISO_RECORD_VERSION, 2);
	iso_put_le(out + 6, record->edge_count, 2);
	iso_put_le(out + 8, length, 4);
	iso_put_le(out + 12, record->epoch, 4);
	iso_put_le(out + 16, record->cluster, 8);
	iso_put_le(out + 24, record->node, 8);
	iso_put_le(out + 32, record->gen, 4);
	iso_put_le(out + 36, record->inc, 4);
	iso_put_le(out + 40, record->halt, 4);
	iso_put_le(out + 44, record->flags, 4);
	iso_put_le(out + 48, (uint64_t)record->endowment_ucpu, 8);
	iso_put_le(out + 56, record->last_op, 8);
	iso_put_le(out + 64, record->seq, 8);
	iso_put_le(out + 72, (uint64_t)record->budget_ucpu, 8);
	iso_put_le(out + 80, (uint64_t)record->last_op_ucpu, 8);
	iso_put_le(out + 88, (uint64_t)record->floor_ucpu, 8);
	for (uint32_t k = 0; k < record->edge_count; k++, at += EDGE_BYTES) {
		const struct iso_record_edge *edge = &record->edges[k];

		iso_put_le(at, edge->peer, 8);
		iso_put_le(at + 8, edge->peer_gen, 4);
		iso_put_le(at + 12, edge->flags, 4);
		iso_put_le(at + 16, edge->sent, 8);
		iso_put_le(at + 24, edge->received, 8);
	}
	assert(at + SEAL_BYTES == out + length);
	iso_put_le(at, iso_checksum(out, length - SEAL_BYTES), 8);
}

void iso_record_encode(const struct iso_record *record, uint8_t ret_slot[ISO_SLOT_BYTES])
{
	uint8_t payload[PAYLOAD_BYTES];

	assert(iso_record_check(record) == ISO_OK);
	put_payload(record, payload);
	for (uint32_t k = 0; k < SECTORS; k++) {
		uint8_t *sector = ret_slot + k * ISO_SECTOR_BYTES;

		memcpy(sector, payload + k * SECTOR_PAYLOAD_BYTES, SECTOR_PAYLOAD_BYTES);
		iso_put_le(sector + SECTOR_PAYLOAD_BYTES, record->seq * SECTORS + k, 8);
		iso_put_le(sector + SECTOR_SEALED_BYTES, iso_checksum(sector, SECTOR_SEALED_BYTES),
			   8);
	}
}

/* The seals of a slot: what each sector says by itself. */
struct seals {
	uint32_t intact;  /* how many of the eight */
	uint64_t seq_min; /* over the intact ones */
	uint64_t seq_max;
};

static struct seals read_seals(const uint8_t *slot)
{
	struct seals seals = { 0, UINT64_MAX, 0 };

	for (uint32_t k = 0; k < SECTORS; k++) {
		const uint8_t *sector = slot + k * ISO_SECTOR_BYTES;
		uint64_t stamp = iso_get_le(sector + SECTOR_PAYLOAD_BYTES, 8);
		uint64_t seq = stamp / SECTORS;

		if (iso_get_le(sector + SECTOR_SEALED_BYTES, 8) !=
			iso_checksum(sector, SECTOR_SEALED_BYTES) ||
		    stamp % SECTORS != k)
			continue;
		seals.intact++;
		seals.seq_min = seq < seals.seq_min ? seq : seals.seq_min;
		seals.seq_max = seq > seals.seq_max ? seq : seals.seq_max;
	}
	return seals;
}

static void get_fields(const uint8_t *in, struct iso_record *ret_record)
{
	struct iso_record *record = ret_record;
	const uint8_t *at = in + HEADER_BYTES;

	memset(record, 0, sizeof(*record));
	record->edge_count = (uint32_t)iso_get_le(in + 6, 2);
	record->epoch = (uint32_t)iso_get_le(in + 12, 4);
	record->cluster = iso_get_le(in + 16, 8);
	record->node = iso_get_le(in + 24, 8);
	record->gen = (uint32_t)iso_get_le(in + 32, 4);
	record->inc = (uint32_t)iso_get_le(in + 36, 4);
	record->halt = (enum iso_halt)iso_get_le(in + 40, 4);
	record->flags = (uint32_t)iso_get_le(in + 44, 4);
	record->endowment_ucpu = (int64_t)iso_get_le(in + 48, 8);
	record->last_op = iso_get_le(in + 56, 8);
	record->seq = iso_get_le(in + 64, 8);
	record->budget_ucpu = (int64_t)iso_get_le(in + 72, 8);
	record->last_op_ucpu = (int64_t)iso_get_le(in + 80, 8);
	record->floor_ucpu = (int64_t)iso_get_le(in + 88, 8);
	for (uint32_t k = 0; k < record->edge_count; k++, at += EDGE_BYTES)
		record->edges[k] = (struct iso_record_edge){
			.peer = iso_get_le(at, 8),
			.peer_gen = (uint32_t)iso_get_le(at + 8, 4),
			.flags = (uint32_t)iso_get_le(at + 12, 4),
			.sent = iso_get_le(at + 16, 8),
			.received = iso_get_le(at + 24, 8),
		};
}

static enum iso_status get_payload(const uint8_t *in, struct iso_record *ret_record)
{
	uint64_t edge_count = iso_get_le(in + 6, 2), length = iso_get_le(in + 8, 4);

	if (iso_get_le(in, 4) != ISO_RECORD_MAGIC)
		return ISO_E_MALFORMED;
	if (iso_get_le(in + 4, 2) != ISO_RECORD_VERSION)
		return ISO_E_VERSION;
	if (edge_count > ISO_DEGREE_MAX ||
	    length != HEADER_BYTES + edge_count * EDGE_BYTES + SEAL_BYTES)
		return ISO_E_MALFORMED;
	if (iso_get_le(in + length - SEAL_BYTES, 8) != iso_checksum(in, length - SEAL_BYTES))
		return ISO_E_CHECKSUM;
	/* What is left of a longer attempt at the same record: nobody writes it so at once. */
	for (uint64_t k = length; k < PAYLOAD_BYTES; k++)
		if (in[k] != 0)
			return ISO_E_CHECKSUM;
	get_fields(in, ret_record);
	return iso_record_check(ret_record);
}

enum iso_status iso_record_decode(const uint8_t slot[ISO_SLOT_BYTES], struct iso_record *ret_record)
{
	struct seals seals = read_seals(slot);
	uint8_t payload[PAYLOAD_BYTES];
	struct iso_record record;
	enum iso_status status;

	if (seals.intact < SECTORS || seals.seq_min != seals.seq_max)
		return ISO_E_CHECKSUM;
	for (uint32_t k = 0; k < SECTORS; k++)
		memcpy(payload + k * SECTOR_PAYLOAD_BYTES, slot + k * ISO_SECTOR_BYTES,
		       SECTOR_PAYLOAD_BYTES);
	status = get_payload(payload, &record);
	if (status == ISO_OK && record.seq != seals.seq_min)
		status = ISO_E_MALFORMED;
	if (status == ISO_OK)
		*ret_record = record;
	return status;
}

/*
 * May an undecodable slot be passed over in favour of the valid record seq
 * in the other one?  Only if what it held newer was never complete:
 * - a sector older than seq is left, so the write that followed did not end;
 * - or all sectors are whole and of the very next seq but not of one record:
 *   two attempts at it, neither of which ended, or it would have been valid.
 */
static bool never_complete(const uint8_t *slot, uint64_t seq)
{
	struct seals seals = read_seals(slot);

	if (seals.intact > 0 && seals.seq_min < seq)
		return true;
	return seals.intact == SECTORS && seals.seq_min == seq + 1 && seals.seq_max == seq + 1;
}

enum iso_status iso_record_recover(const uint8_t journal[ISO_JOURNAL_BYTES],
				   struct iso_record *ret_record)
{
	struct iso_record record[2];
	enum iso_status status[2];

	for (uint32_t k = 0; k < 2; k++) {
		status[k] = iso_record_decode(journal + k * ISO_SLOT_BYTES, &record[k]);
		if (status[k] == ISO_E_VERSION || status[k] == ISO_E_MALFORMED)
			return status[k];
		/* Whole, but in the other one's place. */
		if (status[k] == ISO_OK && record[k].seq % 2 != k)
			return ISO_E_MALFORMED;
	}
	if (status[0] != ISO_OK && status[1] != ISO_OK)
		return ISO_E_DAMAGED;

	if (status[0] == ISO_OK && status[1] == ISO_OK &&
	    (record[0].node != record[1].node || record[0].cluster != record[1].cluster))
		return ISO_E_MALFORMED;

	uint32_t newer =
	    status[0] != ISO_OK || (status[1] == ISO_OK && record[1].seq > record[0].seq);

	if (status[1 - newer] != ISO_OK &&
	    !never_complete(journal + (1 - newer) * ISO_SLOT_BYTES, record[newer].seq))
		return ISO_E_DAMAGED;
	*ret_record = record[newer];
	return ISO_OK;
}
