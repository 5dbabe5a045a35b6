/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <stddef.h>

/* What must hold where nodes come and go; without that, world_check() is quicker. */

static const struct iso_record_edge *edge_to(const struct world *world, uint32_t i, uint32_t peer)
{
	const struct iso_record *record = &world->nodes[i].durable;

	for (uint32_t k = 0; k < record->edge_count; k++)
		if (record->edges[k].peer == 1000 + peer)
			return &record->edges[k];
	return NULL;
}

static bool is_buried(const struct world *world, uint32_t i, uint32_t gen)
{
	return world->admin.members[i].void_gen != 0 && gen <= world->admin.members[i].void_gen;
}

/* What is on its way from a node over one of its edges; also checks I3. */
static int64_t in_flight(struct world *world, uint32_t i, const struct iso_record_edge *edge)
{
	uint32_t j = (uint32_t)(edge->peer - 1000);
	const struct iso_record_edge *other = edge_to(world, j, i);

	/* Accounted for in A, or in the estate. */
	if ((edge->flags & ISO_EDGE_STATE_FOLDED) != 0 || is_buried(world, j, edge->peer_gen))
		return 0;
	if (other == NULL || other->peer_gen != world->nodes[i].durable.gen ||
	    edge->peer_gen != world->nodes[j].durable.gen)
		return (int64_t)edge->sent;
	if ((other->flags & ISO_EDGE_STATE_FOLDED) != 0)
		return 0;
	if (edge->sent < other->received && !world->nodes[i].distrusted)
		world_violate(world, "I3 received what was not durably sent", i,
			      (int64_t)(other->received - edge->sent));
	return (int64_t)(edge->sent - other->received);
}

/* I2 and I5 of one node, and I6: who is buried enforces no more than its floor. */
static void check_node(struct world *world, uint32_t i, bool is_void)
{
	const struct node *node = &world->nodes[i];
	bool gives_all = (node->durable.flags & ISO_NODE_LEAVING) != 0;

	if (node->distrusted)
		return;
	world_check_limits(world, i, gives_all);
	if (is_void && node->enforced_ucpu > node->config.floor_ucpu)
		world_violate(world, "I6 buried and above the floor", i, node->enforced_ucpu);
}

void world_check_lives(struct world *world)
{
	int64_t enforced = 0, sum = world_admin_aside(world);

	for (uint32_t n = 0; n < world->touched_count; n++)
		world->nodes[world->touched[n]].touched = false;
	world->touched_count = 0;
	for (uint32_t i = 0; i < world->count; i++) {
		const struct node *node = &world->nodes[i];
		bool is_void = is_buried(world, i, node->durable.gen);

		/* A journal put back from an old copy breaks the promise until it is noticed. */
		enforced += node->distrusted ? 0 : node->enforced_ucpu;
		check_node(world, i, is_void);
		if (is_void)
			continue;
		sum += iso_record_holdings(&node->durable);
		for (uint32_t k = 0; k < node->durable.edge_count; k++)
			sum += in_flight(world, i, &node->durable.edges[k]);
	}
	if (enforced > world->budget_ucpu)
		world_violate(world, "I1 enforced above the budget", 0,
			      enforced - world->budget_ucpu);
	if (sum != world->budget_ucpu)
		world_violate(world, "I4 units lost or made", 0, sum - world->budget_ucpu);
}
