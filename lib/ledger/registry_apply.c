/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry.h"

#include <assert.h>
#include <string.h>

#include "lib/ledger/registry_state.h"

/*
 * What each kind of entry makes true.  Each function checks first and changes
 * then, so a refused entry leaves everything as it was.
 */

static enum iso_status apply_create(struct iso_registry *registry,
				    const struct iso_registry_entry *entry)
{
	if (registry->seq != 0 || entry->op == 0 || entry->amount_ucpu == 0 ||
	    !iso_registry_amount_possible(entry->amount_ucpu))
		return ISO_E_MALFORMED;
	registry->cluster = entry->node;
	registry->next_op = entry->op;
	registry->budget_ucpu = registry->target_ucpu = entry->amount_ucpu;
	return ISO_OK;
}

/* A slot for a node that was never there. */
enum iso_status iso_registry_add_member(struct iso_registry *registry,
					const struct iso_registry_entry *entry,
					struct iso_registry_member **ret_member)
{
	if (entry->node == 0 || entry->name[0] == '\0' ||
	    entry->name[sizeof(entry->name) - 1] != '\0' ||
	    !iso_registry_amount_possible(entry->floor_ucpu) ||
	    iso_registry_find(registry, entry->node) != ISO_REGISTRY_NOBODY ||
	    iso_registry_find_name(registry, entry->name) != ISO_REGISTRY_NOBODY)
		return ISO_E_MALFORMED;
	if (registry->member_count == ISO_REGISTRY_MEMBERS_MAX)
		return ISO_E_FULL;
	*ret_member = &registry->members[registry->member_count++];
	**ret_member = (struct iso_registry_member){
		.id = entry->node,
		.state = ISO_REGISTRY_NEW,
		.floor_ucpu = entry->floor_ucpu,
		.flags = entry->flags & ISO_REGISTRY_GUARDED,
	};
	memcpy((*ret_member)->name, entry->name, sizeof(entry->name));
	return ISO_OK;
}

static enum iso_status apply_member(struct iso_registry *registry,
				    const struct iso_registry_entry *entry)
{
	struct iso_registry_member *member;

	if (registry->ready || entry->gen == 0 || entry->amount_ucpu > ISO_UNITS_MAX ||
	    entry->amount_ucpu < -ISO_UNITS_MAX)
		return ISO_E_MALFORMED;

	enum iso_status status = iso_registry_add_member(registry, entry, &member);

	if (status != ISO_OK)
		return status;
	member->state = ISO_REGISTRY_LIVE;
	member->admitted = true;
	member->gen = entry->gen;
	member->endowment_ucpu = entry->amount_ucpu;
	member->told_ucpu = entry->budget_ucpu;
	member->last_op = entry->op;
	return ISO_OK;
}

void iso_registry_add_edge(struct iso_registry *registry, uint32_t a, uint32_t b,
			   enum iso_registry_end_state state_a, enum iso_registry_end_state state_b)
{
	assert(iso_registry_room_for_edges(registry, 1));
	registry->edges[registry->edge_count++] = (struct iso_registry_edge){ {
	    { .member = a, .gen = registry->members[a].gen, .state = state_a },
	    { .member = b, .gen = registry->members[b].gen, .state = state_b },
	} };
}

static enum iso_status apply_edge(struct iso_registry *registry,
				  const struct iso_registry_entry *entry)
{
	const struct iso_registry_member *a = iso_registry_live(registry, entry->node);
	const struct iso_registry_member *b = iso_registry_live(registry, entry->peer);

	if (a == NULL || b == NULL)
		return ISO_E_UNKNOWN;
	if (a == b || iso_registry_adjacent(registry, iso_registry_index(registry, a),
					    iso_registry_index(registry, b)))
		return ISO_E_MALFORMED;
	if (!iso_registry_room_for_edges(registry, 1))
		return ISO_E_FULL;

	/* Of the creation, or found later: it is there. */
	bool is_there = !registry->ready || (entry->flags & ISO_REGISTRY_ON) != 0;
	enum iso_registry_end_state state = is_there ? ISO_REGISTRY_OPENED : ISO_REGISTRY_WANTED;

	iso_registry_add_edge(registry, iso_registry_index(registry, a),
			      iso_registry_index(registry, b), state, state);
	return ISO_OK;
}

