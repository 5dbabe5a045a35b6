/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PEER_WORLD_H
#define ISO_PEER_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/rng.h"
#include "lib/track/peer_state.h"

/*
 * Nodes of the decentralised training under a simulated clock and network that
 * loses, doubles, delays and so reorders frames, cuts links in one direction or both,
 * and kills nodes.  Each has a quadratic objective, so that the optimum of all, or
 * of those that are left, is known.
 *
 * At every event it is checked that the two ends of an edge that are in one session hold
 * F and exactly -F for the same pairs, and the same estimates.
 */
#define PEER_NODES_MAX 16u
#define PEER_PARAMS    5u
#define MS             1000000ull
#define SECOND         (1000 * MS)

struct peer_packet {
	uint64_t at_ns;
	uint64_t order; /* ties by age: replays bit for bit */
	uint32_t from, to;
	uint8_t head[ISO_PEER_HEAD_BYTES];
	const uint8_t *payload;
	uint8_t *owned; /* the same, to be freed; NULL: borrowed */
	size_t payload_size;
	struct peer_packet *next;
};

struct peer_node {
	bool up;
	bool ended;
	bool hostile;           /* what it sends goes through tamper; its ends are not compared */
	struct iso_peer *peer;
	uint64_t compute_at_ns; /* UINT64_MAX: nothing is computed */
	double *gradient_to;
	const double *gradient_at;
	uint64_t compute_ns;    /* mean */
	double a[PEER_PARAMS], b[PEER_PARAMS]; /* sum of a (y - b)^2 / 2 */
	uint32_t neighbours[PEER_NODES_MAX];
	uint32_t neighbour_count;
	double curvature;       /* that it says it has */
	double noise;           /* of its gradients, as of mini-batches */
	uint64_t boots;
};

struct peer_world;

/* Changes a frame that is under way; payload_size stays, the checksums are made right after. */
typedef void peer_tamper(struct peer_world *world, struct peer_packet *packet, uint8_t *payload);

struct peer_world {
	struct iso_rng rng;
	uint64_t now_ns;
	uint64_t order;
	uint32_t nodes_count;
	struct peer_node nodes[PEER_NODES_MAX];
	struct iso_peer_config config; /* but node, neighbours and boot */
	double y_first[PEER_PARAMS];
	double loss, twice;            /* chances of a frame */
	uint64_t delay_min_ns, delay_max_ns;
	bool cut[PEER_NODES_MAX][PEER_NODES_MAX]; /* [from][to] */
	peer_tamper *tamper;
	bool damage;                   /* a bit of a payload, behind a checksum that is right */
	struct peer_packet *packets;   /* by time */
	uint64_t checked_pairs;        /* how often the ends of an edge were compared */
	uint64_t sent, lost;
};

/* Those that end at the optimum but for rounding. */
extern const enum iso_stream_mode peer_exact_modes[2];

/* All nodes are down, a graph without edges. */
void peer_world_open(struct peer_world *world, uint64_t seed, uint32_t nodes,
		     enum iso_stream_mode mode);
void peer_world_close(struct peer_world *world);
void peer_world_link(struct peer_world *world, uint32_t a, uint32_t b);
void peer_world_ring(struct peer_world *world);
void peer_world_open_ring(struct peer_world *world, uint64_t seed, uint32_t nodes,
			  enum iso_stream_mode mode);
/* A ring, and one in four of the other edges. */
void peer_world_random(struct peer_world *world);

/* Without state but y_first and round 0; or with y of an earlier life. */
void peer_world_start(struct peer_world *world, uint32_t node);
void peer_world_start_at(struct peer_world *world, uint32_t node, const double *y, uint64_t round);
void peer_world_start_all(struct peer_world *world);
void peer_world_kill(struct peer_world *world, uint32_t node);

/* Until that much later. */
void peer_world_run(struct peer_world *world, uint64_t ns);
/* Until all nodes that are up have ended; false: not within that time. */
bool peer_world_run_out(struct peer_world *world, uint64_t ns);

/* Both ends of every edge of nodes that are up hold opposite F, whatever their state. */
void peer_world_check_rest(const struct peer_world *world);

/* Largest distance of a parameter of a node that is up from the optimum of those marked. */
double peer_world_gap(const struct peer_world *world, const bool *counts);
/* Of those that are up. */
double peer_world_gap_up(const struct peer_world *world);

/* Until that much later, when all that are up are at their optimum. */
void peer_world_settle(struct peer_world *world, uint64_t ns);

/* As a node sees one of its neighbours. */
struct iso_peer_edge peer_world_edge(const struct peer_world *world, uint32_t node, uint32_t other);
struct iso_peer_status peer_world_status(const struct peer_world *world, uint32_t node);

#endif
