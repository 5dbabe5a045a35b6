/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry_wish.h"

#include <string.h>

/* What an administrator may ask of nodes that live, and when.  Nothing is changed here. */

bool iso_wish_neighbours(const struct iso_registry *registry, uint32_t member,
			 struct iso_registry_set *ret_set)
{
	bool any = false;

	memset(ret_set, 0, sizeof(*ret_set));
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;

		if (!iso_registry_edge_alive(registry, &registry->edges[k]))
			continue;
		for (int side = 0; side < 2; side++)
			if (end[1 - side].member == member) {
				iso_registry_include(ret_set, end[side].member);
				any = true;
			}
	}
	return any;
}

uint32_t iso_wish_others(const struct iso_registry *registry, const struct iso_registry_set *set)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < registry->member_count; i++)
		if (iso_wish_lives(&registry->members[i]) && !iso_registry_has(set, i) &&
		    !iso_registry_going(registry, i))
			count++;
	return count;
}

struct iso_registry_reason iso_registry_budget(const struct iso_registry *registry,
					       const struct iso_registry_wish *wish,
					       struct iso_registry_entry *ret_entry)
{
	int64_t least = iso_registry_least_budget(registry);

	if (wish->amount_ucpu > ISO_REGISTRY_UCPU_MAX)
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, 0, 0, ISO_REGISTRY_UCPU_MAX);
	if (wish->amount_ucpu < least)
		return iso_wish_refuse(ISO_REGISTRY_BELOW_FLOORS, 0, 0, least);
	if (wish->heir != 0 && iso_wish_member_of(registry, wish->heir) == NULL)
		return iso_wish_refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->heir, 0, 0);
	if (wish->heir != 0 && !iso_wish_may_inherit(registry, wish->heir))
		return iso_wish_refuse(ISO_REGISTRY_BAD_HEIR, wish->heir, 0, 0);
	*ret_entry = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_TARGET,
		.seq = registry->seq + 1,
		.node = wish->heir,
		.amount_ucpu = wish->amount_ucpu,
	};
	return iso_wish_fine();
}

/* Who is to be its neighbour must be there and have room for one more. */
static struct iso_registry_reason check_neighbours(const struct iso_registry *registry,
						   const struct iso_registry_wish *wish)
{
	const struct iso_registry_set nobody = { { 0 } };

	if (wish->list_count == 0 && iso_wish_others(registry, &nobody) > 0)
		return iso_wish_refuse(ISO_REGISTRY_NO_NEIGHBOUR, wish->node, 0, 0);
	if (wish->list_count > ISO_REGISTRY_LIST_MAX)
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_LIST_MAX);
	for (uint32_t i = 0; i < wish->list_count; i++) {
		const struct iso_registry_member *peer =
		    iso_wish_member_of(registry, wish->list[i]);

		if (peer == NULL)
			return iso_wish_refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->list[i], 0, 0);
		if (!iso_wish_lives(peer))
			return iso_wish_refuse(ISO_REGISTRY_NOT_LIVE, wish->list[i], 0, 0);
		if (!iso_wish_may_inherit(registry, peer->id))
			return iso_wish_refuse(ISO_REGISTRY_NEIGHBOUR_DYING, wish->node, peer->id,
					       0);
		if (iso_registry_degree(registry, iso_registry_index(registry, peer)) >=
		    ISO_DEGREE_MAX)
			return iso_wish_refuse(ISO_REGISTRY_TOO_MANY_EDGES, wish->node, peer->id,
					       0);
	}
	return iso_wish_fine();
}

/* What it starts with must be at least its floor, and there for the taking. */
static struct iso_registry_reason check_share(const struct iso_registry *registry,
					      const struct iso_registry_wish *wish,
					      int64_t share_ucpu, int64_t reserved_ucpu)
{
	int64_t room = reserved_ucpu;

	if (share_ucpu < wish->floor_ucpu || share_ucpu <= 0)
		return iso_wish_refuse(ISO_REGISTRY_SHARE_TOO_SMALL, wish->node, 0,
				       wish->floor_ucpu);

	uint32_t lowering = iso_registry_lowering(registry);

	if ((wish->flags & ISO_REGISTRY_ADDS) != 0 && lowering != ISO_REGISTRY_NOBODY)
		return iso_wish_refuse(ISO_REGISTRY_LOWERING, wish->node,
				       registry->members[lowering].id, 0);
	if ((wish->flags & ISO_REGISTRY_ADDS) != 0)
		return share_ucpu <= ISO_REGISTRY_UCPU_MAX - registry->budget_ucpu
			   ? iso_wish_fine()
			   : iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0,
					     ISO_REGISTRY_UCPU_MAX);
	bool all_seen = true;

	for (uint32_t i = 0; i < registry->member_count; i++) {
		if (!iso_wish_lives(&registry->members[i]) || iso_registry_going(registry, i))
			continue;
		room += registry->members[i].room_ucpu;
		all_seen &= registry->members[i].seen;
	}
	/* What is between nodes just now arrives at one of them. */
	int64_t all = registry->budget_ucpu - iso_registry_least_budget(registry) + reserved_ucpu;

	if (all_seen && all > room)
		room = all;
	return share_ucpu <= room
		   ? iso_wish_fine()
		   : iso_wish_refuse(ISO_REGISTRY_SHARE_TOO_LARGE, wish->node, 0, room);
}

