/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <assert.h>
#include <string.h>

/*
 * The administrator: a register and one procedure at a time.  Every request
 * is repeated until it is answered; what counts for the budget is written
 * down before it is asked for, and what lowers it after it was answered.
 */

void world_admin_start(struct world *world)
{
	struct admin *admin = &world->admin;

	world->governed = world->setup.lease_s > 0 || world->setup.admin > 0;
	admin->next_id = 1;
	for (uint32_t i = 0; i < world->count; i++)
		admin->members[i] =
		    (struct member){ .gen = 1, .endowment_ucpu = PER_NODE_UCPU };
}

bool world_idle(const struct world *world)
{
	return world->admin.order == WORLD_NOTHING;
}

uint32_t world_generation(const struct world *world, uint32_t index)
{
	return world->admin.members[index].gen;
}

bool world_is_void(const struct world *world, uint32_t index)
{
	const struct member *member = &world->admin.members[index];
	uint32_t closed = 0;

	if (member->void_gen != 0 && member->void_gen == world->nodes[index].durable.gen)
		return true;
	/* Or about to be: the first neighbour that has closed tells it so. */
	for (uint32_t k = 0; k < world->nodes[index].config.peer_count; k++) {
		const struct iso_record *peer =
		    &world->nodes[world->nodes[index].peer_index[k]].durable;

		for (uint32_t m = 0; m < peer->edge_count; m++)
			closed += peer->edges[m].peer == 1000 + index &&
				  peer->edges[m].peer_gen == member->gen &&
				  (peer->edges[m].flags & ISO_EDGE_STATE_CLOSED) != 0;
	}
	return closed != 0;
}

static bool void_now(const struct world *world, uint32_t i)
{
	const struct member *member = &world->admin.members[i];

	return member->void_gen != 0 && member->void_gen == world->nodes[i].durable.gen;
}

/* A number that is not durable at its node yet. */
static bool is_ahead(const struct world *world, uint64_t id, uint32_t node)
{
	return id != 0 && world->nodes[node].durable.last_op < id;
}

int64_t world_admin_aside(const struct world *world)
{
	const struct admin *admin = &world->admin;
	int64_t aside = 0;

	if (is_ahead(world, admin->mint_id, admin->mint_node))
		aside += admin->amount_ucpu;
	if (admin->burn_id != 0 && !is_ahead(world, admin->burn_id, admin->burn_node))
		aside += world->nodes[admin->burn_node].durable.last_op_ucpu;
	if (admin->has_estate &&
	    (admin->grant_id == 0 || is_ahead(world, admin->grant_id, admin->heir)))
		aside += admin->estate_ucpu;
	for (uint32_t i = 0; i < world->count; i++) {
		/* Reserved for the life that comes, and paid out when it is there. */
		if (void_now(world, i) || admin->members[i].gen > world->nodes[i].durable.gen)
			aside += world->nodes[i].config.floor_ucpu;
	}
	return aside;
}

/* True when this operation has been answered. */
static bool ask(struct world *world, uint32_t i, const struct iso_op *op)
{
	struct node *node = &world->nodes[i];

	if (node->answered == op->id)
		return true;
	node->op = *op;
	node->op.gen = world->admin.members[i].gen;
	node->asked = true;
	return false;
}

/* Edges to a node, as a list of neighbours; the k-th of them. */
static uint32_t neighbour(const struct world *world, uint32_t i, uint32_t k)
{
	return world->nodes[i].peer_index[k];
}

static void finish(struct world *world)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < world->count; i++)
		sum += world->admin.members[i].endowment_ucpu;
	if (sum != world->budget_ucpu)
		world_violate(world, "the register does not add up", world->admin.node,
			      sum - world->budget_ucpu);
	world->counts.done[world->admin.order]++;
	world->admin.order = WORLD_NOTHING;
}

static void next_phase(struct world *world)
{
	world->admin.phase++;
	world->admin.next_id += world->count;
}

