/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_PUSH_H
#define ISO_TRACK_PUSH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/graph/arcs.h"
#include "lib/status.h"

/*
 * The methods that the co-optimisation paper compares itself with: push-sum methods on
 * directed graphs, all nodes in lock step, doubles on every arc.  With the matrix B of the
 * arcs, a row of theta, w, g for each node, one number Y for each (1 at the start):
 *
 *   all         Y+ = B Y;  z+ = theta+ / Y+;  gradients g are taken at z, g(0) at theta(0)
 *   GP, SGP     theta+ = B theta - a g                           gradient push
 *   ADDOPT,     theta+ = B theta - a w                           w(0) = g(0)
 *   S-ADDOPT    w+ = B w + g+ - g
 *   Push-SAGA   theta+ = B (theta - a w)                         w(0) = g(0)
 *               w+ = B (w + g+ - g)
 *   ... CTA     as ADDOPT                  (the order that its paper has, arXiv 2008.06082;
 *                                           the one above is what its code does)
 *
 * g is the whole local gradient for GP and ADDOPT, that of one sample drawn for SGP and
 * S-ADDOPT, and for Push-SAGA  sample's gradient - its slot + mean of the node's
 * slots  with the mean from before the slot is replaced.  Its slots start with the samples'
 * gradients at theta(0), its g(0) is one slot, drawn.
 *
 * With a constant step GP ends in a ball that heterogeneity makes, SGP and S-ADDOPT in
 * one that the sampling makes; ADDOPT and Push-SAGA end in the optimum.
 */
enum iso_push_method {
	ISO_PUSH_GP = 1,
	ISO_PUSH_SGP,
	ISO_PUSH_ADDOPT,
	ISO_PUSH_S_ADDOPT,
	ISO_PUSH_SAGA,
	ISO_PUSH_SAGA_CTA,
};

#define ISO_PUSH_METHODS 6u

/* "gp", "sgp", "addopt", "s-addopt", "push-saga", "push-saga-cta"; static. */
const char *iso_push_name(enum iso_push_method method);

/* The gradient of a node's objective; ret_gradient has m components. */
typedef void iso_push_gradient(void *context, uint32_t node, const double *at,
			       double *ret_gradient);

/*
 * That of one of its samples.  Scaled so that the mean over the node's samples is its
 * whole gradient.
 */
typedef void iso_push_sample_gradient(void *context, uint32_t node, uint32_t sample,
				      const double *at, double *ret_gradient);

struct iso_push_config {
	enum iso_push_method method;
	uint32_t m;				   /* parameters, >= 1 */
	const struct iso_arcs *arcs;		   /* borrowed; column-stochastic, self loops */
	iso_push_gradient *gradient;		   /* GP and ADDOPT; else may be NULL */
	iso_push_sample_gradient *sample_gradient; /* the others */
	void *context;				   /* borrowed, handed to both */
	const uint32_t *samples;		   /* borrowed; of each node, >= 1; the others */
	uint64_t seed;				   /* of the drawing of samples */
};

struct iso_push;

/* Push-SAGA keeps a gradient of each sample: m doubles times all samples. */
size_t iso_push_size(const struct iso_push_config *config);

/*
 * ISO_E_SHORT: size is less than iso_push_size().  memory is aligned for double; theta:
 * where each node starts, m doubles a node, read only.  Takes the first gradients.
 */
ISO_MUST_USE enum iso_status iso_push_init(void *memory, size_t size,
					   const struct iso_push_config *config,
					   const double *theta, struct iso_push **ret_push);

/* One iteration of all nodes with the step a > 0, constant or not as the caller likes. */
void iso_push_step(struct iso_push *push, double a);

/* A node's estimate z of the optimum; borrowed until the next step. */
const double *iso_push_estimate(const struct iso_push *push, uint32_t node);

/* Mean of theta over the nodes, at which the papers report the gap. */
void iso_push_mean(const struct iso_push *push, double *ret_mean);

/*
 * Numbers that go over all arcs in one iteration, a node's arc to itself not
 * counted: theta, Y and where there is one w.
 */
uint64_t iso_push_numbers(const struct iso_push_config *config);

/* Gradients of samples taken in one iteration by all nodes; a whole gradient counts as its samples.
 */
uint64_t iso_push_samples(const struct iso_push_config *config);

#endif
