/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_REFERENCE_H
#define ISO_MODEL_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/model/smooth.h"

/*
 * What decentralised methods are measured against: the y that minimises
 * the mean of the g_i of n parts, as one machine with all data finds it.  Newton's
 * method with conjugate gradients inside: of a convex mean it finds the minimum
 * to rounding, of another one a stationary point downhill from the start.
 */
struct iso_reference {
	double value;	      /* of the mean, at y */
	double gradient_norm; /* 2-norm of its gradient there */
	uint32_t steps;
};

/* The mean of the g_i and, unless ret_gradient is NULL, its gradient. */
double iso_reference_mean(const struct iso_smooth *smooth, const struct iso_samples *parts,
			  uint32_t n, const double *y, double *workspace, double *ret_gradient);

/* Doubles of workspace. */
size_t iso_reference_workspace(const struct iso_smooth *smooth, const struct iso_samples *parts,
			       uint32_t n);

/*
 * y[params]: where to start, and the optimum afterwards.  Ends when the norm of the
 * gradient is at most `tolerance`, when rounding lets it come no closer, or after
 * 200 steps: whoever needs the tolerance compares gradient_norm.
 */
struct iso_reference iso_reference_solve(const struct iso_smooth *smooth,
					 const struct iso_samples *parts, uint32_t n,
					 double tolerance, double *workspace, double *y);

#endif
