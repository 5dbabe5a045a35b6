/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Another administrator: the real registry, whose operations reach agents that
 * can be reached, get lost, are repeated and come late; and the wishes of
 * somebody who likes to see machines die.  Members of the registry have the
 * numbers of the nodes.
 */
#define POLL_S	   0.25
#define LOST	   0.3 /* of operations, and of answers */
#define RATE_OF(w) ((w)->setup.office * POLL_S)

static struct iso_registry_member *member_of(const struct world *world, uint32_t i)
{
	return &world->registry->members[i];
}

static bool lives(const struct world *world, uint32_t i)
{
	return member_of(world, i)->state == ISO_REGISTRY_LIVE;
}

/* What each may enforce at most, as the registry says; they are all looked at anew. */
static void allow(struct world *world)
{
	for (uint32_t i = 0; i < world->count; i++) {
		world->nodes[i].allowed_ucpu =
		    lives(world, i) ? INT64_MAX : member_of(world, i)->reserved_ucpu;
		world_touch(world, &world->nodes[i]);
	}
}

void world_office_enter(struct world *world, struct iso_registry_entry *entry)
{
	entry->seq = world->registry->seq + 1;
	if (iso_registry_apply(world->registry, entry) != ISO_OK)
		world_violate(world, "the registry refuses its own entry", 0, entry->kind);
	if (iso_registry_imbalance(world->registry) != 0)
		world_violate(world, "the registry does not add up", 0,
			      iso_registry_imbalance(world->registry));
	world->counts.entries++;
	world->counts.ended += entry->kind == ISO_REGISTRY_VOID;
	world->counts.admitted +=
	    entry->kind == ISO_REGISTRY_ISSUE && entry->op_kind == ISO_REGISTRY_ADMIT;
	allow(world);
}

void world_office_open(struct world *world)
{
	struct iso_registry_entry entry = { .kind = ISO_REGISTRY_CREATE,
					    .op = 1,
					    .node = world->nodes[0].config.cluster,
					    .amount_ucpu = world->budget_ucpu };

	world->registry = calloc(1, sizeof(*world->registry));
	iso_registry_init(world->registry);
	entry.seq = 1;
	enum iso_status status = iso_registry_apply(world->registry, &entry);

	for (uint32_t i = 0; i < world->count && status == ISO_OK; i++) {
		entry = (struct iso_registry_entry){
			.kind = ISO_REGISTRY_MEMBER,
			.seq = world->registry->seq + 1,
			.node = world_id(i),
			.gen = 1,
			.amount_ucpu = PER_NODE_UCPU,
			.floor_ucpu = world->nodes[i].config.floor_ucpu,
			.flags = ISO_REGISTRY_GUARDED,
			.name = { 'n', (char)('0' + i / 10), (char)('0' + i % 10) },
		};
		status = iso_registry_apply(world->registry, &entry);
	}
	for (uint32_t i = 0; i < world->count; i++)
		for (uint32_t k = 0; k < world->nodes[i].config.peer_count; k++) {
			entry = (struct iso_registry_entry){
				.kind = ISO_REGISTRY_EDGE,
				.seq = world->registry->seq + 1,
				.node = world_id(i),
				.peer = world->nodes[i].peers[k].node,
			};
			if (world_id(i) < entry.peer && status == ISO_OK)
				status = iso_registry_apply(world->registry, &entry);
		}
	entry = (struct iso_registry_entry){ .kind = ISO_REGISTRY_READY,
					     .seq = world->registry->seq + 1 };
	if (status == ISO_OK)
		status = iso_registry_apply(world->registry, &entry);
	assert(status == ISO_OK);
	allow(world);
	world_push(world, (struct event){ .type = EVENT_OFFICE }, POLL_S);
}

bool world_office_reaches(const struct node *node)
{
	return node->up && !node->is_cut;
}

static void look(struct world *world)
{
	for (uint32_t i = 0; i < world->count; i++) {
		const struct node *node = &world->nodes[i];
		struct iso_registry_look seen = {
			.record = &node->durable,
			.share_ucpu = iso_record_holdings(&node->durable),
			.floor_ucpu = node->config.floor_ucpu,
		};

		/* Of another life: said, and nothing to go by. */
		(void)!iso_registry_look(world->registry, world_id(i),
					 world_office_reaches(node) ? &seen : NULL);
	}
}