static void wait_s(struct world *world, double seconds)
{
	world->admin.until_ns = world->now_ns + (uint64_t)(seconds * SECOND_NS);
}

static void step_mint(struct world *world)
{
	struct admin *admin = &world->admin;
	struct iso_op op = { .id = admin->next_id,
			     .kind = ISO_OP_MINT,
			     .amount_ucpu = admin->amount_ucpu };

	if (admin->mint_id == 0) {
		world->budget_ucpu += admin->amount_ucpu;
		admin->mint_id = op.id;
		admin->mint_node = admin->node;
	}
	op.budget_ucpu = world->budget_ucpu;
	if (!ask(world, admin->node, &op))
		return;
	if (world->nodes[admin->node].moved_ucpu != admin->amount_ucpu)
		world_violate(world, "minted another amount", admin->node, 0);
	admin->members[admin->node].endowment_ucpu += admin->amount_ucpu;
	admin->mint_id = 0;
	finish(world);
}

static void step_burn(struct world *world)
{
	struct admin *admin = &world->admin;
	struct iso_op op = { .id = admin->next_id,
			     .kind = ISO_OP_BURN,
			     .amount_ucpu = admin->amount_ucpu };

	admin->burn_id = op.id;
	admin->burn_node = admin->node;
	if (!ask(world, admin->node, &op))
		return;
	world->budget_ucpu -= world->nodes[admin->node].moved_ucpu;
	admin->members[admin->node].endowment_ucpu -= world->nodes[admin->node].moved_ucpu;
	admin->burn_id = 0;
	finish(world);
}

static void step_drain(struct world *world)
{
	struct admin *admin = &world->admin;
	struct iso_op op = { .id = admin->next_id, .kind = ISO_OP_DRAIN, .on = admin->phase == 0 };

	if (admin->phase == 1 && world->now_ns < admin->until_ns)
		return;
	if (!ask(world, admin->node, &op))
		return;
	if (admin->phase == 1) {
		finish(world);
		return;
	}
	wait_s(world, 10);
	next_phase(world);
}

/* The end at k of the edge to the node in question. */
static struct certificate certificate(const struct world *world, uint32_t k)
{
	const struct iso_record *record = &world->nodes[k].durable;

	for (uint32_t m = 0; m < record->edge_count; m++)
		if (record->edges[m].peer == 1000 + world->admin.node)
			return (struct certificate){ record->edges[m].sent,
						     record->edges[m].received };
	return (struct certificate){ 0, 0 };
}

/* The same operation, as far as it goes, at every neighbour of the node; true when all have. */
static bool ask_neighbours(struct world *world, enum iso_op_kind kind)
{
	const struct admin *admin = &world->admin;
	const struct node *node = &world->nodes[admin->node];
	bool all = true;

	for (uint32_t n = 0; n < node->config.peer_count; n++) {
		uint32_t k = neighbour(world, admin->node, n);
		struct iso_op op = { .id = admin->next_id + n,
				     .kind = kind,
				     .peer = 1000 + admin->node,
				     .peer_gen = admin->members[admin->node].gen };

		if (kind == ISO_OP_FOLD) {
			op.sent = admin->certified[n].sent;
			op.received = admin->certified[n].received;
		}
		all &= ask(world, k, &op);
	}
	return all;
}

/* What the folds have added to the neighbours' endowments goes into the register. */
static void register_folds(struct world *world)
{
	struct admin *admin = &world->admin;

	for (uint32_t n = 0; n < world->nodes[admin->node].config.peer_count; n++) {
		uint32_t k = neighbour(world, admin->node, n);

		admin->members[k].endowment_ucpu += world->nodes[k].moved_ucpu;
	}
}

