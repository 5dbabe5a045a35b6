/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/world.h"

#include <assert.h>
#include <string.h>

#include "lib/ledger/op.h"

enum order_kind {
	ORDER_END = 0,
	ORDER_MINT,   /* amount at node; the budget grows first */
	ORDER_BURN,   /* amount at node; the budget falls by what was answered */
	ORDER_BUDGET, /* tell node */
	ORDER_VOID,   /* node's operation is given up, unless it is answered by now */
	ORDER_DRAIN,  /* node; amount: begin or end */
	ORDER_LEAVE,
	ORDER_LEFT,  /* wait until node says so */
	ORDER_NEW,   /* an empty journal for node, which was off */
	ORDER_OFF,   /* node's power is off for ever, and the administrator knows */
	ORDER_CLOSE, /* node's edge to peer; amount: declared, without waiting */
	ORDER_VOIDS, /* all certificates of node are there, and of peer if that is not 0;
			amount: declared, no floor is kept */
	ORDER_GRANT, /* the estate to node */
	ORDER_FOLD,  /* node's edge to peer */
	ORDER_ADMIT, /* node anew, with its floor; amount: added to the budget, else reserved */
	ORDER_OPEN,  /* node's edge to peer's new generation */
};

struct order {
	enum order_kind kind;
	uint8_t node, peer, amount;
};

#define ORDERS_MAX 14

#define ORDERS_FOLD_2                                                                              \
	{ ORDER_FOLD, 0, 2, 0 },                                                                   \
	{                                                                                          \
		ORDER_FOLD, 1, 2, 0                                                                \
	}
#define ORDERS_OPEN_2                                                                              \
	{ ORDER_OPEN, 0, 2, 0 },                                                                   \
	{                                                                                          \
		ORDER_OPEN, 1, 2, 0                                                                \
	}
#define ORDERS_LEAVE_2 { ORDER_LEAVE, 2, 0, 0 }, { ORDER_LEFT, 2, 0, 0 }, ORDERS_FOLD_2
#define ORDERS_CLOSE_2                                                                             \
	{ ORDER_CLOSE, 0, 2, 0 },                                                                  \
	{                                                                                          \
		ORDER_CLOSE, 1, 2, 0                                                               \
	}
#define ORDERS_BURY_2                                                                              \
	ORDERS_CLOSE_2, { ORDER_VOIDS, 2, 0, 0 }, { ORDER_GRANT, 0, 0, 0 }, ORDERS_FOLD_2
#define ORDERS_DECLARE_2                                                                           \
	{ ORDER_OFF, 2, 0, 0 }, { ORDER_CLOSE, 0, 2, 1 }, { ORDER_CLOSE, 1, 2, 1 },                \
	    { ORDER_VOIDS, 2, 0, 1 }, { ORDER_GRANT, 0, 0, 0 }, ORDERS_FOLD_2

