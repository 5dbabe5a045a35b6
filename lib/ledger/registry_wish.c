/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "lib/ledger/registry_state.h"

/* What an administrator may ask for, and when.  Nothing is changed here. */

static struct iso_registry_reason fine(void)
{
	return (struct iso_registry_reason){ .why = ISO_REGISTRY_FINE };
}

static struct iso_registry_reason refuse(enum iso_registry_refusal why, uint64_t node,
					 uint64_t peer, int64_t amount)
{
	assert(why != ISO_REGISTRY_FINE);
	return (struct iso_registry_reason){ why, node, peer, amount };
}

static const struct iso_registry_member *member_of(const struct iso_registry *registry, uint64_t id)
{
	uint32_t index = iso_registry_find(registry, id);

	return index != ISO_REGISTRY_NOBODY ? &registry->members[index] : NULL;
}

static bool lives(const struct iso_registry_member *member)
{
	return member != NULL && member->state == ISO_REGISTRY_LIVE;
}

static bool may_inherit(const struct iso_registry *registry, uint64_t id)
{
	const struct iso_registry_member *member = member_of(registry, id);

	return lives(member) && member->admitted &&
	       !iso_registry_going(registry, iso_registry_index(registry, member));
}

static bool neighbours(const struct iso_registry *registry, uint32_t member,
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

static uint32_t others(const struct iso_registry *registry, const struct iso_registry_set *set)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < registry->member_count; i++)
		if (lives(&registry->members[i]) && !iso_registry_has(set, i) &&
		    !iso_registry_going(registry, i))
			count++;
	return count;
}

static struct iso_registry_entry begin(const struct iso_registry *registry,
				       const struct iso_registry_wish *wish,
				       enum iso_registry_procedure_kind kind)
{
	return (struct iso_registry_entry){
		.kind = ISO_REGISTRY_BEGIN,
		.seq = registry->seq + 1,
		.begins = kind,
		.node = wish->node,
		.peer = wish->heir,
		.flags = wish->flags,
	};
}

struct iso_registry_reason iso_registry_budget(const struct iso_registry *registry,
					       const struct iso_registry_wish *wish,
					       struct iso_registry_entry *ret_entry)
{
	int64_t least = iso_registry_least_budget(registry);

	if (wish->amount_ucpu > ISO_REGISTRY_UCPU_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, 0, 0, ISO_REGISTRY_UCPU_MAX);
	if (wish->amount_ucpu < least)
		return refuse(ISO_REGISTRY_BELOW_FLOORS, 0, 0, least);
	if (wish->heir != 0 && member_of(registry, wish->heir) == NULL)
		return refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->heir, 0, 0);
	if (wish->heir != 0 && !may_inherit(registry, wish->heir))
		return refuse(ISO_REGISTRY_BAD_HEIR, wish->heir, 0, 0);
	*ret_entry = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_TARGET,
		.seq = registry->seq + 1,
		.node = wish->heir,
		.amount_ucpu = wish->amount_ucpu,
	};
	return fine();
}

/* Who is to be its neighbour must be there and have room for one more. */
static struct iso_registry_reason check_neighbours(const struct iso_registry *registry,
						   const struct iso_registry_wish *wish)
{
	const struct iso_registry_set nobody = { { 0 } };

	if (wish->list_count == 0 && others(registry, &nobody) > 0)
		return refuse(ISO_REGISTRY_NO_NEIGHBOUR, wish->node, 0, 0);
	if (wish->list_count > ISO_REGISTRY_LIST_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_LIST_MAX);
	for (uint32_t i = 0; i < wish->list_count; i++) {
		const struct iso_registry_member *peer = member_of(registry, wish->list[i]);

		if (peer == NULL)
			return refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->list[i], 0, 0);
		if (!lives(peer))
			return refuse(ISO_REGISTRY_NOT_LIVE, wish->list[i], 0, 0);
		if (!may_inherit(registry, peer->id))
			return refuse(ISO_REGISTRY_NEIGHBOUR_DYING, wish->node, peer->id, 0);
		if (iso_registry_degree(registry, iso_registry_index(registry, peer)) >=
		    ISO_DEGREE_MAX)
			return refuse(ISO_REGISTRY_TOO_MANY_EDGES, wish->node, peer->id, 0);
	}
	return fine();
}

