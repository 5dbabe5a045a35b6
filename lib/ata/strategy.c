/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>
#include <string.h>

#include "lib/ata/ras.h"
#include "lib/carve.h"

static const char *const kind_texts[] = {
	[ISO_STRATEGY_ATA] = "ata",   [ISO_STRATEGY_ATA_EMPIRICAL] = "ata-empirical",
	[ISO_STRATEGY_GTA] = "gta",   [ISO_STRATEGY_UTA] = "uta",
	[ISO_STRATEGY_OFTA] = "ofta", [ISO_STRATEGY_ATA_POOLED] = "ata-pooled",
};

const char *iso_strategy_kind_text(enum iso_strategy_kind kind)
{
	assert(kind >= ISO_STRATEGY_ATA);
	assert(kind <= ISO_STRATEGY_ATA_POOLED);
	return kind_texts[kind];
}

static bool is_fraction(double option)
{
	return option >= 0 && option <= 1;
}

/* 0: off. */
static bool is_within(double option, double min, double max)
{
	return option == 0 || (option >= min && option <= max);
}

static bool options_valid(const struct iso_ata_options *options)
{
	return is_fraction(options->discount) && is_fraction(options->smoothing) &&
	       is_fraction(options->cluster) &&
	       is_within(options->drift, ISO_ATA_DRIFT_MIN, ISO_ATA_DRIFT_MAX) &&
	       is_within(options->calibrate_tasks, ISO_ATA_CALIBRATE_MIN, ISO_ATA_CALIBRATE_MAX);
}

static bool config_valid(const struct iso_strategy_config *config)
{
	const struct iso_ata_width *width = &config->width;

	if (config->workers == 0 || config->batch == 0 || !options_valid(&config->options))
		return false;
	switch (config->kind) {
	case ISO_STRATEGY_ATA:
		return iso_strategy_positive(width->constant) &&
		       iso_strategy_positive(width->alpha_s);
	case ISO_STRATEGY_ATA_EMPIRICAL:
		return iso_strategy_positive(width->constant) && iso_strategy_positive(width->eta);
	case ISO_STRATEGY_GTA:
	case ISO_STRATEGY_UTA:
	case ISO_STRATEGY_OFTA:
	case ISO_STRATEGY_ATA_POOLED: return true;
	}
	return false;
}

/*
 * Lays everything out behind each other: what is needed, and from where if memory is not
 * NULL.  Arrays of options that are off take nothing.
 */
static size_t lay_out(struct iso_strategy *strategy, const struct iso_strategy_config *config,
		      uint8_t *memory)
{
	const struct iso_ata_options *options = &config->options;
	size_t n = config->workers, used = iso_carve_bytes(sizeof(*strategy));
	bool learns = iso_strategy_learns(config->kind);
	struct iso_strategy scratch;
	struct iso_strategy *s = strategy != NULL ? strategy : &scratch;
	const struct {
		void *at; /* where the array's address goes */
		bool is_on;
		size_t bytes;
	} arrays[] = {
		{ &s->workers, true, n * sizeof(*s->workers) },
		{ &s->scores, true, n * sizeof(*s->scores) },
		{ &s->held, true, n * sizeof(*s->held) },
		{ &s->smoothed, learns && iso_strategy_inside(options->smoothing),
		  n * sizeof(*s->smoothed) },
		{ &s->kept, learns && options->calibrate_tasks > 0,
		  n * options->calibrate_tasks * sizeof(*s->kept) },
		{ &s->drift, learns && options->drift > 0, n * sizeof(*s->drift) },
		{ &s->places, learns && iso_strategy_inside(options->cluster),
		  n * sizeof(*s->places) },
		{ &s->some_scores, true, n * sizeof(*s->some_scores) },
		{ &s->some_tasks, true, n * sizeof(*s->some_tasks) },
		{ &s->present, true, n * sizeof(*s->present) },
		{ &s->first, true, n * sizeof(*s->first) },
		{ &s->unseen, true, n * sizeof(*s->unseen) },
		{ &s->unsure, true, n * sizeof(*s->unsure) },
		{ &s->ras, true, iso_ras_workspace_bytes(config->workers) },
	};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		void *array = arrays[i].is_on && memory != NULL ? memory + used : NULL;

		memcpy(arrays[i].at, &array, sizeof(array));
		used += arrays[i].is_on ? iso_carve_bytes(arrays[i].bytes) : 0;
	}
	return used;
}

size_t iso_strategy_size(const struct iso_strategy_config *config)
{
	return config_valid(config) ? lay_out(NULL, config, NULL) : 0;
}

enum iso_status iso_strategy_init(void *memory, size_t size,
				  const struct iso_strategy_config *config,
				  struct iso_strategy **ret_strategy)
{
	size_t needed = iso_strategy_size(config);
	struct iso_strategy *strategy = memory;

	if (needed == 0)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	assert((uintptr_t)memory % 8 == 0);
	memset(memory, 0, needed);
	(void)lay_out(strategy, config, memory);
	strategy->config = *config;
	if (!iso_strategy_learns(config->kind) || config->kind == ISO_STRATEGY_ATA_POOLED)
		strategy->config.options.calibrate_tasks = 0;
	strategy->rng.state = config->seed;
	strategy->changed = true;
	strategy->is_stale = true;
	for (uint32_t i = 0; i < config->workers; i++)
		strategy->workers[i].rate_cpus = 1;
	*ret_strategy = strategy;
	return ISO_OK;
}

