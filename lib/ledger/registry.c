/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/registry.h"

#include <assert.h>
#include <string.h>

#include "lib/ledger/registry_state.h"

void iso_registry_init(struct iso_registry *registry)
{
	memset(registry, 0, sizeof(*registry));
}

bool iso_registry_has(const struct iso_registry_set *set, uint32_t member)
{
	assert(member < ISO_REGISTRY_MEMBERS_MAX);
	return (set->bits[member / 64] >> member % 64 & 1) != 0;
}

void iso_registry_include(struct iso_registry_set *set, uint32_t member)
{
	assert(member < ISO_REGISTRY_MEMBERS_MAX);
	set->bits[member / 64] |= (uint64_t)1 << member % 64;
}

uint32_t iso_registry_find(const struct iso_registry *registry, uint64_t id)
{
	for (uint32_t i = 0; i < registry->member_count; i++)
		if (registry->members[i].id == id)
			return i;
	return ISO_REGISTRY_NOBODY;
}

uint32_t iso_registry_find_name(const struct iso_registry *registry, const char *name)
{
	for (uint32_t i = 0; i < registry->member_count; i++)
		if (strcmp(registry->members[i].name, name) == 0)
			return i;
	return ISO_REGISTRY_NOBODY;
}

struct iso_registry_member *iso_registry_live(struct iso_registry *registry, uint64_t id)
{
	uint32_t index = iso_registry_find(registry, id);

	if (index == ISO_REGISTRY_NOBODY || registry->members[index].state != ISO_REGISTRY_LIVE)
		return NULL;
	return &registry->members[index];
}

static uint32_t position_of(const struct iso_registry *registry, uint64_t id)
{
	uint32_t i = 0;

	while (i < registry->procedure_count && registry->procedures[i].id != id)
		i++;
	return i;
}

struct iso_registry_procedure *iso_registry_procedure_at(struct iso_registry *registry, uint64_t id)
{
	uint32_t i = position_of(registry, id);

	return i < registry->procedure_count ? &registry->procedures[i] : NULL;
}

const struct iso_registry_procedure *iso_registry_procedure(const struct iso_registry *registry,
							    uint64_t id)
{
	uint32_t i = position_of(registry, id);

	return i < registry->procedure_count ? &registry->procedures[i] : NULL;
}

const struct iso_registry_procedure *iso_registry_procedure_of(const struct iso_registry *registry,
							       uint32_t member)
{
	for (uint32_t i = 0; i < registry->procedure_count; i++)
		if (iso_registry_has(&registry->procedures[i].nodes, member))
			return &registry->procedures[i];
	return NULL;
}

bool iso_registry_outstanding(const struct iso_registry *registry, uint64_t procedure)
{
	for (uint32_t i = 0; i < registry->op_count; i++)
		if (registry->ops[i].procedure == procedure)
			return true;
	return false;
}

bool iso_registry_going(const struct iso_registry *registry, uint32_t member)
{
	const struct iso_registry_procedure *procedure =
	    iso_registry_procedure_of(registry, member);

	return procedure != NULL &&
	       (procedure->kind == ISO_REGISTRY_LEAVE || procedure->kind == ISO_REGISTRY_BURY);
}

bool iso_registry_edge_alive(const struct iso_registry *registry,
			     const struct iso_registry_edge *edge)
{
	return !iso_registry_end_void(registry, &edge->end[0]) &&
	       !iso_registry_end_void(registry, &edge->end[1]);
}

struct iso_registry_end *iso_registry_end_of(struct iso_registry *registry, uint32_t node,
					     uint32_t gen, uint32_t peer, uint32_t peer_gen)
{
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		struct iso_registry_end *end = registry->edges[k].end;

		for (int side = 0; side < 2; side++)
			if (end[side].member == node && end[side].gen == gen &&
			    end[1 - side].member == peer && end[1 - side].gen == peer_gen)
				return &end[side];
	}
	return NULL;
}

uint32_t iso_registry_degree(const struct iso_registry *registry, uint32_t member)
{
	uint32_t degree = 0;

	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_edge *edge = &registry->edges[k];

		if (edge->end[0].member != member && edge->end[1].member != member)
			continue;
		degree += iso_registry_edge_alive(registry, edge) ? 1 : 0;
	}
	return degree;
}

