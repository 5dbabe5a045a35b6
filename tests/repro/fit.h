/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_REPRO_FIT_H
#define ISO_REPRO_FIT_H

#include <stddef.h>

/*
 * How something grows: least squares of y = a + b ln x, and of ln y = a + b ln x,
 * the power law y = e^a x^b.  r2 is the share of the variance of y (not of
 * ln y, so that the two can be compared) that is explained.
 */
struct fit {
	double a, b, r2;
};

/* count >= 2, x and y positive, not all x the same. */
struct fit fit_log(const double *x, const double *y, size_t count);
struct fit fit_power(const double *x, const double *y, size_t count);

/* Of count >= 1 values, which are sorted; 0 <= share <= 1, 0.5 is the median. */
double fit_quantile(double *values, size_t count, double share);

#endif
