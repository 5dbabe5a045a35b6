/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRIDIAGONAL_H
#define ISO_TRIDIAGONAL_H

#include <stdint.h>

/*
 * The symmetric matrix with diagonal[n] and, on both sides of it, beside[n - 1]; n >= 1.
 * It is what the method of Lanczos makes of a large matrix.
 */

/* Its smallest and its largest eigenvalue.  To rounding, by bisection over Sturm counts. */
double iso_tridiagonal_smallest(uint32_t n, const double *diagonal, const double *beside);
double iso_tridiagonal_largest(uint32_t n, const double *diagonal, const double *beside);

/*
 * |Last component| of the normalised eigenvector of one of these two, where no value of
 * beside[] is 0.  scratch: 2 n doubles, overwritten.
 */
double iso_tridiagonal_tail(uint32_t n, const double *diagonal, const double *beside,
			    double eigenvalue, double *scratch);

#endif
