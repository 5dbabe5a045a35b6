/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule_vector.h"

#include "lib/hot.h"

/*
 * Plain loops with the roundings in one order, so that every compiler gives the same bits.
 * A mean is rounded to float before its change goes into the sum: so the sum is
 * that of the means to double precision, however long it is kept up.
 */

ISO_HOT void iso_vector_add(double *restrict sum, const float *restrict gradient, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sum[i] += (double)gradient[i];
}

ISO_HOT void iso_vector_add_scaled(double *restrict sum, const float *restrict gradient, uint32_t n,
				   double scale)
{
	for (uint32_t i = 0; i < n; i++)
		sum[i] += scale * (double)gradient[i];
}

ISO_HOT void iso_vector_subtract(double *restrict sum, const float *restrict gradient, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sum[i] -= (double)gradient[i];
}

ISO_HOT void iso_vector_step(double *restrict x, const double *restrict sum, uint32_t n,
			     double gamma)
{
	for (uint32_t i = 0; i < n; i++)
		x[i] -= gamma * sum[i];
}

ISO_HOT void iso_vector_step_float(double *restrict x, const float *restrict gradient, uint32_t n,
				   double gamma)
{
	for (uint32_t i = 0; i < n; i++)
		x[i] -= gamma * (double)gradient[i];
}

ISO_HOT void iso_vector_mean(float *restrict mean, double *restrict sum,
			     const float *restrict gradient, uint32_t n, uint32_t count)
{
	double share = 1.0 / count;

	for (uint32_t i = 0; i < n; i++) {
		double old = (double)mean[i];
		float new = (float)(old + ((double)gradient[i] - old) * share);

		mean[i] = new;
		sum[i] += (double)new - old;
	}
}

ISO_HOT void iso_vector_replace(float *restrict mean, double *restrict sum,
				const float *restrict gradient, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		sum[i] += (double)gradient[i] - (double)mean[i];
		mean[i] = gradient[i];
	}
}

ISO_HOT void iso_vector_enter(float *restrict mean, double *restrict sum,
			      const float *restrict gradient, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		sum[i] += (double)gradient[i];
		mean[i] = gradient[i];
	}
}
