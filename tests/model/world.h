/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_WORLD_H
#define ISO_MODEL_WORLD_H

#include "tests/model/node.h"

/*
 * The administrator: what it has promised to the outside world, and how far
 * its procedures are.  It repeats an operation until it is answered; every
 * request it has ever made may arrive late, and again.
 */
#define MODEL_TRACKS  2u  /* procedures that run side by side */
#define MODEL_OPS_MAX 14u /* operations of one run */

enum model_life {
	LIFE_MEMBER = 0,
	LIFE_LEFT, /* the administrator knows that it has left */
	LIFE_VOID, /* buried: all certificates are there */
};

/* What a neighbour certified of its end when it closed the edge to a node. */
struct model_certificate {
	bool given, folded;
	uint8_t sent, received;
};

struct model_world {
	int32_t budget; /* B: no more than this may be enforced, now */
	uint8_t at[MODEL_TRACKS];
	uint8_t pending[MODEL_NODES];  /* number of the operation not answered yet; 0: none */
	uint8_t given_up[MODEL_NODES]; /* same, which is being voided */
	int8_t endowment[MODEL_NODES]; /* A, by what was answered */
	uint8_t gen[MODEL_NODES];
	uint8_t life[MODEL_NODES];
	uint8_t off;	  /* bit per node: it never starts again */
	int32_t reserved; /* floors of void generations */
	int32_t estate;	  /* reclaimed, and not granted yet */
	struct model_certificate certificates[MODEL_NODES][MODEL_NODES]; /* [of whom][by whom] */
	uint8_t op_count;
	struct model_op ops[MODEL_OPS_MAX]; /* its number is its index + 1 */
};

void model_world_init(const struct model_setup *setup, struct model_world *ret_world);

/*
 * The next order of a procedure, if it can be given now.  What the administrator
 * sees of a node that is up is its durable state.
 */
bool model_order(const struct model_setup *setup, struct model_world *world,
		 const struct model_summary *const nodes[MODEL_NODES], uint32_t track);

/* What an answer tells; nothing if it is not about the operation under way. */
void model_answered(const struct model_setup *setup, struct model_world *world, uint32_t node,
		    const struct model_answer *answer);

/* Every procedure has come to its end. */
bool model_orders_done(const struct model_setup *setup, const struct model_world *world);

/* What the budget has that no node can own yet or any more, and what is not in it any more. */
int model_unowned(const struct model_world *world,
		  const struct model_summary *const nodes[MODEL_NODES]);

#endif