bool iso_registry_adjacent(const struct iso_registry *registry, uint32_t a, uint32_t b)
{
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_edge *edge = &registry->edges[k];
		uint32_t x = edge->end[0].member, y = edge->end[1].member;

		if (((x == a && y == b) || (x == b && y == a)) &&
		    iso_registry_edge_alive(registry, edge))
			return true;
	}
	return false;
}

int64_t iso_registry_burning(const struct iso_registry *registry, uint64_t procedure)
{
	int64_t burning = 0;

	for (uint32_t i = 0; i < registry->op_count; i++)
		if (registry->ops[i].kind == ISO_OP_BURN && registry->ops[i].procedure == procedure)
			burning += registry->ops[i].amount_ucpu;
	return burning;
}

int64_t iso_registry_imbalance(const struct iso_registry *registry)
{
	uint64_t sum = (uint64_t)registry->pool_ucpu;

	/* Modulo 2^64: single endowments may grow large, their sum does not. */
	for (uint32_t i = 0; i < registry->member_count; i++)
		sum += (uint64_t)registry->members[i].endowment_ucpu +
		       (uint64_t)registry->members[i].reserved_ucpu;
	for (uint32_t i = 0; i < registry->procedure_count; i++)
		sum += (uint64_t)registry->procedures[i].held_ucpu;
	return (int64_t)((uint64_t)registry->budget_ucpu - sum);
}

/* The greatest budget that a member may believe in before an operation reaches it. */
int64_t iso_registry_told(const struct iso_registry *registry, uint32_t member, uint64_t before)
{
	int64_t told = registry->members[member].told_ucpu;

	for (uint32_t i = 0; i < registry->op_count; i++)
		if (registry->ops[i].member == member && registry->ops[i].id < before &&
		    registry->ops[i].budget_ucpu > told)
			told = registry->ops[i].budget_ucpu;
	return told;
}

uint32_t iso_registry_lowering(const struct iso_registry *registry)
{
	for (uint32_t i = 0; i < registry->op_count; i++) {
		const struct iso_registry_op *op = &registry->ops[i];

		if (op->budget_ucpu != 0 &&
		    op->budget_ucpu < iso_registry_told(registry, op->member, op->id))
			return op->member;
	}
	return ISO_REGISTRY_NOBODY;
}

int64_t iso_registry_least_budget(const struct iso_registry *registry)
{
	int64_t least = 0;

	for (uint32_t i = 0; i < registry->member_count; i++) {
		const struct iso_registry_member *member = &registry->members[i];

		if (member->state == ISO_REGISTRY_LIVE)
			least += member->floor_ucpu;
		least += member->reserved_ucpu;
	}
	for (uint32_t i = 0; i < registry->procedure_count; i++)
		least += registry->procedures[i].held_ucpu;
	return least > 0 ? least : 1;
}

int64_t iso_registry_estate(const struct iso_registry *registry,
			    const struct iso_registry_procedure *procedure)
{
	uint64_t estate = 0;

	for (uint32_t i = 0; i < registry->member_count; i++)
		if (iso_registry_has(&procedure->nodes, i))
			estate += (uint64_t)registry->members[i].endowment_ucpu;
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_edge *edge = &registry->edges[k];

		if (!iso_registry_edge_alive(registry, edge))
			continue;
		for (int side = 0; side < 2; side++) {
			const struct iso_registry_end *end = &edge->end[side];

			if (iso_registry_has(&procedure->nodes, edge->end[1 - side].member) &&
			    !iso_registry_has(&procedure->nodes, end->member))
				estate += end->sent - end->received;
		}
	}
	return (int64_t)estate;
}

bool iso_registry_certified(const struct iso_registry *registry,
			    const struct iso_registry_procedure *procedure)
{
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_edge *edge = &registry->edges[k];

		if (!iso_registry_edge_alive(registry, edge))
			continue;
		for (int side = 0; side < 2; side++) {
			const struct iso_registry_end *end = &edge->end[side];

			if (!iso_registry_has(&procedure->nodes, edge->end[1 - side].member) ||
			    iso_registry_has(&procedure->nodes, end->member))
				continue;
			/* One that was never opened carried nothing. */
			if (end->state != ISO_REGISTRY_CLOSED && end->state != ISO_REGISTRY_WANTED)
				return false;
		}
	}
	return true;
}

