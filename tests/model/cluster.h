/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_CLUSTER_H
#define ISO_MODEL_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/model/node.h"
#include "tests/model/pool.h"
#include "tests/model/world.h"

/*
 * Three nodes, each a neighbour of both others, and the network between
 * them: for each direction the set of all messages ever sent.  Any of them may
 * arrive at any time, any number of times, in any order, or never.
 *
 * A state is which memory, disk and kernel each node has, which messages
 * there are, how far the administrator is, and which faults are left; the
 * parts are kept once each.
 */
#define MODEL_CHANNELS	  (MODEL_NODES * MODEL_EDGES)
#define MODEL_CHANNEL_MAX 24u

enum model_left {
	LEFT_DEBITS,
	LEFT_CRASHES,
	LEFT_LOSSES,
	LEFT_STUCK,
	LEFT_FAILURES,
	LEFT_DELAYS,
	LEFT_FULL,
	LEFT_KINDS = 8
};

struct model_key {
	uint32_t node[MODEL_NODES];
	uint32_t world;
	uint16_t channel[MODEL_CHANNELS];
	uint8_t left[LEFT_KINDS];
};

enum model_kind {
	/* What happens by itself, and must lead to rest. */
	MODEL_READS = 1,
	MODEL_RESYNCS,
	MODEL_TICKS,
	MODEL_LOWERS,
	MODEL_RECORDS,
	MODEL_SYNCS,
	MODEL_RAISES_EARLY,
	MODEL_COMMITS,
	MODEL_SENDS,
	MODEL_RECEIVES,
	MODEL_ADMITS,
	MODEL_REOPENS,
	MODEL_ORDERS,
	MODEL_LEASE_ENDS,
	MODEL_PROMISE_ENDS,
	/* What is rationed. */
	MODEL_GIVES,
	MODEL_STICKS,
	MODEL_SYNC_FAILS,
	MODEL_DISK_FULL,
	MODEL_KILLED,
	MODEL_KILLED_WRITING,
	MODEL_POWER_LOST,
	MODEL_ERASES,
	MODEL_LEASE_ENDS_SOON,
	/* What may happen at any time without end. */
	MODEL_COMES_LATE,
	MODEL_DIES,
	MODEL_PROMISE_ENDS_SOON,
	MODEL_HEARS_AGAIN, /* from a life that has ended, and that is told so already */
	MODEL_TICKS_MUTE,  /* before it has said so */
	/* Part of another. */
	MODEL_SWITCHES_OFF,
	MODEL_REPLACES,
	MODEL_OUTDATES,
	MODEL_AGES,
	MODEL_KINDS
};

/* a, b: by kind, see expand.c.  op: number of the operation that a tick takes; 0: none. */
struct model_action {
	uint8_t kind;
	uint8_t node;
	uint8_t a, b;
	uint8_t op;
};

static inline bool model_natural(struct model_action action)
{
	return action.kind < MODEL_GIVES;
}

struct model_cluster;

struct model_cluster *model_cluster_new(const struct model_setup *setup,
					struct model_key *ret_first);
struct model_cluster *model_cluster_free(struct model_cluster *cluster);

/* Calls fn for each state that can follow, with the step that leads there. */
typedef void model_next_fn(void *context, struct model_action action, const struct model_key *key);
void model_expand(struct model_cluster *cluster, const struct model_key *key, model_next_fn *fn,
		  void *context);

/* What is wrong with a state, as a static phrase; NULL: nothing.  I1-I5 of lib/ledger. */
const char *model_check(const struct model_cluster *cluster, const struct model_key *key);

/* Same for a state from which nothing happens by itself: all is delivered and enforced. */
const char *model_check_rest(const struct model_cluster *cluster, const struct model_key *key);

/* One line for the step, one for each node it has changed; before NULL: for all nodes. */
void model_print_action(FILE *out, struct model_action action);
void model_print_state(const struct model_cluster *cluster, const struct model_key *key,
		       const struct model_key *before, FILE *out);

size_t model_cluster_bytes(const struct model_cluster *cluster);

/* How many different nodes (largest of the three) and message sets were met. */
uint32_t model_cluster_nodes(const struct model_cluster *cluster);
uint32_t model_cluster_channels(const struct model_cluster *cluster);

#endif
