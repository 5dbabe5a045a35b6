/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/round.h"

#include <assert.h>
#include <string.h>

#include "lib/ata/ras.h"
#include "lib/carve.h"
#include "lib/sgd/board.h"
#include "lib/sgd/step.h"

#define BACKOFF_MAX 6u

const char *iso_round_verdict_text(enum iso_round_verdict verdict)
{
	static const char *const texts[] = {
		[ISO_ROUND_ACCEPTED] = "accepted",
		[ISO_ROUND_LATE] = "late",
		[ISO_ROUND_OLD] = "old",
		[ISO_ROUND_OTHER_TERM] = "other term",
		[ISO_ROUND_ABANDONED] = "abandoned",
		[ISO_ROUND_NOT_FINITE] = "not finite",
	};

	assert(verdict >= ISO_ROUND_ACCEPTED);
	assert(verdict <= ISO_ROUND_NOT_FINITE);
	return texts[verdict];
}

static bool config_valid(const struct iso_round_config *config)
{
	uint64_t slots = (uint64_t)config->workers * config->threads_max * config->greedy_depth;

	return config->workers > 0 && config->batch > 0 && config->params > 0 && slots > 0 &&
	       slots < UINT32_MAX && config->lease_mads > 0 && config->lease_first_ns > 0 &&
	       config->lease_min_ns > 0;
}

static uint32_t tasks_max(const struct iso_round_config *config)
{
	uint32_t slots = config->workers * config->threads_max * config->greedy_depth;

	return slots > config->batch ? slots : config->batch;
}

size_t iso_round_size(const struct iso_round_config *config)
{
	if (!config_valid(config))
		return 0;
	size_t n = config->workers;

	return iso_carve_bytes(sizeof(struct iso_round)) + n * sizeof(struct worker) +
	       iso_carve_bytes(tasks_max(config) * sizeof(struct task)) +
	       iso_carve_bytes(config->params * sizeof(float)) + n * sizeof(double) +
	       iso_carve_bytes(n * sizeof(uint32_t)) + iso_ras_workspace_bytes(config->workers);
}

enum iso_status iso_round_init(void *memory, size_t size, const struct iso_round_config *config,
			       struct iso_round **ret_round)
{
	size_t needed = iso_round_size(config);
	uint8_t *free_bytes = memory;

	if (needed == 0)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	assert((uintptr_t)memory % 8 == 0);
	memset(memory, 0, needed);
	struct iso_round *round = iso_carve(&free_bytes, sizeof(*round));
	round->config = *config;
	round->complete = true; /* nothing is expected before the first start */
	round->slots = config->threads_max * config->greedy_depth;
	round->tasks_max = tasks_max(config);
	round->workers = iso_carve(&free_bytes, config->workers * sizeof(*round->workers));
	round->tasks = iso_carve(&free_bytes, round->tasks_max * sizeof(*round->tasks));
	round->gradient = iso_carve(&free_bytes, config->params * sizeof(float));
	round->scores = iso_carve(&free_bytes, config->workers * sizeof(double));
	round->allocation = iso_carve(&free_bytes, config->workers * sizeof(uint32_t));
	round->ras = free_bytes;
	assert(free_bytes + iso_ras_workspace_bytes(config->workers) == (uint8_t *)memory + needed);
	*ret_round = round;
	return ISO_OK;
}

static struct worker *worker_at(const struct iso_round *round, uint32_t worker)
{
	assert(worker < round->config.workers);
	return &round->workers[worker];
}

static void pass_time(struct iso_round *round, uint64_t now_ns)
{
	assert(now_ns >= round->now_ns);
	assert(round->accepted <= round->config.batch);
	assert(round->complete || round->accepted < round->config.batch);
	assert(round->queued <= round->tasks_max);
	assert(round->cancels <= round->tasks_max);
	assert(!round->greedy || round->queued == 0);
	round->now_ns = now_ns;
}

static void set_speed(struct iso_round *round, struct worker *worker, uint32_t threads,
		      uint64_t share_ucpu)
{
	assert(threads > 0);
	worker->threads =
		threads < round->config.threads_max ? threads : round->config.threads_max;
	worker->share_ucpu = share_ucpu;
}

