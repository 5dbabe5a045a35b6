/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>

/*
 * The spread is never taken for more: with r^2 = 2 the first term of the width is the paper's
 * of eta 1, 2 sqrt(l/K), and the second sqrt(2) l/K in place of its 2 l/K.
 */
#define MOST_VARIANCE 2.0
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
		if (!iso_ata_samples_valid(samples))
			*samples = (struct iso_ata_samples){ 0 };
	}
}

static bool is_discounting(const struct iso_strategy *strategy)
{
	return iso_strategy_inside(strategy->config.options.discount);
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

	return iso_ata_score_pooled(samples, variance < MOST_VARIANCE ? variance : MOST_VARIANCE,
				    log_term);
}

/* Of so many samples, in the worker's own time: by_rate comes later. */
static double bound(const struct iso_strategy *strategy, const struct iso_ata_samples *samples,
		    double log_term, double common)
{
	switch (strategy->config.kind) {
	case ISO_STRATEGY_ATA: return iso_ata_score(samples, &strategy->config.width, log_term);
	case ISO_STRATEGY_ATA_EMPIRICAL:
		return iso_ata_score_empirical(samples, &strategy->config.width, log_term);
	case ISO_STRATEGY_ATA_POOLED: return pooled_score(samples, common, log_term);
	case ISO_STRATEGY_GTA:
	case ISO_STRATEGY_UTA:
	case ISO_STRATEGY_OFTA: break;
	}
	return 0;
}

/* What is known of those like it says as much of the worker, but for the tolerance. */
static double clustered_score(const struct iso_strategy *strategy, uint32_t index, double score,
			      double log_term, double common)
{
	const struct iso_strategy_place *place = &strategy->places[index];

	if (place->number == 0)
		return score;
	double own_mean_s = iso_ata_mean_s(&strategy->workers[index].samples);
	double shared = (1 - strategy->config.options.cluster) *
			bound(strategy, &place->together, log_term, common);
	shared = shared < own_mean_s ? shared : own_mean_s;
	return shared > score ? shared : score;
}

/*
 * Known too little for a score that says anything, but not unknown: a worker whose times
 * have changed, or that is like no other.  A score of 0, or just above, would draw all
 * tasks.  Those of ata-pooled always say something.
 */
static double timid_score(const struct iso_strategy *strategy, uint32_t index, double log_term)
{
	const struct iso_ata_samples *samples = &strategy->workers[index].samples;
	const struct iso_ata_width *width = &strategy->config.width;
	double relative = strategy->config.kind == ISO_STRATEGY_ATA
			      ? width->alpha_s / iso_ata_mean_s(samples)
			      : width->eta;

	return iso_ata_score_reopened(samples, width->constant * relative, log_term);
}

static double score_of(struct iso_strategy *strategy, uint32_t index, double log_term,
		       double common)
{
	struct iso_strategy_worker *worker = &strategy->workers[index];
	double score = bound(strategy, &worker->samples, log_term, common);
	bool is_weak = strategy->config.kind != ISO_STRATEGY_ATA_POOLED &&
		       worker->samples.count > 0 && score < iso_ata_mean_s(&worker->samples) / 2;

	worker->is_reopened &= is_weak;
	if (is_weak && (worker->is_reopened || strategy->places != NULL))
		score = timid_score(strategy, index, log_term);
	if (strategy->places != NULL)
		score = clustered_score(strategy, index, score, log_term, common);
	return score;
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

	assert(round >= strategy->made_round);
	if (is_discounting(strategy) && strategy->made_round > 0)
		fade(strategy, round - strategy->made_round);
	if (strategy->config.kind == ISO_STRATEGY_ATA_POOLED || strategy->places != NULL)
		common = common_variance(strategy, count);
	if (strategy->places != NULL)
		iso_strategy_make_clusters(strategy, count, common);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = strategy->present[i];

		double rate_cpus = strategy->workers[index].rate_cpus;
		double score = score_of(strategy, index, log_term, common);

		assert(rate_cpus > 0);
		/* Before the rate, which is known and must not lag. */
		if (strategy->smoothed != NULL)
			score = smooth(strategy, index, score);
		strategy->scores[index] = strategy->config.by_rate ? score / rate_cpus : score;
	}
}