static enum iso_status apply_ready(struct iso_registry *registry)
{
	if (registry->ready || registry->member_count == 0 || iso_registry_imbalance(registry) != 0)
		return ISO_E_MALFORMED;
	registry->ready = true;
	return ISO_OK;
}

static enum iso_status apply_note(struct iso_registry *registry,
				  const struct iso_registry_entry *entry)
{
	uint32_t index = iso_registry_find(registry, entry->node);

	if (index == ISO_REGISTRY_NOBODY)
		return ISO_E_UNKNOWN;
	if (!iso_registry_amount_possible(entry->floor_ucpu))
		return ISO_E_MALFORMED;
	registry->members[index].floor_ucpu = entry->floor_ucpu;
	registry->members[index].flags = entry->flags & ISO_REGISTRY_GUARDED;
	return ISO_OK;
}

static enum iso_status apply_budget(struct iso_registry *registry,
				    const struct iso_registry_entry *entry)
{
	int64_t amount = entry->amount_ucpu;

	if (amount <= 0 || !iso_registry_amount_possible(amount))
		return ISO_E_MALFORMED;
	if (entry->kind == ISO_REGISTRY_TARGET) {
		if (entry->node != 0 && iso_registry_live(registry, entry->node) == NULL)
			return ISO_E_UNKNOWN;
		registry->target_ucpu = amount;
		registry->favourite = entry->node;
		return ISO_OK;
	}
	if (entry->kind == ISO_REGISTRY_RAISE) {
		if (registry->budget_ucpu + amount > registry->target_ucpu)
			return ISO_E_MALFORMED;
		registry->budget_ucpu += amount;
		registry->pool_ucpu += amount;
		return ISO_OK;
	}
	assert(entry->kind == ISO_REGISTRY_SHRINK);
	if (amount > registry->pool_ucpu || registry->budget_ucpu - amount < registry->target_ucpu)
		return ISO_E_MALFORMED;
	registry->budget_ucpu -= amount;
	registry->pool_ucpu -= amount;
	return ISO_OK;
}

/* The operation is over: the others keep their order. */
static void remove_op(struct iso_registry *registry, uint32_t position)
{
	assert(position < registry->op_count);
	registry->op_count--;
	memmove(&registry->ops[position], &registry->ops[position + 1],
		(registry->op_count - position) * sizeof(registry->ops[0]));
}

static void remove_edge(struct iso_registry *registry, uint32_t position)
{
	assert(position < registry->edge_count);
	registry->edges[position] = registry->edges[--registry->edge_count];
}

static void remove_folded(struct iso_registry *registry, const struct iso_registry_op *op)
{
	for (uint32_t k = registry->edge_count; k-- > 0;)
		for (int side = 0; side < 2 && k < registry->edge_count; side++) {
			const struct iso_registry_end *end = registry->edges[k].end;

			if (end[side].member == op->member && end[side].gen == op->gen &&
			    end[1 - side].member == op->peer && end[1 - side].gen == op->peer_gen)
				remove_edge(registry, k);
		}
}

static enum iso_status acknowledge_burn(struct iso_registry *registry,
					const struct iso_registry_op *op, int64_t moved_ucpu)
{
	struct iso_registry_procedure *procedure =
	    op->procedure != 0 ? iso_registry_procedure_at(registry, op->procedure) : NULL;

	if (moved_ucpu < 0 || moved_ucpu > op->amount_ucpu ||
	    (op->procedure != 0 && procedure == NULL))
		return ISO_E_MALFORMED;
	if (procedure == NULL && moved_ucpu > registry->budget_ucpu)
		return ISO_E_MALFORMED;
	registry->members[op->member].endowment_ucpu =
	    iso_registry_sum(registry->members[op->member].endowment_ucpu, -(uint64_t)moved_ucpu);
	if (procedure != NULL)
		procedure->held_ucpu += moved_ucpu;
	else
		registry->budget_ucpu -= moved_ucpu;
	return ISO_OK;
}

