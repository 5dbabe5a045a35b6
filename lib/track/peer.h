/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PEER_H
#define ISO_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/quant/stream.h"
#include "lib/status.h"
#include "lib/wire/peer.h"

/*
 * One node of the decentralised training: gradient tracking (lib/track/flow.h) in lock step
 * with each neighbour by itself, no step that all nodes wait for.  A round of a node:
 *
 *   gradient   the caller computes it at y
 *   publish    z = gradient + sum of F; the estimates of y and z move, a frame to every neighbour
 *   wait       for the frame of each; a pair of frames with the same number settles the
 *              edge: F += T w (their z - own z), pull += T w (their y - own y)
 *   move       y += pull - T alpha z
 *
 * A neighbour that is late by wait_ns is held: the rounds go on without it, F stays,
 * y is pulled to what was last heard.  Both ends then agree anew (HELLO) which
 * pairs count, take back one that only one of them had, and go on from a snapshot.  After
 * drop_ns of silence, or when the neighbour has begun anew, the edge is dropped:
 * both ends forget F.  isobar-protocol(7) has the state machine.
 *
 * Numbers that no neighbour can have (ISO_PEER_NUMBER_RATIO_MAX) are not taken in: who sends them
 * is barred: dropped, and not listened to for wait_ns + drop_ns, each time for twice as long up to
 * about an hour, but for no more than the first time once it begins anew.  The rounds go on with
 * the others.  What is just within the bounds counts, and spoils what is learnt as wrong data
 * would.
 *
 * The caller's loop, with time that never goes back:
 *
 *     iso_peer_receive()    for each frame that came
 *     iso_peer_gradient()   when the gradient asked for is there
 *     iso_peer_tick()       at iso_peer_wake_ns(), or at any time
 *     while (iso_peer_next(...))  after each of these: carry out the action
 *
 * A node without a neighbour that is there does not go on alone: it would unlearn
 * what it does not see.  (One that has no neighbours at all does.)  It ends alone if the
 * last round is done.
 */

struct iso_peer;

struct iso_peer_config {
	uint64_t plan;              /* digest of what all nodes must agree on */
	uint64_t node;              /* own id */
	const uint64_t *neighbours; /* their ids, borrowed during init only */
	uint32_t neighbour_count;   /* index < count below */
	uint64_t boot;              /* not 0, unlike that of any earlier start: drawn at random */
	struct iso_stream_config stream; /* of y and of z, each; n: parameters */
	double step;                /* T, of all nodes the same, (0, 2) */
	double alpha;               /* gradient weight, > 0; 0: adaptive, in units of 1 / L */
	uint64_t rounds;            /* ends when round is this; 0: never; <= ISO_PEER_ROUND_MAX */
	uint64_t wait_ns;           /* > resend_ns */
	uint64_t drop_ns;           /* after the hold */
	uint64_t resend_ns;         /* > 0 */
};

/* Bytes for one node; 0 if the configuration is out of range. */
size_t iso_peer_size(const struct iso_peer_config *config);

/*
 * Memory: size bytes, aligned for uint64_t, the caller's.  y: where to start, copied; all
 * nodes of a new run the same.  round: 0, or of which round y was saved: a node takes y and
 * round from the first neighbour that is further on, but not beyond the last round.
 * ISO_E_RANGE: also a round above ISO_PEER_ROUND_MAX.  ISO_E_SHORT.
 */
ISO_MUST_USE enum iso_status iso_peer_init(void *memory, size_t size,
					   const struct iso_peer_config *config, const double *y,
					   uint64_t round, uint64_t now_ns,
					   struct iso_peer **ret_peer);

enum iso_peer_do {
	ISO_PEER_SEND = 1, /* head and payload to a neighbour; may be lost, never cut */
	ISO_PEER_COMPUTE,  /* the gradient at y: fill it in, then iso_peer_gradient() */
	ISO_PEER_ENDED,    /* once: the last round is done and all neighbours know, or have had
			    * wait_ns; from now on only who comes is answered, with the result */
};

struct iso_peer_action {
	enum iso_peer_do what;
	/* SEND; head and payload are valid until the next call of a function that changes. */
	uint32_t neighbour;
	uint8_t head[ISO_PEER_HEAD_BYTES];
	const uint8_t *payload;
	size_t payload_size; /* 0: none */
	/* COMPUTE; y is still and gradient is the caller's until iso_peer_gradient(). */
	uint64_t round;
	const double *y;
	double *gradient;
};

