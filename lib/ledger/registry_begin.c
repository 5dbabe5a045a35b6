/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry.h"

#include <assert.h>
#include <stddef.h>

#include "lib/ledger/registry_state.h"

/* Procedures begin: each checks first and changes then. */

/* Its list as a set of members; they must live. */
static enum iso_status live_list(struct iso_registry *registry,
				 const struct iso_registry_entry *entry,
				 struct iso_registry_set *set)
{
	if (entry->list_count > ISO_REGISTRY_LIST_MAX)
		return ISO_E_MALFORMED;
	for (uint32_t i = 0; i < entry->list_count; i++) {
		const struct iso_registry_member *member =
		    iso_registry_live(registry, entry->list[i]);

		if (member == NULL)
			return ISO_E_UNKNOWN;
		iso_registry_include(set, iso_registry_index(registry, member));
	}
	return ISO_OK;
}

static enum iso_status begin_join(struct iso_registry *registry,
				  const struct iso_registry_entry *entry,
				  struct iso_registry_procedure *procedure)
{
	uint32_t index = iso_registry_find(registry, entry->node);
	struct iso_registry_member *member;

	if (entry->gen == 0 || entry->amount_ucpu <= 0 ||
	    !iso_registry_amount_possible(entry->amount_ucpu) ||
	    !iso_registry_amount_possible(entry->floor_ucpu) ||
	    entry->floor_ucpu > entry->amount_ucpu)
		return ISO_E_MALFORMED;

	enum iso_status status = live_list(registry, entry, &procedure->neighbours);

	if (status != ISO_OK)
		return status;
	if (index == ISO_REGISTRY_NOBODY) {
		status = iso_registry_add_member(registry, entry, &member);
		if (status != ISO_OK)
			return status;
		index = iso_registry_index(registry, member);
	}
	member = &registry->members[index];
	if (member->state == ISO_REGISTRY_LIVE || entry->gen <= member->gen ||
	    iso_registry_procedure_of(registry, index) != NULL)
		return ISO_E_MALFORMED;
	iso_registry_include(&procedure->nodes, index);
	procedure->gen = entry->gen;
	procedure->share_ucpu = entry->amount_ucpu;
	procedure->floor_ucpu = entry->floor_ucpu;
	procedure->held_ucpu = procedure->reserved_ucpu = member->reserved_ucpu;
	member->reserved_ucpu = 0;
	if ((entry->flags & ISO_REGISTRY_ADDS) != 0 &&
	    procedure->share_ucpu > procedure->held_ucpu) {
		int64_t added = procedure->share_ucpu - procedure->held_ucpu;

		registry->budget_ucpu += added;
		registry->target_ucpu += added;
		procedure->held_ucpu += added;
	}
	return ISO_OK;
}

/* Another burial, or what its nodes were doing, goes on as part of this one. */
static void take_over(struct iso_registry *registry, struct iso_registry_procedure *procedure,
		      uint32_t position)
{
	struct iso_registry_procedure *old = &registry->procedures[position];

	for (uint32_t i = 0; i < registry->op_count; i++) {
		struct iso_registry_op *op = &registry->ops[i];

		if (op->procedure != old->id)
			continue;
		op->procedure = procedure->id;
		/* Not applied while the node waits, so it may still be told not to. */
		if (op->kind == ISO_OP_CLOSE && (procedure->flags & ISO_REGISTRY_FENCED) != 0)
			op->on = true;
	}
	procedure->held_ucpu += old->held_ucpu;
	*old = registry->procedures[--registry->procedure_count];
}

static enum iso_status begin_bury(struct iso_registry *registry,
				  const struct iso_registry_entry *entry,
				  struct iso_registry_procedure *procedure)
{
	struct iso_registry_member *member = iso_registry_live(registry, entry->node);

	if (member == NULL)
		return ISO_E_UNKNOWN;

	enum iso_status status = live_list(registry, entry, &procedure->nodes);

	if (status != ISO_OK)
		return status;
	/* Leases of several dead nodes may have been renewed by each other. */
	if (entry->list_count > 0 && (entry->flags & ISO_REGISTRY_FENCED) == 0)
		return ISO_E_MALFORMED;
	iso_registry_include(&procedure->nodes, iso_registry_index(registry, member));
	for (uint32_t i = 0; i < registry->procedure_count; i++) {
		const struct iso_registry_procedure *other = &registry->procedures[i];
		bool touched = false, inside = true;

		for (uint32_t k = 0; k < registry->member_count; k++) {
			if (!iso_registry_has(&other->nodes, k))
				continue;
			touched |= iso_registry_has(&procedure->nodes, k);
			inside &= iso_registry_has(&procedure->nodes, k);
		}
		if (touched && (!inside || other->voided))
			return ISO_E_MALFORMED;
		/* What was closed without waiting cannot be counted as waited for. */
		if (touched && (other->flags & ~procedure->flags & ISO_REGISTRY_FENCED) != 0)
			return ISO_E_MALFORMED;
	}
	for (uint32_t i = registry->procedure_count; i-- > 0;) {
		bool touched = false;

		for (uint32_t k = 0; k < registry->member_count; k++)
			touched |= iso_registry_has(&registry->procedures[i].nodes, k) &&
				   iso_registry_has(&procedure->nodes, k);
		if (touched)
			take_over(registry, procedure, i);
	}
	return ISO_OK;
}

static enum iso_status begin_other(struct iso_registry *registry,
				   const struct iso_registry_entry *entry,
				   struct iso_registry_procedure *procedure)
{
	uint32_t index = iso_registry_find(registry, entry->node);

	if (index == ISO_REGISTRY_NOBODY)
		return ISO_E_UNKNOWN;

	struct iso_registry_member *member = &registry->members[index];

	if (iso_registry_procedure_of(registry, index) != NULL)
		return ISO_E_MALFORMED;
	iso_registry_include(&procedure->nodes, index);
	if (entry->begins == ISO_REGISTRY_LEAVE)
		return member->state == ISO_REGISTRY_LIVE ? ISO_OK : ISO_E_MALFORMED;
	if (member->state != ISO_REGISTRY_BURIED && member->state != ISO_REGISTRY_LEFT)
		return ISO_E_MALFORMED;
	procedure->held_ucpu = member->reserved_ucpu;
	member->reserved_ucpu = 0;
	member->state = ISO_REGISTRY_FORGOTTEN;
	return ISO_OK;
}

enum iso_status iso_registry_apply_begin(struct iso_registry *registry,
					 const struct iso_registry_entry *entry)
{
	struct iso_registry_procedure procedure = {
		.id = entry->seq,
		.kind = entry->begins,
		.flags = entry->flags,
		.heir = ISO_REGISTRY_NOBODY,
	};
	enum iso_status status = ISO_E_MALFORMED;

	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX)
		return ISO_E_FULL;
	if (entry->peer != 0) {
		procedure.heir = iso_registry_find(registry, entry->peer);
		if (procedure.heir == ISO_REGISTRY_NOBODY)
			return ISO_E_UNKNOWN;
	}
	switch (entry->begins) {
	case ISO_REGISTRY_JOIN: status = begin_join(registry, entry, &procedure); break;
	case ISO_REGISTRY_BURY: status = begin_bury(registry, entry, &procedure); break;
	case ISO_REGISTRY_LEAVE:
	case ISO_REGISTRY_FORGET: status = begin_other(registry, entry, &procedure); break;
	}
	if (status == ISO_OK)
		registry->procedures[registry->procedure_count++] = procedure;
	return status;
}