/* Joins again: a new life with its floor, and the same neighbours. */
static void step_rejoin(struct world *world, uint32_t phase)
{
	struct admin *admin = &world->admin;
	struct node *node = &world->nodes[admin->node];
	struct member *member = &admin->members[admin->node];
	struct iso_ledger_peer peers[ISO_DEGREE_MAX];

	if (phase == 0) {
		struct iso_ledger_admission admission = {
			.id = admin->next_id,
			.gen = node->durable.gen + 1,
			.endowment_ucpu = node->config.floor_ucpu,
			.budget_ucpu = world->budget_ucpu,
			.peers = peers,
			.peer_count = node->config.peer_count,
		};

		for (uint32_t n = 0; n < node->config.peer_count; n++)
			peers[n] = (struct iso_ledger_peer){
				1000 + neighbour(world, admin->node, n),
				admin->members[neighbour(world, admin->node, n)].gen,
			};
		/* It must have been told that it is void, and be between two ticks. */
		if (!node->up || node->step != STEP_IDLE || node->durable.halt == ISO_HALT_NONE)
			return;
		if (member->void_gen != node->durable.gen)
			world->budget_ucpu += node->config.floor_ucpu;
		member->gen = admission.gen;
		member->endowment_ucpu = admission.endowment_ucpu;
		if (world_admit(world, admin->node, &admission) != ISO_OK)
			world_violate(world, "an admission was refused", admin->node, 0);
		next_phase(world);
	} else if (ask_neighbours(world, ISO_OP_OPEN)) {
		finish(world);
	}
}

/* What the one that has left says of its edges; what was sent has been received. */
static void certify_leaver(struct world *world)
{
	struct admin *admin = &world->admin;
	const struct iso_record *record = &world->nodes[admin->node].durable;

	for (uint32_t n = 0; n < world->nodes[admin->node].config.peer_count; n++)
		for (uint32_t m = 0; m < record->edge_count; m++)
			if (record->edges[m].peer == 1000 + neighbour(world, admin->node, n))
				admin->certified[n] = (struct certificate){
					record->edges[m].received, record->edges[m].sent
				};
}

static void step_leave(struct world *world)
{
	struct admin *admin = &world->admin;
	struct iso_op op = { .id = admin->next_id, .kind = ISO_OP_LEAVE };

	switch (admin->phase) {
	case 0:
		if (ask(world, admin->node, &op))
			next_phase(world);
		break;
	case 1:
		if (world->nodes[admin->node].durable.halt != ISO_HALT_LEFT)
			break;
		certify_leaver(world);
		next_phase(world);
		break;
	case 2:
		if (!ask_neighbours(world, ISO_OP_FOLD))
			break;
		register_folds(world);
		wait_s(world, 5);
		next_phase(world);
		break;
	default:
		if (world->now_ns >= admin->until_ns)
			step_rejoin(world, admin->phase - 3);
		break;
	}
}

static void begin_burial(struct world *world)
{
	struct admin *admin = &world->admin;
	struct node *node = &world->nodes[admin->node];

	if (admin->order == WORLD_BURY_DEAD) {
		node->is_off = true;
		world_crash(world, admin->node, true);
	}
	if (admin->order == WORLD_BURY_CUT_OFF)
		node->is_cut = true;
	admin->heir = neighbour(world, admin->node, 0);
	next_phase(world);
}

/* E = A + sum of (S - R) at the neighbours, less the floor: it cannot change any more. */
static void compute_estate(struct world *world)
{
	struct admin *admin = &world->admin;
	const struct node *node = &world->nodes[admin->node];

	admin->estate_ucpu =
	    admin->members[admin->node].endowment_ucpu - node->config.floor_ucpu;
	for (uint32_t n = 0; n < node->config.peer_count; n++) {
		admin->certified[n] = certificate(world, neighbour(world, admin->node, n));
		admin->estate_ucpu += (int64_t)(admin->certified[n].sent -
						admin->certified[n].received);
	}
	admin->has_estate = true;
	admin->grant_id = 0;
	admin->members[admin->node].void_gen = admin->members[admin->node].gen;
	/* Whoever forgot its past enforces the floor at most, as everyone does who is void. */
	world->nodes[admin->node].distrusted = false;
	if (admin->estate_ucpu < 0)
		world_violate(world, "an estate below nothing", admin->node, admin->estate_ucpu);
}

