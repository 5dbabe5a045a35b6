/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_RECORD_H
#define ISO_LEDGER_RECORD_H

#include <stdint.h>

#include "lib/status.h"

/*
 * What a node must never forget, and how it lies in the journal: two slots
 * of 4 KiB, written in turn (slot = seq mod 2), each a whole record.
 *
 * A slot is eight sectors of 512 bytes.  A sector is 496 bytes of payload,
 * the stamp (seq * 8 + sector number, u64) and an XXH3 of the 504 bytes
 * before it.  So a slot that was half written when the power went (each
 * sector whole, but not of one seq) can be told from one that was damaged
 * later, and only the first may be passed over: the record of a torn write
 * was never shown to anybody, that of a damaged slot may have been.
 *
 * Payload, little-endian:
 *
 *     0 u32 magic "ISOJ"   4 u16 version (2)   6 u16 edge count   8 u32 length
 *    12 u32 epoch         16 u64 cluster      24 u64 node
 *    32 u32 gen           36 u32 inc          40 u32 halt        44 u32 flags
 *    48 i64 endowment     56 u64 last op      64 u64 seq
 *    72 i64 budget        80 i64 last op's amount
 *    88 i64 floor
 *    96 per edge: u64 peer, u32 peer gen, u32 flags, u64 sent, u64 received
 *    then u64 XXH3 of the payload before it; length counts up to here; zeros.
 */
#define ISO_DEGREE_MAX 64u

#define ISO_SECTOR_BYTES  512u
#define ISO_SLOT_BYTES	  4096u
#define ISO_JOURNAL_BYTES (2u * ISO_SLOT_BYTES)

#define ISO_RECORD_MAGIC   0x4a4f5349u /* "ISOJ" */
#define ISO_RECORD_VERSION 2u

/* Counters and amounts stay below this; at one CPU per second it takes 146 000 years. */
#define ISO_UNITS_MAX ((int64_t)1 << 62)

/* Edge flags. */
#define ISO_EDGE_STATE_CLOSED 0x1u /* the peer is being buried: nothing sent, nothing credited */
#define ISO_EDGE_STATE_FROZEN 0x2u /* the peer is leaving: nothing is debited any more */
/*
 * A tombstone: the peer's generation has ended and what went over the edge is
 * part of A.  It stays, alone and with S = R = 0, so that no old message of that
 * generation is ever credited again; a greater generation takes its place.
 */
#define ISO_EDGE_STATE_FOLDED 0x4u
#define ISO_EDGE_STATE_FLAGS  0x7u

/* Node flags. */
#define ISO_NODE_DRAINING 0x1u /* gives away what it may, down to the floor */
#define ISO_NODE_LEAVING  0x2u /* gives away everything, for good */
#define ISO_NODE_FLAGS	  0x3u

/* Why a node stopped trading for good; durable, so that a restart does not forget it. */
enum iso_halt {
	ISO_HALT_NONE = 0,
	ISO_HALT_AMNESIA,   /* a neighbour knows more of this node than its journal does */
	ISO_HALT_OVERDRAFT, /* a neighbour claims to have sent more than there is */
	ISO_HALT_BURIED,    /* a neighbour says that this generation was buried */
	ISO_HALT_LEFT,	    /* it gave everything away and left the cluster */
};

/* A phrase that completes "trading has stopped: "; static, never NULL. */
const char *iso_halt_text(enum iso_halt halt);

struct iso_record_edge {
	uint64_t peer;
	uint32_t peer_gen;
	uint32_t flags;
	uint64_t sent;	   /* S */
	uint64_t received; /* R */
};

struct iso_record {
	uint64_t cluster;
	uint64_t node;
	uint32_t gen;	/* identity = (node, gen); 0: not admitted, owns nothing */
	uint32_t inc;	/* incarnation: +1 at each start */
	uint32_t epoch; /* of the configuration */
	enum iso_halt halt;
	uint32_t flags;		/* ISO_NODE_* */
	int64_t endowment_ucpu; /* A: minted less burned here, and what folds left; any sign */
	int64_t budget_ucpu;	/* as last told: no transfer is larger; 0 only in generation 0 */
	int64_t floor_ucpu;	/* the least of this life, once it has an administrator */
	uint64_t last_op;	/* newest administrator operation applied; 0: none */
	int64_t last_op_ucpu;	/* what it moved: the answer when it is asked for again */
	uint64_t seq;		/* > 0, +1 with each record */
	uint32_t edge_count;
	struct iso_record_edge edges[ISO_DEGREE_MAX];
};

/* x = A + sum R - sum S: what the node owns.  Wraps, so the caller checks the range. */
int64_t iso_record_holdings(const struct iso_record *record);

/*
 * Whether a record can be one of ours: counters in range, 0 <= x, no edge
 * twice, tombstones empty, a node that has left or was never admitted
 * without share.  ISO_E_MALFORMED otherwise.
 */
ISO_MUST_USE enum iso_status iso_record_check(const struct iso_record *record);

/* The record must pass iso_record_check(). */
void iso_record_encode(const struct iso_record *record, uint8_t ret_slot[ISO_SLOT_BYTES]);

/*
 * ISO_E_CHECKSUM   a sector is damaged, or the sectors are not of one record
 * ISO_E_MALFORMED  intact, but not a record
 * ISO_E_VERSION    intact, of another version
 */
ISO_MUST_USE enum iso_status iso_record_decode(const uint8_t slot[ISO_SLOT_BYTES],
					       struct iso_record *ret_record);

/*
 * The state to go on from: the valid slot with the larger seq, provided that
 * the other slot cannot have held a newer record that somebody saw.  Never
 * returns a state older than the newest one that was made durable.
 *
 * ISO_E_DAMAGED    no such state: both slots damaged, or what is left of one
 *                  shows that it may have been the newer one
 * ISO_E_VERSION    a slot was written by another version
 * ISO_E_MALFORMED  not a journal
 */
ISO_MUST_USE enum iso_status iso_record_recover(const uint8_t journal[ISO_JOURNAL_BYTES],
						struct iso_record *ret_record);

#endif
