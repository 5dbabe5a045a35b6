/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_HOSTILE_H
#define ISO_SYSTEM_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/quant/quant.h"
#include "lib/wire/edge.h"
#include "tests/system/ring.h"

/*
 * One node of a ring in hostile hands: it has the node's key and address, and
 * says to its two neighbours whatever the test wants.  Left alone it keeps to the
 * rules and wants nothing.
 */
#define HOSTILE_TICK_MS 100u

/* Prices in cost units: a node gives to who shows a lower one. */
#define HOSTILE_CONTENT 1e6
#define HOSTILE_GREEDY	-1e6

struct hostile_edge {
	unsigned victim; /* node of the ring */
	void *push;
	bool is_heard;
	struct iso_edge_frame heard; /* the newest */
	uint64_t sent, received;     /* as it claims them */
	uint32_t seq;
	uint8_t last[ISO_EDGE_BYTES]; /* what it said last */
};

struct hostile {
	struct ring *ring;
	unsigned node;
	void *context, *pull;
	struct iso_quant quant;
	uint32_t inc;
	double price;
	bool is_taking;		      /* acknowledges what it is given */
	struct hostile_edge edges[2]; /* to the right, to the left */
};

/* Called for each message before it goes out; NULL: as it is. */
typedef void hostile_fn(struct hostile *hostile, struct hostile_edge *edge,
			struct iso_edge_frame *frame);

/* In the place of a node that does not run. */
void hostile_open(struct hostile *hostile, struct ring *ring, unsigned node);
void hostile_close(struct hostile *hostile);

/* Until both neighbours have been heard and hear it. */
void hostile_meet(struct hostile *hostile);

/* Takes part for so long, a message each tick. */
void hostile_live(struct hostile *hostile, unsigned ms, hostile_fn *fn);

/* What it would say on this edge now, with the next number. */
struct iso_edge_frame hostile_frame(struct hostile *hostile, struct hostile_edge *edge);

/* Any bytes, as they are; waits while the line is full. */
void hostile_say(struct hostile_edge *edge, const void *bytes, size_t size);

/* The frame, whatever is in it, with a checksum that is right. */
void hostile_seal(const struct iso_edge_frame *frame, uint8_t ret_bytes[ISO_EDGE_BYTES]);

/* A message from somebody with these keys, or NULL: without any, to a node; it may be lost. */
void hostile_knock(struct hostile *hostile, unsigned victim, const struct curve_keypair *keys,
		   const void *bytes, size_t size);

/* What it may own if all it says is true. */
int64_t hostile_holdings(const struct hostile *hostile);

#endif