static enum iso_status acknowledge_edge(struct iso_registry *registry,
					const struct iso_registry_op *op,
					const struct iso_registry_entry *entry)
{
	struct iso_registry_end *end =
	    iso_registry_end_of(registry, op->member, op->gen, op->peer, op->peer_gen);

	if (op->kind == ISO_OP_FOLD) {
		remove_folded(registry, op);
	} else if (op->kind == ISO_OP_OPEN) {
		if (end != NULL && end->state == ISO_REGISTRY_OPENING)
			end->state = ISO_REGISTRY_OPENED;
	} else {
		assert(op->kind == ISO_OP_CLOSE);
		if (end == NULL || end->state != ISO_REGISTRY_CLOSING ||
		    entry->sent > (uint64_t)ISO_UNITS_MAX ||
		    entry->received > (uint64_t)ISO_UNITS_MAX)
			return ISO_E_MALFORMED;
		end->state = ISO_REGISTRY_CLOSED;
		end->sent = entry->sent;
		end->received = entry->received;
	}
	return ISO_OK;
}

/* An admission opens the new node's own ends. */
static void acknowledge_admit(struct iso_registry *registry, const struct iso_registry_op *op)
{
	registry->members[op->member].admitted = true;
	for (uint32_t k = 0; k < registry->edge_count; k++)
		for (int side = 0; side < 2; side++) {
			struct iso_registry_end *end = &registry->edges[k].end[side];

			if (end->member == op->member && end->gen == op->gen &&
			    end->state == ISO_REGISTRY_OPENING)
				end->state = ISO_REGISTRY_OPENED;
		}
}

static enum iso_status apply_ack(struct iso_registry *registry,
				 const struct iso_registry_entry *entry)
{
	uint32_t position = 0;
	enum iso_status status = ISO_OK;

	while (position < registry->op_count && registry->ops[position].id != entry->op)
		position++;
	if (position == registry->op_count)
		return ISO_E_UNKNOWN;

	const struct iso_registry_op op = registry->ops[position];

	if (registry->members[op.member].id != entry->node)
		return ISO_E_MALFORMED;
	if (op.kind == ISO_OP_BURN)
		status = acknowledge_burn(registry, &op, entry->amount_ucpu);
	if (op.kind == ISO_OP_OPEN || op.kind == ISO_OP_CLOSE || op.kind == ISO_OP_FOLD)
		status = acknowledge_edge(registry, &op, entry);
	if (op.kind == ISO_REGISTRY_ADMIT)
		acknowledge_admit(registry, &op);
	if (status != ISO_OK)
		return status;
	if (op.budget_ucpu != 0)
		registry->members[op.member].told_ucpu = op.budget_ucpu;
	registry->members[op.member].last_op = op.id;
	remove_op(registry, position);
	return ISO_OK;
}

/* What the peer that left says of its neighbour is final: it was frozen on both sides. */
static enum iso_status apply_certify(struct iso_registry *registry,
				     const struct iso_registry_entry *entry)
{
	uint32_t member = iso_registry_find(registry, entry->node);
	uint32_t peer = iso_registry_find(registry, entry->peer);

	if (member == ISO_REGISTRY_NOBODY || peer == ISO_REGISTRY_NOBODY)
		return ISO_E_UNKNOWN;

	const struct iso_registry_procedure *procedure = iso_registry_procedure_of(registry, peer);
	struct iso_registry_end *end =
	    iso_registry_end_of(registry, member, entry->gen, peer, entry->peer_gen);

	if (procedure == NULL || procedure->kind != ISO_REGISTRY_LEAVE || procedure->voided ||
	    end == NULL || end->state == ISO_REGISTRY_CLOSED ||
	    entry->sent > (uint64_t)ISO_UNITS_MAX || entry->received > (uint64_t)ISO_UNITS_MAX)
		return ISO_E_MALFORMED;
	end->state = ISO_REGISTRY_CLOSED;
	end->sent = entry->sent;
	end->received = entry->received;
	return ISO_OK;
}

