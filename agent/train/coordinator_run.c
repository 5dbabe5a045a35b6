/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include <assert.h>

#include "agent/base/log.h"
#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/quantity.h"
#include "lib/sgd/step.h"

/* A worker may own nothing for a while; times are then long, not infinite. */
#define RATE_MIN_CPUS 1e-3

static void apply_speed(struct run *run, uint32_t worker, struct iso_train_speed speed)
{
	double rate = iso_rate_cpus(speed.threads, speed.share_ucpu);

	run->slots[worker].speed = speed;
	iso_strategy_set_rate(run->strategy, worker, rate > RATE_MIN_CPUS ? rate : RATE_MIN_CPUS);
}

void run_join(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed)
{
	struct slot *slot = &run->slots[worker];

	run->present_count += !slot->is_present;
	slot->is_present = true;
	if (run->first_join_ns == 0)
		run->first_join_ns = now_ns;
	iso_strategy_set_present(run->strategy, worker, true);
	apply_speed(run, worker, speed);
	iso_round_join(run->rounds, now_ns, worker, speed.threads, speed.share_ucpu);
}

void run_leave(struct run *run, uint64_t now_ns, uint32_t worker)
{
	struct slot *slot = &run->slots[worker];

	if (!slot->is_present)
		return;
	slot->is_present = false;
	run->present_count--;
	iso_strategy_set_present(run->strategy, worker, false);
	iso_round_leave(run->rounds, now_ns, worker);
}

void run_set_speed(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed)
{
	const struct slot *slot = &run->slots[worker];

	/* No threads: a PING or PONG that says nothing of them. */
	if (!slot->is_present || speed.threads == 0 ||
	    (slot->speed.threads == speed.threads && slot->speed.share_ucpu == speed.share_ucpu))
		return;
	apply_speed(run, worker, speed);
	iso_round_set_rate(run->rounds, now_ns, worker, speed.threads, speed.share_ucpu);
}

enum iso_round_verdict run_result(struct run *run, uint64_t now_ns,
				  const struct iso_round_result *result, uint64_t wall_ns)
{
	struct slot *slot = &run->slots[result->worker];
	enum iso_round_verdict verdict = iso_round_result(run->rounds, now_ns, result);
	uint64_t time_ns = run->conf->allocation.share_normalised ? result->on_cpu_ns : wall_ns;

	switch (verdict) {
	case ISO_ROUND_ACCEPTED:
		slot->tasks_done++;
		/* fall through */
	case ISO_ROUND_LATE:
	case ISO_ROUND_OLD:
		/* In vain or not, it shows how fast the worker is. */
		slot->cpu_ns += result->on_cpu_ns;
		slot->cpu_tasks++;
		struct iso_ata_task task = { .time_s = (double)time_ns / ISO_NS_PER_S };
		iso_strategy_observe(run->strategy, result->worker, &task);
		break;
	case ISO_ROUND_OTHER_TERM:
	case ISO_ROUND_ABANDONED:
	case ISO_ROUND_NOT_FINITE: break;
	}
	return verdict;
}

static bool may_start(const struct run *run, uint64_t now_ns)
{
	if (run->is_round_open || run->present_count == 0 || run_is_over(run, now_ns))
		return false;
	return run->started_ns != 0 || run->present_count == run->workers_count ||
	       now_ns >= run->first_join_ns + run->conf->training.start_after_ns;
}

static void start_round(struct run *run, uint64_t now_ns)
{
	/* Fails only without present workers. */
	if (iso_strategy_allocate(run->strategy, run->round + 1, run->tasks) != ISO_OK)
		return;
	for (uint32_t i = 0; i < run->workers_count; i++)
		run->slots[i].allocation = run->tasks[i];
	if (run->started_ns == 0) {
		run->started_ns = now_ns;
		run->evaluate_at_ns = now_ns;
		run->checkpoint_at_ns = now_ns + run->conf->checkpoint_interval_ns;
		log_info("training starts with %u of %u workers", run->present_count,
			 run->workers_count);
	}
	iso_round_start(run->rounds, now_ns, run->round + 1, run->is_greedy ? NULL : run->tasks);
	run->is_round_open = true;
	run->round_started_ns = now_ns;
}

