/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/site.h"

#include <assert.h>
#include <math.h>

#define UCPU_PER_CPU 1e6

static int64_t between(struct iso_rng *rng, double low_cpu, double high_cpu)
{
	return (int64_t)(UCPU_PER_CPU * (low_cpu + (high_cpu - low_cpu) * iso_rng_unit(rng)));
}

struct iso_site iso_site_draw(enum iso_site_load load, enum iso_cost_kind kind, uint32_t index,
			      uint32_t count, struct iso_rng *rng)
{
	struct iso_site site = {
		.cost = { .kind = kind, .penalty = ISO_PENALTY_NONE, .kappa = 1 },
	};

	assert(index < count);
	site.cost.weight = 0.5 + 1.5 * iso_rng_unit(rng);
	site.box.floor_ucpu = between(rng, 0.02, 0.1);
	site.box.ceiling_ucpu = between(rng, 0.4, 1);
	if (load == ISO_SITE_SCATTERED)
		site.cost.demand_ucpu = between(rng, 0.3, 1.2);
	else if (index < count / 2)
		site.cost.demand_ucpu = between(rng, 0.9, 1.2);
	else
		site.cost.demand_ucpu = between(rng, 0.3, 0.6);
	return site;
}

double iso_site_cost(const struct iso_site *site, int64_t share_ucpu)
{
	return iso_cost_value(&site->cost, share_ucpu);
}

double iso_site_cost_real(const struct iso_site *site, double share_ucpu)
{
	return iso_cost_value_real(&site->cost, share_ucpu / UCPU_PER_CPU);
}

double iso_site_share_at(const struct iso_site *site, double lambda)
{
	const struct iso_cost *cost = &site->cost;
	double floor_ucpu = (double)site->box.floor_ucpu;
	double ceiling_ucpu = (double)site->box.ceiling_ucpu;
	double demand = (double)cost->demand_ucpu / UCPU_PER_CPU, share = INFINITY;

	assert(floor_ucpu <= ceiling_ucpu);
	switch (cost->kind) {
	case ISO_COST_QUADRATIC: share = demand + lambda * cost->kappa / cost->weight; break;
	case ISO_COST_LATENCY:
		if (lambda < 0)
			share = demand * sqrt(cost->weight / -lambda);
		break;
	case ISO_COST_PROPORTIONAL:
		if (lambda < 0)
			share = demand * cost->weight / -lambda;
		break;
	}
	return fmin(fmax(share * UCPU_PER_CPU, floor_ucpu), ceiling_ucpu);
}

struct iso_site_optimum iso_site_optimum(const struct iso_site *sites, uint32_t count,
					 int64_t budget_ucpu)
{
	double low = -(double)ISO_PRICE_MAX, high = (double)ISO_PRICE_MAX;
	struct iso_site_optimum optimum = { 0, 0 };

	for (int step = 0; step < 128; step++) {
		double lambda = low + (high - low) / 2, sum = 0;

		for (uint32_t i = 0; i < count; i++)
			sum += iso_site_share_at(&sites[i], lambda);
		if (sum < (double)budget_ucpu)
			low = lambda;
		else
			high = lambda;
	}
	optimum.lambda = high;
	for (uint32_t i = 0; i < count; i++)
		optimum.cost +=
		    iso_site_cost_real(&sites[i], iso_site_share_at(&sites[i], optimum.lambda));
	return optimum;
}
