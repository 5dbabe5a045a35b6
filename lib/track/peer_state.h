/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PEER_STATE_H
#define ISO_PEER_STATE_H

#include "lib/track/adapt.h"
#include "lib/track/peer.h"

/* Inside of lib/track/peer*.c only. */

/* What is to be sent on an edge as soon as the caller asks; in this order. */
enum peer_want {
	WANT_HELLO = 1,
	WANT_EARLIER = 2, /* the frame before the newest, again */
	WANT_NEWEST = 4,
	WANT_ACK = 8,
	WANT_POKE = 16,
	WANT_BYE = 32,
};

/* A data frame that was sent, so that it can be sent again with the same meaning. */
struct peer_sent {
	uint64_t publish; /* which estimate: 0, none was sent */
	uint32_t degree;
	bool snapshot;
};

struct peer_edge {
	uint64_t node;
	enum iso_peer_state state;
	unsigned wants; /* enum peer_want */
	uint32_t ack_flags;
	/*
	 * The own end: session changes whenever the edge leaves LIVE, and base and settled
	 * before are the same as long as session is, whatever else happens.
	 */
	uint32_t session;
	uint32_t base_session;      /* own end of the session that F belongs to; 0: F = 0 */
	struct iso_peer_nonce base; /* its other end */
	uint64_t base_settled;
	/* The other end, from its HELLO. */
	struct iso_peer_nonce peer; /* none: not heard, or void since this end left LIVE */
	struct iso_peer_nonce peer_newest; /* like peer, but never void: what is older is late */
	uint32_t peer_base_session;
	struct iso_peer_nonce peer_base;
	uint64_t peer_settled;
	uint64_t peer_round;
	/* LIVE: numbers of frames, from 1. settled <= sent <= settled + 1, received <= sent + 1. */
	uint64_t sent;
	uint64_t received;
	uint64_t settled;
	struct peer_sent newest;
	struct peer_sent earlier;
	uint64_t used_publish;      /* the last sent, in whatever session */
	uint32_t peer_degree;       /* in the frame received */
	double weight;              /* of the last pair; 0: none yet */
	bool heard_valid;           /* heard is an estimate, old maybe */
	bool pulled;                /* a pair of this round is part of pull */
	double alpha;               /* its wish; 0: not known */
	double curvature;           /* L that it knows of, and how old that is by now */
	uint32_t curvature_age;
	double loss;
	uint64_t since_ns;          /* LIVE: newest was first sent.  HELD: begin. */
	uint64_t again_ns;          /* when to send HELLO, POKE or BYE */
	uint64_t last_heard_ns;
	uint64_t sessions, holds, drops, resyncs, bars;
	uint64_t barred_at_ns;
	uint64_t barred_until_ns;   /* not listened to before, unless it begins anew */
	uint32_t farewell_session;  /* WANT_BYE when DOWN: the session that it was barred in */
	struct iso_peer_nonce farewell;
	uint64_t frames_in, frames_bad, bytes_in, bytes_out, payload_out;
	double *flux;               /* m */
	double *flux_before;        /* m: F without the last pair that was settled */
	double *heard;              /* 2 m: their estimates of y and z */
};

enum peer_phase {
	PHASE_GRADIENT = 1, /* a COMPUTE is out, or about to be */
	PHASE_WAIT,         /* estimates are published; for the frames of the neighbours */
	PHASE_ENDING,       /* the neighbours are told */
	PHASE_ENDED,        /* who comes is still answered */
};

struct iso_peer {
	struct iso_peer_config config; /* neighbours is NULL */
	enum peer_phase phase;
	bool compute_wanted;        /* COMPUTE is not handed out yet */
	bool ended_wanted;          /* likewise ENDED */
	bool stopped;               /* diverged: says nothing more */
	bool virgin;                /* no frame of data was ever sent: y may still be adopted */
	bool adopted;
	bool adopt_ready;           /* y of adopt_edge has come during COMPUTE */
	bool adopting;              /* a neighbour is further on; its snapshot is awaited */
	uint32_t adopt_edge;
	uint64_t adopt_round;       /* of the snapshot, whatever is heard after it */
	uint64_t round;
	uint64_t publish;           /* times the estimates moved */
	uint64_t now_ns;
	uint64_t grace_ns;          /* until then who was never there is waited for */
	uint64_t deadline_ns;       /* of adopting, or of ENDING */
	double loss;
	double curvature;           /* L of the own objective; 0: not known yet */
	bool bounds_set;            /* once there was a gradient */
	double y_max, z_max;        /* largest magnitudes that are believed */
	double alpha_used;
	bool adapt_ready;
	struct iso_track_adapt adapt;
	struct peer_edge *edges;
	double *y, *z, *gradient, *pull; /* m */
	double *estimate;           /* 2 m */
	/* Payloads by the parity of publish, and a snapshot where it is not estimate itself. */
	uint8_t *payload[2];
	uint64_t payload_bytes[2];
	uint64_t payload_checksum[2];
	uint32_t payload_split[2];
	uint8_t *snapshot_scratch;
	uint64_t snapshot_publish;  /* the one that snapshot_checksum is of */
	uint64_t snapshot_checksum;
};