/* x^{k+1} = x^k - gamma_k x mean of the B gradients. */
static void finish_round(struct run *run)
{
	double gamma = run->conf->training.learning_rate /
		       (1 + run->conf->training.decay * (double)run->round);

	iso_sgd_step(run->params, iso_round_gradient(run->rounds), run->params_count, (float)gamma);
	run->train_loss = iso_round_loss(run->rounds);
	run->has_train_loss = true;
	run->round++;
	run->is_round_open = false;
}

void run_advance(struct run *run, uint64_t now_ns)
{
	iso_round_tick(run->rounds, now_ns);
	if (run->is_round_open && iso_round_complete(run->rounds))
		finish_round(run);
	if (may_start(run, now_ns))
		start_round(run, now_ns);
}

/*
 * A task's mini-batch follows from the run's seed, so that a task done again is
 * the same one; in a greedy round, where a task id is only a place in the
 * queue, each attempt is another.
 */
static uint64_t task_seed(const struct run *run, const struct iso_round_task *task)
{
	uint8_t bytes[8 + 8 + 4 + 4];

	iso_put_le(bytes, (uint64_t)run->conf->training.seed, 8);
	iso_put_le(bytes + 8, run->round, 8);
	iso_put_le(bytes + 16, task->task, 4);
	iso_put_le(bytes + 20, run->is_greedy ? task->attempt : 0, 4);
	return iso_checksum(bytes, sizeof(bytes));
}

bool run_next_order(struct run *run, uint64_t now_ns, struct iso_train_task *tasks,
		    uint32_t capacity, struct iso_round_order *ret_order)
{
	assert(capacity <= ISO_TRAIN_TASKS_MAX);
	if (!iso_round_next_order(run->rounds, now_ns, run->ordered, capacity, ret_order))
		return false;
	for (uint32_t i = 0; i < ret_order->count; i++)
		tasks[i] = (struct iso_train_task){
			.task = run->ordered[i].task,
			.attempt = run->ordered[i].attempt,
			.samples = (uint32_t)run->conf->training.samples_per_task,
			.seed = task_seed(run, &run->ordered[i]),
		};
	return true;
}

bool run_next_cancel(struct run *run, struct iso_round_cancel *ret_cancel)
{
	return iso_round_next_cancel(run->rounds, ret_cancel);
}

uint64_t run_elapsed_ns(const struct run *run, uint64_t now_ns)
{
	return run->elapsed_before_ns + (run->started_ns != 0 ? now_ns - run->started_ns : 0);
}

void run_evaluate(struct run *run, uint64_t now_ns)
{
	if (!evaluation_is_running(run->evaluation)) {
		if (run->started_ns == 0 || now_ns < run->evaluate_at_ns)
			return;
		run->evaluate_at_ns = now_ns + run->conf->evaluation_interval_ns;
		if (evaluation_knows(run->evaluation, run->round))
			return;
		evaluation_start(run->evaluation, run->params, run->round,
				 run_elapsed_ns(run, now_ns), now_ns);
	}
	if (evaluation_is_running(run->evaluation))
		(void)evaluation_step(run->evaluation, now_ns);
}

void run_evaluate_now(struct run *run, uint64_t now_ns)
{
	evaluation_finish(run->evaluation);
	if (!evaluation_knows(run->evaluation, run->round))
		evaluation_start(run->evaluation, run->params, run->round,
				 run_elapsed_ns(run, now_ns), now_ns);
	evaluation_finish(run->evaluation);
}

static void add_totals(struct iso_round_totals *sum, const struct iso_round_totals *more)
{
	sum->rounds += more->rounds;
	sum->accepted += more->accepted;
	sum->late += more->late;
	sum->old += more->old;
	sum->other_term += more->other_term;
	sum->abandoned += more->abandoned;
	sum->not_finite += more->not_finite;
	sum->requeued += more->requeued;
	sum->leases_expired += more->leases_expired;
	sum->accepted_cpu_ns += more->accepted_cpu_ns;
	sum->discarded_cpu_ns += more->discarded_cpu_ns;
	sum->greedy_cpu_ns += more->greedy_cpu_ns;
}

