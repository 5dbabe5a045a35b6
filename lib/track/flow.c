/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/track/flow.h"

#include <assert.h>

#include "lib/hot.h"

#define LANES 8u

ISO_HOT void iso_track_flow(uint32_t m, double step_weight, const double *own, const double *other,
			    double *flux)
{
	assert(step_weight >= 0);
	assert(own != flux);
	assert(other != flux);
	for (uint32_t k = 0; k < m; k++)
		flux[k] += step_weight * (other[k] - own[k]);
}

ISO_HOT void iso_track_gain(uint32_t m, const double *flux, double *sum)
{
	assert(flux != sum);
	for (uint32_t k = 0; k < m; k++)
		sum[k] += flux[k];
}

ISO_HOT void iso_track_lose(uint32_t m, const double *flux, double *sum)
{
	assert(flux != sum);
	for (uint32_t k = 0; k < m; k++)
		sum[k] -= flux[k];
}

ISO_HOT void iso_track_move(uint32_t m, const double *pull, double step_alpha, const double *z,
			    double *y)
{
	assert(step_alpha >= 0);
	assert(pull != y);
	assert(z != y);
	for (uint32_t k = 0; k < m; k++)
		y[k] += pull[k] - step_alpha * z[k];
}

ISO_HOT double iso_track_square(uint32_t m, const double *vector)
{
	double lanes[LANES] = { 0 };
	double sum = 0;
	uint32_t k = 0;

	/* Lanes are summed in the order of the code, so a wider register changes no bit. */
	for (; m - k >= LANES; k += LANES)
		for (uint32_t lane = 0; lane < LANES; lane++)
			lanes[lane] += vector[k + lane] * vector[k + lane];
	for (; k < m; k++)
		sum += vector[k] * vector[k];
	for (uint32_t lane = 0; lane < LANES; lane++)
		sum += lanes[lane];
	assert(!(sum < 0));
	return sum;
}