/* What it starts with must be at least its floor, and there for the taking. */
static struct iso_registry_reason check_share(const struct iso_registry *registry,
					      const struct iso_registry_wish *wish,
					      int64_t share_ucpu, int64_t reserved_ucpu)
{
	int64_t room = reserved_ucpu;

	if (share_ucpu < wish->floor_ucpu || share_ucpu <= 0)
		return refuse(ISO_REGISTRY_SHARE_TOO_SMALL, wish->node, 0, wish->floor_ucpu);

	uint32_t lowering = iso_registry_lowering(registry);

	if ((wish->flags & ISO_REGISTRY_ADDS) != 0 && lowering != ISO_REGISTRY_NOBODY)
		return refuse(ISO_REGISTRY_LOWERING, wish->node, registry->members[lowering].id, 0);
	if ((wish->flags & ISO_REGISTRY_ADDS) != 0)
		return share_ucpu <= ISO_REGISTRY_UCPU_MAX - registry->budget_ucpu
			   ? fine()
			   : refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_UCPU_MAX);
	bool all_seen = true;

	for (uint32_t i = 0; i < registry->member_count; i++) {
		if (!lives(&registry->members[i]) || iso_registry_going(registry, i))
			continue;
		room += registry->members[i].room_ucpu;
		all_seen &= registry->members[i].seen;
	}
	/* What is between nodes just now arrives at one of them. */
	int64_t all = registry->budget_ucpu - iso_registry_least_budget(registry) + reserved_ucpu;

	if (all_seen && all > room)
		room = all;
	return share_ucpu <= room ? fine()
				  : refuse(ISO_REGISTRY_SHARE_TOO_LARGE, wish->node, 0, room);
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
	const struct iso_registry_member *member = member_of(registry, wish->node);
	int64_t reserved = member != NULL ? member->reserved_ucpu : 0;
	int64_t share = wish->amount_ucpu;
	uint32_t gen = wish->gen;

	if (share == 0)
		share = reserved > wish->floor_ucpu ? reserved : wish->floor_ucpu;
	if (member != NULL) {
		if (iso_registry_procedure_of(registry, iso_registry_index(registry, member)) !=
		    NULL)
			return refuse(ISO_REGISTRY_UNDER_WAY, wish->node, 0, 0);
		if (lives(member))
			return refuse(ISO_REGISTRY_IS_LIVE, wish->node, 0, 0);
		/* Its old life, if that is elsewhere, may still enforce what is reserved. */
		if (reserved > 0 && wish->gen != member->gen &&
		    (wish->flags & ISO_REGISTRY_FENCED) == 0)
			return refuse(ISO_REGISTRY_NEEDS_FENCE, wish->node, 0, reserved);
		if (member->gen > gen)
			gen = member->gen;
	} else if (registry->member_count == ISO_REGISTRY_MEMBERS_MAX) {
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_MEMBERS_MAX);
	}
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX || gen == UINT32_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_PROCEDURES_MAX);

	struct iso_registry_reason reason = check_neighbours(registry, wish);

	if (reason.why == ISO_REGISTRY_FINE)
		reason = check_share(registry, wish, share, reserved);
	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	*ret_entry = begin(registry, wish, ISO_REGISTRY_JOIN);
	ret_entry->gen = gen + 1;
	ret_entry->amount_ucpu = share;
	ret_entry->floor_ucpu = wish->floor_ucpu;
	name(ret_entry->name, member != NULL ? member->name : wish->name);
	ret_entry->list_count = wish->list_count;
	for (uint32_t i = 0; i < wish->list_count; i++)
		ret_entry->list[i] = wish->list[i];
	return fine();
}

struct iso_registry_reason iso_registry_undo(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = member_of(registry, wish->node);

	if (member == NULL)
		return refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);

	const struct iso_registry_procedure *procedure =
	    iso_registry_procedure_of(registry, iso_registry_index(registry, member));

	if (lives(member))
		return refuse(ISO_REGISTRY_TOO_LATE, wish->node, 0, 0);
	if (procedure == NULL || procedure->kind != ISO_REGISTRY_JOIN || procedure->undone)
		return refuse(ISO_REGISTRY_NOT_LIVE, wish->node, 0, 0);
	*ret_entry = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_UNDO,
		.seq = registry->seq + 1,
		.procedure = procedure->id,
		.node = wish->node,
	};
	return fine();
}

/* A live member with which nothing else is being done; not NULL. */
static struct iso_registry_reason check_idle(const struct iso_registry *registry,
					     const struct iso_registry_member *member,
					     enum iso_registry_procedure_kind kind)
{
	uint64_t node = member->id;

	if (!lives(member))
		return refuse(ISO_REGISTRY_NOT_LIVE, node, 0, 0);

	const struct iso_registry_procedure *procedure =
	    iso_registry_procedure_of(registry, iso_registry_index(registry, member));

	if (procedure == NULL)
		return fine();
	return refuse(procedure->kind == kind ? ISO_REGISTRY_UNDER_WAY
					      : ISO_REGISTRY_OTHER_UNDER_WAY,
		      node, 0, 0);
}

