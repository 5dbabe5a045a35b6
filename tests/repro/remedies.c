/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>

#include "tests/repro/fit.h"
#include "tests/repro/repro.h"
#include "tests/sim/remedy.h"

/*
 * What ails an allocation in practice, and the option that cures it: tests/sim/remedy.h has
 * the symptoms, isobar-coordinator.conf(5) the options.  A figure each, with and without; the
 * bounds are those of tests/sim/remedies.c, and the medians over five seeds keep them.
 */
enum { SEEDS = 5 };

struct remedy {
	const char *suffix, *symptom, *cure, *y_label;
	remedy_fn *fn;
	double sick, well;
	bool y_log;
};

#define TIMES_BEST "round time, of the best allocation's"

static const struct remedy remedies[] = {
	{ "many-workers", "slow convergence with n >> B", "clusters of similar workers",
	  "worker time so far, of the best allocation's", remedy_many_workers, 3, 1.1, false },
	{ "warm-start", "slow convergence with n >> B", "the profile of an earlier run",
	  "worker time so far, of the best allocation's", remedy_warm_start, 3, 1.05, false },
	{ "slow-down", "a worker becomes slow", "drift detection", TIMES_BEST, remedy_slow_down, 4,
	  1.5, true },
	{ "speed-up", "a worker becomes fast", "drift detection and probes", TIMES_BEST,
	  remedy_speed_up, 1.5, 1.05, true },
	{ "wandering", "speeds wander", "discounting", TIMES_BEST, remedy_wandering, 2.5, 1.4,
	  false },
	{ "oscillation", "who has much to do becomes slow", "smoothing", "tasks of one worker",
	  remedy_oscillation, 20, 0.5, false },
	{ "chatty", "a new allocation each round", "a new one every 50 rounds",
	  "tasks that change place", remedy_chatty, 0.3, 0.1, false },
	{ "uneven", "tasks of different size", "times divided by the size", TIMES_BEST,
	  remedy_uneven, 1.02, 1.01, false },
	{ "unlucky", "an unlucky first time", "forced first exploration", TIMES_BEST,
	  remedy_unlucky, 1.5, 1.1, true },
	{ "alpha", "nobody knows alpha", "calibration", TIMES_BEST, remedy_alpha, 1.9, 1.8, false },
	{ "late", "results that come late", "asynchronous statistics", "results that were too late",
	  remedy_late, 10, 0.1, false },
};
#define REMEDIES (sizeof(remedies) / sizeof(remedies[0]))

static void draw(struct repro *repro, const struct remedy *remedy, const struct remedy_curve *sick,
		 const struct remedy_curve *well)
{
	const struct chart_curve lines[] = {
		{ "without", sick->x, sick->y, sick->count, CHART_LINES },
		{ remedy->cure, well->x, well->y, well->count, CHART_LINES },
	};
	const struct chart chart = { .title = remedy->symptom,
				     .x_label = "round",
				     .y_label = remedy->y_label,
				     .y_log = remedy->y_log,
				     .curves = lines,
				     .count = 2 };

	repro_draw(repro, remedy->suffix, "what ails an allocation, and what cures it", &chart, 1,
		   1);
}

static void check(struct repro *repro, const struct remedy *remedy)
{
	static struct remedy_curve curves[2];
	double without[SEEDS], with[SEEDS];
	unsigned seeds = repro_full(repro) ? SEEDS : 1;

	for (unsigned s = 0; s < seeds; s++) {
		uint64_t seed = repro_seed(repro) + s;

		without[s] = remedy->fn(false, seed, s == 0 ? &curves[0] : NULL);
		with[s] = remedy->fn(true, seed, s == 0 ? &curves[1] : NULL);
	}
	repro_at_least(repro, remedy->sick, fit_quantile(without, seeds, 0.5),
		       "%s: without a remedy (at least)", remedy->symptom);
	repro_at_most(repro, remedy->well, fit_quantile(with, seeds, 0.5),
		      "%s: cured by %s (at most)", remedy->symptom, remedy->cure);
	if (repro_full(repro))
		draw(repro, remedy, &curves[0], &curves[1]);
}

static void run(struct repro *repro)
{
	for (size_t i = 0; i < REMEDIES; i++)
		check(repro, &remedies[i]);
}

const struct repro_experiment repro_experiment = {
	.name = "remedies",
	.about = "practice options of the allocations: symptom and cure",
	.run = run,
};
