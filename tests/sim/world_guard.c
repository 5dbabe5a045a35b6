/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

/* The guard of a node: what is above the floor ends with the lease, whatever the agent does. */

#define LATE_S 0.05 /* at most, of a guard that is real-time */

static bool is_over(const struct world *world, const struct node *node)
{
	uint64_t guard_ns = node->config.lease.guard_ns;

	if (node->config.lease.lease_ns == 0 || node->deadline_ns == UINT64_MAX)
		return false;
	return world_clock_ns(world, node) + guard_ns >= node->deadline_ns;
}

static void arm(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	double left_ns = (double)node->deadline_ns - (double)node->config.lease.guard_ns -
			 (double)world_clock_ns(world, node);

	if (node->guard_armed || node->deadline_ns == 0 || node->deadline_ns == UINT64_MAX)
		return;
	node->guard_armed = true;
	world_push(world, (struct event){ .type = EVENT_GUARD, .node = i },
		   (left_ns > 0 ? left_ns / node->rate / SECOND_NS : 0) +
		       LATE_S * world_unit(world));
}

void world_renew(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	if (node->config.lease.lease_ns == 0)
		return;
	node->deadline_ns = iso_trade_lease_deadline(node->trade);
	arm(world, i);
}

void world_raise(struct world *world, uint32_t i, int64_t ucpu)
{
	struct node *node = &world->nodes[i];

	if (ucpu > node->config.floor_ucpu && is_over(world, node) &&
	    world->setup.mutant != WORLD_RAISE_LATE) {
		world->counts.guard_refused++;
		return;
	}
	world_enforce(world, node, ucpu);
}

void world_guard(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	node->guard_armed = false;
	if (!is_over(world, node)) {
		arm(world, i);
		return;
	}
	if (node->enforced_ucpu <= node->config.floor_ucpu ||
	    world->setup.mutant == WORLD_GUARD_ASLEEP)
		return;
	world_enforce(world, node, node->config.floor_ucpu);
	world->counts.guard_lowered++;
}
