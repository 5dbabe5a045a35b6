/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/tridiagonal.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Whether all eigenvalues are below `at`: all pivots of the matrix less at are negative. */
static bool all_below(uint32_t n, const double *diagonal, const double *beside, double at)
{
	double pivot = diagonal[0] - at;

	for (uint32_t i = 1; i < n && pivot < 0; i++)
		pivot = diagonal[i] - at - beside[i - 1] * (beside[i - 1] / pivot);
	return pivot < 0;
}

double iso_tridiagonal_largest(uint32_t n, const double *diagonal, const double *beside)
{
	double low = diagonal[0], high = diagonal[0];

	assert(n >= 1);
	/* No eigenvalue is outside of Gershgorin's discs and the largest is not below the diagonal.
	 */
	for (uint32_t i = 0; i < n; i++) {
		double left = i > 0 ? fabs(beside[i - 1]) : 0;
		double right = i + 1 < n ? fabs(beside[i]) : 0;

		low = fmax(low, diagonal[i]);
		high = fmax(high, diagonal[i] + left + right);
	}
	for (int step = 0; step < 2 * DBL_MANT_DIG && low < high; step++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (all_below(n, diagonal, beside, middle))
			high = middle;
		else
			low = middle;
	}
	return high;
}