void iso_round_join(struct iso_round *round, uint64_t now_ns, uint32_t worker, uint32_t threads,
		    uint64_t share_ucpu)
{
	struct worker *joining = worker_at(round, worker);

	if (joining->present)
		iso_round_leave(round, now_ns, worker);
	pass_time(round, now_ns);
	joining->present = true;
	joining->suspect = false;
	joining->has_params = false;
	joining->cancel_all = false;
	joining->backoff = 0;
	set_speed(round, joining, threads, share_ucpu);
	if (round->greedy)
		iso_board_refill(round, worker);
	else
		iso_board_assign_queued(round);
}

void iso_round_leave(struct iso_round *round, uint64_t now_ns, uint32_t worker)
{
	pass_time(round, now_ns);
	worker_at(round, worker)->present = false;
	worker_at(round, worker)->cancel_all = false;
	if (round->complete)
		return;
	iso_board_take_back(round, worker);
	if (!round->greedy)
		iso_board_assign_queued(round);
}

void iso_round_set_rate(struct iso_round *round, uint64_t now_ns, uint32_t worker,
			uint32_t threads, uint64_t share_ucpu)
{
	pass_time(round, now_ns);
	set_speed(round, worker_at(round, worker), threads, share_ucpu);
	if (round->greedy)
		iso_board_refill(round, worker);
}

static void forget_tasks(struct iso_round *round)
{
	memset(round->tasks, 0, round->tasks_max * sizeof(*round->tasks));
	round->queued = 0;
	round->cancels = 0;
	for (uint32_t i = 0; i < round->config.workers; i++) {
		struct worker *worker = &round->workers[i];

		worker->assigned = 0;
		worker->leased = 0;
		worker->has_params = false;
		worker->cancel_all = false;
		worker->round_cpu_ns = 0;
		worker->round_results = 0;
	}
}

void iso_round_start(struct iso_round *round, uint64_t now_ns, uint64_t number,
		     const uint32_t *tasks)
{
	uint32_t task = 0;

	pass_time(round, now_ns);
	assert(number > round->number);
	forget_tasks(round);
	round->number = number;
	round->greedy = tasks == NULL;
	round->complete = false;
	round->accepted = 0;
	round->loss = 0;
	memset(round->gradient, 0, round->config.params * sizeof(float));
	for (uint32_t i = 0; i < round->config.workers; i++) {
		if (round->greedy) {
			iso_board_refill(round, i);
			continue;
		}
		for (uint32_t u = 0; u < tasks[i]; u++, task++) {
			assert(task < round->config.batch);
			round->tasks[task].worker = NOBODY;
			iso_board_set_state(round, &round->tasks[task], TASK_QUEUED);
			if (round->workers[i].present)
				iso_board_assign(round, &round->tasks[task], i);
		}
	}
	assert(round->greedy || task == round->config.batch);
	if (!round->greedy)
		iso_board_assign_queued(round);
}

static void finish(struct iso_round *round)
{
	float scale = 1.0f / (float)round->config.batch;

	assert(round->accepted == round->config.batch);
	for (uint32_t p = 0; p < round->config.params; p++)
		round->gradient[p] *= scale;
	round->loss /= round->config.batch;
	round->totals.greedy_cpu_ns += iso_board_greedy_ns(round);
	round->totals.rounds++;
	round->complete = true;
	for (uint32_t i = 0; i < round->config.workers; i++) {
		struct worker *worker = &round->workers[i];

		/* A suspect may still compute what was taken from it. */
		worker->cancel_all = worker->present && (worker->leased > 0 || worker->suspect);
	}
}

static bool is_finite(const struct iso_round *round, const struct iso_round_result *result)
{
	/* Infinity minus itself is NaN, as NaN is. */
	return result->loss - result->loss == 0 &&
	       iso_sgd_finite(result->gradient, round->config.params);
}

/* The result's task, if it belongs to this round and nobody has done it yet. */
static struct task *open_task(struct iso_round *round, const struct iso_round_result *result)
{
	uint32_t end = round->greedy ? round->tasks_max : round->config.batch;

