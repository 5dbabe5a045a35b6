/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/ata/ras.h"
#include "lib/ata/strategy.h"
#include "lib/carve.h"
#include "lib/sim/training_state.h"

/* A mean that no worker has; RAS takes no infinity. */
#define NEVER_S 1e250

size_t iso_training_regret_bytes(const struct iso_training_config *config)
{
	size_t n = config->workers;

	if (config->means_s == NULL)
		return 0;
	return iso_carve_bytes(n * sizeof(double)) + iso_carve_bytes(n * sizeof(uint32_t)) +
	       iso_carve_bytes(iso_ras_workspace_bytes(config->workers));
}

void iso_training_regret_init(struct iso_training *training, uint8_t *memory)
{
	uint32_t n = training->config.workers;

	if (training->config.means_s == NULL)
		return;
	training->means_s = iso_carve(&memory, n * sizeof(*training->means_s));
	training->best_tasks = iso_carve(&memory, n * sizeof(*training->best_tasks));
	training->ras = iso_carve(&memory, iso_ras_workspace_bytes(n));
}

void iso_training_regret_speed(struct iso_training *training, uint32_t w)
{
	const struct iso_training_worker *worker = &training->workers[w];

	if (training->config.means_s == NULL)
		return;
	/* Who does not work is not worth a task, as long as anybody else is there. */
	training->means_s[w] = worker->present && worker->rate > 0
				   ? training->config.means_s[w] / worker->rate
				   : NEVER_S;
	training->best_stale = true;
}

void iso_training_regret_round(struct iso_training *training)
{
	const struct iso_training_config *config = &training->config;
	uint32_t n = config->workers;

	if (training->totals.settled_round == 0 && !iso_strategy_exploring(config->strategy))
		training->totals.settled_round = training->begun;
	if (config->means_s == NULL)
		return;
	if (training->best_stale) {
		iso_ras(training->means_s, n, config->batch, training->ras, training->best_tasks);
		training->best_s = iso_ras_loss(training->means_s, training->best_tasks, n);
		training->best_stale = false;
	}
	assert(training->best_s > 0);
	training->totals.regret_s +=
	    iso_ras_loss(training->means_s, training->tasks, n) - training->best_s;
}
