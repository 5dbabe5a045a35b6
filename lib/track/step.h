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
 * The largest Euler step with that alpha, >= 0.  For quadratics, or near the optimum: a mode
 * (1 + T s) of the iteration, y its direction of unit length, H the Hessians, fulfils
 *
 *   s^2 + s (2 y'Ly + alpha y'Hy) + |Ly|^2 = 0.
 *
 * Where all g_i are convex no factor is negative, so no s has a positive real part, whatever
 * alpha is.  The most negative s that the largest eigenvalues allow bounds T by
 * T |s| < 2, and |Ly|^2 <= lambda_max y'Ly makes complex pairs fulfil it too: without a
 * quantiser every step below this one converges, with every alpha.  Where
 * some g_i are not convex it needs alpha < iso_track_alpha_max() as well.
 */
double iso_track_step_max(const struct iso_track_facts *facts, double alpha);

/*
 * The other way round: the alpha for which `step` is iso_track_step_max(), 0 if there is none.
 * With lambda_max = 2, which Metropolis weights stay below on every graph, T = 1/2 has
 * alpha = 1/L: a node that knows nothing of the graph can rely on it if all are convex.
 */
double iso_track_alpha_ceiling(const struct iso_track_facts *facts, double step);

/*
 * Half of iso_track_alpha_max(), 0.8 of its iso_track_step_max().  Converges for every
 * graph and problem that we tried, convex in each node or only in the sum, constant graph or
 * switching, exact or quantised (tests/unit/track_step.c): use it when in doubt.
 * Over 299 combinations of 9 graphs, 4 to 20 nodes and 12 sorts of objectives it took
 * 1.7 times as many rounds as the best constants, in the geometric mean; 15 times where one
 * node alone knows something of a direction.
 */
void iso_track_rates_safe(const struct iso_track_facts *facts, struct iso_track_rates *ret_rates);

/*
 * Where all g_i are convex, any alpha converges, and the modes in which nodes disagree fall as
 * T lambda2^2 / (alpha L) when it is large while the common one falls as T alpha mu:
 * 0.7 lambda2 / sqrt(mu L) took 1.15 times as many rounds as the best constants, at most 3 times.
 * mean_curvature: mu > 0, the least curvature of the mean of all g_i, at most L
 * (asserted); a weight of the squared norm in the objective is such a bound.
 */
void iso_track_rates_convex(const struct iso_track_facts *facts, double mean_curvature,
			    struct iso_track_rates *ret_rates);

#endif