static struct iso_strategy_worker *worker_at(const struct iso_strategy *strategy, uint32_t worker)
{
	assert(worker < strategy->config.workers);
	return &strategy->workers[worker];
}

void iso_strategy_set_present(struct iso_strategy *strategy, uint32_t worker, bool present)
{
	struct iso_strategy_worker *at = worker_at(strategy, worker);

	strategy->is_stale |= at->present != present;
	at->present = present;
}

void iso_strategy_set_rate(struct iso_strategy *strategy, uint32_t worker, double rate_cpus)
{
	assert(iso_strategy_positive(rate_cpus));
	worker_at(strategy, worker)->rate_cpus = rate_cpus;
}

void iso_strategy_set_mean(struct iso_strategy *strategy, uint32_t worker, double mean_s)
{
	struct iso_strategy_worker *at = worker_at(strategy, worker);

	assert(mean_s == 0 || iso_ata_time_valid(mean_s));
	strategy->is_stale |= at->given_mean_s != mean_s;
	at->given_mean_s = mean_s;
}

/* The last allocation is good for this round too. */
static bool may_hold(const struct iso_strategy *strategy, uint64_t round)
{
	return !strategy->is_stale && !strategy->exploring && !strategy->is_probe &&
	       round < strategy->made_round + strategy->config.options.every_rounds;
}

/* Those whose mean is given share out the tasks. */
static void by_given_means(struct iso_strategy *strategy, uint32_t count, uint32_t *ret_tasks)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = strategy->present[i];
		const struct iso_strategy_worker *worker = &strategy->workers[index];
		double rate_cpus = strategy->config.by_rate ? worker->rate_cpus : 1;

		if (!(worker->given_mean_s > 0))
			continue;
		strategy->scores[index] = worker->given_mean_s / rate_cpus;
		strategy->some_scores[known] = strategy->scores[index];
		strategy->unseen[known++] = index;
	}
	if (known == 0) {
		iso_strategy_spread(strategy, strategy->present, count, strategy->config.batch,
				    ret_tasks);
		return;
	}
	iso_ras(strategy->some_scores, known, strategy->config.batch, strategy->ras,
		strategy->some_tasks);
	for (uint32_t i = 0; i < known; i++)
		ret_tasks[strategy->unseen[i]] = strategy->some_tasks[i];
}

static void allocate(struct iso_strategy *strategy, uint64_t round, uint32_t count,
		     uint32_t *ret_tasks)
{
	const struct iso_strategy_config *config = &strategy->config;

	memset(ret_tasks, 0, config->workers * sizeof(*ret_tasks));
	memset(strategy->scores, 0, config->workers * sizeof(*strategy->scores));
	strategy->exploring = false;
	strategy->is_probe = false;
	switch (config->kind) {
	case ISO_STRATEGY_ATA:
	case ISO_STRATEGY_ATA_EMPIRICAL:
	case ISO_STRATEGY_ATA_POOLED:
		if (iso_strategy_calibrates(strategy))
			iso_strategy_calibrate(strategy, count);
		iso_strategy_score(strategy, round, count);
		iso_strategy_share_out(strategy, round, count, ret_tasks);
		break;
	case ISO_STRATEGY_OFTA: by_given_means(strategy, count, ret_tasks); break;
	case ISO_STRATEGY_GTA:
		for (uint32_t i = 0; i < count; i++)
			ret_tasks[strategy->present[i]] = config->batch;
		break;
	case ISO_STRATEGY_UTA:
		iso_strategy_spread(strategy, strategy->present, count, config->batch, ret_tasks);
		break;
	}
	strategy->made_round = round;
	strategy->is_stale = false;
}

enum iso_status iso_strategy_allocate(struct iso_strategy *strategy, uint64_t round,
				      uint32_t *ret_tasks)
{
	size_t bytes = strategy->config.workers * sizeof(*ret_tasks);
	uint32_t count = 0;

	assert(round >= 1);
	assert(round >= strategy->round);
	if (may_hold(strategy, round)) {
		memcpy(ret_tasks, strategy->held, bytes);
		strategy->changed = false;
		strategy->round = round;
		return ISO_OK;
	}
	for (uint32_t i = 0; i < strategy->config.workers; i++)
		if (strategy->workers[i].present)
			strategy->present[count++] = i;
	if (count == 0)
		return ISO_E_UNKNOWN;
	/* Up to now, as the last allocation may have been kept for many rounds. */
	if (strategy->config.options.probe_rounds > 0)
		for (uint32_t i = 0; i < strategy->config.workers; i++)
			if (strategy->held[i] > 0)
				strategy->workers[i].given_round = strategy->round;
	allocate(strategy, round, count, ret_tasks);
	strategy->changed = strategy->round == 0 || memcmp(ret_tasks, strategy->held, bytes) != 0;
	memcpy(strategy->held, ret_tasks, bytes);
	strategy->round = round;
	return ISO_OK;
}

bool iso_strategy_changed(const struct iso_strategy *strategy)
{
	return strategy->changed;
}

const double *iso_strategy_scores(const struct iso_strategy *strategy)
{
	return strategy->scores;
}

bool iso_strategy_exploring(const struct iso_strategy *strategy)
{
	return strategy->exploring;
}

struct iso_ata_samples iso_strategy_samples(const struct iso_strategy *strategy, uint32_t worker)
{
	return worker_at(strategy, worker)->samples;
}
