/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_SOFTPLUS_H
#define ISO_MODEL_SOFTPLUS_H

#include <math.h>

/* ln(1 + e^u) without overflow; *ret_slope = 1 / (1 + e^-u). */
static inline double iso_softplus(double u, double *ret_slope)
{
	double small = exp(-fabs(u));

	*ret_slope = (u >= 0 ? 1 : small) / (1 + small);
	return (u > 0 ? u : 0) + log1p(small);
}

#endif
