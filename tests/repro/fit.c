/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/repro/fit.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static void line(const double *x, const double *y, size_t count, bool log_y, struct fit *fit)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0;

	assert(count >= 2);
	for (size_t i = 0; i < count; i++) {
		mean_x += log(x[i]) / (double)count;
		mean_y += (log_y ? log(y[i]) : y[i]) / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		double dx = log(x[i]) - mean_x, dy = (log_y ? log(y[i]) : y[i]) - mean_y;

		xx += dx * dx;
		xy += dx * dy;
	}
	assert(xx > 0);
	fit->b = xy / xx;
	fit->a = mean_y - fit->b * mean_x;
}

static double explained(const double *x, const double *y, size_t count, bool power,
			const struct fit *fit)
{
	double mean = 0, total = 0, rest = 0;

	for (size_t i = 0; i < count; i++)
		mean += y[i] / (double)count;
	for (size_t i = 0; i < count; i++) {
		double value = fit->a + fit->b * log(x[i]);
		double off = y[i] - (power ? exp(value) : value);

		total += (y[i] - mean) * (y[i] - mean);
		rest += off * off;
	}
	return total > 0 ? 1 - rest / total : 0;
}

struct fit fit_log(const double *x, const double *y, size_t count)
{
	struct fit fit;

	line(x, y, count, false, &fit);
	fit.r2 = explained(x, y, count, false, &fit);
	return fit;
}

struct fit fit_power(const double *x, const double *y, size_t count)
{
	struct fit fit;

	line(x, y, count, true, &fit);
	fit.r2 = explained(x, y, count, true, &fit);
	return fit;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double fit_quantile(double *values, size_t count, double share)
{
	assert(count >= 1 && share >= 0 && share <= 1);
	qsort(values, count, sizeof(*values), by_value);
	double place = share * (double)(count - 1);
	size_t below = (size_t)place;

	if (below + 1 >= count)
		return values[count - 1];
	return values[below] + (place - (double)below) * (values[below + 1] - values[below]);
}