/* false: nothing to do until the next input. */
bool iso_peer_next(struct iso_peer *peer, struct iso_peer_action *ret_action);

/*
 * A frame from the neighbour that the link has authenticated.  Statuses other than ISO_OK:
 * dropped, counted, without effect: those of iso_peer_frame_decode(), ISO_E_CONFIG (another
 * plan), ISO_E_FOREIGN (source or destination), ISO_E_STALE (of an earlier session or twice, or
 * of one that is barred), ISO_E_RANGE (numbers beyond all reason: it is barred from now on, see
 * iso_peer_edge()), ISO_E_CHECKSUM, ... of the payload: the edge begins anew with a snapshot.
 */
ISO_MUST_USE enum iso_status iso_peer_receive(struct iso_peer *peer, uint64_t now_ns,
					      uint32_t neighbour, const uint8_t *head,
					      size_t head_size, const uint8_t *payload,
					      size_t payload_size);

/*
 * The gradient of the last COMPUTE is filled in.  loss: of the same point, for the log;
 * curvature: L of the own objective, > 0, finite.
 * ISO_E_RANGE: it or the iteration is not finite any more (diverged): the node cannot go on.
 */
ISO_MUST_USE enum iso_status iso_peer_gradient(struct iso_peer *peer, uint64_t now_ns, double loss,
					       double curvature);

void iso_peer_tick(struct iso_peer *peer, uint64_t now_ns);

/* When to tick at the latest.  UINT64_MAX: never. */
uint64_t iso_peer_wake_ns(const struct iso_peer *peer);

enum iso_peer_state {
	ISO_PEER_IS_DOWN = 0, /* not there, or not yet */
	ISO_PEER_IS_LIVE,
	ISO_PEER_IS_HELD,     /* late, silent, or to be agreed with anew; F is kept */
	ISO_PEER_IS_DONE,     /* has done its last round; F is kept */
};

struct iso_peer_edge {
	uint64_t node;
	enum iso_peer_state state;
	uint64_t round;        /* the neighbour's, as last heard */
	double loss;           /* likewise; NaN: never heard */
	double distance;       /* |their y - own y| / |own y| of the estimates; NaN: none yet */
	double weight;         /* w of the last pair, 0 before */
	uint64_t settled;      /* pairs of the session */
	uint64_t sessions;     /* how often it went live */
	uint64_t holds;
	uint64_t drops;
	uint64_t resyncs;      /* of holds: for a gap or a payload that does not decode */
	uint64_t bars;         /* of drops: for numbers beyond all reason */
	uint64_t barred_ns;    /* how much longer it is not listened to; 0: it is */
	uint64_t frames_in;    /* taken in */
	uint64_t frames_bad;   /* another status than ISO_OK */
	uint64_t bytes_in;     /* heads and payloads */
	uint64_t bytes_out;
	uint64_t payload_out;  /* bytes of payloads alone */
	const double *flux;    /* F, borrowed until the next call that changes */
};
void iso_peer_edge(const struct iso_peer *peer, uint32_t neighbour,
		   struct iso_peer_edge *ret_edge);

struct iso_peer_status {
	uint64_t round;        /* moves of y done, of this run: also of nodes it took y from */
	bool adopted;          /* y was taken from a neighbour */
	bool computing;        /* a COMPUTE is out */
	bool alone;            /* waits because no neighbour is there */
	bool ended;
	uint32_t live;         /* neighbours by state */
	uint32_t held;
	uint32_t done;
	double loss;           /* as of the last gradient; NaN before */
	double alpha;          /* used in the last move, 0 before */
	double curvature;      /* L: the largest of the nodes there are, as far as heard */
	double spread;         /* largest distance of an edge that is not down; NaN: none */
	double z_norm;         /* |z| */
	uint64_t bytes_out;
	uint64_t payload_out;
};
/* Takes time linear in parameters times neighbours. */
void iso_peer_status(const struct iso_peer *peer, struct iso_peer_status *ret_status);

/* Cheap: moves of y done. */
uint64_t iso_peer_round(const struct iso_peer *peer);

/* y and z, m each, borrowed until the next call that changes. */
const double *iso_peer_model(const struct iso_peer *peer);
const double *iso_peer_tracked(const struct iso_peer *peer);

#endif
