/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/trade/cost.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define SHARE_MIN_UCPU 100

/* A share and its distances from the box, in CPUs; outward ones are positive. */
struct place {
	double share;
	double above; /* the ceiling */
	double below; /* the floor */
};

static double cpus(int64_t ucpu)
{
	return (double)ucpu * 1e-6;
}

/* Where a pole at 0 is kept away from. */
static double kept_off(double share_cpu)
{
	return fmax(share_cpu, cpus(SHARE_MIN_UCPU));
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

double iso_cost_value_real(const struct iso_cost *cost, double share_cpu)
{
	double d = cpus(cost->demand_ucpu);

	assert(iso_cost_check(cost) == ISO_OK);
	switch (cost->kind) {
	case ISO_COST_QUADRATIC:
		return cost->weight * (share_cpu - d) * (share_cpu - d) / (2 * cost->kappa);
	case ISO_COST_LATENCY: return cost->weight * d * d / kept_off(share_cpu);
	case ISO_COST_PROPORTIONAL: return -cost->weight * d * log(kept_off(share_cpu));
	}
	assert(!"cost kind");
	return 0;
}

double iso_cost_value(const struct iso_cost *cost, int64_t share_ucpu)
{
	return iso_cost_value_real(cost, cpus(share_ucpu));
}

static struct iso_cost_slope cost_slope(const struct iso_cost *cost, double share_cpu)
{
	double d = cpus(cost->demand_ucpu);
	double x = kept_off(share_cpu);

	switch (cost->kind) {
	case ISO_COST_QUADRATIC:
		/* Linear, so the true share: no pole to keep away from. */
		return (struct iso_cost_slope){ cost->weight * (share_cpu - d) / cost->kappa,
						cost->weight / cost->kappa };
	case ISO_COST_LATENCY:
		return (struct iso_cost_slope){ -cost->weight * d * d / (x * x),
						2 * cost->weight * d * d / (x * x * x) };
	case ISO_COST_PROPORTIONAL:
		return (struct iso_cost_slope){ -cost->weight * d / x, cost->weight * d / (x * x) };
	}
	assert(!"cost kind");
	return (struct iso_cost_slope){ 0, 0 };
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
static struct iso_cost_slope barrier(double s, double delta)
{
	if (s >= delta)
		return (struct iso_cost_slope){ -1 / s, 1 / (s * s) };
	return (struct iso_cost_slope){ (s / delta - 2) / delta, 1 / (delta * delta) };
}

/* How close to an end the barrier is left for its expansion. */
static double barrier_seam(const struct iso_box *box)
{
	int64_t width_ucpu = box->ceiling_ucpu - box->floor_ucpu;

	return cpus(width_ucpu < 1024 ? 1 : width_ucpu / 1024);
}

static struct iso_cost_slope penalty_slope(const struct iso_cost *cost, const struct iso_box *box,
					   struct place at)
{
	double eps = cost->penalty_eps, sigma = cost->penalty_sigma;

	switch (cost->penalty) {
	case ISO_PENALTY_NONE: return (struct iso_cost_slope){ 0, 0 };
	case ISO_PENALTY_SOFTPLUS: {
		double high = logistic(sigma * at.above), low = logistic(sigma * at.below);

		return (struct iso_cost_slope){ eps * sigma * (high - low),
						eps * sigma * sigma *
						    (high * (1 - high) + low * (1 - low)) };
	}
	case ISO_PENALTY_BARRIER: {
		double delta = barrier_seam(box);
		struct iso_cost_slope low = barrier(-at.below, delta);
		struct iso_cost_slope high = barrier(-at.above, delta);

		/* The distance to the ceiling falls as x grows. */
		return (struct iso_cost_slope){ eps * (low.first - high.first),
						eps * (low.second + high.second) };
	}
	}
	assert(!"penalty kind");
	return (struct iso_cost_slope){ 0, 0 };
}

static struct iso_cost_slope slope(const struct iso_cost *cost, const struct iso_box *box,
				   struct place at)
{
	assert(iso_cost_check(cost) == ISO_OK);
	assert(box->floor_ucpu >= 0);
	assert(box->ceiling_ucpu >= 0);

	struct iso_cost_slope own = cost_slope(cost, at.share);
	struct iso_cost_slope soft = penalty_slope(cost, box, at);

	return (struct iso_cost_slope){ own.first + soft.first, own.second + soft.second };
}

struct iso_marginal iso_cost_marginal(const struct iso_cost *cost, const struct iso_box *box,
				      int64_t share_ucpu)
{
	struct iso_cost_slope at =
	    slope(cost, box,
		  (struct place){ cpus(share_ucpu), cpus(share_ucpu - box->ceiling_ucpu),
				  cpus(box->floor_ucpu - share_ucpu) });
	double curvature = at.second;

	if (!(curvature >= ISO_CURVATURE_MIN))
		curvature = ISO_CURVATURE_MIN;
	if (curvature > ISO_CURVATURE_MAX)
		curvature = ISO_CURVATURE_MAX;
	return (struct iso_marginal){ iso_price_of_real(at.first), curvature };
}

struct iso_cost_slope iso_cost_slope_real(const struct iso_cost *cost, const struct iso_box *box,
					  double share_cpu)
{
	return slope(cost, box,
		     (struct place){ share_cpu, share_cpu - cpus(box->ceiling_ucpu),
				     cpus(box->floor_ucpu) - share_cpu });
}

double iso_cost_curvature_bound(const struct iso_cost *cost, const struct iso_box *box)
{
	double bound = cost_slope(cost, cpus(box->floor_ucpu)).second;
	double eps = cost->penalty_eps, sigma = cost->penalty_sigma;

	assert(iso_cost_check(cost) == ISO_OK);
	switch (cost->penalty) {
	case ISO_PENALTY_NONE: return bound;
	/* S(1 - S) is at most 1/4 at each end. */
	case ISO_PENALTY_SOFTPLUS: return bound + eps * sigma * sigma / 2;
	case ISO_PENALTY_BARRIER: {
		double delta = barrier_seam(box);

		return bound + 2 * eps / (delta * delta);
	}
	}
	assert(!"penalty kind");
	return 0;
}

void iso_cost_tune_penalty(struct iso_cost *cost, const struct iso_box *box, double slope,
			   double loss)
{
	assert(positive(slope));
	assert(positive(loss));
	if (cost->penalty == ISO_PENALTY_SOFTPLUS) {
		cost->penalty_eps = loss / log(2);
		cost->penalty_sigma = 2 * slope / cost->penalty_eps;
	} else if (cost->penalty == ISO_PENALTY_BARRIER) {
		/* Relaxed, it pushes with 3 eps / seam where a share is a seam outside. */
		cost->penalty_eps = fmax(loss / 2, slope * barrier_seam(box) / 3);
	}
}
