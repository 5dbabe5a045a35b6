/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACKFIELD_H
#define TRACKFIELD_H

#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/quant/stream.h"
#include "lib/rng.h"
#include "lib/track/adapt.h"
#include "lib/track/step.h"

/*
 * A small lock-step field for the tests of lib/track: n nodes with quadratic
 * objectives g_i(y) = y'A_i y / 2 - b_i'y on any graph, vectors as a stream brings them.
 */
#define TRACKFIELD_NODES 64u
#define TRACKFIELD_EDGES 2048u
#define TRACKFIELD_M	 3u

struct trackfield {
	struct iso_graph graph;
	struct iso_graph_edge edges[TRACKFIELD_EDGES];
	double weight[TRACKFIELD_EDGES]; /* 0: the edge is down, F kept */
	double hessian[TRACKFIELD_NODES][TRACKFIELD_M][TRACKFIELD_M];
	double linear[TRACKFIELD_NODES][TRACKFIELD_M];
	double y[TRACKFIELD_NODES][TRACKFIELD_M];
	double z[TRACKFIELD_NODES][TRACKFIELD_M];
	double pull[TRACKFIELD_NODES][TRACKFIELD_M];
	double flux[TRACKFIELD_EDGES][TRACKFIELD_M];
	double optimum[TRACKFIELD_M];
	struct iso_stream_config stream; /* doubles as they are, unless changed */
	double y_seen[TRACKFIELD_NODES][TRACKFIELD_M];
	double z_seen[TRACKFIELD_NODES][TRACKFIELD_M];
};

/* Without edges; add them to field->graph, then trackfield_weigh. */
void trackfield_init(struct trackfield *field, uint32_t nodes);

/* Metropolis weights for all edges. */
void trackfield_weigh(struct trackfield *field);

/*
 * Convex objectives with curvatures up to 1, as different as can be: node i
 * knows something of `rank` random directions only.  Starts y anywhere.
 */
void trackfield_draw(struct trackfield *field, uint32_t rank, struct iso_rng *rng);

/* Three of five nodes are convex, two as much concave; the sum has curvature. */
void trackfield_draw_bent(struct trackfield *field, struct iso_rng *rng);

void trackfield_gradient(const struct trackfield *field, uint32_t node, double *ret_gradient);

/* z from the gradients and what flowed; once at the start, then by the step itself. */
void trackfield_gather(struct trackfield *field);
void trackfield_step(struct trackfield *field, double step, double alpha);

/* max |y_i - y*|, component-wise; and the worst of |sum z - sum grad|. */
double trackfield_error(const struct trackfield *field);
double trackfield_leak(const struct trackfield *field);

/* lambda2, lambda_max of the graph as it is weighed; curvature 1, no quantiser. */
struct iso_track_facts trackfield_facts(const struct trackfield *field);

/* What the last step did, all nodes together; curvature is 1. */
struct iso_track_motion trackfield_motion(const struct trackfield *field, double step);

#endif