struct iso_registry_reason iso_registry_drain(const struct iso_registry *registry,
					      const struct iso_registry_wish *wish,
					      struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = member_of(registry, wish->node);

	if (member == NULL)
		return refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);

	struct iso_registry_reason reason = check_idle(registry, member, 0);

	if (reason.why != ISO_REGISTRY_FINE)
		return reason;

	if (member->draining == ((wish->flags & ISO_REGISTRY_ON) != 0))
		return refuse(ISO_REGISTRY_UNDER_WAY, wish->node, 0, 0);
	if (registry->op_count == ISO_REGISTRY_OPS_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_OPS_MAX);
	*ret_entry = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_ISSUE,
		.seq = registry->seq + 1,
		.op = registry->next_op,
		.op_kind = ISO_OP_DRAIN,
		.node = member->id,
		.gen = member->gen,
		.flags = wish->flags & ISO_REGISTRY_ON,
	};
	return fine();
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
	const struct iso_registry_member *member = member_of(registry, wish->node);

	if (member == NULL)
		return refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);

	struct iso_registry_reason reason = check_idle(registry, member, ISO_REGISTRY_LEAVE);

	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	struct iso_registry_set peers, self = { { 0 } };

	iso_registry_include(&self, iso_registry_index(registry, member));
	if (others(registry, &self) == 0)
		return refuse(ISO_REGISTRY_LAST_ONE, wish->node, 0, 0);
	if (!neighbours(registry, iso_registry_index(registry, member), &peers))
		return refuse(ISO_REGISTRY_NO_NEIGHBOUR, wish->node, 0, 0);
	for (uint32_t i = 0; i < registry->member_count; i++) {
		if (!iso_registry_has(&peers, i))
			continue;
		if (iso_registry_going(registry, i))
			return refuse(ISO_REGISTRY_NEIGHBOUR_DYING, wish->node,
				      registry->members[i].id, 0);
		/* It has to freeze its side first. */
		if (!registry->members[i].seen)
			return refuse(ISO_REGISTRY_NEIGHBOUR_SILENT, wish->node,
				      registry->members[i].id, 0);
	}
	uint32_t peer = unsettled(registry, iso_registry_index(registry, member));

	if (peer != ISO_REGISTRY_NOBODY)
		return refuse(ISO_REGISTRY_UNSETTLED, wish->node, registry->members[peer].id, 0);
	if (!member->seen)
		return refuse(ISO_REGISTRY_NODE_SILENT, wish->node, 0, 0);
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_PROCEDURES_MAX);
	*ret_entry = begin(registry, wish, ISO_REGISTRY_LEAVE);
	return fine();
}

/* The set to be buried: each must live, and nothing that cannot be taken over be under way. */
static struct iso_registry_reason burial_set(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_set *ret_set)
{
	memset(ret_set, 0, sizeof(*ret_set));
	for (uint32_t i = 0; i <= wish->list_count; i++) {
		uint64_t id = i == 0 ? wish->node : wish->list[i - 1];
		const struct iso_registry_member *member = member_of(registry, id);

		if (member == NULL)
			return refuse(ISO_REGISTRY_NO_SUCH_NODE, id, 0, 0);
		if (!lives(member))
			return refuse(ISO_REGISTRY_NOT_LIVE, id, 0, 0);
		iso_registry_include(ret_set, iso_registry_index(registry, member));
	}
	for (uint32_t p = 0; p < registry->procedure_count; p++) {
		const struct iso_registry_procedure *other = &registry->procedures[p];
		bool touched = false;
		uint64_t outside = 0, inside = 0;

		for (uint32_t k = 0; k < registry->member_count; k++) {
			if (!iso_registry_has(&other->nodes, k))
				continue;
			if (iso_registry_has(ret_set, k)) {
				touched = true;
				inside = registry->members[k].id;
			} else {
				outside = registry->members[k].id;
			}
		}
		bool fenced_only_now = (wish->flags & ~other->flags & ISO_REGISTRY_FENCED) != 0;
		bool grows = other->kind == ISO_REGISTRY_BURY &&
			     memcmp(&other->nodes, ret_set, sizeof(*ret_set)) != 0;

		if (!touched)
			continue;
		if (outside != 0 || other->voided)
			return refuse(ISO_REGISTRY_OTHER_UNDER_WAY, inside, outside, 0);
		if (other->kind == ISO_REGISTRY_BURY && !fenced_only_now && !grows)
			return refuse(ISO_REGISTRY_UNDER_WAY, inside, 0, 0);
		if ((other->flags & ~wish->flags & ISO_REGISTRY_FENCED) != 0)
			return refuse(ISO_REGISTRY_JOINT_NEEDS_FENCE, inside, 0, 0);
	}
	return fine();
}

