/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_FLOW_H
#define ISO_TRACK_FLOW_H

#include <stdint.h>

/*
 * The kernel of decentralised gradient tracking (co-optimisation paper, arXiv 2510.25176:
 * the y and z dynamics, Euler with step T):
 *
 *   F_ij += T w_ij (q(z_j) - q(z_i))                    one vector an edge, F_ji = -F_ij
 *   z_i   = grad g_i(y_i) + sum_j F_ij
 *   y_i  += T sum_j w_ij (q(y_j) - q(y_i)) - T alpha z_i
 *
 * The paper integrates z_i itself, with the difference of two gradients as its input.
 * Here z is never integrated: what flowed over an edge is kept, and z is made
 * anew from it.  Subtraction, product and sum are odd in IEEE arithmetic, so the two ends of
 * an edge that use the same estimates hold F and exactly -F, and
 *
 *   sum_i z_i = sum_i grad g_i(y_i)
 *
 * up to the rounding of that one sum, at every step and for ever.  It also makes
 * z_i(0) = grad g_i(y_i(0)): with z(0) = 0, as articles have it, the sum of the first
 * gradients would be missing for ever and the method converge to a wrong point.
 *
 * An edge is taken away by forgetting F at both ends, whatever flowed; the identity then
 * holds in each component that is left.  A new edge starts with F = 0.
 *
 * All vectors have m components.  No two arguments of a call overlap.
 */

/*
 * flux += step_weight (other - own), component by component; step_weight = T w_ij >= 0.
 * own and other are the estimates that both ends share, of z for F, of y for the pull
 * of the neighbours on y (a flux that starts at 0 in each step).
 */
void iso_track_flow(uint32_t m, double step_weight, const double *own, const double *other,
		    double *flux);

/* sum += flux and sum -= flux: an edge's one F at its low and its high end. */
void iso_track_gain(uint32_t m, const double *flux, double *sum);
void iso_track_lose(uint32_t m, const double *flux, double *sum);

/* y += pull - step_alpha z; step_alpha = T alpha. */
void iso_track_move(uint32_t m, const double *pull, double step_alpha, const double *z, double *y);

/* Sum of the squares, in one fixed order: the same bits on every machine. */
double iso_track_square(uint32_t m, const double *vector);

#endif
