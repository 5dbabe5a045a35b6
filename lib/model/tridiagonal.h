/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_TRIDIAGONAL_H
#define ISO_MODEL_TRIDIAGONAL_H

#include <stdint.h>

/*
 * The largest eigenvalue of the symmetric matrix with diagonal[n] and, on both sides
 * of it, beside[n - 1]; n >= 1.  To rounding, by bisection over Sturm counts.
 */
double iso_tridiagonal_largest(uint32_t n, const double *diagonal, const double *beside);

#endif