struct iso_round_totals run_totals(const struct run *run)
{
	struct iso_round_totals totals = run->totals_before;

	add_totals(&totals, iso_round_totals(run->rounds));
	return totals;
}

uint64_t run_wake_ns(const struct run *run, uint64_t now_ns)
{
	uint64_t at_ns = iso_round_wake_ns(run->rounds);

	if (run->is_round_open && iso_round_complete(run->rounds))
		return now_ns;
	if (run->started_ns == 0) {
		uint64_t start_ns = run->first_join_ns + run->conf->training.start_after_ns;

		return run->present_count > 0 && start_ns < at_ns ? start_ns : at_ns;
	}
	uint64_t evaluate_ns = evaluation_is_running(run->evaluation)
				   ? evaluation_wake_ns(run->evaluation, now_ns)
				   : run->evaluate_at_ns;
	if (evaluate_ns < at_ns)
		at_ns = evaluate_ns;
	if (run->checkpoint_at_ns < at_ns)
		at_ns = run->checkpoint_at_ns;
	if (run->conf->training.stop_after_ns > run->elapsed_before_ns) {
		uint64_t left_ns = run->conf->training.stop_after_ns - run->elapsed_before_ns;

		if (run->started_ns + left_ns < at_ns)
			at_ns = run->started_ns + left_ns;
	}
	return at_ns;
}

bool run_is_over(const struct run *run, uint64_t now_ns)
{
	const struct cconf *conf = run->conf;
	uint64_t rounds = (uint64_t)conf->training.stop_after_rounds;

	return (rounds != 0 && run->round >= rounds) ||
	       (conf->training.stop_after_ns != 0 &&
		run_elapsed_ns(run, now_ns) >= conf->training.stop_after_ns);
}

uint64_t run_term(const struct run *run)
{
	return run->term;
}

uint64_t run_version(const struct run *run)
{
	return run->round;
}

const float *run_params(const struct run *run)
{
	return run->params;
}

const struct iso_model *run_model(const struct run *run)
{
	return &run->model;
}

uint64_t run_data_checksum(const struct run *run)
{
	return run->data_checksum;
}

void run_set_data_checksum(struct run *run, uint64_t checksum)
{
	run->data_checksum = checksum;
}

struct run_view run_view(const struct run *run, uint64_t now_ns)
{
	struct run_view view = {
		.term = run->term,
		.round = run->round,
		.elapsed_ns = run_elapsed_ns(run, now_ns),
		.round_age_ns = run->is_round_open ? now_ns - run->round_started_ns : 0,
		.has_started = run->started_ns != 0,
		.has_train_loss = run->has_train_loss,
		.train_loss = run->train_loss,
		.exploring = run->started_ns != 0 && iso_strategy_exploring(run->strategy),
		.totals = run_totals(run),
	};

	return view;
}

struct run_worker_view run_worker_view(const struct run *run, uint32_t worker)
{
	const struct slot *slot = &run->slots[worker];
	struct iso_ata_samples samples = iso_strategy_samples(run->strategy, worker);
	struct run_worker_view view = {
		.speed = slot->speed,
		.allocation = slot->allocation,
		.tasks_done = slot->tasks_done,
		.score = iso_strategy_scores(run->strategy)[worker],
		.round = iso_round_worker(run->rounds, worker),
	};

	if (run->conf->allocation.share_normalised)
		view.mean_on_cpu_ns = iso_ata_mean_s(&samples) * ISO_NS_PER_S;
	else if (slot->cpu_tasks > 0)
		view.mean_on_cpu_ns = (double)slot->cpu_ns / (double)slot->cpu_tasks;
	return view;
}

const struct evaluation_point *run_evaluations(const struct run *run, uint32_t *ret_count)
{
	return evaluation_points(run->evaluation, ret_count);
}