static bool grant(struct world *world)
{
	struct admin *admin = &world->admin;
	struct iso_op op = { .id = admin->next_id,
			     .kind = ISO_OP_MINT,
			     .amount_ucpu = admin->estate_ucpu };

	if (admin->estate_ucpu > 0) {
		admin->grant_id = op.id;
		if (!ask(world, admin->heir, &op))
			return false;
		admin->members[admin->heir].endowment_ucpu += admin->estate_ucpu;
	}
	admin->has_estate = false;
	admin->grant_id = 0;
	return true;
}

static void end_burial(struct world *world)
{
	struct admin *admin = &world->admin;
	struct node *node = &world->nodes[admin->node];

	node->is_cut = false;
	if (node->is_off)
		world_push(world,
			   (struct event){ .type = EVENT_RESTART,
					   .node = admin->node,
					   .epoch = node->epoch },
			   0.1);
	node->is_off = false;
	next_phase(world);
}

static void step_bury(struct world *world)
{
	struct admin *admin = &world->admin;

	switch (admin->phase) {
	case 0: begin_burial(world); break;
	case 1:
		if (!ask_neighbours(world, ISO_OP_CLOSE) &&
		    world->setup.mutant != WORLD_GRANT_PARTIAL)
			break;
		compute_estate(world);
		next_phase(world);
		break;
	case 2:
		if (grant(world))
			next_phase(world);
		break;
	case 3:
		if (!ask_neighbours(world, ISO_OP_FOLD))
			break;
		register_folds(world);
		wait_s(world, 20 * world_unit(world));
		next_phase(world);
		break;
	case 4:
		if (world->now_ns >= admin->until_ns)
			end_burial(world);
		break;
	default: step_rejoin(world, admin->phase - 5); break;
	}
}

void world_command(struct world *world, enum world_order order, uint32_t node,
		   int64_t amount_ucpu)
{
	struct admin *admin = &world->admin;

	assert(world_idle(world));
	world->governed = true;
	admin->order = order;
	admin->node = node;
	admin->phase = 0;
	admin->next_id += world->count;
	admin->amount_ucpu =
	    amount_ucpu != 0 ? amount_ucpu : 1 + (int64_t)(PER_NODE_UCPU * world_unit(world));
}

static void begin_something(struct world *world)
{
	enum world_order order =
	    WORLD_MINT + (enum world_order)iso_rng_below(&world->rng, WORLD_BURY_ALIVE);

	/* Neither without end nor down to nothing. */
	if (order == WORLD_MINT && world->budget_ucpu > 2 * (int64_t)world->count * PER_NODE_UCPU)
		order = WORLD_BURN;
	if (order >= WORLD_BURY_DEAD && world->setup.lease_s == 0)
		order = WORLD_LEAVE;
	world_command(world, order, (uint32_t)iso_rng_below(&world->rng, world->count), 0);
}

void world_admin_step(struct world *world)
{
	if (world_idle(world) && !world->calm && world_chance(world, world->setup.admin * 0.1))
		begin_something(world);
	/* The register may change, and the sum with it. */
	if (!world_idle(world))
		world_touch(world, &world->nodes[world->admin.node]);
	switch (world->admin.order) {
	case WORLD_NOTHING: break;
	case WORLD_MINT: step_mint(world); break;
	case WORLD_BURN: step_burn(world); break;
	case WORLD_DRAIN: step_drain(world); break;
	case WORLD_LEAVE: step_leave(world); break;
	case WORLD_BURY_DEAD:
	case WORLD_BURY_CUT_OFF:
	case WORLD_BURY_ALIVE:
	case WORLD_BURY_AMNESIAC: step_bury(world); break;
	case WORLD_ORDERS: break;
	}
}
