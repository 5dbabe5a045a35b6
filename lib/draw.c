/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/draw.h"

#include <assert.h>
#include <math.h>

double iso_draw_exponential(struct iso_rng *rng)
{
	return -log(1 - iso_rng_unit(rng));
}

double iso_draw_normal(struct iso_rng *rng)
{
	double u, v, square;

	/* A point in the unit disc; three draws in four are inside. */
	do {
		u = 2 * iso_rng_unit(rng) - 1;
		v = 2 * iso_rng_unit(rng) - 1;
		square = u * u + v * v;
	} while (square >= 1 || square <= 0);
	return u * sqrt(-2 * log(square) / square);
}

/*
 * Marsaglia and Tsang, "A simple method for generating gamma variables", 2000;
 * shape >= 1.  The variate is d v; returns v.
 */
static double gamma_from_one(struct iso_rng *rng, double d)
{
	double c = 1 / sqrt(9 * d);

	for (;;) {
		double x = iso_draw_normal(rng), root = 1 + c * x;

		if (root <= 0)
			continue;
		double v = root * root * root, u = 1 - iso_rng_unit(rng);
		if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
			return v;
	}
}

double iso_draw_log_gamma(struct iso_rng *rng, double shape)
{
	assert(shape > 0);
	double d = (shape >= 1 ? shape : shape + 1) - 1.0 / 3;
	double value = log(d) + log(gamma_from_one(rng, d));

	/*
	 * Gamma(a) = Gamma(a + 1) U^(1/a).  In logarithms, since for a = 0.01
	 * one value in a thousand would be 0 in a double.
	 */
	return shape >= 1 ? value : value + log(1 - iso_rng_unit(rng)) / shape;
}

double iso_draw_gamma(struct iso_rng *rng, double shape)
{
	assert(shape > 0);
	if (shape < 1)
		return exp(iso_draw_log_gamma(rng, shape));
	double d = shape - 1.0 / 3;
	return d * gamma_from_one(rng, d);
}

void iso_draw_shuffle(struct iso_rng *rng, uint32_t *values, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)iso_rng_below(rng, i);
		uint32_t swap = values[i - 1];

		values[i - 1] = values[j];
		values[j] = swap;
	}
}
