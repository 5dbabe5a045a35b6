/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/cluster_private.h"

static bool failed_before(const struct model_cluster *cluster, const struct model_key *key)
{
	return key->left[LEFT_FAILURES] < cluster->setup.failures;
}

/* A journal may only be lost where fdatasync has failed before: then nobody knows the disk. */
static bool gone(const struct model_summary *node)
{
	return node->damaged || node->pc == MODEL_REFUSED;
}

/* Of a generation that the administrator has ended, or has not begun yet. */
static bool over(const struct model_world *world, const struct model_summary *node, uint32_t i)
{
	return world->life[i] == LIFE_VOID || node->gen_disk != world->gen[i];
}

static const char *check_halt(const struct model_cluster *cluster, const struct model_world *world,
			      const struct model_summary *node, uint32_t i)
{
	enum model_script script = cluster->setup.script;

	switch ((enum iso_halt)node->halt) {
	case ISO_HALT_NONE: return NULL;
	case ISO_HALT_LEFT:
		if (script == MODEL_LEAVES_BURIES
			? i == 1
			: i == MODEL_CANDIDATE &&
			      (script == MODEL_LEAVES || script == MODEL_LEAVES_REJOINS))
			return NULL;
		return "a node has left that was not to leave";
	case ISO_HALT_BURIED:
		return over(world, node, i) || (i == MODEL_CANDIDATE && script >= MODEL_BURIES)
			   ? NULL
			   : "a node that lives takes itself for buried";
	case ISO_HALT_AMNESIA:
	case ISO_HALT_OVERDRAFT: break;
	}
	return "a node has halted though nothing is wrong";
}

static const char *check_node(const struct model_cluster *cluster, const struct model_key *key,
			      uint32_t i)
{
	const struct model_setup *setup = &cluster->setup;
	const struct model_world *world = model_world(cluster, key);
	const struct model_summary *node = model_summary(cluster, key, i);

	if (gone(node))
		return failed_before(cluster, key) ? NULL : "a journal cannot be recovered";
	if (!node->equation)
		return "I4: holdings are not endowment + received - sent";
	if (node->enforced > node->share_disk)
		return "I2: the kernel enforces more than the node durably owns";
	if (node->enforced > setup->ceiling)
		return "I2: the kernel enforces more than the ceiling";
	if (world->life[i] == LIFE_VOID && node->enforced > setup->floor)
		return "I2: a buried node enforces more than its floor";
	if (node->share_least < setup->floor && (node->flags & ISO_NODE_LEAVING) == 0 &&
	    node->gen_disk != 0)
		return "I5: a node owns less than its floor";
	return check_halt(cluster, world, node, i);
}

/* Whether i's end of the edge to j is of the lives that both now have. */
static bool current(const struct model_world *world, const struct model_summary *node, uint32_t i,
		    uint32_t j)
{
	return !over(world, node, i) && world->life[i] != LIFE_LEFT &&
	       world->life[j] == LIFE_MEMBER && node->edge_gen_disk[j] == world->gen[j] &&
	       (node->edge_flags_disk[j] & ISO_EDGE_STATE_FOLDED) == 0;
}

static const char *check_edge(const struct model_cluster *cluster, const struct model_world *world,
			      const struct model_summary *const nodes[MODEL_NODES], uint32_t i,
			      uint32_t j, int *sum)
{
	bool known = current(world, nodes[j], j, i);

	/* No one has an end of it but its peer, whose own end says the same. */
	if (gone(nodes[i]) || gone(nodes[j]) || !current(world, nodes[i], i, j))
		return NULL;
	if (known && nodes[i]->sent_disk[j] < nodes[j]->received_most[i])
		return "I3: more is credited than was durably debited";
	if (known && cluster->setup.limit != 0 &&
	    nodes[j]->received_disk[i] - nodes[j]->sent_disk[i] > cluster->setup.limit)
		return "I6: more came over an edge in net than its limit";
	*sum += nodes[i]->sent_disk[j] - (known ? nodes[j]->received_disk[i] : 0);
	return NULL;
}

static const char *check_sum(const struct model_cluster *cluster, const struct model_key *key)
{
	const struct model_world *world = model_world(cluster, key);
	const struct model_summary *nodes[MODEL_NODES];
	bool complete = true;
	int sum = 0;

	model_summaries(cluster, key, nodes);
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		complete = complete && !gone(nodes[i]);
		if (!over(world, nodes[i], i))
			sum += nodes[i]->share_disk;
		for (uint32_t k = 0; k < MODEL_EDGES; k++) {
			const char *wrong =
			    check_edge(cluster, world, nodes, i, model_peer(i, k), &sum);

			if (wrong != NULL)
				return wrong;
		}
	}
	if (complete && sum + model_unowned(world, nodes) != world->budget)
		return "I4: shares and what is in flight are not the budget";
	return NULL;
}

const char *model_check(const struct model_cluster *cluster, const struct model_key *key)
{
	int enforced = 0;

	for (uint32_t i = 0; i < MODEL_NODES; i++)
		enforced += model_summary(cluster, key, i)->enforced;
	if (enforced > model_world(cluster, key)->budget)
		return "I1: the kernels together enforce more than the budget";
	if (cluster->setup.only_sum)
		return NULL;
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		const char *wrong = check_node(cluster, key, i);

		if (wrong != NULL)
			return wrong;
	}
	return check_sum(cluster, key);
}

/* Same as current(), by the working copy of a node that is at rest. */
static bool current_at_rest(const struct model_world *world, const struct model_summary *node,
			    uint32_t i, uint32_t j)
{
	return !over(world, node, i) && world->life[i] != LIFE_LEFT &&
	       world->life[j] == LIFE_MEMBER && node->edge_gen[j] == world->gen[j] &&
	       (node->edge_flags[j] & ISO_EDGE_STATE_FOLDED) == 0;
}

static const char *check_node_rest(const struct model_world *world,
				   const struct model_summary *const nodes[MODEL_NODES], uint32_t i)
{
	if (nodes[i]->pc != MODEL_IDLE)
		return "L1: a node has stopped half-way";
	if (nodes[i]->enforced != nodes[i]->target)
		return "L1: a share is never enforced";
	for (uint32_t k = 0; k < MODEL_EDGES; k++) {
		uint32_t j = model_peer(i, k);

		if (nodes[j]->pc == MODEL_REFUSED || !current_at_rest(world, nodes[i], i, j))
			continue;
		if (!current_at_rest(world, nodes[j], j, i))
			return "L1: an edge has one end only";
		if (nodes[i]->sent[j] != nodes[j]->received_most[i])
			return "L1: units are never delivered";
	}
	return NULL;
}

const char *model_check_rest(const struct model_cluster *cluster, const struct model_key *key)
{
	const struct model_world *world = model_world(cluster, key);
	const struct model_summary *nodes[MODEL_NODES];
	int owned = 0;

	model_summaries(cluster, key, nodes);
	if (!model_orders_done(&cluster->setup, world))
		return "L1: an operation never comes to its end";
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		const char *wrong = NULL;

		if (!over(world, nodes[i], i))
			owned += nodes[i]->share;
		if ((world->off & 1u << i) == 0 &&
		    (nodes[i]->pc != MODEL_REFUSED || !failed_before(cluster, key)))
			wrong = check_node_rest(world, nodes, i);
		if (wrong != NULL)
			return wrong;
	}
	if (!failed_before(cluster, key) && owned + world->reserved != world->budget)
		return "L2: what is owned and reserved in the end is not the budget";
	return NULL;
}