static const struct order orders[MODEL_SCRIPTS][MODEL_TRACKS][ORDERS_MAX] = {
	[MODEL_MINTS_BURNS] = { { { ORDER_MINT, 0, 0, 1 } }, { { ORDER_BURN, 1, 0, 1 } } },
	[MODEL_MINTS_BURNS_ONE] = { { { ORDER_MINT, 0, 0, 1 } }, { { ORDER_BURN, 0, 0, 2 } } },
	[MODEL_TELLS_BUDGET] = { { { ORDER_MINT, 0, 0, 1 },
				   { ORDER_BUDGET, 1, 0, 0 },
				   { ORDER_BUDGET, 2, 0, 0 } } },
	[MODEL_GIVES_UP] = { { { ORDER_MINT, 0, 0, 1 }, { ORDER_VOID, 0, 0, 0 } },
			     { { ORDER_BURN, 1, 0, 1 }, { ORDER_VOID, 1, 0, 0 } } },
	[MODEL_DRAINS] = { { { ORDER_DRAIN, 2, 0, 1 }, { ORDER_DRAIN, 2, 0, 0 } } },
	[MODEL_LEAVES] = { { ORDERS_LEAVE_2 } },
	[MODEL_LEAVES_REJOINS] = { { ORDERS_LEAVE_2, { ORDER_ADMIT, 2, 0, 1 }, ORDERS_OPEN_2 } },
	[MODEL_BURIES] = { { ORDERS_BURY_2 } },
	[MODEL_BURIES_REJOINS] = { { ORDERS_BURY_2, { ORDER_ADMIT, 2, 0, 0 }, ORDERS_OPEN_2 } },
	[MODEL_LEAVES_BURIES] = { { { ORDER_LEAVE, 1, 0, 0 },
				    { ORDER_LEFT, 1, 0, 0 },
				    { ORDER_FOLD, 0, 1, 0 },
				    { ORDER_FOLD, 2, 1, 0 },
				    { ORDER_CLOSE, 0, 2, 0 },
				    { ORDER_VOIDS, 2, 0, 0 },
				    { ORDER_GRANT, 0, 0, 0 },
				    { ORDER_FOLD, 0, 2, 0 } } },
	[MODEL_DECLARES_DEAD] = { { ORDERS_DECLARE_2 } },
	[MODEL_DECLARES_REJOINS] = { { ORDERS_DECLARE_2,
				       { ORDER_NEW, 2, 0, 0 },
				       { ORDER_ADMIT, 2, 0, 1 },
				       ORDERS_OPEN_2 } },
	[MODEL_DECLARES_TWO] = { { ORDERS_DECLARE_2,
				   { ORDER_OFF, 1, 0, 0 },
				   { ORDER_CLOSE, 0, 1, 1 },
				   { ORDER_VOIDS, 1, 0, 1 },
				   { ORDER_GRANT, 0, 0, 0 },
				   { ORDER_FOLD, 0, 1, 0 } } },
	[MODEL_DECLARES_BOTH] = { { { ORDER_OFF, 1, 0, 0 },
				    { ORDER_OFF, 2, 0, 0 },
				    { ORDER_CLOSE, 0, 1, 1 },
				    { ORDER_CLOSE, 0, 2, 1 },
				    { ORDER_VOIDS, 1, 2, 1 },
				    { ORDER_GRANT, 0, 0, 0 },
				    { ORDER_FOLD, 0, 1, 0 },
				    { ORDER_FOLD, 0, 2, 0 } } },
};

static const struct order *next_order(const struct model_setup *setup,
				      const struct model_world *world, uint32_t track)
{
	return &orders[setup->script][track][world->at[track]];
}

static bool gone(const struct model_world *world, uint32_t node)
{
	return world->life[node] != LIFE_MEMBER || (world->off & 1u << node) != 0;
}

void model_world_init(const struct model_setup *setup, struct model_world *ret_world)
{
	memset(ret_world, 0, sizeof(*ret_world));
	ret_world->budget = MODEL_NODES * setup->share;
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		ret_world->endowment[i] = (int8_t)setup->share;
		ret_world->gen[i] = 1;
	}
}

bool model_orders_done(const struct model_setup *setup, const struct model_world *world)
{
	for (uint32_t track = 0; track < MODEL_TRACKS; track++) {
		const struct order *order = next_order(setup, world, track);

		if (order->kind == ORDER_ADMIT && gone(world, order->node) &&
		    (world->off & 1u << order->node) != 0)
			continue;
		if (order->kind != ORDER_END)
			return false;
	}
	for (uint32_t i = 0; i < MODEL_NODES; i++)
		if (world->pending[i] != 0)
			return false;
	return true;
}

static struct model_op *issue(struct model_world *world, uint8_t node, uint8_t kind)
{
	struct model_op *op = &world->ops[world->op_count];

	assert(world->op_count < MODEL_OPS_MAX);
	world->pending[node] = ++world->op_count;
	op->id = world->op_count;
	op->kind = kind;
	op->node = node;
	op->gen = world->gen[node];
	op->budget = (uint8_t)world->budget;
	return op;
}

static void issue_edge(struct model_world *world, const struct order *order, uint8_t kind)
{
	struct model_op *op = issue(world, order->node, kind);
	const struct model_certificate *certificate =
	    &world->certificates[order->peer][order->node];

	op->peer = order->peer;
	op->peer_gen = world->gen[order->peer];
	op->on = kind == ISO_OP_CLOSE && order->amount != 0;
	if (kind != ISO_OP_FOLD)
		return;
	assert(certificate->given);
	op->sent = certificate->sent;
	op->received = certificate->received;
}

