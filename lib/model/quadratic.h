/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_QUADRATIC_H
#define ISO_MODEL_QUADRATIC_H

#include <stdint.h>

/*
 * The function on which ATA, Ringmaster and Ringleader ASGD are measured:
 *
 *   f(x) = x'A x / 2 - b'x,  A = tridiag(-1, 2, -1) / 4,  b = (-1, 0, ..., 0) / 4
 *
 * in n >= 1 dimensions.  L < 1.  Its minimum is -n / (8 (n + 1)), at
 * x_i = -(1 - i / (n + 1)), i = 1 .. n.  Computed in double throughout, so that f - f*
 * is exact to rounding of x however small it is.
 */

/* Where the experiments start: (sqrt(n), 0, ..., 0). */
void iso_quadratic_start(uint32_t n, float *ret_x);

/*
 * The stochastic gradient A x - b + noise (1, ..., 1)': the experiments draw one
 * normal number for all coordinates, so that E||noise||^2 is n times its variance.
 * ret_gradient and x do not overlap.
 */
void iso_quadratic_gradient(uint32_t n, const float *x, double noise, float *ret_gradient);

/* f(x) - f*, as (x - x*)'A (x - x*) / 2: never negative. */
double iso_quadratic_gap(uint32_t n, const float *x);

/* ||A x - b||^2, what the papers' figures show under the name f(x) - f*. */
double iso_quadratic_gradient_square(uint32_t n, const float *x);

double iso_quadratic_minimum(uint32_t n);
void iso_quadratic_argmin(uint32_t n, float *ret_x);

#endif
