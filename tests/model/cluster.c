/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/act.h"
#include "tests/model/node_private.h"

uint32_t model_keep_node(struct model_cluster *cluster, uint32_t node)
{
	struct pool *pool = &cluster->nodes[node];
	uint32_t number;
	bool added;

	model_node_fold(&cluster->setup, node);
	number = pool_add(pool, model_live(node), &added);
	if (!added)
		return number;
	if (cluster->summaries_max[node] < pool->capacity) {
		cluster->summaries_max[node] = pool->capacity;
		cluster->summaries[node] = pool_resize(cluster->summaries[node], pool->capacity,
						       sizeof(*cluster->summaries[node]));
	}
	model_node_summary(&cluster->setup, node, &cluster->summaries[node][number]);
	return number;
}

uint16_t model_keep_channel(struct model_cluster *cluster, const struct model_channel *channel)
{
	bool added;
	uint32_t number = pool_add(&cluster->channels, channel, &added);

	assert(number <= UINT16_MAX);
	return (uint16_t)number;
}

uint32_t model_keep_world(struct model_cluster *cluster, const struct model_world *world)
{
	bool added;

	return pool_add(&cluster->worlds, world, &added);
}

/* The first start, which nothing disturbs: crashes make others. */
static void start(const struct model_setup *setup, uint32_t node)
{
	const uint8_t nothing[MODEL_NODES] = { 0 };
	const struct model_op no_op = { 0 };
	struct model_answer answer;
	bool done = model_read(setup, node);

	if (model_live(node)->outside.pc == MODEL_READ)
		done = done && model_resync(setup, node);
	done = done && model_begin(setup, node, nothing, &no_op);
	if (model_record(setup, node, &answer))
		(void)model_sync(setup, node);
	done = done && model_commit(setup, node, &answer);
	assert(done && model_live(node)->outside.pc == MODEL_IDLE);
	model_write_back(&model_live(node)->outside);
}

struct model_cluster *model_cluster_new(const struct model_setup *setup,
					struct model_key *ret_first)
{
	struct model_cluster *cluster = pool_resize(NULL, 1, sizeof(*cluster));
	struct model_channel empty = { 0 };
	struct model_world world;

	memset(cluster, 0, sizeof(*cluster));
	cluster->setup = *setup;
	model_node_init(setup);
	memset(ret_first, 0, sizeof(*ret_first));
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		pool_init(&cluster->nodes[i], model_node_bytes());
		start(setup, i);
		ret_first->node[i] = model_keep_node(cluster, i);
	}
	pool_init(&cluster->channels, sizeof(struct model_channel));
	pool_init(&cluster->worlds, sizeof(struct model_world));
	pool_init(&cluster->requests, sizeof(struct model_asked));
	for (uint32_t k = 0; k < MODEL_CHANNELS; k++)
		ret_first->channel[k] = model_keep_channel(cluster, &empty);
	ret_first->left[LEFT_DEBITS] = setup->debits;
	ret_first->left[LEFT_CRASHES] = setup->crashes;
	ret_first->left[LEFT_LOSSES] = setup->losses;
	ret_first->left[LEFT_STUCK] = setup->stuck;
	ret_first->left[LEFT_FAILURES] = setup->failures;
	ret_first->left[LEFT_DELAYS] = setup->delays;
	ret_first->left[LEFT_FULL] = setup->full;
	model_world_init(setup, &world);
	ret_first->world = model_keep_world(cluster, &world);
	return cluster;
}

struct model_cluster *model_cluster_free(struct model_cluster *cluster)
{
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		pool_done(&cluster->nodes[i]);
		free(cluster->summaries[i]);
	}
	pool_done(&cluster->channels);
	pool_done(&cluster->worlds);
	pool_done(&cluster->requests);
	free(cluster->outcomes);
	free(cluster);
	return NULL;
}

size_t model_cluster_bytes(const struct model_cluster *cluster)
{
	size_t bytes = sizeof(*cluster) + pool_bytes(&cluster->channels) +
		       pool_bytes(&cluster->worlds) + pool_bytes(&cluster->requests) +
		       cluster->outcomes_max * sizeof(*cluster->outcomes);

	for (uint32_t i = 0; i < MODEL_NODES; i++)
		bytes += pool_bytes(&cluster->nodes[i]) +
			 cluster->summaries_max[i] * sizeof(*cluster->summaries[i]);
	return bytes;
}

uint32_t model_cluster_nodes(const struct model_cluster *cluster)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < MODEL_NODES; i++)
		if (cluster->nodes[i].count > most)
			most = cluster->nodes[i].count;
	return most;
}

uint32_t model_cluster_channels(const struct model_cluster *cluster)
{
	return cluster->channels.count;
}
