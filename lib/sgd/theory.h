/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_THEORY_H
#define ISO_SGD_THEORY_H

#include <stdint.h>

#include "lib/sgd/method.h"
#include "lib/status.h"

/*
 * What the papers choose for a method's parameters, and the times they promise.
 *
 * The problem: f is smooth and may be non-convex, a stochastic gradient is unbiased with
 * variance at most sigma^2, and E ||grad f||^2 <= eps is wanted (Ringmaster ASGD,
 * arXiv 2501.16168; for own data Ringleader ASGD, 2509.22860).
 */
struct iso_theory_problem {
	double smoothness; /* L > 0 */
	double variance;   /* sigma^2 >= 0 */
	double target;     /* eps > 0 */
	double gap;        /* Delta = f(x^0) - inf f >= 0 */
};

struct iso_theory_choice {
	uint64_t delay_max; /* R of ringmaster, else 0 */
	uint32_t batch;     /* S of rennala and malenia; as given for the others */
	double step;        /* gamma */
	double updates;     /* that are enough */
};

/*
 * ringmaster, -stops   R = max{1, ceil(sigma^2 / eps)}
 *			gamma = min{1/(2 R L), eps/(4 L sigma^2)}
 *			8 R L Delta / eps + 16 sigma^2 L Delta / eps^2 updates
 * rennala              S = max{1, ceil(sigma^2 / eps)}
 *			gamma = min{1/L, eps S/(2 L sigma^2)}, 24 L Delta / eps updates
 * malenia              the same with S = max{n, ceil(sigma^2 / eps)}
 * minibatch            as rennala with S = `batch`; 4 Delta / (gamma eps) updates
 * sgd-ata              as minibatch with S = n, as each worker has at least one gradient
 * ringleader           gamma = min{1/(8 n L), eps B/(10 L sigma^2)}
 *			32 n L Delta / eps + 40 L Delta sigma^2 / (B eps^2) updates
 *
 * With an R or S that is given gamma is as above for that one, and so are ringmaster's updates;
 * those of rennala and malenia are as minibatch's, with the larger of S and n for malenia.
 *
 * rennala, malenia, minibatch and sgd-ata have the constants of mini-batch SGD's usual
 * analysis with S gradients a step.  n is `workers`.  B is the least harmonic mean of the
 * table's counts, `harmonic_batch`: see iso_theory_harmonic_batch(); 1 is always safe.
 *
 * ISO_E_RANGE: a number of the problem makes no sense, or R or S is too large to count.
 * ISO_E_UNKNOWN: the method has no such choice (asgd, delay-adaptive, naive-optimal, ia2sgd):
 * its step is set by hand.
 */
struct iso_theory_setting {
	enum iso_method_kind kind;
	uint32_t workers;      /* n >= 1 */
	uint64_t delay_max;    /* ringmaster: R as it is given; 0: chosen */
	uint32_t batch;        /* minibatch: B >= 1; rennala, malenia: S as given; 0: chosen */
	double harmonic_batch; /* ringleader: B > 0 */
};
ISO_MUST_USE enum iso_status iso_theory_choose(const struct iso_theory_problem *problem,
					       const struct iso_theory_setting *setting,
					       struct iso_theory_choice *ret_choice);

/*
 * Of the fixed computation model: worker i needs tau_s[i] seconds a gradient, all > 0 and
 * in rising order, n >= 1 of them.
 */

/*
 * t(R) = 2 min_m [ ((1/m) sum_{i<=m} 1/tau_i)^-1 (1 + R/m) ]: R updates of ringmaster that
 * follow one on the other take no longer (Ringmaster).
 */
double iso_theory_updates_time_s(const double *tau_s, uint32_t n, uint64_t updates);

/*
 * m* = argmin_m [ ((1/m) sum_{i<=m} 1/tau_i)^-1 (1 + sigma^2/(m eps)) ]: the number of fastest
 * workers of naive-optimal (Ringmaster algorithm 3); the smallest if several are best.
 */
uint32_t iso_theory_fastest(const double *tau_s, uint32_t n, double variance, double target);

/*
 * B >= max{1, tau_n / (2 tau_avg)}: what ringleader's tables have at least, since a round takes
 * as long as its slowest worker and the others go on meanwhile (Ringleader), and no entry
 * is empty.  Capped, they do not go on: then it is 1.
 */
double iso_theory_harmonic_batch(const double *tau_s, uint32_t n);

/*
 * The papers' time complexities without their constant, in seconds:
 *	min_m [ ((1/m) sum_{i<=m} 1/tau_i)^-1 (L Delta/eps + sigma^2 L Delta/(m eps^2)) ]
 *		for shared data (ringmaster and rennala reach it),
 *	(L Delta/eps) (tau_n + tau_avg sigma^2/(n eps))
 *		for own data (ringleader and malenia reach it).
 */
double iso_theory_time_s(const struct iso_theory_problem *problem, const double *tau_s,
			 uint32_t n);
double iso_theory_own_data_time_s(const struct iso_theory_problem *problem, const double *tau_s,
				  uint32_t n);

#endif
