/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SPLIT_H
#define ISO_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/sim/site.h"
#include "lib/status.h"

/*
 * Rules that split a budget at one stroke, to compare trading with: each gives node i
 *
 *     x_i = a_i t + c_i        with the one t for which sum x_i = budget
 *
 *     equal          a = 1,        c = 0
 *     proportional   a = demand,   c = 0
 *     balance        a = kappa,    c = -u
 *
 * Balance is the scheme that the co-optimisation paper (arXiv 2510.25176) compares with:
 * all nodes are equally loaded, (x_i + u_i) / kappa_i is the same for all, where kappa_i is
 * what node i has at most and u_i what of it is occupied.
 * Optimum is no such rule: the exact optimum of lib/sim/site.h.
 */
enum iso_split_rule {
	ISO_SPLIT_EQUAL = 1,
	ISO_SPLIT_PROPORTIONAL,
	ISO_SPLIT_BALANCE,
	ISO_SPLIT_OPTIMUM,
};

struct iso_split {
	enum iso_split_rule rule;
	const struct iso_site *sites; /* count of them */
	uint32_t count;		      /* >= 1 */
	int64_t budget_ucpu;	      /* > 0 */
	const double *used_cpu;	      /* u, for balance; NULL: all 0 */
	/* The rule within the boxes: x_i is cut off at them, and t such that the sum is the
	 * budget nevertheless.  Otherwise the closed form, which knows none; the optimum
	 * always keeps them. */
	bool within_box;
};

/*
 * ret_share_cpu: one per node.  ISO_E_RANGE: within the boxes there is no such split (the
 * floors are more than the budget, the ceilings less), or nobody demands anything.
 */
ISO_MUST_USE enum iso_status iso_split(const struct iso_split *split, double *ret_share_cpu);

/* Sum of the costs of these shares, penalties left out. */
double iso_split_cost(const struct iso_site *sites, uint32_t count, const double *share_cpu);

#endif
