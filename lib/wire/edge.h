/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WIRE_EDGE_H
#define ISO_WIRE_EDGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * EDGE: the one message between neighbours, sent every tick on every edge.
 * It carries totals and never amounts, so a newer one replaces every older
 * one and loss, duplication and reordering are harmless.
 *
 * 152 bytes, little-endian, at these offsets:
 *
 *     0 u32 magic "ISOE"     4 u16 version (2)     6 u16 length (152)
 *     8 u64 cluster         16 u32 epoch          20 u16 flags    22 u16 degree
 *    24 u64 config digest   32 u64 source         40 u64 destination
 *    48 u32 source gen      52 u32 destination gen
 *    56 u32 incarnation     60 u32 echo inc       64 u32 base inc
 *    68 i16 symbol          70 u16 zero
 *    72 u64 sequence        80 u64 sent (S)       88 u64 received (R)
 *    96 u64 echo seq       104 u64 base seq
 *   112 i64 exact price    120 f64 curvature     128 i64 head-room
 *   136 i64 budget
 *   144 u64 XXH3 of the 144 bytes before
 */
#define ISO_EDGE_BYTES   152u
#define ISO_EDGE_MAGIC   0x454f5349u /* "ISOE" */
#define ISO_EDGE_VERSION 2u

#define ISO_EDGE_LEAVING   0x0001u /* the sender gives away all it has and goes */
#define ISO_EDGE_FROZEN    0x0002u /* the sender will never give to the destination again */
#define ISO_EDGE_TOMBSTONE 0x0004u /* destination_gen is void; of the rest only names count */
#define ISO_EDGE_REFERABLE 0x0008u /* the price of this message may become a base */
#define ISO_EDGE_FLAGS     0x000fu

struct iso_edge_frame {
	uint64_t cluster;       /* XXH3 of the cluster's name */
	uint32_t epoch;         /* of the configuration */
	uint64_t digest;        /* of the shared configuration */
	uint64_t source;        /* node ids */
	uint64_t destination;
	uint32_t source_gen;
	uint32_t destination_gen;
	uint32_t inc;           /* sender's incarnation, > 0 */
	uint64_t seq;           /* within it, > 0 and, like all numbers of messages, < 2^32 */
	uint64_t sent;          /* S: all that the sender ever debited toward the destination */
	uint64_t received;      /* R: all that it ever credited from there */
	uint32_t echo_inc;      /* newest message of the destination that came; 0, 0: none */
	uint64_t echo_seq;
	uint32_t base_inc;      /* the one whose price is the reference of symbol; 0, 0: absolute */
	uint64_t base_seq;
	int16_t symbol;
	int64_t exact_q32;      /* price, in mode none only */
	double curvature;       /* >= 0, finite */
	int64_t head_ucpu;      /* >= 0 */
	int64_t budget_ucpu;    /* as the sender knows it, > 0: no transfer can be larger */
	uint16_t degree;
	uint16_t flags;         /* ISO_EDGE_* */
};

/* The frame must be one that iso_edge_decode() accepts. */
void iso_edge_encode(const struct iso_edge_frame *frame, uint8_t ret_bytes[ISO_EDGE_BYTES]);

/*
 * ISO_E_SHORT, ISO_E_LONG     size is not 152
 * ISO_E_MALFORMED             another magic; or a field that no sender writes
 * ISO_E_VERSION               another version
 * ISO_E_CHECKSUM              damaged
 * Says nothing about whom the message is for.
 */
ISO_MUST_USE enum iso_status iso_edge_decode(const void *bytes, size_t size,
					     struct iso_edge_frame *ret_frame);

#endif