/* What does not fit makes an entry that is refused. */
static void name(char ret_name[ISO_REGISTRY_NAME_BYTES], const char *text)
{
	uint32_t i = 0;

	for (; i + 1 < ISO_REGISTRY_NAME_BYTES && text[i] != '\0'; i++)
		ret_name[i] = text[i];
	ret_name[i] = '\0';
}

struct iso_registry_reason iso_registry_join(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = iso_wish_member_of(registry, wish->node);
	int64_t reserved = member != NULL ? member->reserved_ucpu : 0;
	int64_t share = wish->amount_ucpu;
	uint32_t gen = wish->gen;

	if (share == 0)
		share = reserved > wish->floor_ucpu ? reserved : wish->floor_ucpu;
	if (member != NULL) {
		if (iso_registry_procedure_of(registry, iso_registry_index(registry, member)) !=
		    NULL)
			return iso_wish_refuse(ISO_REGISTRY_UNDER_WAY, wish->node, 0, 0);
		if (iso_wish_lives(member))
			return iso_wish_refuse(ISO_REGISTRY_IS_LIVE, wish->node, 0, 0);
		/* Its old life, if that is elsewhere, may still enforce what is reserved. */
		if (reserved > 0 && wish->gen != member->gen &&
		    (wish->flags & ISO_REGISTRY_FENCED) == 0)
			return iso_wish_refuse(ISO_REGISTRY_NEEDS_FENCE, wish->node, 0, reserved);
		if (member->gen > gen)
			gen = member->gen;
	} else if (registry->member_count == ISO_REGISTRY_MEMBERS_MAX) {
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0,
				       ISO_REGISTRY_MEMBERS_MAX);
	}
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX || gen == UINT32_MAX)
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0,
				       ISO_REGISTRY_PROCEDURES_MAX);

	struct iso_registry_reason reason = check_neighbours(registry, wish);

	if (reason.why == ISO_REGISTRY_FINE)
		reason = check_share(registry, wish, share, reserved);
	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	*ret_entry = iso_wish_begin(registry, wish, ISO_REGISTRY_JOIN);
	ret_entry->gen = gen + 1;
	ret_entry->amount_ucpu = share;
	ret_entry->floor_ucpu = wish->floor_ucpu;
	name(ret_entry->name, member != NULL ? member->name : wish->name);
	ret_entry->list_count = wish->list_count;
	for (uint32_t i = 0; i < wish->list_count; i++)
		ret_entry->list[i] = wish->list[i];
	return iso_wish_fine();
}

struct iso_registry_reason iso_registry_undo(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = iso_wish_member_of(registry, wish->node);

	if (member == NULL)
		return iso_wish_refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);

	const struct iso_registry_procedure *procedure =
	    iso_registry_procedure_of(registry, iso_registry_index(registry, member));

	if (iso_wish_lives(member))
		return iso_wish_refuse(ISO_REGISTRY_TOO_LATE, wish->node, 0, 0);
	if (procedure == NULL || procedure->kind != ISO_REGISTRY_JOIN || procedure->undone)
		return iso_wish_refuse(ISO_REGISTRY_NOT_LIVE, wish->node, 0, 0);
	*ret_entry = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_UNDO,
		.seq = registry->seq + 1,
		.procedure = procedure->id,
		.node = wish->node,
	};
	return iso_wish_fine();
}

/* A live member with which nothing else is being done; not NULL. */
static struct iso_registry_reason check_idle(const struct iso_registry *registry,
					     const struct iso_registry_member *member,
					     enum iso_registry_procedure_kind kind)
{
	uint64_t node = member->id;