static inline uint32_t peer_params(const struct iso_peer *peer)
{
	return peer->config.stream.n;
}

static inline struct iso_peer_nonce peer_nonce(const struct iso_peer *peer,
					       const struct peer_edge *edge)
{
	return (struct iso_peer_nonce){ peer->config.boot, edge->session };
}

static inline bool peer_same(struct iso_peer_nonce a, struct iso_peer_nonce b)
{
	return a.boot == b.boot && a.session == b.session;
}

/* The last round is done: neighbours are told, and who comes after that gets the result. */
static inline bool peer_is_over(const struct iso_peer *peer)
{
	return peer->phase == PHASE_ENDING || peer->phase == PHASE_ENDED;
}

/* Nothing is said or heard any more. */
static inline bool peer_is_mute(const struct iso_peer *peer)
{
	return peer->stopped;
}

/*
 * All numbers of sessions have been used: only a neighbour that ends each at once gets there,
 * and is not heard any more.
 */
static inline bool peer_spent(const struct peer_edge *edge)
{
	return edge->session == UINT32_MAX;
}

/* Has sent numbers beyond all reason; what it says since is not heard. */
static inline bool peer_barred(const struct iso_peer *peer, const struct peer_edge *edge)
{
	return peer->now_ns < edge->barred_until_ns;
}

/* A node at that round is further on, and not where no node can be. */
static inline bool peer_is_ahead(const struct iso_peer *peer, uint64_t round)
{
	uint64_t rounds = peer->config.rounds;

	return round > peer->round && (rounds == 0 || round <= rounds);
}

/* The edge counts: it has a weight and maybe F. */
static inline bool peer_counts(const struct peer_edge *edge)
{
	return edge->state != ISO_PEER_IS_DOWN;
}

/* peer_session.c: which pairs of ends belong together. */
void iso_peer_edge_begin(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_edge_hold(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_edge_resync(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_edge_drop(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_edge_bar(struct iso_peer *peer, struct peer_edge *edge);
/* Ends a bar before its time if the frame is of another run and the bar has lasted a while. */
void iso_peer_edge_pardon(struct iso_peer *peer, struct peer_edge *edge,
			  const struct iso_peer_frame *frame);
void iso_peer_edge_done(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_edge_live(struct iso_peer *peer, struct peer_edge *edge);
enum iso_status iso_peer_edge_hello(struct iso_peer *peer, struct peer_edge *edge,
				    const struct iso_peer_frame *frame);

/* peer_round.c: gradient, publish, wait, move. */
void iso_peer_offer(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_settle(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_adopt_from(struct iso_peer *peer, struct peer_edge *edge);
void iso_peer_adopt_take(struct iso_peer *peer, uint64_t round);
void iso_peer_adopt_stop(struct iso_peer *peer);
void iso_peer_advance(struct iso_peer *peer);

/* peer_belief.c */

/* What numbers a neighbour can have, from the first own gradient. */
void iso_peer_bounds_set(struct iso_peer *peer);

/* Its estimates are within them; takes time linear in parameters. */
bool iso_peer_is_credible(const struct iso_peer *peer, const struct peer_edge *edge);

/* The least alpha that a live neighbour wishes for; infinity: none. */
double iso_peer_least_wish(const struct iso_peer *peer);

/* The largest L of all nodes there are; ret_age: how many rounds ago it was said by its node. */
double iso_peer_curvature(const struct iso_peer *peer, uint32_t *ret_age);

/* peer_send.c */
bool iso_peer_send_next(struct iso_peer *peer, uint32_t neighbour,
			struct iso_peer_action *ret_action);

#endif
