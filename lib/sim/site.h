/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_SITE_H
#define ISO_SIM_SITE_H

#include <stdint.h>

#include "lib/trade/cost.h"
#include "lib/rng.h"

/*
 * What a simulated node costs, and the best that all of them together can
 * reach: the exact solution of
 *
 *     minimise sum f_i(x_i)   subject to   sum x_i = budget,  floor_i <= x_i <= ceiling_i
 *
 * which is x_i = the share at which the marginal cost is lambda, within the
 * box, with one lambda for all.
 */
struct iso_site {
	struct iso_cost cost;   /* a penalty has no part in the optimum: the box is exact there */
	struct iso_box box;     /* floor <= ceiling */
};

enum iso_site_load {
	ISO_SITE_HALVES = 1,    /* the first half of the nodes is busy, the other idles */
	ISO_SITE_SCATTERED,     /* each node on its own */
};

/*
 * Draws node `index` of `count`: weight 0.5 to 2, floor 0.02 to 0.1 CPU,
 * ceiling 0.4 to 1 CPU, demand 0.9 to 1.2 CPU if busy and 0.3 to 0.6 CPU if idle,
 * 0.3 to 1.2 CPU if scattered.  So half a CPU a node is scarce, whatever the load.
 */
struct iso_site iso_site_draw(enum iso_site_load load, enum iso_cost_kind kind, uint32_t index,
			      uint32_t count, struct iso_rng *rng);

/* The cost of one site's share. */
double iso_site_cost(const struct iso_site *site, int64_t share_ucpu);

/* The same for a share that is no whole number of units. */
double iso_site_cost_real(const struct iso_site *site, double share_ucpu);

/* The share of a site at the price lambda, within its box. */
double iso_site_share_at(const struct iso_site *site, double lambda);

struct iso_site_optimum {
	double lambda;          /* marginal cost of all that are inside of their boxes */
	double cost;            /* least possible sum */
};

/*
 * To the precision of a double, in 128 steps of bisection.  Sum of floors
 * <= budget; what is above the sum of ceilings is not used.
 */
struct iso_site_optimum iso_site_optimum(const struct iso_site *sites, uint32_t count,
					 int64_t budget_ucpu);

#endif
