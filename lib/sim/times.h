/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TIMES_H
#define ISO_SIM_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/rng.h"
#include "lib/status.h"

/*
 * How long simulated tasks take: X = base + scale Z, independent for each
 * task of each worker (ATA, ICML 2025, section 3; Ringmaster ASGD, figure 1).
 * The unit of time is whatever the user thinks in, called seconds here.
 */
enum iso_law_kind {
	ISO_LAW_CONSTANT = 1, /* Z = 1 */
	ISO_LAW_EXPONENTIAL,  /* Z ~ Exp(1); with a base it is the shifted exponential */
	ISO_LAW_UNIFORM,      /* Z ~ U(0, 1) */
	ISO_LAW_HALF_NORMAL,  /* Z ~ |N(0, 1)| */
	ISO_LAW_LOGNORMAL,    /* Z = exp(shape N(0, 1)) */
	ISO_LAW_GAMMA,	      /* Z ~ Gamma(shape, 1) */
	ISO_LAW_TRACE,	      /* Z is the next of a list of measured values, again from the start */
};

struct iso_law {
	enum iso_law_kind kind;
	uint32_t trace_count; /* TRACE: >= 1 values, each > 0; borrowed */
	double base, scale;   /* base >= 0, scale > 0 */
	double shape;	      /* LOGNORMAL: standard deviation of the logarithm; GAMMA */
	const double *trace;
	uint32_t trace_from; /* the place of the first task's value */
};

/* False if times would not be positive and finite. */
bool iso_law_valid(const struct iso_law *law);

/* The time of a worker's u-th task, from 0; only a trace looks at u. */
double iso_law_draw(const struct iso_law *law, uint64_t u, struct iso_rng *rng);

double iso_law_mean(const struct iso_law *law);
double iso_law_variance(const struct iso_law *law);

/*
 * The law X = base + Y with E[Y] = mean.  shape says how much Y spreads; 0 is
 * the choice of ATA's appendix A.2:
 *   uniform      Y ~ U(mean (1 - shape), mean (1 + shape)); 0: shape 1/2
 *   half-normal  0: Y ~ |N(0, s^2)| with the s that gives the mean; else s = shape sqrt(mean),
 *                and the mean is not kept (i + |N(0, i)| of Ringmaster is base i, mean i, shape 1)
 *   lognormal    standard deviation of ln Y; 0: sqrt(ln mean), which needs mean > 1
 *   gamma        its shape; 0: mean^2
 * ISO_E_RANGE: that is no law; TRACE has none either.
 */
ISO_MUST_USE enum iso_status iso_law_of_mean(enum iso_law_kind kind, double base, double mean,
					     double shape, struct iso_law *ret_law);

enum iso_times_growth {
	ISO_TIMES_POWER = 1, /* m_i = scale i^power, i from 1: 0 all alike, 0.5 and 1 as in ATA */
	ISO_TIMES_GROUPS,    /* groups of five workers: m_i = scale (5 floor((i - 1) / 5) + 1) */
};

/* The laws of many workers by a rule: worker i takes shift m_i + Y with E[Y] = m_i. */
struct iso_times_rule {
	enum iso_times_growth growth;
	double scale, power;
	enum iso_law_kind kind;
	bool mixed; /* instead of kind: exponential, uniform, half-normal, lognormal, gamma in turn
		     */
	double shift;  /* 1: the fixed half of nu_i = 29 sqrt(i) + Exp(29 sqrt(i)) */
	double shape;  /* as in iso_law_of_mean() */
	bool shuffled; /* which worker has which i is a random permutation from seed */
	uint64_t seed;
};

/*
 * Fills ret_laws[n].  order: n numbers of workspace, NULL if not shuffled.
 * ISO_E_RANGE: a worker would get no valid law; ret_laws is undefined then.
 */
ISO_MUST_USE enum iso_status iso_times_fill(const struct iso_times_rule *rule, uint32_t n,
					    uint32_t *order, struct iso_law *ret_laws);

#endif
