/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_FIELD_H
#define ISO_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/graph/switching.h"
#include "lib/graph/weights.h"
#include "lib/quant/stream.h"
#include "lib/sim/site.h"
#include "lib/status.h"
#include "lib/track/adapt.h"

/*
 * The co-optimisation paper (arXiv 2510.25176) in lock step: n nodes that agree on how to
 * share a budget of CPU (x) and on a model (y, tracked by z), each talking to its
 * neighbours alone.  One round is one Euler step of all nodes at once:
 *
 *     x_i  += share_step sum_j w_ij ( q(G_j) - q(G_i) )           G_i = f_i'(x_i) + penalty'
 *     F_ij += T w_ij ( q(z_j) - q(z_i) )
 *     y_i  += T sum_j w_ij ( q(y_j) - q(y_i) ) - T alpha z_i
 *     z_i   = grad g_i(y_i) + sum_j F_ij
 *
 * with one F per edge, of opposite sign at its ends (lib/track/flow.h), and q the estimate
 * that both ends share (lib/quant/stream.h).  Shares are real numbers of CPUs and
 * boxes are soft, as published: the integer trade with hard boxes, lost
 * messages and crashes is lib/sim/swarm.h.  Either half can be left out.
 *
 * Links fail and networks switch by lib/graph/switching.h: an edge that is down in a round
 * is skipped at both ends, and what has flowed over it stays.  A node that falls
 * silent keeps its last values at its neighbours (y is still drawn to them) for hold_rounds,
 * then they drop the edge: F is forgotten at both ends, the weights are made
 * anew among those that are left, and the share stays where it is.
 *
 * All of it follows from the configuration alone, bit for bit.
 */
struct iso_field;

/*
 * g_i(y) and its gradient; both have as many components as the configuration has params.
 * It must be a function of node and y, and gradients finite.
 */
typedef double iso_field_gradient_fn(void *context, uint32_t node, const double *y,
				     double *ret_gradient);

struct iso_field_config {
	const struct iso_graph *graph; /* borrowed for the life of the field */
	enum iso_weights_kind weights;
	const struct iso_switching *switching; /* NULL: every edge is up; borrowed likewise */
	bool steady_weights;		       /* of the whole graph, whatever is up */
	uint32_t hold_rounds;		       /* a silent neighbour is waited for */

	const struct iso_site *sites;	/* one per node; NULL: no x; borrowed likewise */
	const double *shares_cpu;	/* x(0), one per node; NULL: equal shares */
	int64_t budget_ucpu;		/* > 0; the sum of shares_cpu */
	double share_step;		/* T of x, > 0 */
	struct iso_stream_config price; /* of G; n = 1 */

	uint32_t params;     /* m; 0: no y and z */
	const double *start; /* y(0), all nodes' one behind the other; NULL: 0 */
	iso_field_gradient_fn *gradient;
	void *context;			 /* of gradient */
	double step;			 /* T, > 0 */
	double alpha;			 /* > 0 */
	struct iso_stream_config vector; /* of y and z; n = params */
	bool zero_start;		 /* z(0) = 0, as articles have it: comes to a wrong point */
};

/* Bytes for all of it; 0 if the configuration is out of range. */
size_t iso_field_size(const struct iso_field_config *config);

/*
 * Memory: size bytes, aligned for uint64_t, owned by the caller, all written.  Calls
 * gradient once a node.  ISO_E_RANGE: a configuration out of range, shares that are not the
 * budget, boxes that cannot hold it, a gradient that is not finite.  ISO_E_SHORT.
 */
ISO_MUST_USE enum iso_status iso_field_init(void *memory, size_t size,
					    const struct iso_field_config *config,
					    struct iso_field **ret_field);

/*
 * One round.  ISO_E_RANGE: a value is too large to be sent, the iteration diverges; what the
 * field holds then is that of the last round, and every further call says the same.
 */
ISO_MUST_USE enum iso_status iso_field_round(struct iso_field *field);

/* Steps from the next round on; both > 0. */
void iso_field_set_rates(struct iso_field *field, double step, double alpha);

/* From the next round on nothing comes from the node, and nothing gets to it; it stands still. */
void iso_field_silence(struct iso_field *field, uint32_t node);

/*
 * A silent node is back.  If its edges were not dropped yet, it goes on as if nothing
 * were; otherwise they are new ones, and with `forgot` it takes y from its first
 * neighbour that is there, else it has kept its own.
 */
void iso_field_return(struct iso_field *field, uint32_t node, bool forgot);

/*
 * What must hold after every round, whatever the links do:
 *
 *     sum of x = budget, to 1e-9 of it
 *     sum of z = sum of grad g in each component, to the rounding of that one sum
 *
 * NULL, or what does not, as a phrase.
 */
const char *iso_field_violation(const struct iso_field *field);

struct iso_field_sums {
	double share_error; /* |sum x - budget| / budget */
	double track_error; /* largest |sum z - sum grad| / sum (|grad| + |F|) of a component */
	double track_bound; /* what rounding may make of it */
};
void iso_field_sums(const struct iso_field *field, struct iso_field_sums *ret_sums);

struct iso_field_counts {
	uint64_t rounds;
	uint64_t messages;	/* one a round and direction of an edge that is up */
	uint64_t bits;		/* of all payloads, those below included */
	uint64_t catch_up_bits; /* INNOVATION: of what was missed while an edge was down */
	uint64_t skipped;	/* edges that were down, summed over rounds */
};
void iso_field_counts(const struct iso_field *field, struct iso_field_counts *ret_counts);

/* Of all shares and models: equal if and only if they are, for all practical purposes. */
uint64_t iso_field_digest(const struct iso_field *field);

/* Of one node; pointers are to params values, borrowed until the next round. */
double iso_field_share(const struct iso_field *field, uint32_t node);
double iso_field_price(const struct iso_field *field, uint32_t node);
const double *iso_field_y(const struct iso_field *field, uint32_t node);
const double *iso_field_z(const struct iso_field *field, uint32_t node);
bool iso_field_is_dropped(const struct iso_field *field, uint32_t node);

/* x: the sum of costs without penalties ... */
double iso_field_share_cost(const struct iso_field *field);
/* ... and how far it is above the best within the boxes, relatively. */
double iso_field_share_gap(const struct iso_field *field);

/*
 * The largest share_step for which x surely converges with weights below lambda_max: times
 * the largest curvature of a node's cost and the sector of a log quantiser, it is 2.
 */
double iso_field_share_step_max(const struct iso_site *sites, uint32_t count, double lambda_max,
				double rho);

/* y, over the nodes that are not dropped: their mean; */
void iso_field_mean(const struct iso_field *field, double *ret_mean);

/* the largest distance of a node's y to this mean; */
double iso_field_spread(const struct iso_field *field, const double *mean);

/* mean of their g_i at any y; */
double iso_field_objective(struct iso_field *field, const double *y);

/* and what the last round did, all nodes together; curvature: L. */
struct iso_track_motion iso_field_motion(const struct iso_field *field, double curvature);

#endif