static void issue_amount(const struct model_setup *setup, struct model_world *world, uint8_t node,
			 uint8_t kind, uint8_t amount)
{
	if (kind == ISO_OP_MINT && setup->mutant != MODEL_PROMISE_LATE)
		world->budget += amount;
	if (kind == ISO_OP_BURN && setup->mutant == MODEL_PROMISE_EARLY)
		world->budget -= amount;
	issue(world, node, kind)->amount = amount;
}

/* What neighbours that live must still certify of a node. */
static bool certified(const struct model_world *world, uint32_t node)
{
	for (uint32_t k = 0; k < MODEL_NODES; k++)
		if (k != node && !gone(world, k) && !world->certificates[node][k].given)
			return false;
	return true;
}

/* E = A + what survivors sent there - what they credited from there, less a floor that it keeps. */
static void bury(struct model_world *world, uint8_t node, uint8_t floor)
{
	int estate = world->endowment[node] - floor;

	for (uint32_t k = 0; k < MODEL_NODES; k++) {
		const struct model_certificate *own = &world->certificates[k][node];
		const struct model_certificate *of = &world->certificates[node][k];

		/* An edge of its own that it was to fold counts as folded. */
		if (own->given && !own->folded)
			estate += own->received - own->sent;
		if (k != node && !gone(world, k))
			estate += of->sent - of->received;
	}
	world->estate += estate < 0 ? 0 : estate;
	world->reserved += floor;
	world->pending[node] = 0;
}

static bool bury_ordered(const struct model_setup *setup, struct model_world *world,
			 const struct order *order)
{
	uint8_t floor = order->amount != 0 ? 0 : setup->floor;

	if (setup->mutant != MODEL_GRANT_PARTIAL &&
	    (!certified(world, order->node) ||
	     (order->peer != 0 && !certified(world, order->peer))))
		return false;
	bury(world, order->node, floor);
	if (order->peer != 0)
		bury(world, order->peer, floor);
	world->life[order->node] = LIFE_VOID;
	if (order->peer != 0)
		world->life[order->peer] = LIFE_VOID;
	return true;
}

static bool admit(const struct model_setup *setup, struct model_world *world,
		  const struct order *order)
{
	struct model_op *op;

	if ((world->off & 1u << order->node) != 0)
		return false;
	if (order->amount != 0)
		world->budget += setup->floor;
	else
		world->reserved -= setup->floor;
	if (setup->mutant != MODEL_ADMIT_SAME_GENERATION)
		world->gen[order->node]++;
	world->life[order->node] = LIFE_MEMBER;
	op = issue(world, order->node, MODEL_OP_ADMIT);
	op->amount = setup->floor;
	for (uint32_t k = 0; k < MODEL_EDGES; k++)
		op->gens[k] = world->gen[model_peer(order->node, k)];
	memset(world->certificates[order->node], 0, sizeof(world->certificates[order->node]));
	return true;
}

/* What its neighbours must still have, by what it says itself. */
static bool left(struct model_world *world, const struct order *order,
		 const struct model_summary *node)
{
	if (node->pc != MODEL_IDLE || node->halt_disk != ISO_HALT_LEFT)
		return false;
	world->life[order->node] = LIFE_LEFT;
	for (uint32_t k = 0; k < MODEL_NODES; k++)
		world->certificates[order->node][k] = (struct model_certificate){
			.given = true,
			.sent = node->received_disk[k],
			.received = node->sent_disk[k],
		};
	return true;
}

static bool carry_out(const struct model_setup *setup, struct model_world *world,
		      const struct model_summary *const nodes[MODEL_NODES],
		      const struct order *order)
{
	switch (order->kind) {
	case ORDER_END: return false;
	case ORDER_LEFT: return left(world, order, nodes[order->node]);
	case ORDER_VOIDS: return bury_ordered(setup, world, order);
	case ORDER_OFF:
		world->off |= (uint8_t)(1u << order->node);
		world->pending[order->node] = 0;
		return true;
	case ORDER_NEW: world->off &= (uint8_t) ~(1u << order->node); return true;
	case ORDER_VOID:
		if (world->pending[order->node] == 0)
			return true;
		world->given_up[order->node] = world->pending[order->node];
		issue(world, order->node, ISO_OP_VOID);
		return true;
	case ORDER_MINT:
		issue_amount(setup, world, order->node, ISO_OP_MINT, order->amount);
		return true;
	case ORDER_BURN:
		issue_amount(setup, world, order->node, ISO_OP_BURN, order->amount);
		return true;
	case ORDER_GRANT:
		if (world->estate != 0) {
			issue(world, order->node, ISO_OP_MINT)->amount = (uint8_t)world->estate;
			world->estate = 0;
		}
		return true;
	case ORDER_BUDGET: issue(world, order->node, ISO_OP_BUDGET); return true;
	case ORDER_DRAIN: issue(world, order->node, ISO_OP_DRAIN)->on = order->amount; return true;
	case ORDER_LEAVE: issue(world, order->node, ISO_OP_LEAVE); return true;
	case ORDER_CLOSE: issue_edge(world, order, ISO_OP_CLOSE); return true;
	case ORDER_FOLD: issue_edge(world, order, ISO_OP_FOLD); return true;
	case ORDER_ADMIT: return admit(setup, world, order);
	case ORDER_OPEN: issue_edge(world, order, ISO_OP_OPEN); return true;
	}
	return false;
}

