/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <stddef.h>

/* What must hold where the registry says who lives and what the budget is. */

static const struct iso_record_edge *edge_of(const struct node *node, uint64_t peer)
{
	for (uint32_t k = 0; k < node->durable.edge_count; k++)
		if (node->durable.edges[k].peer == peer)
			return &node->durable.edges[k];
	return NULL;
}

int64_t world_in_flight(const struct world *world, uint32_t i, uint32_t k)
{
	const struct iso_record *record = &world->nodes[i].durable;
	const struct iso_record_edge *edge = &record->edges[k];
	const struct node *to = &world->nodes[world_index(edge->peer)];
	const struct iso_record_edge *back = edge_of(to, record->node);

	if ((edge->flags & ISO_EDGE_STATE_FOLDED) != 0 || edge->peer_gen != to->durable.gen)
		return 0;
	/* The other end may not know this life yet: nothing of it has come. */
	if (back == NULL || back->peer_gen < record->gen)
		return (int64_t)edge->sent;
	return back->peer_gen == record->gen ? (int64_t)(edge->sent - back->received) : 0;
}

static void check_node(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	const struct iso_record *record = &node->durable;
	struct world_part *sums = &world->sums, *part = &node->part, before = *part;
	bool may_own_less = record->gen == 0 || (record->flags & ISO_NODE_LEAVING) != 0;

	/* A journal put back from an old copy breaks the promise until it is noticed. */
	part->enforced = node->distrusted ? 0 : node->enforced_ucpu;
	for (uint32_t k = 0; k < record->edge_count; k++) {
		const struct iso_record_edge *edge = &record->edges[k];
		const struct node *peer = &world->nodes[world_index(edge->peer)];
		const struct iso_record_edge *back = edge_of(peer, record->node);

		/* Ends of different lives have nothing to do with each other, nor has a tombstone.
		 */
		if (back == NULL || edge->peer_gen != peer->durable.gen ||
		    back->peer_gen != record->gen ||
		    ((edge->flags | back->flags) & ISO_EDGE_STATE_FOLDED) != 0)
			continue;
		if (edge->sent < back->received && !node->distrusted)
			world_violate(world, "I3 received what was not durably sent", i,
				      (int64_t)(back->received - edge->sent));
		if (back->sent < edge->received && !peer->distrusted)
			world_violate(world, "I3 received what was not durably sent",
				      world_index(edge->peer),
				      (int64_t)(edge->received - back->sent));
	}
	sums->enforced += part->enforced - before.enforced;
	if (node->distrusted)
		return;
	world_check_limits(world, i, may_own_less);
	if (node->enforced_ucpu > node->allowed_ucpu)
		world_violate(world, "a life that has ended enforces more than is reserved", i,
			      node->enforced_ucpu - node->allowed_ucpu);
}

/* The sum of what is owned is looked at when nothing is under way: world_office.c. */
void world_office_check(struct world *world)
{
	for (uint32_t n = 0; n < world->touched_count; n++) {
		world->nodes[world->touched[n]].touched = false;
		check_node(world, world->touched[n]);
	}
	world->touched_count = 0;
	if (world->sums.enforced > world->registry->budget_ucpu)
		world_violate(world, "I1 enforced above the budget", 0,
			      world->sums.enforced - world->registry->budget_ucpu);
}
