/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_EMIT_H
#define ISO_MODEL_EMIT_H

#include "tests/model/act.h"

/* Inside of expand*.c: how a step becomes states that follow. */

/* One state whose successors are being made. */
struct expansion {
	struct model_cluster *cluster;
	const struct model_key *key;
	model_next_fn *fn;
	void *context;
};

/* The state without what a step takes of a ration. */
struct model_key model_spend(const struct expansion *from, enum model_left what, uint8_t count);

/* What the candidate has sent until now renews no lease any more, whoever has it. */
void model_outdate_all(const struct expansion *from, struct model_key *key);

/* The message to the k-th peer is on its way from now on; false: none is sent, or none matters. */
bool model_send_to(const struct expansion *from, uint32_t node, uint32_t k, struct model_key *key);

/* The node makes a step; everything else of the key is as it shall be. */
void model_emit(const struct expansion *from, struct model_action action,
		const struct model_outcome *outcome, const struct model_key *key);

/* Has the node make the step, if it can.  op: NULL: none.  key: with what it costs already spent.
 */
void model_try(const struct expansion *from, struct model_action action, const struct model_op *op,
	       const struct model_key *key);
void model_try_action(const struct expansion *from, struct model_action action,
		      const struct model_key *key);
void model_try_step(const struct expansion *from, uint32_t node, enum model_kind kind);

/* What the administrator does, and time: expand_world.c. */
void model_expand_world(const struct expansion *from);

#endif
