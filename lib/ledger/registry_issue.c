/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry.h"

#include <assert.h>
#include <stddef.h>

#include "lib/ledger/registry_state.h"

/* Operations are issued: what they are going to do is counted from here on, but for burns. */

static bool may_connect(const struct iso_registry *registry, uint32_t index, uint32_t peer)
{
	return peer != index && registry->members[peer].state == ISO_REGISTRY_LIVE &&
	       !iso_registry_going(registry, peer) &&
	       iso_registry_degree(registry, peer) < ISO_DEGREE_MAX;
}

/* The admission itself opens the new node's own ends. */
static void connect(struct iso_registry *registry, const struct iso_registry_procedure *procedure,
		    uint32_t index)
{
	bool any = false;

	for (uint32_t k = 0; k < registry->member_count; k++) {
		if (!iso_registry_has(&procedure->neighbours, k) ||
		    !may_connect(registry, index, k))
			continue;
		iso_registry_add_edge(registry, index, k, ISO_REGISTRY_OPENING,
				      ISO_REGISTRY_WANTED);
		any = true;
	}
	/* All have gone meanwhile: it must not be alone. */
	for (uint32_t k = 0; k < registry->member_count && !any; k++) {
		if (!may_connect(registry, index, k))
			continue;
		iso_registry_add_edge(registry, index, k, ISO_REGISTRY_OPENING,
				      ISO_REGISTRY_WANTED);
		any = true;
	}
}

static enum iso_status issue_admit(struct iso_registry *registry,
				   const struct iso_registry_entry *entry)
{
	uint32_t index = iso_registry_find(registry, entry->node);
	struct iso_registry_procedure *procedure =
	    iso_registry_procedure_at(registry, entry->procedure);

	if (index == ISO_REGISTRY_NOBODY || procedure == NULL)
		return ISO_E_UNKNOWN;
	if (procedure->kind != ISO_REGISTRY_JOIN || !iso_registry_has(&procedure->nodes, index) ||
	    procedure->undone || entry->gen != procedure->gen ||
	    entry->amount_ucpu != procedure->share_ucpu ||
	    entry->amount_ucpu > procedure->held_ucpu)
		return ISO_E_MALFORMED;
	if (!iso_registry_room_for_edges(registry, ISO_REGISTRY_MEMBERS_MAX))
		return ISO_E_FULL;

	struct iso_registry_member *member = &registry->members[index];

	if (member->state == ISO_REGISTRY_LIVE)
		return ISO_E_MALFORMED;
	procedure->held_ucpu -= entry->amount_ucpu;
	member->endowment_ucpu = entry->amount_ucpu;
	member->state = ISO_REGISTRY_LIVE;
	member->gen = entry->gen;
	member->floor_ucpu = procedure->floor_ucpu;
	member->admitted = member->draining = member->seen = false;
	connect(registry, procedure, index);
	return ISO_OK;
}

/* Operations on an edge move its end on by one state. */
static enum iso_status issue_edge(struct iso_registry *registry,
				  const struct iso_registry_entry *entry, uint32_t member,
				  uint32_t peer)
{
	if (peer == ISO_REGISTRY_NOBODY)
		return ISO_E_UNKNOWN;

	struct iso_registry_end *end =
	    iso_registry_end_of(registry, member, entry->gen, peer, entry->peer_gen);

	if (end == NULL)
		return ISO_E_UNKNOWN;
	if (entry->op_kind == ISO_OP_OPEN && end->state == ISO_REGISTRY_WANTED)
		end->state = ISO_REGISTRY_OPENING;
	else if (entry->op_kind == ISO_OP_CLOSE &&
		 (end->state == ISO_REGISTRY_OPENED || end->state == ISO_REGISTRY_OPENING))
		end->state = ISO_REGISTRY_CLOSING;
	else if (entry->op_kind == ISO_OP_FOLD && end->state == ISO_REGISTRY_CLOSED &&
		 entry->sent == end->sent && entry->received == end->received)
		end->state = ISO_REGISTRY_FOLDING;
	else
		return ISO_E_MALFORMED;
	return ISO_OK;
}

