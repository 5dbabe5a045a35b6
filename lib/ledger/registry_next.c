/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry.h"

#include <assert.h>
#include <stddef.h>

#include "lib/ledger/registry_state.h"

/*
 * What to write next, from the state alone: so a procedure that was cut off
 * anywhere goes on where it was.  In this order: edges that wait to be opened
 * or folded, each procedure's next step, then the budget.
 */

/* Not known yet whether there is something: a look at the members may help. */
#define NEEDS_LOOK ISO_E_SHORT
#define NOTHING	   ISO_E_UNKNOWN

static struct iso_registry_entry operation(const struct iso_registry *registry, uint32_t member,
					   int kind, uint64_t procedure)
{
	return (struct iso_registry_entry){
		.kind = ISO_REGISTRY_ISSUE,
		.procedure = procedure,
		.op = registry->next_op,
		.op_kind = kind,
		.node = registry->members[member].id,
		.gen = registry->members[member].gen,
		/* Nobody is told a smaller one by the way, see lowering(). */
		.budget_ucpu =
		    registry->budget_ucpu > iso_registry_told(registry, member, UINT64_MAX)
			? registry->budget_ucpu
			: 0,
	};
}

static struct iso_registry_entry edge_operation(const struct iso_registry *registry,
						const struct iso_registry_end *end,
						const struct iso_registry_end *other, int kind,
						uint64_t procedure)
{
	struct iso_registry_entry entry = operation(registry, end->member, kind, procedure);

	entry.gen = end->gen;
	entry.peer = registry->members[other->member].id;
	entry.peer_gen = other->gen;
	return entry;
}

static bool has_op(const struct iso_registry *registry, uint32_t member)
{
	for (uint32_t i = 0; i < registry->op_count; i++)
		if (registry->ops[i].member == member)
			return true;
	return false;
}

static enum iso_status next_end(const struct iso_registry *registry,
				const struct iso_registry_edge *edge, int side,
				struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_end *end = &edge->end[side], *other = &edge->end[1 - side];

	if (iso_registry_end_void(registry, end))
		return NOTHING;
	if (iso_registry_end_void(registry, other)) {
		if (end->state != ISO_REGISTRY_CLOSED)
			return NOTHING;
		*ret_entry = edge_operation(registry, end, other, ISO_OP_FOLD, 0);
		ret_entry->sent = end->sent;
		ret_entry->received = end->received;
		return ISO_OK;
	}
	if (end->state != ISO_REGISTRY_WANTED || !registry->members[end->member].admitted ||
	    !registry->members[other->member].admitted ||
	    iso_registry_going(registry, end->member) ||
	    iso_registry_going(registry, other->member))
		return NOTHING;
	*ret_entry = edge_operation(registry, end, other, ISO_OP_OPEN, 0);
	return ISO_OK;
}

static enum iso_status next_edge(const struct iso_registry *registry,
				 struct iso_registry_entry *ret_entry)
{
	for (uint32_t k = 0; k < registry->edge_count; k++)
		for (int side = 0; side < 2; side++)
			if (next_end(registry, &registry->edges[k], side, ret_entry) == ISO_OK)
				return ISO_OK;
	return NOTHING;
}

/* Takes up to need from the first of those who have room, in proportion to all rooms. */
static enum iso_status next_burn(const struct iso_registry *registry, int64_t need_ucpu,
				 uint64_t procedure, struct iso_registry_entry *ret_entry)
{
	int64_t room[ISO_REGISTRY_MEMBERS_MAX], part[ISO_REGISTRY_MEMBERS_MAX];

	assert(need_ucpu > 0);
	for (uint32_t i = 0; i < registry->member_count; i++) {
		const struct iso_registry_member *member = &registry->members[i];
		bool may = member->state == ISO_REGISTRY_LIVE && member->admitted && member->seen &&
			   !iso_registry_going(registry, i);

		room[i] = may ? member->room_ucpu : 0;
	}
	iso_registry_spread(need_ucpu, room, registry->member_count, part);
	for (uint32_t i = 0; i < registry->member_count; i++) {
		if (part[i] == 0)
			continue;
		*ret_entry = operation(registry, i, ISO_OP_BURN, procedure);
		ret_entry->amount_ucpu = part[i];
		return ISO_OK;
	}
	return NEEDS_LOOK;
}

