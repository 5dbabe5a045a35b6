/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_REGISTRY_WISH_H
#define ISO_LEDGER_REGISTRY_WISH_H

#include <assert.h>
#include <stddef.h>

#include "lib/ledger/registry.h"
#include "lib/ledger/registry_state.h"

/*
 * What the files that judge an administrator's wish share: they look at the
 * registry, change nothing, and answer with a refusal or the entry to append.
 */

static inline struct iso_registry_reason iso_wish_fine(void)
{
	return (struct iso_registry_reason){ .why = ISO_REGISTRY_FINE };
}

static inline struct iso_registry_reason iso_wish_refuse(enum iso_registry_refusal why,
							 uint64_t node, uint64_t peer,
							 int64_t amount)
{
	assert(why != ISO_REGISTRY_FINE);
	return (struct iso_registry_reason){ why, node, peer, amount };
}

static inline const struct iso_registry_member *iso_wish_member_of(
    const struct iso_registry *registry, uint64_t id)
{
	uint32_t index = iso_registry_find(registry, id);

	return index != ISO_REGISTRY_NOBODY ? &registry->members[index] : NULL;
}

static inline bool iso_wish_lives(const struct iso_registry_member *member)
{
	return member != NULL && member->state == ISO_REGISTRY_LIVE;
}

static inline bool iso_wish_may_inherit(const struct iso_registry *registry, uint64_t id)
{
	const struct iso_registry_member *member = iso_wish_member_of(registry, id);

	return iso_wish_lives(member) && member->admitted &&
	       !iso_registry_going(registry, iso_registry_index(registry, member));
}

static inline struct iso_registry_entry iso_wish_begin(const struct iso_registry *registry,
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

/* Fills the members with a live edge to it; whether there is any. */
bool iso_wish_neighbours(const struct iso_registry *registry, uint32_t member,
			 struct iso_registry_set *ret_set);

/* Live members that stay, outside the set. */
uint32_t iso_wish_others(const struct iso_registry *registry, const struct iso_registry_set *set);

#endif