int64_t iso_registry_reserve(const struct iso_registry *registry,
			     const struct iso_registry_procedure *procedure, int64_t estate_ucpu)
{
	int64_t reserve = 0;

	if (procedure->kind != ISO_REGISTRY_BURY || (procedure->flags & ISO_REGISTRY_FENCED) != 0)
		return 0;
	for (uint32_t i = 0; i < registry->member_count; i++)
		if (iso_registry_has(&procedure->nodes, i))
			reserve += registry->members[i].floor_ucpu;
	/* It enforces no more than it has. */
	return reserve < estate_ucpu ? reserve : estate_ucpu;
}

/* The newest operation that a member can have applied. */
static uint64_t newest_op(const struct iso_registry *registry, uint32_t member)
{
	uint64_t newest = registry->members[member].last_op;

	for (uint32_t i = 0; i < registry->op_count; i++)
		if (registry->ops[i].member == member && registry->ops[i].id > newest)
			newest = registry->ops[i].id;
	return newest;
}

enum iso_status iso_registry_look(struct iso_registry *registry, uint64_t node,
				  const struct iso_registry_look *look)
{
	uint32_t index = iso_registry_find(registry, node);

	if (index == ISO_REGISTRY_NOBODY)
		return ISO_E_UNKNOWN;

	struct iso_registry_member *member = &registry->members[index];

	member->seen = false;
	member->room_ucpu = 0;
	if (look == NULL)
		return ISO_OK;
	if (look->record->node != node || look->record->gen != member->gen)
		return ISO_E_FOREIGN;
	if (look->record->last_op > newest_op(registry, index))
		return ISO_E_STALE;
	/* What it has answered, it has forgotten: so has it perhaps what it gave away. */
	if (look->record->last_op < member->last_op)
		return ISO_E_DAMAGED;
	member->seen = true;
	member->fed = false;
	member->halted = look->record->halt != ISO_HALT_NONE;
	member->share_ucpu = look->share_ucpu;
	if (look->share_ucpu > look->floor_ucpu && !member->halted)
		member->room_ucpu = look->share_ucpu - look->floor_ucpu;
	if (member->room_ucpu > registry->budget_ucpu)
		member->room_ucpu = registry->budget_ucpu;

	const struct iso_registry_procedure *procedure = iso_registry_procedure_of(registry, index);

	if (procedure == NULL || procedure->kind != ISO_REGISTRY_LEAVE || procedure->voided ||
	    look->record->halt != ISO_HALT_LEFT)
		return ISO_OK;
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		struct iso_registry_edge *edge = &registry->edges[k];

		for (int side = 0; side < 2; side++) {
			struct iso_registry_end *end = &edge->end[side];

			if (edge->end[1 - side].member != index ||
			    edge->end[1 - side].gen != member->gen ||
			    end->state == ISO_REGISTRY_CLOSED || end->state == ISO_REGISTRY_WANTED)
				continue;
			end->offered = true;
			end->sent = end->received = 0;
			for (uint32_t i = 0; i < look->record->edge_count; i++) {
				const struct iso_record_edge *mine = &look->record->edges[i];

				if (mine->peer != registry->members[end->member].id ||
				    mine->peer_gen != end->gen)
					continue;
				end->sent = mine->received;
				end->received = mine->sent;
			}
		}
	}
	return ISO_OK;
}

const struct iso_registry_op *iso_registry_due(const struct iso_registry *registry,
					       uint32_t *cursor)
{
	for (; *cursor < registry->op_count; (*cursor)++) {
		const struct iso_registry_op *op = &registry->ops[*cursor];
		bool first = true;

		for (uint32_t i = 0; i < *cursor && first; i++)
			first = registry->ops[i].member != op->member;
		if (first) {
			(*cursor)++;
			return op;
		}
	}
	return NULL;
}