static bool may_inherit(const struct iso_registry *registry, uint32_t member)
{
	return member != ISO_REGISTRY_NOBODY &&
	       registry->members[member].state == ISO_REGISTRY_LIVE &&
	       registry->members[member].admitted && !iso_registry_going(registry, member);
}

/* The heir that was named, else a neighbour that answers, else anybody who does. */
static uint32_t find_heir(const struct iso_registry *registry,
			  const struct iso_registry_procedure *procedure)
{
	uint32_t heir = ISO_REGISTRY_NOBODY;

	if (may_inherit(registry, procedure->heir))
		return procedure->heir;
	for (uint32_t i = 0; i < registry->member_count; i++) {
		if (!may_inherit(registry, i) || !registry->members[i].seen ||
		    registry->members[i].halted)
			continue;
		if (iso_registry_has(&procedure->neighbours, i))
			return i;
		if (heir == ISO_REGISTRY_NOBODY)
			heir = i;
	}
	return heir;
}

/* What a procedure still holds goes to an heir; then it is over. */
static enum iso_status next_grant(const struct iso_registry *registry,
				  const struct iso_registry_procedure *procedure,
				  struct iso_registry_entry *ret_entry)
{
	if (procedure->held_ucpu > 0) {
		uint32_t heir = find_heir(registry, procedure);

		if (heir == ISO_REGISTRY_NOBODY)
			return NEEDS_LOOK;
		*ret_entry = operation(registry, heir, ISO_OP_MINT, procedure->id);
		ret_entry->amount_ucpu = procedure->held_ucpu;
		return ISO_OK;
	}
	if (iso_registry_outstanding(registry, procedure->id))
		return NOTHING;
	*ret_entry =
	    (struct iso_registry_entry){ .kind = ISO_REGISTRY_END, .procedure = procedure->id };
	return ISO_OK;
}

/* Whether an edge of the procedure's nodes still waits for an operation's answer. */
static bool unsettled(const struct iso_registry *registry,
		      const struct iso_registry_procedure *procedure)
{
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;
		bool alive = iso_registry_edge_alive(registry, &registry->edges[k]);

		if (!iso_registry_has(&procedure->nodes, end[0].member) &&
		    !iso_registry_has(&procedure->nodes, end[1].member))
			continue;
		if (!alive || end[0].state < ISO_REGISTRY_OPENED ||
		    end[1].state < ISO_REGISTRY_OPENED)
			return true;
	}
	return false;
}

static enum iso_status next_join(const struct iso_registry *registry,
				 const struct iso_registry_procedure *procedure,
				 struct iso_registry_entry *ret_entry)
{
	uint32_t node = 0;
	int64_t need = procedure->share_ucpu - procedure->held_ucpu -
		       iso_registry_burning(registry, procedure->id);

	while (!iso_registry_has(&procedure->nodes, node))
		node++;

	const struct iso_registry_member *member = &registry->members[node];

	if (procedure->undone)
		return next_grant(registry, procedure, ret_entry);
	if (member->state == ISO_REGISTRY_LIVE) {
		if (!member->admitted || unsettled(registry, procedure))
			return NOTHING;
		return next_grant(registry, procedure, ret_entry);
	}
	if (need > 0)
		return next_burn(registry, need, procedure->id, ret_entry);
	if (procedure->held_ucpu < procedure->share_ucpu)
		return NOTHING;
	*ret_entry = operation(registry, node, ISO_REGISTRY_ADMIT, procedure->id);
	ret_entry->budget_ucpu = registry->budget_ucpu;
	ret_entry->gen = procedure->gen;
	ret_entry->amount_ucpu = procedure->share_ucpu;
	return ISO_OK;
}

/* The next edge of a cycle among those who have lost their neighbour. */
static enum iso_status next_repair(const struct iso_registry *registry,
				   const struct iso_registry_procedure *procedure,
				   struct iso_registry_entry *ret_entry)
{
	uint32_t list[ISO_REGISTRY_MEMBERS_MAX], count = 0;