	if (result->worker >= round->config.workers || result->task >= end)
		return NULL;
	struct task *task = &round->tasks[result->task];
	if (result->attempt == 0 || result->attempt > task->attempt)
		return NULL;
	if (!round->greedy)
		return task->state != TASK_DONE ? task : NULL;
	/* A slot's earlier attempts were other tasks, not the same one again. */
	if (result->attempt != task->attempt || result->worker != task->worker)
		return NULL;
	return iso_board_is_held(task) ? task : NULL;
}

/* It lives, and we know how fast: whatever becomes of the result. */
static void learn_pace(struct iso_round *round, const struct iso_round_result *result)
{
	struct worker *worker = &round->workers[result->worker];

	worker->suspect = false;
	worker->backoff = 0;
	worker->lease_start_ns = round->now_ns;
	iso_pace_add(&worker->pace, result->on_cpu_ns);
}

static void accept(struct iso_round *round, const struct iso_round_result *result,
		   struct task *task)
{
	struct worker *worker = &round->workers[result->worker];

	/* Done by somebody else than who is at it now. */
	if (task->state == TASK_LEASED && task->worker != result->worker) {
		task->cancel = true;
		round->cancels++;
	}
	iso_board_set_state(round, task, TASK_DONE);
	worker->has_params = true;
	worker->accepted++;
	worker->round_results++;
	worker->round_cpu_ns += result->on_cpu_ns;
	iso_sgd_add(round->gradient, result->gradient, round->config.params);
	round->loss += result->loss;
	round->accepted++;
	round->totals.accepted++;
	round->totals.accepted_cpu_ns += result->on_cpu_ns;
	if (round->accepted == round->config.batch)
		finish(round);
	else if (round->greedy)
		iso_board_refill(round, result->worker);
}

static enum iso_round_verdict discard(struct iso_round *round, enum iso_round_verdict verdict,
				      uint64_t on_cpu_ns, uint64_t *counter)
{
	*counter += 1;
	round->totals.discarded_cpu_ns += on_cpu_ns;
	return verdict;
}

enum iso_round_verdict iso_round_result(struct iso_round *round, uint64_t now_ns,
					const struct iso_round_result *result)
{
	struct iso_round_totals *totals = &round->totals;

	pass_time(round, now_ns);
	if (result->term != round->config.term || result->number > round->number) {
		totals->other_term++;
		return ISO_ROUND_OTHER_TERM;
	}
	if (result->abandoned)
		return discard(round, ISO_ROUND_ABANDONED, result->on_cpu_ns, &totals->abandoned);
	if (result->worker < round->config.workers)
		learn_pace(round, result);
	if (result->number < round->number || round->complete)
		return discard(round, ISO_ROUND_OLD, result->on_cpu_ns, &totals->old);
	struct task *task = open_task(round, result);
	if (task == NULL)
		return discard(round, ISO_ROUND_LATE, result->on_cpu_ns, &totals->late);
	if (is_finite(round, result)) {
		accept(round, result, task);
		return ISO_ROUND_ACCEPTED;
	}
	/* Whoever has it meanwhile may go on. */
	if (task->worker == result->worker && task->attempt == result->attempt)
		iso_board_set_state(round, task, round->greedy ? TASK_FREE : TASK_QUEUED);
	if (round->greedy)
		iso_board_refill(round, result->worker);
	else
		iso_board_assign_queued(round);
	return discard(round, ISO_ROUND_NOT_FINITE, result->on_cpu_ns, &totals->not_finite);
}

static void fill_order(struct iso_round *round, uint32_t index, struct iso_round_task *tasks,
		       uint32_t capacity, struct iso_round_order *ret_order)
{
	struct worker *worker = &round->workers[index];
	uint32_t first = round->greedy ? index * round->slots : 0;
	uint32_t end = round->greedy ? first + round->slots : round->config.batch;
	uint32_t count = 0;

	if (worker->leased == 0)
		worker->lease_start_ns = round->now_ns;
	for (uint32_t t = first; t < end && count < capacity && worker->assigned > 0; t++) {
		struct task *task = &round->tasks[t];

		if (task->state != TASK_ASSIGNED || task->worker != index)
			continue;
		iso_board_set_state(round, task, TASK_LEASED);
		tasks[count++] = (struct iso_round_task){ t, task->attempt };
	}
	assert(count > 0);
	*ret_order = (struct iso_round_order){
		.worker = index,
		.count = count,
		.with_params = !worker->has_params,
		.number = round->number,
	};
}

