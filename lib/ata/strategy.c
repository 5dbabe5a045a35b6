/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/ata/ras.h"
#include "lib/carve.h"
#include "lib/rng.h"

struct worker {
	struct iso_ata_samples samples;
	double rate_cpus;
	bool present;
};

struct iso_strategy {
	struct iso_strategy_config config;
	struct iso_rng rng;
	bool exploring;
	struct worker *workers;
	double *scores;       /* by worker */
	/* Scratch of one allocation. */
	double *some_scores;  /* of the present workers, packed */
	uint32_t *some_tasks;
	uint32_t *present;    /* worker numbers */
	uint32_t *unseen;
	uint32_t *unsure;
	void *ras;
};

static const char *const kind_texts[] = {
	[ISO_STRATEGY_ATA] = "ata",
	[ISO_STRATEGY_ATA_EMPIRICAL] = "ata-empirical",
	[ISO_STRATEGY_GTA] = "gta",
	[ISO_STRATEGY_UTA] = "uta",
};

enum iso_status iso_strategy_kind_parse(const char *text, enum iso_strategy_kind *ret_kind)
{
	for (unsigned kind = ISO_STRATEGY_ATA; kind <= ISO_STRATEGY_UTA; kind++) {
		if (strcmp(text, kind_texts[kind]) != 0)
			continue;
		*ret_kind = (enum iso_strategy_kind)kind;
		return ISO_OK;
	}
	return ISO_E_UNKNOWN;
}

const char *iso_strategy_kind_text(enum iso_strategy_kind kind)
{
	assert(kind >= ISO_STRATEGY_ATA);
	assert(kind <= ISO_STRATEGY_UTA);
	return kind_texts[kind];
}

static bool positive(double value)
{
	return value > 0 && value < HUGE_VAL;
}

static bool config_valid(const struct iso_strategy_config *config)
{
	if (config->kind < ISO_STRATEGY_ATA || config->kind > ISO_STRATEGY_UTA)
		return false;
	if (config->workers == 0 || config->batch == 0)
		return false;
	if (config->kind == ISO_STRATEGY_ATA)
		return positive(config->width.constant) && positive(config->width.alpha_s);
	if (config->kind == ISO_STRATEGY_ATA_EMPIRICAL)
		return positive(config->width.constant) && positive(config->width.eta);
	return true;
}

size_t iso_strategy_size(const struct iso_strategy_config *config)
{
	if (!config_valid(config))
		return 0;
	size_t n = config->workers;

	return iso_carve_bytes(sizeof(struct iso_strategy)) + n * sizeof(struct worker) +
	       2 * n * sizeof(double) + 4 * iso_carve_bytes(n * sizeof(uint32_t)) +
	       iso_ras_workspace_bytes(config->workers);
}

enum iso_status iso_strategy_init(void *memory, size_t size,
				  const struct iso_strategy_config *config,
				  struct iso_strategy **ret_strategy)
{
	size_t needed = iso_strategy_size(config);
	size_t n = config->workers;
	uint8_t *free_bytes = memory;

	if (needed == 0)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	assert((uintptr_t)memory % 8 == 0);
	memset(memory, 0, needed);
	struct iso_strategy *strategy = iso_carve(&free_bytes, sizeof(*strategy));
	strategy->config = *config;
	strategy->rng.state = config->seed;
	strategy->workers = iso_carve(&free_bytes, n * sizeof(*strategy->workers));
	strategy->scores = iso_carve(&free_bytes, n * sizeof(double));
	strategy->some_scores = iso_carve(&free_bytes, n * sizeof(double));
	strategy->some_tasks = iso_carve(&free_bytes, n * sizeof(uint32_t));
	strategy->present = iso_carve(&free_bytes, n * sizeof(uint32_t));
	strategy->unseen = iso_carve(&free_bytes, n * sizeof(uint32_t));
	strategy->unsure = iso_carve(&free_bytes, n * sizeof(uint32_t));
	strategy->ras = free_bytes;
	assert(free_bytes + iso_ras_workspace_bytes(config->workers) == (uint8_t *)memory + needed);
	for (size_t i = 0; i < n; i++)
		strategy->workers[i].rate_cpus = 1;
	*ret_strategy = strategy;
	return ISO_OK;
}

static struct worker *worker_at(const struct iso_strategy *strategy, uint32_t worker)
{
	assert(worker < strategy->config.workers);
	return &strategy->workers[worker];
}

void iso_strategy_set_present(struct iso_strategy *strategy, uint32_t worker, bool present)
{
	worker_at(strategy, worker)->present = present;
}

void iso_strategy_set_rate(struct iso_strategy *strategy, uint32_t worker, double rate_cpus)
{
	assert(positive(rate_cpus));
	worker_at(strategy, worker)->rate_cpus = rate_cpus;
}

