/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_STEP_H
#define ISO_TRACK_STEP_H

#include "lib/status.h"

/*
 * How large the steps of gradient tracking (lib/track/flow.h) may be: bounds from the
 * weighted Laplacian of the graph, the curvature of the objectives and the quantiser.
 */

/* What the bounds are made of. */
struct iso_track_facts {
	double lambda2;	   /* smallest non-zero eigenvalue of the weighted Laplacian; the
			    * least over all graphs of a network that switches */
	double lambda_max; /* its largest; the greatest over all graphs */
	double curvature;  /* L: gradients of every g_i are Lipschitz with it */
	double rho;	   /* of a log quantiser, 0 without one */
};

struct iso_track_rates {
	double step;  /* T */
	double alpha; /* gradient weight; T alpha is what moves y */
};

/*
 * ISO_E_RANGE unless 0 < lambda2 <= lambda_max, curvature > 0 and rho in [0, 8],
 * all finite.  The functions below assert it.
 */
ISO_MUST_USE enum iso_status iso_track_facts_check(const struct iso_track_facts *facts);

/*
 * e^(rho/2): a log quantiser of step rho keeps q(v)/v within [1/sector, sector].
 * (Papers write 1 + rho/2, its first order, which q exceeds.)
 */
double iso_track_sector(double rho);

/*
 * The paper's bound with the exact sector: alpha < lambda2 / (L e^(rho/2)).  It is
 * about continuous time, and sufficient: larger values often converge too.
 */
double iso_track_alpha_max(const struct iso_track_facts *facts);

/*
 * The largest Euler step with that alpha, >= 0.  With equal Hessians the linearised
 * iteration splits into one pair of modes for each eigenvalue l of the Laplacian and
 * each h of the Hessian,
 *
 *   s^2 + s (2 l + h alpha) + l^2 = 0,
 *
 * whose roots are real and negative, so that only the most negative one,
 * with l = lambda_max e^(rho/2) and h = L, bounds T: T |s| < 2.  It is necessary where
 * Hessians differ.
 */
double iso_track_step_max(const struct iso_track_facts *facts, double alpha);

/* Converges for every graph and problem that we tried (see step.c): use it when in doubt. */
void iso_track_rates_safe(const struct iso_track_facts *facts, struct iso_track_rates *ret_rates);

#endif
