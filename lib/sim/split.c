/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/split.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* a and c of the rule. */
struct line {
	double slope;
	double offset;
};

static double cpus(int64_t ucpu)
{
	return (double)ucpu * 1e-6;
}

static struct line line_of(const struct iso_split *split, uint32_t node)
{
	const struct iso_cost *cost = &split->sites[node].cost;

	switch (split->rule) {
	case ISO_SPLIT_EQUAL: return (struct line){ 1, 0 };
	case ISO_SPLIT_PROPORTIONAL: return (struct line){ cpus(cost->demand_ucpu), 0 };
	case ISO_SPLIT_BALANCE:
		return (struct line){ cost->kappa,
				      split->used_cpu != NULL ? -split->used_cpu[node] : 0 };
	case ISO_SPLIT_OPTIMUM: break;
	}
	assert(!"a rule that is a line");
	return (struct line){ 0, 0 };
}

static double cut_off(const struct iso_box *box, double share_cpu)
{
	return fmin(fmax(share_cpu, cpus(box->floor_ucpu)), cpus(box->ceiling_ucpu));
}

static double sum_at(const struct iso_split *split, double t)
{
	double sum = 0;

	for (uint32_t i = 0; i < split->count; i++) {
		struct line line = line_of(split, i);

		sum += cut_off(&split->sites[i].box, line.slope * t + line.offset);
	}
	return sum;
}

/* No box is in the way of t = ±bound any more, as far as it has a slope. */
static double bisect(const struct iso_split *split)
{
	double budget = cpus(split->budget_ucpu), low = -1, high = 1;

	while (sum_at(split, high) < budget && high < 0x1p60)
		high *= 2;
	while (sum_at(split, low) > budget && low > -0x1p60)
		low *= 2;
	for (int step = 0; step < 128; step++) {
		double middle = low + (high - low) / 2;

		if (sum_at(split, middle) < budget)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static enum iso_status split_by_line(const struct iso_split *split, double *ret_share_cpu)
{
	double budget = cpus(split->budget_ucpu), slopes = 0, offsets = 0, t;

	for (uint32_t i = 0; i < split->count; i++) {
		struct line line = line_of(split, i);

		slopes += line.slope;
		offsets += line.offset;
	}
	if (!(slopes > 0))
		return ISO_E_RANGE;
	t = split->within_box ? bisect(split) : (budget - offsets) / slopes;
	for (uint32_t i = 0; i < split->count; i++) {
		struct line line = line_of(split, i);
		double share = line.slope * t + line.offset;

		ret_share_cpu[i] = split->within_box ? cut_off(&split->sites[i].box, share) : share;
	}
	return ISO_OK;
}

static bool box_allows(const struct iso_split *split)
{
	int64_t floors_ucpu = 0, ceilings_ucpu = 0;

	for (uint32_t i = 0; i < split->count; i++) {
		floors_ucpu += split->sites[i].box.floor_ucpu;
		ceilings_ucpu += split->sites[i].box.ceiling_ucpu;
	}
	return floors_ucpu <= split->budget_ucpu && split->budget_ucpu <= ceilings_ucpu;
}

enum iso_status iso_split(const struct iso_split *split, double *ret_share_cpu)
{
	bool is_optimum = split->rule == ISO_SPLIT_OPTIMUM;

	assert(split->count >= 1);
	assert(split->budget_ucpu > 0);
	if ((split->within_box || is_optimum) && !box_allows(split))
		return ISO_E_RANGE;
	if (!is_optimum)
		return split_by_line(split, ret_share_cpu);

	struct iso_site_optimum best =
	    iso_site_optimum(split->sites, split->count, split->budget_ucpu);

	for (uint32_t i = 0; i < split->count; i++)
		ret_share_cpu[i] = 1e-6 * iso_site_share_at(&split->sites[i], best.lambda);
	return ISO_OK;
}

double iso_split_cost(const struct iso_site *sites, uint32_t count, const double *share_cpu)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += iso_cost_value_real(&sites[i].cost, share_cpu[i]);
	return sum;
}