void iso_registry_message(const struct iso_registry *registry, const struct iso_registry_op *op,
			  struct iso_op *ret_op)
{
	assert(op->kind != ISO_REGISTRY_ADMIT);
	*ret_op = (struct iso_op){
		.id = op->id,
		.kind = (enum iso_op_kind)op->kind,
		.gen = op->gen,
		.amount_ucpu = op->amount_ucpu,
		.budget_ucpu = op->budget_ucpu,
		.peer = op->peer != ISO_REGISTRY_NOBODY ? registry->members[op->peer].id : 0,
		.peer_gen = op->peer_gen,
		.sent = op->sent,
		.received = op->received,
		.on = op->on,
	};
}

/* The certificate: the closed edge to that life of the peer. */
static bool find_closed(const struct iso_record *record, uint64_t peer, uint32_t peer_gen,
			struct iso_registry_entry *entry)
{
	for (uint32_t k = 0; k < record->edge_count; k++) {
		const struct iso_record_edge *edge = &record->edges[k];

		if (edge->peer != peer || edge->peer_gen != peer_gen ||
		    (edge->flags & ISO_EDGE_STATE_CLOSED) == 0)
			continue;
		entry->sent = edge->sent;
		entry->received = edge->received;
		return true;
	}
	return false;
}

enum iso_status iso_registry_acknowledge(const struct iso_registry *registry, uint64_t op_id,
					 int64_t moved_ucpu, const struct iso_record *record,
					 struct iso_registry_entry *ret_entry)
{
	const struct iso_registry_op *op = NULL;

	for (uint32_t i = 0; i < registry->op_count && op == NULL; i++)
		if (registry->ops[i].id == op_id)
			op = &registry->ops[i];
	if (op == NULL)
		return ISO_E_UNKNOWN;

	const struct iso_registry_member *member = &registry->members[op->member];
	struct iso_registry_entry entry = {
		.kind = ISO_REGISTRY_ACK,
		.seq = registry->seq + 1,
		.op = op_id,
		.node = member->id,
	};

	if (record->node != member->id || record->gen != op->gen || record->last_op > op_id)
		return ISO_E_FOREIGN;
	if (record->last_op < op_id)
		return ISO_E_MALFORMED;
	if (op->kind == ISO_OP_BURN || op->kind == ISO_OP_MINT) {
		if (moved_ucpu < 0 || moved_ucpu > op->amount_ucpu ||
		    (op->kind == ISO_OP_MINT && moved_ucpu != op->amount_ucpu))
			return ISO_E_MALFORMED;
		entry.amount_ucpu = moved_ucpu;
	}
	if (op->kind == ISO_OP_CLOSE &&
	    !find_closed(record, registry->members[op->peer].id, op->peer_gen, &entry))
		return ISO_E_MALFORMED;
	*ret_entry = entry;
	return ISO_OK;
}

/* Exact floor(a * b / c) for 0 <= b <= c < 2^62, by binary long multiplication. */
static int64_t scale(int64_t a, int64_t b, int64_t c)
{
	uint64_t quotient = 0, rest = 0;

	assert(a >= 0);
	assert(b >= 0);
	assert(b <= c);
	for (int bit = 62; bit >= 0; bit--) {
		quotient *= 2;
		rest *= 2;
		if (((uint64_t)a >> bit & 1) != 0)
			rest += (uint64_t)b;
		while (rest >= (uint64_t)c) {
			rest -= (uint64_t)c;
			quotient++;
		}
	}
	return (int64_t)quotient;
}

void iso_registry_spread(int64_t amount_ucpu, const int64_t *room_ucpu, uint32_t count,
			 int64_t *ret_part)
{
	int64_t total = 0, left = amount_ucpu;

	assert(amount_ucpu >= 0);
	for (uint32_t i = 0; i < count; i++) {
		assert(room_ucpu[i] >= 0);
		total += room_ucpu[i];
	}
	assert(total <= ISO_UNITS_MAX);
	if (left > total)
		left = total;
	/* In turn, each of what is left then: the last takes what rounding left over. */
	for (uint32_t i = 0; i < count; i++) {
		int64_t part = total > 0 ? scale(left, room_ucpu[i], total) : 0;

		/* Rounded down alone, the last could be asked for more than its room. */
		if (left - part > total - room_ucpu[i])
			part = left - (total - room_ucpu[i]);
		ret_part[i] = part;
		left -= part;
		total -= room_ucpu[i];
	}
	assert(left == 0);
}