/* Everything that can be written without waiting. */
static void decide(struct world *world)
{
	struct iso_registry_entry entry;
	enum iso_status status;
	bool looked = false;

	for (;;) {
		status = iso_registry_next(world->registry, &entry);
		if (status == ISO_OK) {
			world_office_enter(world, &entry);
		} else if (status == ISO_E_SHORT && !looked) {
			look(world);
			looked = true;
		} else {
			return;
		}
	}
}

/* An answer reaches the administrator, or not. */
static void answer(struct world *world, uint32_t i, uint64_t op, int64_t moved_ucpu)
{
	struct iso_registry_entry entry;

	if (!world->calm && world_chance(world, LOST))
		return;

	enum iso_status status = iso_registry_acknowledge(world->registry, op, moved_ucpu,
							  &world->nodes[i].durable, &entry);

	if (status == ISO_OK)
		world_office_enter(world, &entry);
	else if (status != ISO_E_UNKNOWN) /* a late one, of an operation that was answered */
		world_violate(world, "the registry refuses an answer", i, status);
}

static void know(struct node *node, uint64_t peer, uint32_t gen)
{
	uint32_t k = 0;

	while (k < node->config.peer_count && node->peers[k].node != peer)
		k++;
	if (k == ISO_DEGREE_MAX)
		return;
	node->peers[k] = (struct iso_trade_peer){ peer, gen };
	if (k == node->config.peer_count)
		node->config.peer_count++;
}

/* A tick that carried an operation is over, and durable. */
void world_office_hears(struct world *world, uint32_t i)
{
	const struct node *node = &world->nodes[i];

	if (node->plan.op_status == ISO_OK)
		answer(world, i, node->op.id, node->plan.op_moved_ucpu);
	else if (node->plan.op_status == ISO_E_STALE && node->durable.last_op == node->op.id)
		answer(world, i, node->op.id, node->durable.last_op_ucpu);
}

/* Whether somebody has the right to say that its life has ended. */
bool world_office_ends(const struct world *world, uint32_t i)
{
	const struct iso_registry_member *member = &world->registry->members[i];

	return member->state != ISO_REGISTRY_LIVE || iso_registry_going(world->registry, i) ||
	       member->gen != world->nodes[i].durable.gen;
}

static void write_journal(struct world *world, struct node *node, const struct iso_record *record)
{
	iso_record_encode(record, node->cache + record->seq % 2 * ISO_SLOT_BYTES);
	node->cached = *record;
	world_sync_disk(world, node);
}

static void begin_anew(struct world *world, uint32_t i, const struct iso_record *record)
{
	struct node *node = &world->nodes[i];

	assert(node->step == STEP_IDLE);
	iso_trade_close(node->trade);
	write_journal(world, node, record);
	/* The lease was of the life before. */
	node->deadline_ns = 0;
	node->asked = node->carried = false;
	node->up = false;
	node->epoch++;
	node->step = STEP_RESYNC;
	world_push(world, (struct event){ .type = EVENT_STEP, .node = i, .epoch = node->epoch },
		   0.001);
}

void world_office_forget(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;
	enum iso_status status = iso_trade_genesis(&node->config, 0, 0, &record);

	assert(status == ISO_OK);
	node->config.peer_count = 0;
	memset(node->cache, 0, sizeof(node->cache));
	record.seq = 1;
	iso_record_encode(&record, node->cache + ISO_SLOT_BYTES);
	record.seq = 2;
	write_journal(world, node, &record);
}

static uint32_t admission_peers(const struct world *world, const struct iso_registry_op *op,
				struct iso_ledger_peer *ret_peers)
{
	const struct iso_registry *registry = world->registry;
	uint32_t count = 0;

	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;

		for (uint32_t side = 0; side < 2; side++)
			if (end[side].member == op->member && end[side].gen == op->gen)
				ret_peers[count++] =
				    (struct iso_ledger_peer){ world_id(end[1 - side].member),
							      end[1 - side].gen };
	}
	return count;
}

