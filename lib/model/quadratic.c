/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/quadratic.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/hot.h"

void iso_quadratic_start(uint32_t n, float *ret_x)
{
	assert(n >= 1);
	memset(ret_x, 0, n * sizeof(*ret_x));
	ret_x[0] = (float)sqrt(n);
}

/* Row i of A x - b; x_0 and x_{n+1} are 0. */
static double row(uint32_t n, const float *x, uint32_t i)
{
	double before = i > 0 ? (double)x[i - 1] : 0, after = i + 1 < n ? (double)x[i + 1] : 0;

	return (2 * (double)x[i] - before - after) / 4 + (i == 0 ? 0.25 : 0);
}

/* Rows 1 .. n - 2, which have both neighbours. */
ISO_HOT static void inner_rows(uint32_t n, const float *restrict x, double noise,
			       float *restrict out)
{
	for (uint32_t i = 1; i + 1 < n; i++)
		out[i] =
		    (float)((2 * (double)x[i] - (double)x[i - 1] - (double)x[i + 1]) / 4 + noise);
}

void iso_quadratic_gradient(uint32_t n, const float *x, double noise, float *ret_gradient)
{
	assert(n >= 1);
	inner_rows(n, x, noise, ret_gradient);
	ret_gradient[0] = (float)(row(n, x, 0) + noise);
	ret_gradient[n - 1] = (float)(row(n, x, n - 1) + noise);
}

double iso_quadratic_gradient_square(uint32_t n, const float *x)
{
	double sum = 0;

	assert(n >= 1);
	for (uint32_t i = 0; i < n; i++)
		sum += row(n, x, i) * row(n, x, i);
	return sum;
}

static double argmin_at(uint32_t n, uint32_t i)
{
	return -(1 - (i + 1.0) / (n + 1.0));
}

/* e'Ae / 2 = (e_1^2 + sum (e_{i+1} - e_i)^2 + e_n^2) / 8. */
double iso_quadratic_gap(uint32_t n, const float *x)
{
	double before = 0, sum = 0;

	assert(n >= 1);
	for (uint32_t i = 0; i < n; i++) {
		double e = (double)x[i] - argmin_at(n, i);

		sum += (e - before) * (e - before);
		before = e;
	}
	return (sum + before * before) / 8;
}

double iso_quadratic_minimum(uint32_t n)
{
	return -(double)n / (8 * (n + 1.0));
}

void iso_quadratic_argmin(uint32_t n, float *ret_x)
{
	assert(n >= 1);
	for (uint32_t i = 0; i < n; i++)
		ret_x[i] = (float)argmin_at(n, i);
}
