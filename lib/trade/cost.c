/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/trade/cost.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

/* Derivative and second derivative, per CPU, before clamping. */
struct slope {
	double first;
	double second;
};

#define SHARE_MIN_UCPU 100

static double cpus(int64_t ucpu)
{
	return (double)ucpu * 1e-6;
}

static double share_cpus(int64_t share_ucpu)
{
	return cpus(share_ucpu < SHARE_MIN_UCPU ? SHARE_MIN_UCPU : share_ucpu);
}

static bool positive(double value)
{
	return value > 0 && value <= 1e12; /* also refuses not-a-number */
}

enum iso_status iso_cost_check(const struct iso_cost *cost)
{
	if (!positive(cost->weight) || !positive(cost->kappa) || cost->demand_ucpu < 0)
		return ISO_E_RANGE;
	if (!(cost->penalty_eps >= 0 && cost->penalty_eps <= 1e12))
		return ISO_E_RANGE;
	if (cost->penalty == ISO_PENALTY_SOFTPLUS && !positive(cost->penalty_sigma))
		return ISO_E_RANGE;
	if (cost->kind < ISO_COST_QUADRATIC || cost->kind > ISO_COST_PROPORTIONAL)
		return ISO_E_RANGE;
	if (cost->penalty < ISO_PENALTY_NONE || cost->penalty > ISO_PENALTY_BARRIER)
		return ISO_E_RANGE;
	return ISO_OK;
}

double iso_cost_value(const struct iso_cost *cost, int64_t share_ucpu)
{
	double d = cpus(cost->demand_ucpu);
	double x = cpus(share_ucpu);

	assert(iso_cost_check(cost) == ISO_OK);
	switch (cost->kind) {
	case ISO_COST_QUADRATIC: return cost->weight * (x - d) * (x - d) / (2 * cost->kappa);
	case ISO_COST_LATENCY: return cost->weight * d * d / share_cpus(share_ucpu);
	case ISO_COST_PROPORTIONAL: return -cost->weight * d * log(share_cpus(share_ucpu));
	}
	assert(!"cost kind");
	return 0;
}

static struct slope cost_slope(const struct iso_cost *cost, int64_t share_ucpu)
{
	double d = cpus(cost->demand_ucpu);
	double x = share_cpus(share_ucpu);

	switch (cost->kind) {
	case ISO_COST_QUADRATIC:
		/* Linear, so the true share: no pole to keep away from. */
		return (struct slope){ cost->weight * (cpus(share_ucpu) - d) / cost->kappa,
				       cost->weight / cost->kappa };
	case ISO_COST_LATENCY:
		return (struct slope){ -cost->weight * d * d / (x * x),
				       2 * cost->weight * d * d / (x * x * x) };
	case ISO_COST_PROPORTIONAL:
		return (struct slope){ -cost->weight * d / x, cost->weight * d / (x * x) };
	}
	assert(!"cost kind");
	return (struct slope){ 0, 0 };
}

/* The logistic function without overflow on either side. */
static double logistic(double u)
{
	double e = exp(-fabs(u));

	return u >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/*
 * Derivatives of -ln(s) for a distance s to an end of the box, continued
 * from delta on inward by the second-order expansion (a relaxed barrier).
 */
static struct slope barrier(double s, double delta)
{
	if (s >= delta)
		return (struct slope){ -1 / s, 1 / (s * s) };
	return (struct slope){ (s / delta - 2) / delta, 1 / (delta * delta) };
}

static struct slope penalty_slope(const struct iso_cost *cost, const struct iso_box *box,
				  int64_t share_ucpu)
{
	double above = cpus(share_ucpu - box->ceiling_ucpu);
	double below = cpus(box->floor_ucpu - share_ucpu);
	double eps = cost->penalty_eps, sigma = cost->penalty_sigma;

	switch (cost->penalty) {
	case ISO_PENALTY_NONE: return (struct slope){ 0, 0 };
	case ISO_PENALTY_SOFTPLUS: {
		double high = logistic(sigma * above), low = logistic(sigma * below);

		return (struct slope){ eps * sigma * (high - low),
				       eps * sigma * sigma *
					   (high * (1 - high) + low * (1 - low)) };
	}
	case ISO_PENALTY_BARRIER: {
		int64_t width_ucpu = box->ceiling_ucpu - box->floor_ucpu;
		double delta = cpus(width_ucpu < 1024 ? 1 : width_ucpu / 1024);
		struct slope low = barrier(-below, delta), high = barrier(-above, delta);

		/* The distance to the ceiling falls as x grows. */
		return (struct slope){ eps * (low.first - high.first),
				       eps * (low.second + high.second) };
	}
	}
	assert(!"penalty kind");
	return (struct slope){ 0, 0 };
}

struct iso_marginal iso_cost_marginal(const struct iso_cost *cost, const struct iso_box *box,
				      int64_t share_ucpu)
{
	assert(iso_cost_check(cost) == ISO_OK);
	assert(box->floor_ucpu >= 0);
	assert(box->ceiling_ucpu >= 0);

	struct slope own = cost_slope(cost, share_ucpu);
	struct slope soft = penalty_slope(cost, box, share_ucpu);
	double curvature = own.second + soft.second;

	if (!(curvature >= ISO_CURVATURE_MIN))
		curvature = ISO_CURVATURE_MIN;
	if (curvature > ISO_CURVATURE_MAX)
		curvature = ISO_CURVATURE_MAX;
	return (struct iso_marginal){ iso_price_of_real(own.first + soft.first), curvature };
}
