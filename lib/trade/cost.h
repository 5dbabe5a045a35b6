/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COST_H
#define ISO_COST_H

#include <stdint.h>

#include "lib/trade/price.h"
#include "lib/status.h"

/*
 * What a share costs a node, its derivative (the price) and its curvature.
 * x is the share and d the demand, both in CPUs inside the formulas:
 *
 *     quadratic      w (x - d)^2 / (2 kappa)     the paper's local cost
 *     latency        w d^2 / x                   finishing time of d units of work
 *     proportional   -w d ln x                   optimum: shares in proportion to w d
 *
 * plus a soft penalty for leaving the box [m, M].  The box itself is hard
 * and is kept by the ledger; the penalty only bends the price near its ends.
 *
 *     softplus   eps [ ln(1 + e^(s (x-M))) + ln(1 + e^(s (m-x))) ]
 *     barrier    -eps [ ln(x - m) + ln(M - x) ]
 *
 * Scaling of softplus: derivative eps s [ S(s(x-M)) - S(s(m-x)) ] with the
 * logistic S, i.e. eps is not divided by s (formulas of the paper's summary,
 * not of the authors' other papers, which differ by the factor s).
 * The barrier is continued by its second-order expansion where x is closer
 * than 1/1024 of the box to an end, or beyond it: a share at its floor has a
 * finite price, and prices stay increasing.
 *
 * Prices are clamped to ±2^29 and curvatures to [2^-20, 2^40] per CPU.
 * x below 100 µCPU is evaluated as 100 µCPU.
 */
#define ISO_CURVATURE_MIN 0x1p-20
#define ISO_CURVATURE_MAX 0x1p40

enum iso_cost_kind {
	ISO_COST_QUADRATIC = 1,
	ISO_COST_LATENCY,
	ISO_COST_PROPORTIONAL,
};

enum iso_penalty_kind {
	ISO_PENALTY_NONE = 1,
	ISO_PENALTY_SOFTPLUS,
	ISO_PENALTY_BARRIER,
};

struct iso_cost {
	enum iso_cost_kind kind;
	enum iso_penalty_kind penalty;
	double weight;          /* w: priority, > 0; 1 is neutral */
	double kappa;           /* quadratic only, > 0; 1 by default */
	double penalty_eps;     /* >= 0 */
	double penalty_sigma;   /* softplus only, per CPU, > 0 */
	int64_t demand_ucpu;    /* measured, >= 0; 0 is an idle job and fine */
};

/* floor <= ceiling is not required: a ceiling may fall below the floor at run time. */
struct iso_box {
	int64_t floor_ucpu;
	int64_t ceiling_ucpu;
};

/* First and second derivative, per CPU, as they are: not clamped. */
struct iso_cost_slope {
	double first;
	double second;
};

struct iso_marginal {
	int64_t price_q32;
	double curvature;       /* second derivative per CPU, clamped */
};

/* ISO_E_RANGE: a parameter that is not finite or outside of what its comment says. */
ISO_MUST_USE enum iso_status iso_cost_check(const struct iso_cost *cost);

/* The cost itself, without the penalty; for reports and for measuring optimality gaps. */
double iso_cost_value(const struct iso_cost *cost, int64_t share_ucpu);

/* Derivative and curvature of cost plus penalty at a share; cost must pass iso_cost_check(). */
struct iso_marginal iso_cost_marginal(const struct iso_cost *cost, const struct iso_box *box,
				      int64_t share_ucpu);

/*
 * The same for a share that is a real number of CPUs, as in the paper, where it is
 * no whole number of units and may lie outside of its box while it settles.
 */
double iso_cost_value_real(const struct iso_cost *cost, double share_cpu);
struct iso_cost_slope iso_cost_slope_real(const struct iso_cost *cost, const struct iso_box *box,
					  double share_cpu);

/*
 * No second derivative of cost plus penalty is above this where the share is at least
 * its floor (for the quadratic cost: anywhere); a step size may be derived from it.
 */
double iso_cost_curvature_bound(const struct iso_cost *cost, const struct iso_box *box);

/*
 * Size and steepness of the penalty for those who have no hard box, as in the paper,
 * where the penalty alone keeps shares inside.  slope > 0 is the largest |f'(x) - lambda|
 * at an end of the box, the force that it has to withstand, and loss > 0 the cost that
 * it may add per node:
 *
 *     softplus   eps = loss / ln 2, s = 2 slope / eps
 *     barrier    eps = loss / 2, at least slope width / 3072
 *
 * The cost of the penalised optimum is above that of the exact one by at most the
 * penalty at the exact one, n eps ln 2; a barrier adds at most eps an end.  At an end
 * softplus pushes with eps s / 2, which is slope.  The relaxed part of the barrier needs an
 * eps of its own to be that strong: with this one it is at 1/1024 of the box outside,
 * where what it gains there is about what it costs inside.  The price of both is
 * curvature, of softplus slope^2 / eps: steps must be shorter.  Without a penalty
 * nothing is done.
 */
void iso_cost_tune_penalty(struct iso_cost *cost, const struct iso_box *box, double slope,
			   double loss);

#endif
