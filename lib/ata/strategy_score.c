/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>

/*
 * ata-pooled: before anything is measured times are taken to spread like
 * exponential ones, which counts as much as this many samples ...
 */
#define PRIOR_VARIANCE 1.0
#define PRIOR_SAMPLES  4.0
/* ... a worker enters the common spread with so many at most, or the fast were all of it ... */
#define POOLED_SAMPLES 16.0
/* ... and the common spread enters a worker's own as so many. */
#define COMMON_SAMPLES 8.0

/* What lambda leaves of old samples after so many rounds. */
static double faded(double discount, uint64_t rounds)
{
	double factor = 1;

	for (double power = discount; rounds > 0 && factor > 0; rounds /= 2, power *= power)
		if (rounds % 2 != 0)
			factor *= power;
	return factor;
}

static void fade(struct iso_strategy *strategy, uint64_t rounds)
{
	double factor = faded(strategy->config.options.discount, rounds);

	for (uint32_t i = 0; i < strategy->config.workers; i++) {
		struct iso_ata_samples *samples = &strategy->workers[i].samples;

		iso_ata_samples_fade(samples, factor);
		/* Forgotten. */
		if (samples->count < ISO_STRATEGY_SAMPLES_MIN)
			*samples = (struct iso_ata_samples){ 0 };
	}
}

static bool is_discounting(const struct iso_strategy *strategy)
{
	return strategy->config.options.discount > 0 && strategy->config.options.discount < 1;
}

/* ln(2k^2), where with discounting no more rounds count than are remembered. */
static double log_term_of(const struct iso_strategy *strategy, uint64_t round)
{
	if (is_discounting(strategy)) {
		double remembered = 1 / (1 - strategy->config.options.discount);

		if ((double)round > remembered)
			round = (uint64_t)remembered;
	}
	return iso_ata_log_term(round > 0 ? round : 1);
}

/* The relative variance that all present workers have in common. */
static double common_variance(const struct iso_strategy *strategy, uint32_t count)
{
	double sum = PRIOR_SAMPLES * PRIOR_VARIANCE, weights = PRIOR_SAMPLES;

	for (uint32_t i = 0; i < count; i++) {
		const struct iso_ata_samples *samples =
			&strategy->workers[strategy->present[i]].samples;

		if (samples->count < 2)
			continue;
		double weight = samples->count - 1;
		weight = weight < POOLED_SAMPLES ? weight : POOLED_SAMPLES;
		weights += weight;
		sum += weight * iso_ata_relative_variance(samples);
	}
	assert(sum >= 0);
	return sum / weights;
}

static double pooled_score(const struct iso_ata_samples *samples, double common, double log_term)
{
	double own = samples->count < 2 ? 0 : samples->count - 1;
	double variance = (COMMON_SAMPLES * common + own * iso_ata_relative_variance(samples)) /
			  (COMMON_SAMPLES + own);

	return iso_ata_score_pooled(samples, variance, log_term);
}

static double score_of(const struct iso_strategy *strategy,
		       const struct iso_strategy_worker *worker, double log_term, double common)
{
	const struct iso_strategy_config *config = &strategy->config;
	double score = 0;

	assert(worker->rate_cpus > 0);
	switch (config->kind) {
	case ISO_STRATEGY_ATA:
		score = iso_ata_score(&worker->samples, &config->width, log_term);
		break;
	case ISO_STRATEGY_ATA_EMPIRICAL:
		score = iso_ata_score_empirical(&worker->samples, &config->width, log_term);
		break;
	case ISO_STRATEGY_ATA_POOLED:
		score = pooled_score(&worker->samples, common, log_term);
		break;
	case ISO_STRATEGY_OFTA: score = worker->given_mean_s; break;
	case ISO_STRATEGY_GTA:
	case ISO_STRATEGY_UTA: break;
	}
	return config->by_rate ? score / worker->rate_cpus : score;
}

/* Exponential moving average of a worker's scores, from the first positive one on. */
static double smooth(const struct iso_strategy *strategy, uint32_t index, double score)
{
	double weight = strategy->config.options.smoothing;
	double *average = &strategy->smoothed[index];

	if (score <= 0 || *average <= 0)
		*average = score;
	else
		*average += weight * (score - *average);
	return *average;
}

void iso_strategy_score(struct iso_strategy *strategy, uint64_t round, uint32_t count)
{
	double common = 0, log_term = log_term_of(strategy, round);
	double smoothing = strategy->config.options.smoothing;

	assert(round >= strategy->made_round);
	if (is_discounting(strategy) && strategy->made_round > 0)
		fade(strategy, round - strategy->made_round);
	if (strategy->config.kind == ISO_STRATEGY_ATA_POOLED)
		common = common_variance(strategy, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = strategy->present[i];

		strategy->scores[index] =
			score_of(strategy, &strategy->workers[index], log_term, common);
	}
	if (smoothing > 0 && smoothing < 1)
		for (uint32_t i = 0; i < count; i++) {
			uint32_t index = strategy->present[i];

			strategy->scores[index] = smooth(strategy, index, strategy->scores[index]);
		}
}
