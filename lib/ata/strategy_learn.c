/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>

#include "lib/ata/norm.h"

/* For times that never vary, as a part of their mean: a width must be positive. */
#define NORM_MIN 1e-9

static double *kept_of(const struct iso_strategy *strategy, uint32_t worker)
{
	return strategy->kept + (size_t)worker * strategy->config.options.calibrate_tasks;
}

static void detect_drift(struct iso_strategy *strategy, uint32_t worker, double time_s)
{
	struct iso_strategy_worker *at = &strategy->workers[worker];
	struct iso_ata_samples since;

	if (!iso_ata_drift_add(&strategy->drift[worker], &at->samples, time_s,
			       strategy->config.options.drift, &since)) {
		iso_ata_samples_add(&at->samples, time_s);
		return;
	}
	at->samples = since;
	at->is_reopened = true;
	at->drifts++;
	strategy->is_stale = true;
	/* What the average was made of is past. */
	if (strategy->smoothed != NULL)
		strategy->smoothed[worker] = 0;
}

void iso_strategy_observe(struct iso_strategy *strategy, uint32_t worker,
			  const struct iso_ata_task *task)
{
	assert(worker < strategy->config.workers);
	const struct iso_ata_options *options = &strategy->config.options;
	struct iso_strategy_worker *at = &strategy->workers[worker];
	double time_s = options->by_cost ? task->time_s / task->cost : task->time_s;

	if (!iso_ata_time_valid(time_s))
		return;
	if (options->by_round && task->round != 0 && task->round != strategy->round)
		return;
	if (iso_strategy_calibrates(strategy) && at->kept < options->calibrate_tasks)
		kept_of(strategy, worker)[at->kept++] = time_s;
	at->seen++;
	strategy->seen++;
	if (strategy->drift != NULL)
		detect_drift(strategy, worker, time_s);
	else
		iso_ata_samples_add(&at->samples, time_s);
}

void iso_strategy_calibrate(struct iso_strategy *strategy, uint32_t count)
{
	struct iso_ata_width *width = &strategy->config.width;
	uint32_t wanted = strategy->config.options.calibrate_tasks;
	double alpha_s = 0, eta = 0;

	assert(iso_strategy_calibrates(strategy));
	for (uint32_t i = 0; i < count; i++)
		if (strategy->workers[strategy->present[i]].kept < wanted)
			return;
	for (uint32_t i = 0; i < count; i++) {
		const double *times = kept_of(strategy, strategy->present[i]);
		double sum_s = 0;

		for (uint32_t j = 0; j < wanted; j++)
			sum_s += times[j];
		double mean_s = sum_s / wanted, least_s = NORM_MIN * mean_s;
		double norm_s = iso_ata_norm(times, wanted, mean_s);
		norm_s = norm_s > least_s ? norm_s : least_s;
		alpha_s = norm_s > alpha_s ? norm_s : alpha_s;
		eta = norm_s / mean_s > eta ? norm_s / mean_s : eta;
	}
	assert(alpha_s > 0 && eta > 0);
	width->alpha_s = alpha_s;
	width->eta = eta;
	strategy->is_calibrated = true;
}

struct iso_ata_width iso_strategy_width(const struct iso_strategy *strategy)
{
	return strategy->config.width;
}

bool iso_strategy_calibrating(const struct iso_strategy *strategy)
{
	return iso_strategy_calibrates(strategy);
}

bool iso_strategy_calibrated(const struct iso_strategy *strategy)
{
	return strategy->is_calibrated;
}

uint32_t iso_strategy_drifts(const struct iso_strategy *strategy, uint32_t worker)
{
	assert(worker < strategy->config.workers);
	return strategy->workers[worker].drifts;
}
