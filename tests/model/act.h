/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_ACT_H
#define ISO_MODEL_ACT_H

#include "tests/model/cluster_private.h"

/*
 * One step of one node, made by the real code once for each state of that
 * node and remembered: a node does the same wherever the others are.
 */
#define MODEL_IMPOSSIBLE UINT32_MAX

struct model_request {
	uint8_t kind; /* enum model_kind */
	uint8_t a, b; /* as in struct model_action */
	struct model_message message;
	struct model_op op;
};

struct model_outcome {
	uint32_t number; /* of the node after it; MODEL_IMPOSSIBLE */
	struct model_message message;
	struct model_answer answer;
};

/* Valid until the next call. */
const struct model_outcome *model_act(struct model_cluster *cluster, const struct model_key *key,
				      uint32_t node, const struct model_request *request);

#endif