bool model_order(const struct model_setup *setup, struct model_world *world,
		 const struct model_summary *const nodes[MODEL_NODES], uint32_t track)
{
	const struct order *order = next_order(setup, world, track);

	/* One operation at a time to a node. */
	if (order->kind != ORDER_VOID && order->kind != ORDER_OFF && order->kind != ORDER_VOIDS &&
	    world->pending[order->node] != 0)
		return false;
	if (!carry_out(setup, world, nodes, order))
		return false;
	world->at[track]++;
	return true;
}

void model_answered(const struct model_setup *setup, struct model_world *world, uint32_t node,
		    const struct model_answer *answer)
{
	const struct model_op *op;
	struct model_certificate *certificate;

	if (answer->id == 0 || answer->id != world->pending[node])
		return;
	op = &world->ops[answer->id - 1];
	certificate = &world->certificates[op->peer][node];
	world->pending[node] = 0;
	switch (op->kind) {
	case ISO_OP_MINT:
		world->endowment[node] += answer->moved;
		if (setup->mutant == MODEL_PROMISE_LATE)
			world->budget += answer->moved;
		break;
	case ISO_OP_BURN:
		world->endowment[node] -= answer->moved;
		if (setup->mutant != MODEL_PROMISE_EARLY)
			world->budget -= answer->moved;
		break;
	case ISO_OP_CLOSE:
		*certificate = (struct model_certificate){ .given = true,
							   .sent = answer->sent,
							   .received = answer->received };
		break;
	case ISO_OP_FOLD:
		certificate->folded = true;
		world->endowment[node] += (int8_t)(op->received - op->sent);
		break;
	case ISO_OP_VOID:
		op = &world->ops[world->given_up[node] - 1];
		world->given_up[node] = 0;
		/* A shows whether the one that was given up had come through. */
		if (op->kind == ISO_OP_MINT)
			world->budget -= op->amount - (answer->endowment - world->endowment[node]);
		else if (op->kind == ISO_OP_BURN)
			world->budget -= world->endowment[node] - answer->endowment;
		world->endowment[node] = answer->endowment;
		break;
	case MODEL_OP_ADMIT: world->endowment[node] = (int8_t)op->amount; break;
	}
}

/* Of one operation that may be applied or not: granted and not owned, or burned and promised. */
static int unowned_by(const struct model_world *world, uint8_t id, const struct model_summary *node)
{
	const struct model_op *op = &world->ops[id - 1];
	bool later = node->last_op_disk > id;
	int minted = node->endowment - world->endowment[op->node];

	switch (op->kind) {
	case ISO_OP_MINT:
		if (later)
			return op->amount - minted;
		return node->last_op_disk == id ? 0 : op->amount;
	case ISO_OP_BURN:
		if (later)
			return -minted;
		return node->last_op_disk == id ? node->last_moved_disk : 0;
	case MODEL_OP_ADMIT: return node->last_op_disk >= id ? 0 : op->amount;
	default: return 0;
	}
}

int model_unowned(const struct model_world *world,
		  const struct model_summary *const nodes[MODEL_NODES])
{
	int sum = world->reserved + world->estate;

	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		if (world->life[i] == LIFE_VOID)
			continue;
		if (world->pending[i] != 0)
			sum += unowned_by(world, world->pending[i], nodes[i]);
		if (world->given_up[i] != 0)
			sum += unowned_by(world, world->given_up[i], nodes[i]);
	}
	return sum;
}