/* Whether the nodes of a set can still reach each other over live edges. */
static bool connected(const struct iso_registry *registry, const struct iso_registry_set *set)
{
	uint32_t root[ISO_REGISTRY_MEMBERS_MAX], first = ISO_REGISTRY_NOBODY;
	bool changed = true;

	for (uint32_t i = 0; i < registry->member_count; i++)
		root[i] = i;
	while (changed) {
		changed = false;
		for (uint32_t k = 0; k < registry->edge_count; k++) {
			const struct iso_registry_edge *edge = &registry->edges[k];
			uint32_t *a = &root[edge->end[0].member], *b = &root[edge->end[1].member];

			if (*a == *b || !iso_registry_edge_alive(registry, edge))
				continue;
			*a = *b = *a < *b ? *a : *b;
			changed = true;
		}
	}
	for (uint32_t i = 0; i < registry->member_count; i++) {
		if (!iso_registry_has(set, i))
			continue;
		if (first == ISO_REGISTRY_NOBODY)
			first = i;
		if (root[i] != root[first])
			return false;
	}
	return true;
}

/* Settles the edges of nodes that are void now: survivors take over what came and went. */
static void settle_edges(struct iso_registry *registry, struct iso_registry_procedure *procedure)
{
	for (uint32_t k = registry->edge_count; k-- > 0;) {
		struct iso_registry_end *end = registry->edges[k].end;
		bool inside[2] = { iso_registry_has(&procedure->nodes, end[0].member),
				   iso_registry_has(&procedure->nodes, end[1].member) };
		int side = inside[0] ? 1 : 0; /* of the survivor */
		struct iso_registry_member *survivor = &registry->members[end[side].member];

		/* An edge to an earlier life is settled; it only waits to be folded. */
		if (!inside[0] && !inside[1])
			continue;
		if ((inside[0] && inside[1]) ||
		    !iso_registry_edge_alive(registry, &registry->edges[k])) {
			if (iso_registry_end_void(registry, &end[side]) || inside[side])
				remove_edge(registry, k);
			continue;
		}
		iso_registry_include(&procedure->neighbours, end[side].member);
		survivor->endowment_ucpu =
		    iso_registry_sum(survivor->endowment_ucpu, end[side].received - end[side].sent);
		if (end[side].state == ISO_REGISTRY_WANTED)
			remove_edge(registry, k);
	}
}

static enum iso_status apply_void(struct iso_registry *registry,
				  const struct iso_registry_entry *entry)
{
	struct iso_registry_procedure *procedure =
	    iso_registry_procedure_at(registry, entry->procedure);

	if (procedure == NULL)
		return ISO_E_UNKNOWN;
	if ((procedure->kind != ISO_REGISTRY_LEAVE && procedure->kind != ISO_REGISTRY_BURY) ||
	    procedure->voided || !iso_registry_certified(registry, procedure))
		return ISO_E_MALFORMED;

	int64_t estate = iso_registry_estate(registry, procedure);
	int64_t reserve = iso_registry_reserve(registry, procedure, estate);

	if (estate < 0 || estate > registry->budget_ucpu ||
	    entry->amount_ucpu != estate - reserve ||
	    (procedure->kind == ISO_REGISTRY_LEAVE && estate != 0))
		return ISO_E_MALFORMED;
	settle_edges(registry, procedure);
	for (uint32_t i = registry->op_count; i-- > 0;)
		if (iso_registry_has(&procedure->nodes, registry->ops[i].member))
			remove_op(registry, i);
	for (uint32_t i = 0; i < registry->member_count; i++) {
		struct iso_registry_member *member = &registry->members[i];

		if (!iso_registry_has(&procedure->nodes, i))
			continue;
		member->state =
		    procedure->kind == ISO_REGISTRY_LEAVE ? ISO_REGISTRY_LEFT : ISO_REGISTRY_BURIED;
		member->endowment_ucpu = 0;
		member->reserved_ucpu = reserve;
		member->admitted = member->draining = member->seen = false;
		reserve = 0;
	}
	procedure->held_ucpu += entry->amount_ucpu;
	procedure->voided = true;
	procedure->repair = !connected(registry, &procedure->neighbours);
	return ISO_OK;
}

