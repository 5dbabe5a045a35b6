/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/theory.h"

#include <assert.h>
#include <math.h>

static bool positive(double value)
{
	return value > 0 && value < HUGE_VAL;
}

static bool problem_valid(const struct iso_theory_problem *problem)
{
	if (!positive(problem->smoothness) || !positive(problem->target))
		return false;
	if (problem->variance < 0 || problem->gap < 0)
		return false;
	return problem->variance < HUGE_VAL && problem->gap < HUGE_VAL;
}

/* max{least, ceil(sigma^2 / eps)} */
static double noise_batch(const struct iso_theory_problem *problem, double least)
{
	return fmax(least, ceil(problem->variance / problem->target));
}

/* gamma = min{1/L, eps S/(2 L sigma^2)}; without noise the second is infinite. */
static double batch_step(const struct iso_theory_problem *problem, double batch)
{
	double by_noise = problem->target * batch / (2 * problem->smoothness * problem->variance);

	return fmin(1 / problem->smoothness, by_noise);
}

static void choose_ringmaster(const struct iso_theory_problem *problem, uint64_t given,
			      struct iso_theory_choice *choice)
{
	double smoothness = problem->smoothness, target = problem->target;
	double delay_max = given > 0 ? (double)given : noise_batch(problem, 1);
	double by_noise = target / (4 * smoothness * problem->variance);
	double unit = smoothness * problem->gap / target;

	choice->delay_max = (uint64_t)delay_max;
	choice->step = fmin(1 / (2 * delay_max * smoothness), by_noise);
	choice->updates = ceil(8 * delay_max * unit + 16 * problem->variance * unit / target);
}

static void choose_ringleader(const struct iso_theory_problem *problem,
			      const struct iso_theory_setting *setting,
			      struct iso_theory_choice *choice)
{
	double smoothness = problem->smoothness, target = problem->target;
	double n = setting->workers, batch = setting->harmonic_batch;
	double by_noise = target * batch / (10 * smoothness * problem->variance);
	double unit = smoothness * problem->gap / target;

	choice->step = fmin(1 / (8 * n * smoothness), by_noise);
	choice->updates = ceil(32 * n * unit + 40 * unit * problem->variance / (batch * target));
}

static void choose_batch(const struct iso_theory_problem *problem, double batch,
			 struct iso_theory_choice *choice)
{
	choice->batch = (uint32_t)batch;
	choice->step = batch_step(problem, batch);
	choice->updates = ceil(24 * problem->smoothness * problem->gap / problem->target);
}

/* A batch that need not be as large as the noise asks: the step is smaller then. */
static void choose_given_batch(const struct iso_theory_problem *problem, uint32_t batch,
			       uint32_t averaged, struct iso_theory_choice *choice)
{
	choice->batch = batch;
	choice->step = batch_step(problem, averaged);
	choice->updates = ceil(4 * problem->gap / (choice->step * problem->target));
}

/* At least `least` gradients come together in any case. */
static void choose_greedy(const struct iso_theory_problem *problem, uint32_t given, uint32_t least,
			  struct iso_theory_choice *choice)
{
	if (given == 0)
		choose_batch(problem, noise_batch(problem, least), choice);
	else
		choose_given_batch(problem, given, given > least ? given : least, choice);
}

enum iso_status iso_theory_choose(const struct iso_theory_problem *problem,
				  const struct iso_theory_setting *setting,
				  struct iso_theory_choice *ret_choice)
{
	struct iso_theory_choice choice = { .batch = setting->batch };

	if (!problem_valid(problem) || setting->workers == 0)
		return ISO_E_RANGE;
	if (noise_batch(problem, setting->workers) >= UINT32_MAX)
		return ISO_E_RANGE;
	switch (setting->kind) {
	case ISO_METHOD_RINGMASTER:
	case ISO_METHOD_RINGMASTER_STOPS:
		choose_ringmaster(problem, setting->delay_max, &choice);
		break;
	case ISO_METHOD_RENNALA: choose_greedy(problem, setting->batch, 1, &choice); break;
	case ISO_METHOD_MALENIA:
		choose_greedy(problem, setting->batch, setting->workers, &choice);
		break;
	case ISO_METHOD_MINIBATCH:
		if (setting->batch == 0)
			return ISO_E_RANGE;
		choose_given_batch(problem, setting->batch, setting->batch, &choice);
		break;
	case ISO_METHOD_SGD_ATA:
		choose_given_batch(problem, setting->batch, setting->workers, &choice);
		break;
	case ISO_METHOD_RINGLEADER:
		if (!positive(setting->harmonic_batch))
			return ISO_E_RANGE;
		choose_ringleader(problem, setting, &choice);
		break;
	case ISO_METHOD_ASGD:
	case ISO_METHOD_DELAY_ADAPTIVE:
	case ISO_METHOD_NAIVE_OPTIMAL:
	case ISO_METHOD_IA2SGD: return ISO_E_UNKNOWN;
	}
	assert(choice.step > 0);
	*ret_choice = choice;
	return ISO_OK;
}

/*
 * min over m of ((1/m) sum_{i<=m} 1/tau_i)^-1 (fixed + shared / m), and the first m that
 * reaches it.
 */
static double best_prefix(const double *tau_s, uint32_t n, double fixed, double shared,
			  uint32_t *ret_m)
{
	double rate = 0, best = HUGE_VAL;

	assert(n > 0);
	*ret_m = 1;
	for (uint32_t i = 0; i < n; i++) {
		double m = (double)i + 1;

		assert(tau_s[i] > 0);
		assert(i == 0 || tau_s[i] >= tau_s[i - 1]);
		rate += 1 / tau_s[i];
		double value = m / rate * (fixed + shared / m);
		if (value >= best)
			continue;
		best = value;
		*ret_m = i + 1;
	}
	return best;
}

double iso_theory_updates_time_s(const double *tau_s, uint32_t n, uint64_t updates)
{
	uint32_t m;

	return 2 * best_prefix(tau_s, n, 1, (double)updates, &m);
}

uint32_t iso_theory_fastest(const double *tau_s, uint32_t n, double variance, double target)
{
	uint32_t m;

	assert(variance >= 0);
	assert(target > 0);
	(void)best_prefix(tau_s, n, 1, variance / target, &m);
	return m;
}

static double mean(const double *values, uint32_t n)
{
	double sum = 0;

	assert(n > 0);
	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	return sum / n;
}

double iso_theory_harmonic_batch(const double *tau_s, uint32_t n)
{
	return fmax(1, tau_s[n - 1] / (2 * mean(tau_s, n)));
}

double iso_theory_time_s(const struct iso_theory_problem *problem, const double *tau_s, uint32_t n)
{
	double unit = problem->smoothness * problem->gap / problem->target;
	uint32_t m;

	assert(problem_valid(problem));
	return best_prefix(tau_s, n, unit, unit * problem->variance / problem->target, &m);
}

double iso_theory_own_data_time_s(const struct iso_theory_problem *problem, const double *tau_s,
				  uint32_t n)
{
	double unit = problem->smoothness * problem->gap / problem->target;
	double noise = problem->variance / problem->target / n;

	assert(problem_valid(problem));
	return unit * (tau_s[n - 1] + mean(tau_s, n) * noise);
}
