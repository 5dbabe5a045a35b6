/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry_wish.h"

#include <string.h>

/* When dead nodes may be buried and forgotten.  Nothing is changed here. */

/* The set to be buried: each must live, and nothing that cannot be taken over be under way. */
static struct iso_registry_reason burial_set(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_set *ret_set)
{
	memset(ret_set, 0, sizeof(*ret_set));
	for (uint32_t i = 0; i <= wish->list_count; i++) {
		uint64_t id = i == 0 ? wish->node : wish->list[i - 1];
		const struct iso_registry_member *member = iso_wish_member_of(registry, id);

		if (member == NULL)
			return iso_wish_refuse(ISO_REGISTRY_NO_SUCH_NODE, id, 0, 0);
		if (!iso_wish_lives(member))
			return iso_wish_refuse(ISO_REGISTRY_NOT_LIVE, id, 0, 0);
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
			return iso_wish_refuse(ISO_REGISTRY_OTHER_UNDER_WAY, inside, outside, 0);
		if (other->kind == ISO_REGISTRY_BURY && !fenced_only_now && !grows)
			return iso_wish_refuse(ISO_REGISTRY_UNDER_WAY, inside, 0, 0);
		if ((other->flags & ~wish->flags & ISO_REGISTRY_FENCED) != 0)
			return iso_wish_refuse(ISO_REGISTRY_JOINT_NEEDS_FENCE, inside, 0, 0);
	}
	return iso_wish_fine();
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

		if (!iso_wish_lives(member) || iso_registry_has(set, i))
			continue;
		(void)iso_wish_neighbours(registry, i, &peers);
		for (uint32_t k = 0; k < registry->member_count; k++)
			adjacent |= iso_registry_has(&peers, k) && iso_registry_has(set, k);
		if (adjacent && iso_registry_going(registry, i))
			return iso_wish_refuse(ISO_REGISTRY_NEIGHBOUR_DYING, wish->node, member->id,
					       0);
		if (adjacent && !member->seen)
			return iso_wish_refuse(ISO_REGISTRY_NEIGHBOUR_SILENT, wish->node,
					       member->id, 0);
		if (member->last_op == 0)
			return iso_wish_refuse(ISO_REGISTRY_UNADMINISTERED, wish->node, member->id,
					       0);
	}
	return iso_wish_fine();
}

static bool guarded(const struct iso_registry *registry, uint64_t node)
{
	const struct iso_registry_member *member = iso_wish_member_of(registry, node);

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
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0, ISO_REGISTRY_LIST_MAX);

	struct iso_registry_reason reason = burial_set(registry, wish, &set);

	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	if (iso_wish_others(registry, &set) == 0)
		return iso_wish_refuse(ISO_REGISTRY_LAST_ONE, wish->node, 0, 0);
	if (!fenced && wish->list_count > 0)
		return iso_wish_refuse(ISO_REGISTRY_JOINT_NEEDS_FENCE, wish->node, wish->list[0],
				       0);
	if (!fenced && !wish->trust && !guarded(registry, wish->node))
		return iso_wish_refuse(ISO_REGISTRY_UNGUARDED, wish->node, 0, 0);
	if (!fenced && !has_witness(registry, iso_registry_find(registry, wish->node)))
		return iso_wish_refuse(ISO_REGISTRY_NO_NEIGHBOUR, wish->node, 0, 0);
	if (wish->heir != 0 && (!iso_wish_may_inherit(registry, wish->heir) ||
				iso_registry_has(&set, iso_registry_find(registry, wish->heir))))
		return iso_wish_refuse(ISO_REGISTRY_BAD_HEIR, wish->node, wish->heir, 0);
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX)
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0,
				       ISO_REGISTRY_PROCEDURES_MAX);
	reason = check_witnesses(registry, wish, &set);
	if (reason.why != ISO_REGISTRY_FINE)
		return reason;
	*ret_entry = iso_wish_begin(registry, wish, ISO_REGISTRY_BURY);
	ret_entry->list_count = wish->list_count;
	for (uint32_t i = 0; i < wish->list_count; i++)
		ret_entry->list[i] = wish->list[i];
	return iso_wish_fine();
}

struct iso_registry_reason iso_registry_forget(const struct iso_registry *registry,
					       const struct iso_registry_wish *wish,
					       struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_member *member = iso_wish_member_of(registry, wish->node);

	if (member == NULL)
		return iso_wish_refuse(ISO_REGISTRY_NO_SUCH_NODE, wish->node, 0, 0);
	if (iso_registry_procedure_of(registry, iso_registry_index(registry, member)) != NULL)
		return iso_wish_refuse(ISO_REGISTRY_OTHER_UNDER_WAY, wish->node, 0, 0);
	if (iso_wish_lives(member))
		return iso_wish_refuse(ISO_REGISTRY_IS_LIVE, wish->node, 0, 0);
	if (member->state != ISO_REGISTRY_BURIED && member->state != ISO_REGISTRY_LEFT)
		return iso_wish_refuse(ISO_REGISTRY_NOT_LIVE, wish->node, 0, 0);
	if (member->reserved_ucpu > 0 && (wish->flags & ISO_REGISTRY_FENCED) == 0)
		return iso_wish_refuse(ISO_REGISTRY_NEEDS_FENCE, wish->node, 0,
				       member->reserved_ucpu);
	if (wish->heir != 0 && !iso_wish_may_inherit(registry, wish->heir))
		return iso_wish_refuse(ISO_REGISTRY_BAD_HEIR, wish->node, wish->heir, 0);
	if (registry->procedure_count == ISO_REGISTRY_PROCEDURES_MAX)
		return iso_wish_refuse(ISO_REGISTRY_TOO_MUCH, wish->node, 0,
				       ISO_REGISTRY_PROCEDURES_MAX);
	*ret_entry = iso_wish_begin(registry, wish, ISO_REGISTRY_FORGET);
	return iso_wish_fine();
}
