/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/norm.h"

#include <assert.h>
#include <math.h>

static double mean_exponential(const double *times, uint32_t count, double centre, double norm)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += exp(fabs(times[i] - centre) / norm);
	return sum / count;
}

double iso_ata_norm(const double *times, uint32_t count, double centre)
{
	double most = 0;

	assert(count >= 1);
	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, fabs(times[i] - centre));
	if (!(most > 0))
		return 0;
	/* All as far away as the farthest; or it alone: exp(most/c) / count <= 2. */
	double high = most / log(2), low = most / log(2 * (double)count);
	for (int i = 0; i < 50; i++) {
		double middle = (low + high) / 2;

		if (mean_exponential(times, count, centre, middle) <= 2)
			high = middle;
		else
			low = middle;
	}
	assert(high > 0);
	return high;
}
