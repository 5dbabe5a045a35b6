/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/tridiagonal.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Gershgorin's discs: no eigenvalue is outside of them. */
static void bounds(uint32_t n, const double *diagonal, const double *beside, double *ret_low,
		   double *ret_high)
{
	assert(n >= 1);
	*ret_low = *ret_high = diagonal[0];
	for (uint32_t i = 0; i < n; i++) {
		double left = i > 0 ? fabs(beside[i - 1]) : 0;
		double right = i + 1 < n ? fabs(beside[i]) : 0;

		*ret_low = fmin(*ret_low, diagonal[i] - left - right);
		*ret_high = fmax(*ret_high, diagonal[i] + left + right);
	}
}

/*
 * Whether all eigenvalues are on one side of `at`, below it (sign -1) or above (1): all
 * pivots of the matrix less `at` have that sign.
 */
static bool all_beyond(uint32_t n, const double *diagonal, const double *beside, double at,
		       double sign)
{
	double pivot = diagonal[0] - at;

	for (uint32_t i = 1; i < n && sign * pivot > 0; i++)
		pivot = diagonal[i] - at - beside[i - 1] * (beside[i - 1] / pivot);
	return sign * pivot > 0;
}

/* Halves what is between `in`, with eigenvalues on both sides, and `out`, beyond them all. */
static double bisect(uint32_t n, const double *diagonal, const double *beside, double in,
		     double out, double sign)
{
	for (int step = 0; step < 2 * DBL_MANT_DIG && in != out; step++) {
		double middle = in + (out - in) / 2;

		if (middle == in || middle == out)
			break;
		if (all_beyond(n, diagonal, beside, middle, sign))
			out = middle;
		else
			in = middle;
	}
	return out;
}

double iso_tridiagonal_smallest(uint32_t n, const double *diagonal, const double *beside)
{
	double low, high;

	bounds(n, diagonal, beside, &low, &high);
	assert(low <= high);
	for (uint32_t i = 0; i < n; i++)
		high = fmin(high, diagonal[i]);
	return bisect(n, diagonal, beside, high, low, 1);
}

double iso_tridiagonal_largest(uint32_t n, const double *diagonal, const double *beside)
{
	double low, high;

	bounds(n, diagonal, beside, &low, &high);
	assert(low <= high);
	for (uint32_t i = 0; i < n; i++)
		low = fmax(low, diagonal[i]);
	return bisect(n, diagonal, beside, low, high, -1);
}

/* Instead of a pivot of 0: so small that it changes no eigenvalue by a bit. */
static double pivot_of(double value)
{
	return value == 0 ? -DBL_MIN : value;
}

/* The pivots of T - eigenvalue from above and from below; returns the row where they meet best. */
static uint32_t factor(uint32_t n, const double *diagonal, const double *beside, double eigenvalue,
		       double *down, double *up)
{
	double least = INFINITY;
	uint32_t twist = 0;

	down[0] = pivot_of(diagonal[0] - eigenvalue);
	for (uint32_t i = 1; i < n; i++)
		down[i] = pivot_of(diagonal[i] - eigenvalue -
				   beside[i - 1] * (beside[i - 1] / down[i - 1]));
	up[n - 1] = pivot_of(diagonal[n - 1] - eigenvalue);
	for (uint32_t i = n - 1; i-- > 0;)
		up[i] = pivot_of(diagonal[i] - eigenvalue - beside[i] * (beside[i] / up[i + 1]));
	for (uint32_t i = 0; i < n; i++) {
		double gap = fabs(down[i] + up[i] - (diagonal[i] - eigenvalue));

		if (gap < least) {
			least = gap;
			twist = i;
		}
	}
	return twist;
}

/*
 * The twisted factorisation (Parlett and Dhillon 1997): the eigenvector begins in the row
 * where it is largest, and away from there each component follows from the one before.
 */
double iso_tridiagonal_tail(uint32_t n, const double *diagonal, const double *beside,
			    double eigenvalue, double *scratch)
{
	double *down = scratch, *up = scratch + n, squares = 1, component = 1;

	assert(n >= 1);

	uint32_t twist = factor(n, diagonal, beside, eigenvalue, down, up);

	for (uint32_t i = twist; i-- > 0;) {
		component *= -beside[i] / down[i];
		squares += component * component;
	}
	component = 1;
	for (uint32_t i = twist + 1; i < n; i++) {
		component *= -beside[i - 1] / up[i];
		squares += component * component;
	}
	assert(squares >= 1);
	return fabs(component) / sqrt(squares);
}