void iso_strategy_observe(struct iso_strategy *strategy, uint32_t worker, double time_s)
{
	if (positive(time_s))
		iso_ata_samples_add(&worker_at(strategy, worker)->samples, 1, time_s);
}

static double score_of(const struct iso_strategy *strategy, const struct worker *worker,
		       double log_term)
{
	const struct iso_strategy_config *config = &strategy->config;
	double score;

	assert(worker->rate_cpus > 0);
	if (config->kind == ISO_STRATEGY_ATA)
		score = iso_ata_score(&worker->samples, &config->width, log_term);
	else
		score = iso_ata_score_empirical(&worker->samples, &config->width, log_term);

	return config->by_rate ? score / worker->rate_cpus : score;
}

/* `chosen` different members of list[count], at random, move to its front. */
static void draw(struct iso_rng *rng, uint32_t *list, uint32_t count, uint32_t chosen)
{
	assert(chosen <= count);
	for (uint32_t i = 0; i < chosen; i++) {
		uint32_t j = i + (uint32_t)iso_rng_below(rng, count - i);
		uint32_t swap = list[i];

		list[i] = list[j];
		list[j] = swap;
	}
}

/* Equal numbers of tasks to all of list[count], the remainder to random ones. */
static void spread(struct iso_strategy *strategy, uint32_t *list, uint32_t count, uint32_t tasks,
		   uint32_t *ret_tasks)
{
	assert(count > 0);
	uint32_t rest = tasks % count;

	for (uint32_t i = 0; i < count; i++)
		ret_tasks[list[i]] += tasks / count;
	draw(&strategy->rng, list, count, rest);
	for (uint32_t i = 0; i < rest; i++)
		ret_tasks[list[i]]++;
}

static void allocate_ata(struct iso_strategy *strategy, uint64_t round, uint32_t count,
			 uint32_t *ret_tasks)
{
	uint32_t unseen = 0, unsure = 0, batch = strategy->config.batch;
	double log_term = iso_ata_log_term(round);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = strategy->present[i];
		const struct worker *worker = &strategy->workers[index];
		double score = score_of(strategy, worker, log_term);

		strategy->scores[index] = score;
		strategy->some_scores[i] = score;
		if (worker->samples.count == 0)
			strategy->unseen[unseen++] = index;
		else if (score <= 0)
			strategy->unsure[unsure++] = index;
	}
	strategy->exploring = unseen + unsure > 0;
	if (!strategy->exploring) {
		iso_ras(strategy->some_scores, count, batch, strategy->ras, strategy->some_tasks);
		for (uint32_t i = 0; i < count; i++)
			ret_tasks[strategy->present[i]] = strategy->some_tasks[i];
		return;
	}
	uint32_t first = unseen < batch ? unseen : batch;
	draw(&strategy->rng, strategy->unseen, unseen, first);
	for (uint32_t i = 0; i < first; i++)
		ret_tasks[strategy->unseen[i]] = 1;
	if (first == batch)
		return;
	if (unsure > 0)
		spread(strategy, strategy->unsure, unsure, batch - first, ret_tasks);
	else
		spread(strategy, strategy->unseen, unseen, batch - first, ret_tasks);
}

enum iso_status iso_strategy_allocate(struct iso_strategy *strategy, uint64_t round,
				      uint32_t *ret_tasks)
{
	const struct iso_strategy_config *config = &strategy->config;
	uint32_t count = 0;

	assert(round >= 1);
	for (uint32_t i = 0; i < config->workers; i++)
		if (strategy->workers[i].present)
			strategy->present[count++] = i;
	if (count == 0)
		return ISO_E_UNKNOWN;
	memset(ret_tasks, 0, config->workers * sizeof(*ret_tasks));
	memset(strategy->scores, 0, config->workers * sizeof(*strategy->scores));
	strategy->exploring = false;
	switch (config->kind) {
	case ISO_STRATEGY_ATA:
	case ISO_STRATEGY_ATA_EMPIRICAL:
		allocate_ata(strategy, round, count, ret_tasks);
		break;
	case ISO_STRATEGY_GTA:
		for (uint32_t i = 0; i < count; i++)
			ret_tasks[strategy->present[i]] = config->batch;
		break;
	case ISO_STRATEGY_UTA:
		spread(strategy, strategy->present, count, config->batch, ret_tasks);
		break;
	}
	return ISO_OK;
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

void iso_strategy_restore_samples(struct iso_strategy *strategy, uint32_t worker,
				  struct iso_ata_samples samples)
{
	worker_at(strategy, worker)->samples = samples;
}

uint64_t iso_strategy_rng(const struct iso_strategy *strategy)
{
	return strategy->rng.state;
}

void iso_strategy_restore_rng(struct iso_strategy *strategy, uint64_t state)
{
	strategy->rng.state = state;
}