/* Everybody who could have traded with them must be asked. */
static struct iso_registry_reason check_witnesses(const struct iso_registry *registry,
						  const struct iso_registry_wish *wish,
						  const struct iso_registry_set *set)
{
	for (uint32_t i = 0; i < registry->member_count; i++) {
		const struct iso_registry_member *member = &registry->members[i];
		struct iso_registry_set peers;
		bool adjacent = false;

		if (!lives(member) || iso_registry_has(set, i))
			continue;
		(void)neighbours(registry, i, &peers);
		for (uint32_t k = 0; k < registry->member_count; k++)
			adjacent |= iso_registry_has(&peers, k) && iso_registry_has(set, k);
		if (adjacent && iso_registry_going(registry, i))
			return refuse(ISO_REGISTRY_NEIGHBOUR_DYING, wish->node, member->id, 0);
		if (adjacent && !member->seen)
			return refuse(ISO_REGISTRY_NEIGHBOUR_SILENT, wish->node, member->id, 0);
		if (member->last_op == 0)
			return refuse(ISO_REGISTRY_UNADMINISTERED, wish->node, member->id, 0);
	}
	return fine();
}

static bool guarded(const struct iso_registry *registry, uint64_t node)
{
	const struct iso_registry_member *member = member_of(registry, node);

	return member != NULL && (member->flags & ISO_REGISTRY_GUARDED) != 0;
}

/* Somebody waits for its leases to end, and it knows that it needs one. */
static bool has_witness(const struct iso_registry *registry, uint32_t member)
{
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;

		if (!iso_registry_edge_alive(registry, &registry->edges[k]))
			continue;
		for (int side = 0; side < 2; side++)
			if (end[side].member == member && end[side].state == ISO_REGISTRY_OPENED &&
			    end[1 - side].state != ISO_REGISTRY_WANTED)
				return true;
	}
	return false;
}

struct iso_registry_reason iso_registry_bury(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_entry *ret_entry)
{
	struct iso_registry_set set;
	bool fenced = (wish->flags & ISO_REGISTRY_FENCED) != 0;

	if (wish->list_count > ISO_REGISTRY_LIST_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_LIST_MAX);

	struct iso_registry_reason reason = burial_set(registry, wish, &set);

	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	if (others(registry, &set) == 0)
		return refuse(ISO_REGISTRY_LAST_ONE, wish->node, 0, 0);
	if (!fenced && wish->list_count > 0)
		return refuse(ISO_REGISTRY_JOINT_NEEDS_FENCE, wish->node, wish->list[0], 0);
	if (!fenced && !wish->trust && !guarded(registry, wish->node))
		return refuse(ISO_REGISTRY_UNGUARDED, wish->node, 0, 0);
	if (!fenced && !has_witness(registry, iso_registry_find(registry, wish->node)))
		return refuse(ISO_REGISTRY_NO_NEIGHBOUR, wish->node, 0, 0);
	if (wish->heir != 0 && (!may_inherit(registry, wish->heir) ||
				iso_registry_has(&set, iso_registry_find(registry, wish->heir))))
		return refuse(ISO_REGISTRY_BAD_HEIR, wish->node, wish->heir, 0);
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_PROCEDURES_MAX);
	reason = check_witnesses(registry, wish, &set);
	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	*ret_entry = begin(registry, wish, ISO_REGISTRY_BURY);
	ret_entry->list_count = wish->list_count;
	for (uint32_t i = 0; i < wish->list_count; i++)
		ret_entry->list[i] = wish->list[i];
	return fine();
}

struct iso_registry_reason iso_registry_forget(const struct iso_registry *registry,
					       const struct iso_registry_wish *wish,
					       struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = member_of(registry, wish->node);

	if (member == NULL)
		return refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);
	if (iso_registry_procedure_of(registry, iso_registry_index(registry, member)) != NULL)
		return refuse(ISO_REGISTRY_OTHER_UNDER_WAY, wish->node, 0, 0);
	if (lives(member))
		return refuse(ISO_REGISTRY_IS_LIVE, wish->node, 0, 0);
	if (member->state != ISO_REGISTRY_BURIED && member->state != ISO_REGISTRY_LEFT)
		return refuse(ISO_REGISTRY_NOT_LIVE, wish->node, 0, 0);
	if (member->reserved_ucpu > 0 && (wish->flags & ISO_REGISTRY_FENCED) == 0)
		return refuse(ISO_REGISTRY_NEEDS_FENCE, wish->node, 0, member->reserved_ucpu);
	if (wish->heir != 0 && !may_inherit(registry, wish->heir))
		return refuse(ISO_REGISTRY_BAD_HEIR, wish->node, wish->heir, 0);
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX)
		return refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_PROCEDURES_MAX);
	*ret_entry = begin(registry, wish, ISO_REGISTRY_FORGET);
	return fine();
}