static enum iso_status issue_mint(struct iso_registry *registry,
				  const struct iso_registry_entry *entry,
				  struct iso_registry_procedure *procedure, uint32_t member)
{
	int64_t *from = procedure != NULL ? &procedure->held_ucpu : &registry->pool_ucpu;

	if (entry->amount_ucpu <= 0 || entry->amount_ucpu > *from)
		return ISO_E_MALFORMED;
	*from -= entry->amount_ucpu;
	registry->members[member].endowment_ucpu = iso_registry_sum(
	    registry->members[member].endowment_ucpu, (uint64_t)entry->amount_ucpu);
	registry->members[member].fed = true;
	return ISO_OK;
}

static enum iso_status issue_effect(struct iso_registry *registry,
				    const struct iso_registry_entry *entry, uint32_t member)
{
	struct iso_registry_procedure *procedure = NULL;

	if (entry->op_kind == ISO_REGISTRY_ADMIT)
		return issue_admit(registry, entry);
	if (registry->members[member].state != ISO_REGISTRY_LIVE ||
	    registry->members[member].gen != entry->gen)
		return ISO_E_MALFORMED;
	if (entry->procedure != 0) {
		procedure = iso_registry_procedure_at(registry, entry->procedure);
		if (procedure == NULL)
			return ISO_E_UNKNOWN;
	}
	switch (entry->op_kind) {
	case ISO_OP_MINT: return issue_mint(registry, entry, procedure, member);
	case ISO_OP_BURN:
		if (entry->amount_ucpu <= 0 || !iso_registry_amount_possible(entry->amount_ucpu) ||
		    (procedure != NULL && procedure->kind != ISO_REGISTRY_JOIN))
			return ISO_E_MALFORMED;
		registry->members[member].room_ucpu = 0;
		return ISO_OK;
	case ISO_OP_OPEN:
	case ISO_OP_CLOSE:
	case ISO_OP_FOLD:
		return issue_edge(registry, entry, member,
				  iso_registry_find(registry, entry->peer));
	case ISO_OP_DRAIN:
		registry->members[member].draining = (entry->flags & ISO_REGISTRY_ON) != 0;
		return ISO_OK;
	case ISO_OP_LEAVE:
		if (procedure == NULL || procedure->kind != ISO_REGISTRY_LEAVE ||
		    procedure->asked || !iso_registry_has(&procedure->nodes, member))
			return ISO_E_MALFORMED;
		procedure->asked = true;
		return ISO_OK;
	case ISO_OP_BUDGET: return entry->budget_ucpu > 0 ? ISO_OK : ISO_E_MALFORMED;
	default: return ISO_E_MALFORMED;
	}
}

enum iso_status iso_registry_apply_issue(struct iso_registry *registry,
					 const struct iso_registry_entry *entry)
{
	uint32_t member = iso_registry_find(registry, entry->node);

	if (member == ISO_REGISTRY_NOBODY)
		return ISO_E_UNKNOWN;
	if (entry->op != registry->next_op || entry->gen == 0 || entry->budget_ucpu < 0)
		return ISO_E_MALFORMED;
	if (registry->op_count == ISO_REGISTRY_OPS_MAX)
		return ISO_E_FULL;

	enum iso_status status = issue_effect(registry, entry, member);

	if (status != ISO_OK)
		return status;
	registry->ops[registry->op_count++] = (struct iso_registry_op){
		.id = entry->op,
		.kind = entry->op_kind,
		.procedure = entry->procedure,
		.member = member,
		.gen = entry->gen,
		.peer = entry->peer != 0 ? iso_registry_find(registry, entry->peer)
					 : ISO_REGISTRY_NOBODY,
		.peer_gen = entry->peer_gen,
		.amount_ucpu = entry->amount_ucpu,
		.budget_ucpu = entry->budget_ucpu,
		.sent = entry->sent,
		.received = entry->received,
		.on = (entry->flags & ISO_REGISTRY_ON) != 0,
	};
	registry->next_op++;
	return ISO_OK;
}