bool iso_round_next_order(struct iso_round *round, uint64_t now_ns, struct iso_round_task *tasks,
			  uint32_t capacity, struct iso_round_order *ret_order)
{
	uint32_t n = round->config.workers;

	assert(capacity >= 1);
	pass_time(round, now_ns);
	if (round->complete)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t index = (round->next + i) % n;

		if (round->workers[index].assigned == 0)
			continue;
		round->next = index;
		fill_order(round, index, tasks, capacity, ret_order);
		return true;
	}
	return false;
}

bool iso_round_next_cancel(struct iso_round *round, struct iso_round_cancel *ret_cancel)
{
	for (uint32_t i = 0; round->complete && i < round->config.workers; i++) {
		if (!round->workers[i].cancel_all)
			continue;
		round->workers[i].cancel_all = false;
		*ret_cancel = (struct iso_round_cancel){ .worker = i, .task = UINT32_MAX,
							 .number = round->number };
		return true;
	}
	for (uint32_t t = 0; t < round->tasks_max && round->cancels > 0; t++) {
		struct task *task = &round->tasks[t];

		if (!task->cancel)
			continue;
		task->cancel = false;
		round->cancels--;
		/* It may have left since, or have it under "all" of a complete round. */
		if (round->complete || !round->workers[task->worker].present)
			continue;
		*ret_cancel = (struct iso_round_cancel){ task->worker, t, task->attempt,
							 round->number };
		return true;
	}
	return false;
}

static void expire(struct iso_round *round, uint32_t index)
{
	struct worker *worker = &round->workers[index];

	assert(worker->present);
	assert(worker->leased > 0);
	round->totals.leases_expired++;
	worker->suspect = true;
	if (worker->backoff < BACKOFF_MAX)
		worker->backoff++;
	if (!round->greedy) {
		iso_board_take_back(round, index);
		return;
	}
	/* Nobody else computes these tasks: only tell it again. */
	for (uint32_t s = 0; s < round->slots; s++) {
		struct task *task = &round->tasks[(size_t)index * round->slots + s];

		if (task->state == TASK_LEASED)
			iso_board_set_state(round, task, TASK_ASSIGNED);
	}
}

void iso_round_tick(struct iso_round *round, uint64_t now_ns)
{
	pass_time(round, now_ns);
	for (uint32_t i = 0; i < round->config.workers; i++)
		if (iso_board_lease_end(round, &round->workers[i]) <= now_ns)
			expire(round, i);
	if (!round->greedy)
		iso_board_assign_queued(round);
}

uint64_t iso_round_wake_ns(const struct iso_round *round)
{
	uint64_t wake_ns = UINT64_MAX;

	for (uint32_t i = 0; i < round->config.workers; i++) {
		uint64_t end_ns = iso_board_lease_end(round, &round->workers[i]);

		wake_ns = end_ns < wake_ns ? end_ns : wake_ns;
	}
	return wake_ns;
}

bool iso_round_complete(const struct iso_round *round)
{
	return round->complete && round->number > 0;
}

const float *iso_round_gradient(const struct iso_round *round)
{
	assert(iso_round_complete(round));
	return round->gradient;
}

double iso_round_loss(const struct iso_round *round)
{
	assert(iso_round_complete(round));
	return round->loss;
}

const struct iso_round_totals *iso_round_totals(const struct iso_round *round)
{
	return &round->totals;
}

struct iso_round_worker_view iso_round_worker(const struct iso_round *round, uint32_t worker)
{
	const struct worker *at = worker_at(round, worker);

	return (struct iso_round_worker_view){
		.present = at->present,
		.suspect = at->suspect,
		.tasks = at->assigned + at->leased,
		.accepted = at->accepted,
		.median_ns = at->pace.median_ns,
		.lease_end_ns = iso_board_lease_end(round, at),
	};
}
