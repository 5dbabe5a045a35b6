/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_TOY_H
#define ISO_DATA_TOY_H

#include <stdint.h>

/*
 * Small data for the examples of decentralised optimisation (lib/model/smooth), made from
 * a seed alone.  Arrays belong to the caller.
 */

/*
 * Points, uniform in the square of side 3 around 0; target 1 inside of the ellipse with
 * half-axes 1.4 and 0.8, turned by 30 degrees, and 0 outside.  Points whose
 * quadratic form, 1 on the ellipse, is within `margin` (0 .. 0.5) of 1 do not occur: no line
 * separates the classes, and with a margin iso_toy_map() makes a plane do so.
 */
void iso_toy_ellipse(uint64_t seed, uint32_t count, double margin, double *ret_points,
		     double *ret_targets);

/* (p1, p2) to (p1^2, p2^2, sqrt(2) p1 p2): points[count][2], ret_x[count][3]. */
void iso_toy_map(const double *points, uint32_t count, double *ret_x);

/*
 * Linear regression: x[count][features] standard normal, targets beta'x - nu + noise times
 * a standard normal number, with ret_truth[features + 1] = (beta, nu) uniform in [-1, 1).
 */
void iso_toy_regression(uint64_t seed, uint32_t count, uint32_t features, double noise,
			double *ret_x, double *ret_targets, double *ret_truth);

/*
 * Rows (a, b) of ISO_SMOOTH_WAVES, one a node: uniform in [-size, size), then moved
 * so that the a sum to 0 and the b sum to 0, to rounding.  With a^2 above 96 a cost is
 * not convex.
 */
void iso_toy_waves(uint64_t seed, uint32_t nodes, double size, double *ret_x);

#endif
