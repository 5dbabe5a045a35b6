/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WIRE_PEER_H
#define ISO_WIRE_PEER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Frames between the workers of neighbouring nodes (lib/track/peer.h has what
 * they mean): a head of fixed layout and, with SNAPSHOT and INNOVATION, a
 * payload that is sent as a second part, so that vectors go out without a copy.
 *
 * 168 bytes, little-endian, at these offsets:
 *
 *     0 u32 magic "ISOP"     4 u16 version (1)     6 u16 kind
 *     8 u64 plan            16 u64 source         24 u64 destination
 *    32 u64 boot            40 u64 echo boot
 *    48 u32 session         52 u32 echo session
 *    56 u64 base boot       64 u32 base session   68 u32 base echo session
 *    72 u64 settled         80 u64 seq            88 u64 ack
 *    96 u64 round          104 u16 degree        106 u16 age     108 u32 flags
 *   112 f64 alpha          120 f64 curvature     128 f64 loss
 *   136 u64 payload bytes  144 u64 XXH3 of the payload
 *   152 u32 split          156 u32 params
 *   160 u64 XXH3 of the 160 bytes before
 */
#define ISO_PEER_HEAD_BYTES     168u
#define ISO_PEER_MAGIC          0x504f5349u /* "ISOP" */
#define ISO_PEER_VERSION        1u
#define ISO_PEER_NEIGHBOURS_MAX 1024u
#define ISO_PEER_PARAMS_MAX     (16u * 1024 * 1024)
#define ISO_PEER_AGE_MAX        256u
#define ISO_PEER_AMOUNT_MAX     0x1p500 /* of alpha and curvature */
#define ISO_PEER_CURVATURE_RATIO_MAX 0x1p30  /* heard, of the own one; more is not believed */
#define ISO_PEER_NUMBER_RATIO_MAX 0x1p40 /* in y and z, of what is usual; likewise */
#define ISO_PEER_NUMBER_MAX       0x1p104 /* in y and z, whatever is usual */
#define ISO_PEER_ROUND_MAX      ((uint64_t)1 << 53)

enum iso_peer_kind {
	ISO_PEER_HELLO = 1,  /* let us begin a session */
	ISO_PEER_SNAPSHOT,   /* both estimates as doubles */
	ISO_PEER_INNOVATION, /* both estimates since the frame before, coded (lib/quant/stream.h) */
	ISO_PEER_POKE,       /* I wait for your frame: this is what I have */
	ISO_PEER_ACK,        /* this is what I have */
	ISO_PEER_BYE,        /* DONE or LEAVING */
};

#define ISO_PEER_WANT    0x0001u /* ACK: your newest frame has not come */
#define ISO_PEER_DONE    0x0002u /* BYE: last round done.  ACK: that is known */
#define ISO_PEER_LEAVING 0x0004u /* BYE: forget the edge */

/* One end of a session: the run of a program, and its count of sessions begun. */
struct iso_peer_nonce {
	uint64_t boot;    /* 0: none */
	uint32_t session; /* likewise 0 */
};

struct iso_peer_frame {
	enum iso_peer_kind kind;
	uint32_t flags;
	uint64_t plan;
	uint64_t source;            /* node ids */
	uint64_t destination;
	struct iso_peer_nonce own;  /* of the sender, never none */
	struct iso_peer_nonce echo; /* of the destination, as last heard; none in HELLO only */
	/* HELLO: the session that the sender would resume, none: begins with F = 0. */
	uint32_t base_session;      /* the sender's, < own.session */
	struct iso_peer_nonce base; /* the destination's */
	uint64_t settled;           /* pairs that the sender has settled in it */
	/* The rest is of no use in HELLO but round. */
	uint64_t seq;               /* of this frame or the newest sent; HELLO: 0 */
	uint64_t ack;               /* newest that came; HELLO: 0 */
	uint64_t round;             /* <= ISO_PEER_ROUND_MAX */
	uint32_t degree;            /* neighbours of the sender, as it weights this frame */
	uint32_t params;            /* 1 .. ISO_PEER_PARAMS_MAX */
	double alpha;               /* that the sender wishes for; 0: not known yet */
	double curvature;           /* the largest that the sender knows of; likewise */
	uint32_t age;               /* rounds that this took from its node, < ISO_PEER_AGE_MAX */
	double loss;                /* NaN: not known */
	/* SNAPSHOT and INNOVATION, else 0: */
	uint64_t payload_bytes;
	uint64_t payload_checksum;
	uint32_t split;             /* bytes of the estimate of y; that of z follows */
};

/* The frame must be one that iso_peer_frame_decode() accepts. */
void iso_peer_frame_encode(const struct iso_peer_frame *frame,
			   uint8_t ret_head[ISO_PEER_HEAD_BYTES]);

/*
 * ISO_E_SHORT, ISO_E_LONG     size is not 168
 * ISO_E_MALFORMED             another magic; or a field that no sender writes
 * ISO_E_VERSION               another version
 * ISO_E_CHECKSUM              damaged
 * Says nothing about the payload, nor whom the frame is for.
 */
ISO_MUST_USE enum iso_status iso_peer_frame_decode(const void *head, size_t size,
						   struct iso_peer_frame *ret_frame);

/* ISO_E_SHORT, ISO_E_LONG, ISO_E_CHECKSUM: not the payload that the head announces. */
ISO_MUST_USE enum iso_status iso_peer_payload_check(const struct iso_peer_frame *frame,
						    const void *payload, size_t size);

/*
 * A snapshot's numbers as they lie in a payload: on little-endian machines the array itself,
 * else scratch (8 bytes a number), filled.
 */
const uint8_t *iso_peer_snapshot_view(const double *numbers, size_t count, uint8_t *scratch);

/* 0 where numbers are sent as they lie. */
size_t iso_peer_snapshot_scratch(size_t count);

/* ISO_E_RANGE: a number is not finite; ret_numbers is untouched then. */
ISO_MUST_USE enum iso_status iso_peer_snapshot_read(const uint8_t *payload, size_t count,
						    double *ret_numbers);

#endif
