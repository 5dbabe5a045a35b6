/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_REGISTRY_STATE_H
#define ISO_LEDGER_REGISTRY_STATE_H

#include "lib/ledger/registry.h"

/* What the files of the registry share. */

static inline bool iso_registry_amount_possible(int64_t amount_ucpu)
{
	return amount_ucpu >= 0 && amount_ucpu <= ISO_REGISTRY_UCPU_MAX;
}

/* Endowments and counters are added modulo 2^64: single ones may be large, sums are not. */
static inline int64_t iso_registry_sum(int64_t a, uint64_t b)
{
	return (int64_t)((uint64_t)a + b);
}

static inline uint32_t iso_registry_index(const struct iso_registry *registry,
					  const struct iso_registry_member *member)
{
	return (uint32_t)(member - registry->members);
}

static inline bool iso_registry_end_void(const struct iso_registry *registry,
					 const struct iso_registry_end *end)
{
	const struct iso_registry_member *member = &registry->members[end->member];

	return member->state != ISO_REGISTRY_LIVE || member->gen != end->gen;
}

/* NULL: no such member, or it does not live. */
struct iso_registry_member *iso_registry_live(struct iso_registry *registry, uint64_t id);

/* What the kinds of entries with a file of their own make true. */
enum iso_status iso_registry_apply_begin(struct iso_registry *registry,
					 const struct iso_registry_entry *entry);
enum iso_status iso_registry_apply_issue(struct iso_registry *registry,
					 const struct iso_registry_entry *entry);

/* A slot for a node that was never there.  ISO_E_MALFORMED, ISO_E_FULL. */
enum iso_status iso_registry_add_member(struct iso_registry *registry,
					const struct iso_registry_entry *entry,
					struct iso_registry_member **ret_member);

/* Of their present lives; there is room. */
void iso_registry_add_edge(struct iso_registry *registry, uint32_t a, uint32_t b,
			   enum iso_registry_end_state state_a,
			   enum iso_registry_end_state state_b);

static inline bool iso_registry_room_for_edges(const struct iso_registry *registry, uint32_t more)
{
	return registry->edge_count + more <= ISO_REGISTRY_EDGES_MAX;
}

/* Both its ends live. */
bool iso_registry_edge_alive(const struct iso_registry *registry,
			     const struct iso_registry_edge *edge);

/* node's end of its edge to peer, of these lives; NULL: none. */
struct iso_registry_end *iso_registry_end_of(struct iso_registry *registry, uint32_t node,
					     uint32_t gen, uint32_t peer, uint32_t peer_gen);

struct iso_registry_procedure *iso_registry_procedure_at(struct iso_registry *registry,
							 uint64_t id);

/* Whether something that was issued for the procedure is not acknowledged. */
bool iso_registry_outstanding(const struct iso_registry *registry, uint64_t procedure);

/* The greatest budget that a member may believe in before an operation reaches it. */
int64_t iso_registry_told(const struct iso_registry *registry, uint32_t member, uint64_t before);

/* Sum of what comes out of what the procedure's nodes had and what went towards them. */
int64_t iso_registry_estate(const struct iso_registry *registry,
			    const struct iso_registry_procedure *procedure);

/* Whether every neighbour of the procedure's nodes has certified its counters. */
bool iso_registry_certified(const struct iso_registry *registry,
			    const struct iso_registry_procedure *procedure);

/* What stays reserved for a procedure's node when it becomes void. */
int64_t iso_registry_reserve(const struct iso_registry *registry,
			     const struct iso_registry_procedure *procedure, int64_t estate_ucpu);

#endif
