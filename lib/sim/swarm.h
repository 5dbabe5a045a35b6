/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_SWARM_H
#define ISO_SIM_SWARM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/trade/share.h"
#include "lib/sim/site.h"
#include "lib/status.h"

/*
 * Many nodes of the real trading core (lib/trade/trade.h) in one memory, under a
 * simulated clock and network: every message is encoded, lost or delayed,
 * decoded and taken in as between agents.  The kernel is ideal: what a node
 * may enforce, it does at once; its journal never fails.
 *
 * A round is the mean time between two ticks of a node.  Ticks of different nodes
 * fall anywhere in it; nothing is synchronous.  All that is random follows
 * from the seed, and so does every bit of the result.
 */
struct iso_swarm;

/* The tick of all nodes, mean. */
#define ISO_SWARM_ROUND_NS 200000000u

struct iso_swarm_config {
	uint64_t seed;
	struct iso_share_params share;  /* ages as with ticks of ISO_SWARM_ROUND_NS */
	const struct iso_graph *graph;  /* connected or not; borrowed for iso_swarm_init() */
	const struct iso_site *sites;   /* one per node; borrowed for the life of the swarm */
	int64_t share_ucpu;             /* of each node at first: at least every floor */
	double loss;                    /* probability for each message, 0 to 0.99 */
	double delay;                   /* mean, rounds, 0 to 100; each is 0.5 to 1.5 times that */
	double jitter;                  /* a tick comes so much early or late, rounds, 0 to 0.9 */
};

/*
 * Bytes for all of it; 0 if the configuration is out of range or a node has
 * too many neighbours.  degrees: iso_graph_degrees() of the graph.
 */
size_t iso_swarm_size(const struct iso_swarm_config *config, const uint32_t *degrees);

/*
 * Memory: size bytes, aligned for uint64_t, owned by the caller.  All of it is
 * written, so nothing is overcommitted.  ISO_E_RANGE, ISO_E_SHORT.
 */
ISO_MUST_USE enum iso_status iso_swarm_init(void *memory, size_t size,
					    const struct iso_swarm_config *config,
					    const uint32_t *degrees,
					    struct iso_swarm **ret_swarm);

/* One round: every node ticks once, give or take the jitter. */
void iso_swarm_round(struct iso_swarm *swarm);

struct iso_swarm_counts {
	uint64_t rounds;
	uint64_t ticks;
	uint64_t sent;          /* messages */
	uint64_t lost;
	uint64_t received;      /* messages taken in */
	uint64_t dropped;       /* before the receiver's first tick, or overtaken on the way */
	uint64_t records;       /* times that something was to be made durable */
	uint64_t given_ucpu;    /* sum of all transfers */
};
void iso_swarm_counts(const struct iso_swarm *swarm, struct iso_swarm_counts *ret_counts);

/* Sum of the costs of what is enforced. */
double iso_swarm_cost(const struct iso_swarm *swarm);

/* Of all shares: equal if and only if they are, for all practical purposes. */
uint64_t iso_swarm_digest(const struct iso_swarm *swarm);

/*
 * What must always hold:
 *
 *     sum of shares + sum over edges of (S - R) = budget, and each S >= R
 *     floor <= share, enforced <= share, sum of enforced <= budget
 *
 * NULL, or what does not, as a phrase.
 */
const char *iso_swarm_violation(const struct iso_swarm *swarm);

#endif
