/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>

#include "lib/ata/ras.h"

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

void iso_strategy_spread(struct iso_strategy *strategy, uint32_t *list, uint32_t count,
			 uint32_t tasks, uint32_t *ret_tasks)
{
	assert(count > 0);
	uint32_t rest = tasks % count;

	for (uint32_t i = 0; i < count; i++)
		ret_tasks[list[i]] += tasks / count;
	draw(&strategy->rng, list, count, rest);
	for (uint32_t i = 0; i < rest; i++)
		ret_tasks[list[i]]++;
}

/* One task each to list[count], random ones if they are more than tasks; how many got one. */
static uint32_t one_each(struct iso_strategy *strategy, uint32_t *list, uint32_t count,
			 uint32_t tasks, uint32_t *ret_tasks)
{
	uint32_t chosen = count < tasks ? count : tasks;

	draw(&strategy->rng, list, count, chosen);
	for (uint32_t i = 0; i < chosen; i++)
		ret_tasks[list[i]] = 1;
	return chosen;
}

/* By the scores alone: present[count] has been narrowed to those in question. */
static void by_scores(struct iso_strategy *strategy, uint32_t count, uint32_t tasks,
		      uint32_t *ret_tasks)
{
	uint32_t unseen = 0, unsure = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = strategy->present[i];
		double score = strategy->scores[index];

		strategy->some_scores[i] = score;
		if (!(strategy->workers[index].samples.count > 0))
			strategy->unseen[unseen++] = index;
		else if (score <= 0)
			strategy->unsure[unsure++] = index;
	}
	strategy->exploring |= unseen + unsure > 0;
	if (unseen + unsure == 0) {
		iso_ras_near(strategy->some_scores, count, tasks, strategy->level, strategy->ras,
			     strategy->some_tasks);
		strategy->level = iso_ras_loss(strategy->some_scores, strategy->some_tasks, count);
		for (uint32_t i = 0; i < count; i++)
			ret_tasks[strategy->present[i]] = strategy->some_tasks[i];
		return;
	}
	tasks -= one_each(strategy, strategy->unseen, unseen, tasks, ret_tasks);
	if (tasks == 0)
		return;
	if (unsure > 0)
		iso_strategy_spread(strategy, strategy->unsure, unsure, tasks, ret_tasks);
	else
		iso_strategy_spread(strategy, strategy->unseen, unseen, tasks, ret_tasks);
}

/* Whether a worker is to get a task whatever the scores say; notes why. */
static bool comes_first(struct iso_strategy *strategy, const struct iso_strategy_worker *worker,
			uint64_t round)
{
	const struct iso_ata_options *options = &strategy->config.options;

	if (worker->seen < options->explore_tasks ||
	    (iso_strategy_calibrates(strategy) && worker->kept < options->calibrate_tasks)) {
		strategy->exploring = true;
		return true;
	}
	bool is_probe = options->probe_rounds > 0 && worker->samples.count > 0 &&
			round > worker->given_round &&
			round - worker->given_round > options->probe_rounds;
	strategy->is_probe |= is_probe;
	return is_probe;
}

void iso_strategy_share_out(struct iso_strategy *strategy, uint64_t round, uint32_t count,
			    uint32_t *ret_tasks)
{
	uint32_t first = 0, others = 0, tasks = strategy->config.batch;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = strategy->present[i];

		if (comes_first(strategy, &strategy->workers[index], round))
			strategy->first[first++] = index;
		else
			strategy->present[others++] = index;
	}
	assert(first + others == count);
	tasks -= one_each(strategy, strategy->first, first, tasks, ret_tasks);
	if (tasks == 0)
		return;
	if (others > 0)
		by_scores(strategy, others, tasks, ret_tasks);
	else
		iso_strategy_spread(strategy, strategy->first, first, tasks, ret_tasks);
}
