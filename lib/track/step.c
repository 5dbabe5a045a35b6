/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/track/step.h"

#include <assert.h>
#include <math.h>

#define RHO_MAX 8.0

/* Shares of the bounds that the rates use; measured, see step.h. */
#define SAFE_ALPHA   0.5
#define SAFE_STEP    0.8
#define CONVEX_ALPHA 0.7

enum iso_status iso_track_facts_check(const struct iso_track_facts *facts)
{
	if (!(facts->lambda2 > 0) || !(facts->lambda_max >= facts->lambda2))
		return ISO_E_RANGE;
	if (!(facts->curvature > 0) || !(facts->rho >= 0) || !(facts->rho <= RHO_MAX))
		return ISO_E_RANGE;
	return isfinite(facts->lambda_max) && isfinite(facts->curvature) ? ISO_OK : ISO_E_RANGE;
}

double iso_track_sector(double rho)
{
	assert(rho >= 0);
	assert(rho <= RHO_MAX);
	return exp(rho / 2);
}

double iso_track_alpha_max(const struct iso_track_facts *facts)
{
	assert(iso_track_facts_check(facts) == ISO_OK);
	return facts->lambda2 / (facts->curvature * iso_track_sector(facts->rho));
}

double iso_track_step_max(const struct iso_track_facts *facts, double alpha)
{
	double laplacian = facts->lambda_max * iso_track_sector(facts->rho);
	double gradient = facts->curvature * alpha;
	double fastest; /* -s */

	assert(iso_track_facts_check(facts) == ISO_OK);
	assert(alpha >= 0);
	fastest = (2 * laplacian + gradient + sqrt(gradient * (4 * laplacian + gradient))) / 2;
	assert(fastest >= laplacian);
	return 2 / fastest;
}

double iso_track_alpha_ceiling(const struct iso_track_facts *facts, double step)
{
	double laplacian = facts->lambda_max * iso_track_sector(facts->rho);
	double fastest = 2 / step;

	assert(iso_track_facts_check(facts) == ISO_OK);
	assert(step > 0);
	if (fastest <= laplacian)
		return 0;
	return (fastest - laplacian) * (fastest - laplacian) / (fastest * facts->curvature);
}

static void set_rates(const struct iso_track_facts *facts, double alpha,
		      struct iso_track_rates *ret_rates)
{
	ret_rates->step = SAFE_STEP * iso_track_step_max(facts, alpha);
	ret_rates->alpha = alpha;
	assert(ret_rates->step > 0);
	assert(ret_rates->alpha > 0);
}

void iso_track_rates_safe(const struct iso_track_facts *facts, struct iso_track_rates *ret_rates)
{
	set_rates(facts, SAFE_ALPHA * iso_track_alpha_max(facts), ret_rates);
}

void iso_track_rates_convex(const struct iso_track_facts *facts, double mean_curvature,
			    struct iso_track_rates *ret_rates)
{
	assert(mean_curvature > 0);
	assert(mean_curvature <= facts->curvature);
	set_rates(facts,
		  CONVEX_ALPHA * iso_track_alpha_max(facts) *
		      sqrt(facts->curvature / mean_curvature),
		  ret_rates);
}
