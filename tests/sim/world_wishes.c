/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

/* What somebody wants who likes to see machines die: see world_office.c. */

#define BUDGET_MOST 0.05 /* of a change */

static bool lives(const struct world *world, uint32_t i)
{
	return world->registry->members[i].state == ISO_REGISTRY_LIVE;
}

typedef struct iso_registry_reason wish_fn(const struct iso_registry *registry,
					   const struct iso_registry_wish *wish,
					   struct iso_registry_entry *ret_entry);

static bool wish_for(struct world *world, wish_fn *fn, const struct iso_registry_wish *wish)
{
	struct iso_registry_entry entry;

	if (fn(world->registry, wish, &entry).why != ISO_REGISTRY_FINE)
		return false;
	world_office_enter(world, &entry);
	return true;
}

static void switch_off(struct world *world, uint32_t i)
{
	world->nodes[i].is_off = true;
	if (world->nodes[i].powered || world->nodes[i].up)
		world_crash(world, i, true);
	world->nodes[i].epoch++; /* a start that was under way does not happen */
}

static void bury(struct world *world, uint32_t i)
{
	uint64_t other = world_id((uint32_t)iso_rng_below(&world->rng, world->count));
	struct iso_registry_wish wish = { .node = world_id(i), .list = &other };
	struct iso_registry_entry entry;
	uint64_t fate = iso_rng_below(&world->rng, 5);

	if (fate == 3) {
		wish.flags = ISO_REGISTRY_FENCED;
		wish.list_count = other != wish.node && world_chance(world, 0.5);
	}
	if (iso_registry_bury(world->registry, &wish, &entry).why != ISO_REGISTRY_FINE)
		return;
	/*
	 * Buried alive; unreachable but at work; dead; switched off, perhaps with another
	 * one; or its agent is dead, and the kernel goes on to enforce what it was told.
	 */
	if (fate == 1)
		world->nodes[i].is_cut = true;
	if (fate == 2 || fate == 3)
		switch_off(world, i);
	if (fate == 4) {
		world->nodes[i].is_off = true;
		world_crash(world, i, false);
		world->nodes[i].epoch++;
	}
	if (fate == 3 && wish.list_count > 0)
		switch_off(world, (uint32_t)(other - world_id(0)));
	world->counts.buried_alive += fate < 2 || fate == 4;
	world_office_enter(world, &entry);
	world->nodes[i].fenced = fate == 3;
	if (fate == 3 && wish.list_count > 0)
		world->nodes[other - world_id(0)].fenced = true;
}

/* A machine that was buried or has left is there again and joins, if it knows of its end. */
static void revive(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	uint64_t list[3];
	char name[8] = "n";
	struct iso_registry_wish wish = { .node = world_id(i),
					  .name = name,
					  .floor_ucpu = node->config.floor_ucpu,
					  .flags = world_chance(world, 0.3) ? ISO_REGISTRY_ADDS : 0,
					  .list = list };

	if (lives(world, i) || iso_registry_procedure_of(world->registry, i) != NULL)
		return;
	node->is_cut = false;
	if (node->is_off) {
		node->is_off = false;
		/* Whose floor was given away must not come back with the old journal. */
		if (node->fenced)
			world_office_forget(world, i);
		node->fenced = false;
		world_push(world,
			   (struct event){ .type = EVENT_RESTART, .node = i, .epoch = node->epoch },
			   0.5);
		return;
	}
	if (!world_office_reaches(node) ||
	    (node->durable.gen != 0 && node->durable.halt == ISO_HALT_NONE))
		return;
	wish.gen = node->durable.gen;
	while (wish.list_count < 3) {
		uint32_t peer = (uint32_t)iso_rng_below(&world->rng, world->count);

		if (wish.list_count == 2 && world_chance(world, 0.5))
			break;
		list[wish.list_count++] = world_id(peer);
		for (uint32_t k = 0; k + 1 < wish.list_count; k++)
			if (list[k] == world_id(peer))
				return;
	}
	(void)wish_for(world, iso_registry_join, &wish);
}

static void want_budget(struct world *world)
{
	struct iso_registry_wish wish = { 0 };
	double now = (double)world->registry->budget_ucpu;

	/* Not so far away from the first that there is nothing left to trade. */
	if (now > 1.3 * (double)world->budget_ucpu)
		wish.amount_ucpu = (int64_t)(now * (1 - BUDGET_MOST * world_unit(world)));
	else if (now < 0.7 * (double)world->budget_ucpu)
		wish.amount_ucpu = (int64_t)(now * (1 + BUDGET_MOST * world_unit(world)));
	else
		wish.amount_ucpu = (int64_t)(now * (1 + BUDGET_MOST * (2 * world_unit(world) - 1)));
	if (world_chance(world, 0.3))
		wish.heir = world_id((uint32_t)iso_rng_below(&world->rng, world->count));
	world->counts.budgets += wish_for(world, iso_registry_budget, &wish);
}

void world_office_wish(struct world *world)
{
	uint32_t i = (uint32_t)iso_rng_below(&world->rng, world->count), absent = 0;
	struct iso_registry_wish wish = { .node = world_id(i) };

	for (uint32_t k = 0; k < world->count; k++)
		absent += !lives(world, k) || iso_registry_going(world->registry, k);
	switch (iso_rng_below(&world->rng, 10)) {
	case 0:
	case 1:
	case 2: want_budget(world); break;
	case 3:
	case 4:
		if (absent < world->count / 5 + 1)
			bury(world, i);
		break;
	case 5:
		if (absent < world->count / 5 + 1)
			world->counts.left += wish_for(world, iso_registry_leave, &wish);
		break;
	case 6:
		wish.flags = world->registry->members[i].draining ? 0 : ISO_REGISTRY_ON;
		(void)wish_for(world, iso_registry_drain, &wish);
		break;
	default:
		for (uint32_t k = 0; k < world->count; k++)
			if (!lives(world, (i + k) % world->count)) {
				revive(world, (i + k) % world->count);
				break;
			}
	}
}

/* Faults have stopped: everybody comes back, one after the other. */
void world_office_tidy_up(struct world *world)
{
	for (uint32_t i = 0; i < world->count; i++) {
		struct node *node = &world->nodes[i];
		struct iso_registry_wish wish = { .node = world_id(i) };

		if (lives(world, i) && world->registry->members[i].draining)
			(void)wish_for(world, iso_registry_drain, &wish);
		if (!lives(world, i) || iso_registry_procedure_of(world->registry, i) != NULL) {
			if (!lives(world, i))
				revive(world, i);
			continue;
		}
		/* Suspected, but never buried. */
		node->is_cut = false;
		if (node->is_off) {
			node->is_off = false;
			world_push(world,
				   (struct event){
				       .type = EVENT_RESTART, .node = i, .epoch = node->epoch },
				   0.5);
		}
	}
}
