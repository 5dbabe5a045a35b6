/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_FIELD_STATE_H
#define ISO_FIELD_STATE_H

#include "lib/sim/field.h"

/* What the parts of lib/sim/field share. */

enum field_standing {
	FIELD_PRESENT = 1,
	FIELD_SILENT, /* its edges wait for it */
	FIELD_DROPPED,
};

struct field_node {
	uint8_t standing; /* enum field_standing */
	uint32_t silent_rounds;
};

struct iso_field {
	struct iso_field_config config;
	uint32_t nodes;
	uint32_t edges;
	uint32_t m;
	bool diverged;
	bool weigh_anew; /* somebody was dropped or came back */
	bool any_away;	 /* not every node is present */
	struct field_node *node;

	double *share; /* CPUs */
	double *price;
	double *price_sent; /* the estimate that both ends share */
	double budget_cpu;
	double best_cost;

	double *y; /* m doubles a node, as all of these */
	double *z;
	double *gradient;
	double *y_sent;
	double *z_sent;
	double *pull;	 /* of the neighbours on y, in this round */
	double *inflow;	 /* sum over the node's edges of F */
	double *lack;	 /* what zero_start left out; NULL without */
	double *value;	 /* g_i, one a node */
	double *scratch; /* m */

	double *flux; /* F, m doubles an edge; towards its low end */
	double *weight;
	bool *up;
	uint32_t *missed; /* rounds that an edge has been down; UINT32_MAX: it is new */
	uint32_t *degree;
	uint32_t *marks; /* one a node, for lib/graph/switching.h */
	uint64_t *bits;	 /* of a node's payloads in this round */

	double z_square; /* of the last round, summed over nodes */
	double pull_square;
	struct iso_field_counts counts;
};

static inline double *field_at(double *array, const struct iso_field *field, uint32_t index)
{
	return array + (size_t)index * field->m;
}

static inline bool field_is(const struct iso_field *field, uint32_t node,
			    enum field_standing standing)
{
	return field->node[node].standing == (uint8_t)standing;
}

/* Which edges are up now, and their weights: before a round and at the start. */
void iso_field_find_edges(struct iso_field *field);

/* The gradient at a node's y; false if it is not finite. */
bool iso_field_take_gradient(struct iso_field *field, uint32_t node);

/* z = gradient + inflow. */
void iso_field_make_z(struct iso_field *field, uint32_t node);

void iso_field_take_price(struct iso_field *field, uint32_t node);

#endif