static void admit(struct world *world, uint32_t i, const struct iso_registry_op *op)
{
	struct node *node = &world->nodes[i];
	struct iso_ledger_peer peers[ISO_DEGREE_MAX];
	struct iso_ledger_admission admission = {
		.id = op->id,
		.gen = op->gen,
		.endowment_ucpu = op->amount_ucpu,
		.budget_ucpu = op->budget_ucpu,
		.peers = peers,
		.peer_count = admission_peers(world, op, peers),
	};
	struct iso_record record;
	enum iso_status status =
	    iso_trade_admit(&node->config, &node->durable, &admission, &record);

	/* Between two ticks; until then the administrator tries again. */
	if (node->step != STEP_IDLE)
		return;
	if (status == ISO_E_STALE && node->durable.gen == op->gen) {
		answer(world, i, op->id, node->durable.last_op_ucpu);
		return;
	}
	if (status != ISO_OK)
		return; /* its old life has not heard of its end yet */
	node->config.peer_count = admission.peer_count;
	for (uint32_t k = 0; k < admission.peer_count; k++)
		node->peers[k] = (struct iso_trade_peer){ peers[k].node, peers[k].gen };
	begin_anew(world, i, &record);
	answer(world, i, op->id, 0);
}

static void deliver(struct world *world)
{
	const struct iso_registry_op *op;
	uint32_t cursor = 0;

	while ((op = iso_registry_due(world->registry, &cursor)) != NULL) {
		uint32_t i = op->member;
		struct node *node = &world->nodes[i];
		uint64_t answered = world->registry->seq;
		struct world_late *late = &world->late[world->late_next];

		if (!world_office_reaches(node) || node->asked || node->carried ||
		    (!world->calm && world_chance(world, LOST)))
			continue;
		if (op->kind == ISO_REGISTRY_ADMIT) {
			admit(world, i, op);
		} else {
			iso_registry_message(world->registry, op, &node->op);
			node->asked = true;
			if (world->setup.mutant == WORLD_CLOSE_EARLY)
				node->op.on = true;
			*late = (struct world_late){ i, node->op };
			world->late_next = (world->late_next + 1) % WORLD_LATE;
			/* The names of its neighbours are durable before the operation is. */
			if (op->kind == ISO_OP_OPEN)
				know(node, node->op.peer, node->op.peer_gen);
		}
		/* The operations have moved. */
		if (world->registry->seq != answered)
			cursor = 0;
	}
	/* What was sent long ago arrives once more. */
	if (!world->calm && world_chance(world, 0.1)) {
		const struct world_late *late =
		    &world->late[iso_rng_below(&world->rng, WORLD_LATE)];

		if (late->op.id != 0 && !world->nodes[late->node].asked &&
		    !world->nodes[late->node].carried) {
			world->nodes[late->node].op = late->op;
			world->nodes[late->node].asked = true;
		}
	}
}

/* Nothing is under way: what the living own, and what travels between them, is the budget. */
static void check_books(struct world *world)
{
	const struct iso_registry *registry = world->registry;
	int64_t sum = registry->pool_ucpu;

	if (registry->op_count != 0 || registry->procedure_count != 0)
		return;
	for (uint32_t i = 0; i < world->count; i++) {
		const struct iso_record *record = &world->nodes[i].durable;

		sum += member_of(world, i)->reserved_ucpu;
		if (!lives(world, i))
			continue;
		if (record->endowment_ucpu != member_of(world, i)->endowment_ucpu)
			world_violate(world, "I4 the endowment is not the registry's", i,
				      record->endowment_ucpu - member_of(world, i)->endowment_ucpu);
		sum += iso_record_holdings(record);
		for (uint32_t k = 0; k < record->edge_count; k++)
			sum += world_in_flight(world, i, k);
	}
	world->counts.books++;
	if (sum != registry->budget_ucpu)
		world_violate(world, "I4 units lost or made", 0, sum - registry->budget_ucpu);
}

void world_office(struct world *world)
{
	check_books(world);
	if (world->calm)
		world_office_tidy_up(world);
	else if (world_chance(world, RATE_OF(world))) {
		look(world);
		world_office_wish(world);
	}
	decide(world);
	deliver(world);
	decide(world);
	world_push(world, (struct event){ .type = EVENT_OFFICE }, POLL_S);
}