	for (uint32_t i = 0; i < registry->member_count; i++)
		if (iso_registry_has(&procedure->neighbours, i) &&
		    registry->members[i].state == ISO_REGISTRY_LIVE &&
		    !iso_registry_going(registry, i))
			list[count++] = i;
	/* Of two the cycle is one edge, there and back. */
	for (uint32_t i = 0; procedure->repair && count > 1 && i < count; i++) {
		uint32_t a = list[i], b = list[(i + 1) % count];

		if (iso_registry_adjacent(registry, a, b) ||
		    iso_registry_degree(registry, a) >= ISO_DEGREE_MAX ||
		    iso_registry_degree(registry, b) >= ISO_DEGREE_MAX ||
		    !iso_registry_room_for_edges(registry, 1))
			continue;
		*ret_entry = (struct iso_registry_entry){
			.kind = ISO_REGISTRY_EDGE,
			.node = registry->members[a].id,
			.peer = registry->members[b].id,
		};
		return ISO_OK;
	}
	return NOTHING;
}

/* After the nodes are void: topology, folds, the estate, the end. */
static enum iso_status next_after(const struct iso_registry *registry,
				  const struct iso_registry_procedure *procedure,
				  struct iso_registry_entry *ret_entry)
{
	enum iso_status status = next_repair(registry, procedure, ret_entry);

	if (status == ISO_OK)
		return status;
	if (procedure->held_ucpu == 0 && unsettled(registry, procedure))
		return NOTHING;
	return next_grant(registry, procedure, ret_entry);
}

static enum iso_status next_leave(const struct iso_registry *registry,
				  const struct iso_registry_procedure *procedure,
				  struct iso_registry_entry *ret_entry)
{
	uint32_t node = 0;
	bool waiting = false;

	while (!iso_registry_has(&procedure->nodes, node))
		node++;
	if (!procedure->asked) {
		*ret_entry = operation(registry, node, ISO_OP_LEAVE, procedure->id);
		return ISO_OK;
	}
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_edge *edge = &registry->edges[k];

		for (int side = 0; side < 2; side++) {
			const struct iso_registry_end *end = &edge->end[side];
			const struct iso_registry_end *other = &edge->end[1 - side];

			if (other->member != node || end->state == ISO_REGISTRY_CLOSED ||
			    end->state == ISO_REGISTRY_WANTED ||
			    !iso_registry_edge_alive(registry, edge))
				continue;
			waiting |= !end->offered;
			if (!end->offered)
				continue;
			*ret_entry = edge_operation(registry, end, other, 0, procedure->id);
			ret_entry->kind = ISO_REGISTRY_CERTIFY;
			ret_entry->op = 0;
			ret_entry->sent = end->sent;
			ret_entry->received = end->received;
			return ISO_OK;
		}
	}
	if (waiting || iso_registry_outstanding(registry, procedure->id))
		return NEEDS_LOOK;
	*ret_entry =
	    (struct iso_registry_entry){ .kind = ISO_REGISTRY_VOID, .procedure = procedure->id };
	return ISO_OK;
}

static enum iso_status next_bury(const struct iso_registry *registry,
				 const struct iso_registry_procedure *procedure,
				 struct iso_registry_entry *ret_entry)
{
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_edge *edge = &registry->edges[k];

		if (!iso_registry_edge_alive(registry, edge))
			continue;
		for (int side = 0; side < 2; side++) {
			const struct iso_registry_end *end = &edge->end[side];
			const struct iso_registry_end *other = &edge->end[1 - side];

			if (!iso_registry_has(&procedure->nodes, other->member) ||
			    iso_registry_has(&procedure->nodes, end->member) ||
			    (end->state != ISO_REGISTRY_OPENING &&
			     end->state != ISO_REGISTRY_OPENED))
				continue;
			*ret_entry =
			    edge_operation(registry, end, other, ISO_OP_CLOSE, procedure->id);
			if ((procedure->flags & ISO_REGISTRY_FENCED) != 0)
				ret_entry->flags = ISO_REGISTRY_ON;
			return ISO_OK;
		}
	}
	if (!iso_registry_certified(registry, procedure))
		return NOTHING;

	int64_t estate = iso_registry_estate(registry, procedure);

	*ret_entry = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_VOID,
		.procedure = procedure->id,
		.amount_ucpu = estate - iso_registry_reserve(registry, procedure, estate),
	};
	return ISO_OK;
}

