/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_CLUSTER_PRIVATE_H
#define ISO_MODEL_CLUSTER_PRIVATE_H

#include "tests/model/cluster.h"

/* Inside of cluster.c, expand.c and check.c only. */

struct model_channel {
	uint8_t count;
	struct model_message messages[MODEL_CHANNEL_MAX]; /* sorted by their bytes */
};

/* A request of act.h, as it is remembered. */
struct model_asked {
	uint32_t from;
	uint8_t node;
	uint8_t kind;
	uint8_t a, b;
	struct model_message message;
	struct model_op op;
};

struct model_cluster {
	struct model_setup setup;
	struct pool nodes[MODEL_NODES];
	struct model_summary *summaries[MODEL_NODES]; /* of each of them */
	uint32_t summaries_max[MODEL_NODES];
	struct pool channels;
	struct pool worlds;
	struct pool requests;
	struct model_outcome *outcomes; /* of each of them */
	uint32_t outcomes_max;
};

/* Of the messages from node to its k-th peer. */
static inline uint32_t model_channel_index(uint32_t node, uint32_t k)
{
	return node * MODEL_EDGES + k;
}

/* Of the messages from its k-th peer to node: two nodes apart one way is one apart the other. */
static inline uint32_t model_channel_from(uint32_t node, uint32_t k)
{
	return model_peer(node, k) * MODEL_EDGES + (MODEL_EDGES - 1 - k);
}

static inline const struct model_summary *model_summary(const struct model_cluster *cluster,
							const struct model_key *key, uint32_t node)
{
	return &cluster->summaries[node][key->node[node]];
}

static inline const struct model_channel *model_channel(const struct model_cluster *cluster,
							const struct model_key *key, uint32_t index)
{
	return pool_get(&cluster->channels, key->channel[index]);
}

static inline const struct model_world *model_world(const struct model_cluster *cluster,
						    const struct model_key *key)
{
	return pool_get(&cluster->worlds, key->world);
}

static inline void model_summaries(const struct model_cluster *cluster, const struct model_key *key,
				   const struct model_summary *ret_nodes[MODEL_NODES])
{
	for (uint32_t i = 0; i < MODEL_NODES; i++)
		ret_nodes[i] = model_summary(cluster, key, i);
}

/* The number of the live node in its pool, after folding. */
uint32_t model_keep_node(struct model_cluster *cluster, uint32_t node);
uint32_t model_keep_world(struct model_cluster *cluster, const struct model_world *world);
uint16_t model_keep_channel(struct model_cluster *cluster, const struct model_channel *channel);

#endif