static enum iso_status apply_undo(struct iso_registry *registry,
				  const struct iso_registry_entry *entry)
{
	struct iso_registry_procedure *procedure =
	    iso_registry_procedure_at(registry, entry->procedure);

	if (procedure == NULL)
		return ISO_E_UNKNOWN;

	uint32_t node = iso_registry_find(registry, entry->node);

	if (procedure->kind != ISO_REGISTRY_JOIN || procedure->undone ||
	    node == ISO_REGISTRY_NOBODY || !iso_registry_has(&procedure->nodes, node) ||
	    registry->members[node].state == ISO_REGISTRY_LIVE)
		return ISO_E_MALFORMED;
	registry->members[node].reserved_ucpu = procedure->reserved_ucpu;
	procedure->held_ucpu -= procedure->reserved_ucpu;
	if ((procedure->flags & ISO_REGISTRY_ADDS) != 0 &&
	    procedure->share_ucpu > procedure->reserved_ucpu) {
		int64_t added = procedure->share_ucpu - procedure->reserved_ucpu;

		procedure->held_ucpu -= added;
		registry->budget_ucpu -= added;
		registry->target_ucpu -= added;
	}
	procedure->undone = true;
	return ISO_OK;
}

static enum iso_status apply_end(struct iso_registry *registry,
				 const struct iso_registry_entry *entry)
{
	struct iso_registry_procedure *procedure =
	    iso_registry_procedure_at(registry, entry->procedure);

	if (procedure == NULL)
		return ISO_E_UNKNOWN;
	if (procedure->held_ucpu != 0 || iso_registry_outstanding(registry, procedure->id))
		return ISO_E_MALFORMED;
	*procedure = registry->procedures[--registry->procedure_count];
	return ISO_OK;
}

static enum iso_status apply(struct iso_registry *registry, const struct iso_registry_entry *entry)
{
	bool creation = entry->kind == ISO_REGISTRY_CREATE || entry->kind == ISO_REGISTRY_MEMBER ||
			entry->kind == ISO_REGISTRY_EDGE || entry->kind == ISO_REGISTRY_READY;

	if (!registry->ready && !creation)
		return ISO_E_MALFORMED;
	switch (entry->kind) {
	case ISO_REGISTRY_CREATE: return apply_create(registry, entry);
	case ISO_REGISTRY_MEMBER: return apply_member(registry, entry);
	case ISO_REGISTRY_EDGE: return apply_edge(registry, entry);
	case ISO_REGISTRY_READY: return apply_ready(registry);
	case ISO_REGISTRY_NOTE: return apply_note(registry, entry);
	case ISO_REGISTRY_TARGET:
	case ISO_REGISTRY_RAISE:
	case ISO_REGISTRY_SHRINK: return apply_budget(registry, entry);
	case ISO_REGISTRY_BEGIN: return iso_registry_apply_begin(registry, entry);
	case ISO_REGISTRY_ISSUE: return iso_registry_apply_issue(registry, entry);
	case ISO_REGISTRY_ACK: return apply_ack(registry, entry);
	case ISO_REGISTRY_CERTIFY: return apply_certify(registry, entry);
	case ISO_REGISTRY_VOID: return apply_void(registry, entry);
	case ISO_REGISTRY_UNDO: return apply_undo(registry, entry);
	case ISO_REGISTRY_END: return apply_end(registry, entry);
	}
	return ISO_E_MALFORMED;
}

enum iso_status iso_registry_apply(struct iso_registry *registry,
				   const struct iso_registry_entry *entry)
{
	assert(!registry->ready || iso_registry_imbalance(registry) == 0);
	if (entry->seq != registry->seq + 1)
		return ISO_E_MALFORMED;

	enum iso_status status = apply(registry, entry);

	if (status == ISO_OK)
		registry->seq = entry->seq;
	assert(!registry->ready || iso_registry_imbalance(registry) == 0);
	return status;
}
