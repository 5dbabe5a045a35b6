/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/board.h"

#include <assert.h>

#include "lib/ata/ras.h"
#include "lib/ata/score.h"

/* Nothing to wait for is longer than this, however small a share becomes. */
#define LEASE_MAX_NS (3600ull * 1000000000)

/* A share of nothing would make times infinite. */
double iso_board_rate(const struct worker *worker)
{
	double rate = iso_rate_cpus(worker->threads, worker->share_ucpu);

	return rate > 1e-3 ? rate : 1e-3;
}

uint64_t iso_board_lease_end(const struct iso_round *round, const struct worker *worker)
{
	const struct iso_round_config *config = &round->config;

	if (!worker->present || worker->leased == 0 || round->complete)
		return UINT64_MAX;
	double length = (double)config->lease_first_ns;
	if (worker->pace.seen >= ISO_PACE_SURE) {
		uint32_t running =
			worker->leased < worker->threads ? worker->leased : worker->threads;

		length = (double)worker->pace.median_ns +
			 (double)config->lease_mads * (double)worker->pace.mad_ns;
		length *= (double)running / iso_board_rate(worker);
	}
	if (length < (double)config->lease_min_ns)
		length = (double)config->lease_min_ns;
	length *= (double)(1u << worker->backoff);
	if (length > (double)LEASE_MAX_NS)
		length = (double)LEASE_MAX_NS;
	return worker->lease_start_ns + (uint64_t)length;
}

void iso_board_set_state(struct iso_round *round, struct task *task, enum task_state state)
{
	assert(task->worker != NOBODY || state == TASK_QUEUED || state == TASK_FREE);
	/* Only looked at in the states that have an owner. */
	struct worker *owner = &round->workers[task->worker != NOBODY ? task->worker : 0];

	if (task->state == TASK_QUEUED)
		round->queued--;
	else if (task->state == TASK_ASSIGNED)
		owner->assigned--;
	else if (task->state == TASK_LEASED)
		owner->leased--;
	task->state = state;
	if (state == TASK_QUEUED)
		round->queued++;
	else if (state == TASK_ASSIGNED)
		owner->assigned++;
	else if (state == TASK_LEASED)
		owner->leased++;
}

bool iso_board_is_held(const struct task *task)
{
	return task->state == TASK_ASSIGNED || task->state == TASK_LEASED;
}

/* Mean over the workers whose speed is known; 1 if none is. */
static double typical_ns(const struct iso_round *round)
{
	double sum = 0;
	uint32_t known = 0;

	for (uint32_t i = 0; i < round->config.workers; i++) {
		const struct worker *worker = &round->workers[i];

		if (!worker->present || worker->pace.seen == 0)
			continue;
		sum += (double)worker->pace.mean_ns;
		known++;
	}
	return known > 0 ? sum / known : 1;
}

/* On-CPU time of a task, by what is known best. */
static double task_ns(const struct worker *worker, double otherwise_ns)
{
	if (worker->round_results > 0)
		return (double)worker->round_cpu_ns / worker->round_results;
	return worker->pace.seen > 0 ? (double)worker->pace.mean_ns : otherwise_ns;
}

/*
 * Who would be done first with one more task: workers that are not suspect
 * come before all others, and each lease that ran out doubles the estimate.
 */
static uint32_t best_worker(const struct iso_round *round, double typical)
{
	uint32_t best = NOBODY;
	double best_ns = 0;

	for (uint32_t i = 0; i < round->config.workers; i++) {
		const struct worker *worker = &round->workers[i];

		if (!worker->present)
			continue;
		double end_ns = (double)(worker->assigned + worker->leased + 1) *
				task_ns(worker, typical) / iso_board_rate(worker) *
				(double)(1u << worker->backoff);
		bool better = best == NOBODY;
		if (!better && worker->suspect != round->workers[best].suspect)
			better = !worker->suspect;
		else if (!better)
			better = end_ns < best_ns;
		if (better) {
			best = i;
			best_ns = end_ns;
		}
	}
	return best;
}

void iso_board_assign(struct iso_round *round, struct task *task, uint32_t worker)
{
	assert(!iso_board_is_held(task));
	assert(round->workers[worker].present);
	iso_board_set_state(round, task, TASK_FREE);
	task->worker = worker;
	task->attempt++;
	iso_board_set_state(round, task, TASK_ASSIGNED);
}

void iso_board_assign_queued(struct iso_round *round)
{
	if (round->queued == 0 || round->complete)
		return;
	double typical = typical_ns(round);
	for (uint32_t t = 0; t < round->config.batch && round->queued > 0; t++) {
		if (round->tasks[t].state != TASK_QUEUED)
			continue;
		uint32_t worker = best_worker(round, typical);
		if (worker == NOBODY)
			return;
		iso_board_assign(round, &round->tasks[t], worker);
	}
}

void iso_board_refill(struct iso_round *round, uint32_t index)
{
	struct worker *worker = &round->workers[index];
	uint32_t wanted = worker->threads * round->config.greedy_depth;

	if (!worker->present || round->complete)
		return;
	for (uint32_t s = 0; s < round->slots; s++) {
		struct task *task = &round->tasks[(size_t)index * round->slots + s];

		if (worker->assigned + worker->leased >= wanted)
			return;
		if (!iso_board_is_held(task))
			iso_board_assign(round, task, index);
	}
}

void iso_board_take_back(struct iso_round *round, uint32_t index)
{
	uint32_t end = round->greedy ? round->tasks_max : round->config.batch;

	for (uint32_t t = 0; t < end; t++) {
		struct task *task = &round->tasks[t];

		if (task->worker != index || !iso_board_is_held(task))
			continue;
		iso_board_set_state(round, task, round->greedy ? TASK_FREE : TASK_QUEUED);
		round->totals.requeued++;
	}
	assert(round->workers[index].assigned == 0);
	assert(round->workers[index].leased == 0);
}

/*
 * The B-th smallest of all the times u c_i / r_i: until then the greedy rule
 * keeps every present worker busy.
 */
uint64_t iso_board_greedy_ns(struct iso_round *round)
{
	double typical = typical_ns(round), rates = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < round->config.workers; i++) {
		const struct worker *worker = &round->workers[i];

		if (!worker->present)
			continue;
		double cost_ns = task_ns(worker, typical);
		round->scores[count++] = (cost_ns > 1 ? cost_ns : 1) / iso_board_rate(worker);
		rates += iso_board_rate(worker);
	}
	if (count == 0)
		return 0;
	iso_ras(round->scores, count, round->config.batch, round->ras, round->allocation);
	return (uint64_t)(rates * iso_ras_loss(round->scores, round->allocation, count));
}