static enum iso_status next_procedure(const struct iso_registry *registry,
				      const struct iso_registry_procedure *procedure,
				      struct iso_registry_entry *ret_entry)
{
	if (procedure->voided)
		return next_after(registry, procedure, ret_entry);
	switch (procedure->kind) {
	case ISO_REGISTRY_JOIN: return next_join(registry, procedure, ret_entry);
	case ISO_REGISTRY_LEAVE: return next_leave(registry, procedure, ret_entry);
	case ISO_REGISTRY_BURY: return next_bury(registry, procedure, ret_entry);
	case ISO_REGISTRY_FORGET: return next_grant(registry, procedure, ret_entry);
	}
	assert(!"procedure kind");
	return NOTHING;
}

static bool may_be_fed(const struct iso_registry *registry, uint32_t index, bool also_draining)
{
	const struct iso_registry_member *member = &registry->members[index];
	uint32_t favourite = iso_registry_find(registry, registry->favourite);

	if (!may_inherit(registry, index) || !member->seen || member->halted || member->fed)
		return false;
	/* One that has died or is going since it was named is nobody's favourite. */
	if (may_inherit(registry, favourite))
		return index == favourite;
	return also_draining || !member->draining;
}

/* The next one's part of an increase: an even part of what is left. */
static enum iso_status next_mint(const struct iso_registry *registry,
				 struct iso_registry_entry *ret_entry)
{
	uint32_t count = 0, first = ISO_REGISTRY_NOBODY;

	for (int draining = 0; draining < 2 && count == 0; draining++)
		for (uint32_t i = registry->member_count; i-- > 0;)
			if (may_be_fed(registry, i, draining != 0)) {
				count++;
				first = i;
			}
	if (count == 0)
		return NEEDS_LOOK;
	*ret_entry = operation(registry, first, ISO_OP_MINT, 0);
	/* Rounded up, so that few units do not stay behind. */
	ret_entry->amount_ucpu = (registry->pool_ucpu + count - 1) / count;
	return ISO_OK;
}

static enum iso_status next_budget(const struct iso_registry *registry,
				   struct iso_registry_entry *ret_entry)
{
	int64_t burning = iso_registry_burning(registry, 0);
	int64_t excess = registry->budget_ucpu - burning - registry->target_ucpu;

	if (registry->target_ucpu > registry->budget_ucpu) {
		if (iso_registry_lowering(registry) != ISO_REGISTRY_NOBODY)
			return NOTHING;
		*ret_entry = (struct iso_registry_entry){
			.kind = ISO_REGISTRY_RAISE,
			.amount_ucpu = registry->target_ucpu - registry->budget_ucpu,
		};
		return ISO_OK;
	}
	if (excess > 0 && registry->pool_ucpu > 0) {
		*ret_entry = (struct iso_registry_entry){
			.kind = ISO_REGISTRY_SHRINK,
			.amount_ucpu = excess < registry->pool_ucpu ? excess : registry->pool_ucpu,
		};
		return ISO_OK;
	}
	if (excess > 0)
		return next_burn(registry, excess, 0, ret_entry);
	if (registry->pool_ucpu > 0)
		return next_mint(registry, ret_entry);
	/*
	 * The rest is told when the sum has arrived where it should be; and who has had no
	 * operation yet gets one: from then on its configuration adds no edges.
	 */
	for (uint32_t i = 0; burning == 0 && i < registry->member_count; i++) {
		const struct iso_registry_member *member = &registry->members[i];

		if (!may_inherit(registry, i) || !member->seen || member->halted ||
		    has_op(registry, i) ||
		    (member->told_ucpu == registry->budget_ucpu && member->last_op != 0))
			continue;
		*ret_entry = operation(registry, i, ISO_OP_BUDGET, 0);
		ret_entry->budget_ucpu = registry->budget_ucpu;
		return ISO_OK;
	}
	return NOTHING;
}

enum iso_status iso_registry_next(const struct iso_registry *registry,
				  struct iso_registry_entry *ret_entry)
{
	struct iso_registry_entry entry;
	bool look = false;

	if (!registry->ready)
		return NOTHING;

	enum iso_status status = next_edge(registry, &entry);

	for (uint32_t i = 0; i < registry->procedure_count && status != ISO_OK; i++) {
		status = next_procedure(registry, &registry->procedures[i], &entry);
		look |= status == NEEDS_LOOK;
	}
	if (status != ISO_OK) {
		status = next_budget(registry, &entry);
		look |= status == NEEDS_LOOK;
	}
	if (status != ISO_OK)
		return look ? NEEDS_LOOK : NOTHING;
	entry.seq = registry->seq + 1;
	*ret_entry = entry;
	return ISO_OK;
}