	if (!iso_wish_lives(member))
		return iso_wish_refuse(ISO_REGISTRY_NOT_LIVE, node, 0, 0);

	const struct iso_registry_procedure *procedure =
	    iso_registry_procedure_of(registry, iso_registry_index(registry, member));

	if (procedure == NULL)
		return iso_wish_fine();
	return iso_wish_refuse(procedure->kind == kind ? ISO_REGISTRY_UNDER_WAY
						       : ISO_REGISTRY_OTHER_UNDER_WAY,
			       node, 0, 0);
}

struct iso_registry_reason iso_registry_drain(const struct iso_registry *registry,
					      const struct iso_registry_wish *wish,
					      struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = iso_wish_member_of(registry, wish->node);

	if (member == NULL)
		return iso_wish_refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);

	struct iso_registry_reason reason = check_idle(registry, member, 0);

	if (reason.why != ISO_REGISTRY_FINE)
		return reason;

	if (member->draining == ((wish->flags & ISO_REGISTRY_ON) != 0))
		return iso_wish_refuse(ISO_REGISTRY_UNDER_WAY, wish->node, 0, 0);
	if (registry->op_count == ISO_REGISTRY_OPS_MAX)
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_OPS_MAX);
	*ret_entry = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_ISSUE,
		.seq = registry->seq + 1,
		.op = registry->next_op,
		.op_kind = ISO_OP_DRAIN,
		.node = member->id,
		.gen = member->gen,
		.flags = wish->flags & ISO_REGISTRY_ON,
	};
	return iso_wish_fine();
}

/* An edge of it that is not open on both sides, or is promised to somebody who joins. */
static uint32_t unsettled(const struct iso_registry *registry, uint32_t member)
{
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;
		int side = end[0].member == member ? 1 : 0;

		if (end[1 - side].member != member)
			continue;
		if (end[0].state != ISO_REGISTRY_OPENED || end[1].state != ISO_REGISTRY_OPENED)
			return end[side].member;
	}
	for (uint32_t i = 0; i < registry->procedure_count; i++) {
		const struct iso_registry_procedure *procedure = &registry->procedures[i];

		if (procedure->kind != ISO_REGISTRY_JOIN ||
		    !iso_registry_has(&procedure->neighbours, member))
			continue;
		for (uint32_t k = 0; k < registry->member_count; k++)
			if (iso_registry_has(&procedure->nodes, k))
				return k;
	}
	return ISO_REGISTRY_NOBODY;
}

struct iso_registry_reason iso_registry_leave(const struct iso_registry *registry,
					      const struct iso_registry_wish *wish,
					      struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = iso_wish_member_of(registry, wish->node);

	if (member == NULL)
		return iso_wish_refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);

	struct iso_registry_reason reason = check_idle(registry, member, ISO_REGISTRY_LEAVE);

	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	struct iso_registry_set peers, self = { { 0 } };

	iso_registry_include(&self, iso_registry_index(registry, member));
	if (iso_wish_others(registry, &self) == 0)
		return iso_wish_refuse(ISO_REGISTRY_LAST_ONE, wish->node, 0, 0);
	if (!iso_wish_neighbours(registry, iso_registry_index(registry, member), &peers))
		return iso_wish_refuse(ISO_REGISTRY_NO_NEIGHBOUR, wish->node, 0, 0);
	for (uint32_t i = 0; i < registry->member_count; i++) {
		if (!iso_registry_has(&peers, i))
			continue;
		if (iso_registry_going(registry, i))
			return iso_wish_refuse(ISO_REGISTRY_NEIGHBOUR_DYING, wish->node,
					       registry->members[i].id, 0);
		/* It has to freeze its side first. */
		if (!registry->members[i].seen)
			return iso_wish_refuse(ISO_REGISTRY_NEIGHBOUR_SILENT, wish->node,
					       registry->members[i].id, 0);
	}
	uint32_t peer = unsettled(registry, iso_registry_index(registry, member));

	if (peer != ISO_REGISTRY_NOBODY)
		return iso_wish_refuse(ISO_REGISTRY_UNSETTLED, wish->node,
				       registry->members[peer].id, 0);
	if (!member->seen)
		return iso_wish_refuse(ISO_REGISTRY_NODE_SILENT, wish->node, 0, 0);
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX)
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0,
				       ISO_REGISTRY_PROCEDURES_MAX);
	*ret_entry = iso_wish_begin(registry, wish, ISO_REGISTRY_LEAVE);
	return iso_wish_fine();
}
