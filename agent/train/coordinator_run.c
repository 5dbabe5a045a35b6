/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include <assert.h>

#include "agent/base/log.h"
#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/quantity.h"
#include "lib/rng.h"
#include "lib/sgd/step.h"

#define NOT_FINITE_MAX 20u

/* What came too late was of no round that is still going on. */
#define NO_ROUND UINT64_MAX

/* A batch's worth of results: what it cost, and what the greedy rule would have paid. */
static void close_batch(struct run *run)
{
	run->train_loss = run->loss_sum / run->loss_count;
	run->has_train_loss = true;
	run->greedy_cpu_ns += iso_dispatch_greedy_ns(run->dispatch, run->loss_count);
	run->loss_sum = 0;
	run->loss_count = 0;
	run->rounds_seen = iso_method_totals(run->method).rounds;
}

static void arrive(struct run *run, const struct iso_train_result *result, const float *gradient,
		   const struct iso_dispatch_done *done)
{
	const struct iso_method_arrival arrival = {
		.worker = done->worker,
		.version = done->version,
		.gradient = gradient,
	};
	struct checkpoint_ledger *ledger = &run->slots[done->worker].ledger;

	switch (iso_method_arrive(run->method, &arrival)) {
	case ISO_METHOD_USED: ledger->used++; break;
	case ISO_METHOD_BUFFERED: ledger->buffered++; break;
	case ISO_METHOD_IGNORED:
		ledger->ignored++;
		ledger->discarded_cpu_ns += result->on_cpu_ns;
		run->ignored_cpu_ns += result->on_cpu_ns;
		return;
	}
	run->loss_sum += result->loss;
	run->loss_count++;
	if (run->plan.traits.by_rounds ? iso_method_totals(run->method).rounds != run->rounds_seen
				       : run->loss_count >= run->plan.batch)
		close_batch(run);
}

/* In vain or not, it shows how fast the worker is. */
static void learn(struct run *run, uint32_t worker, const struct iso_train_result *result,
		  uint64_t round)
{
	struct slot *slot = &run->slots[worker];
	uint64_t time_ns =
	    run->conf->allocation.options.share_normalised ? result->on_cpu_ns : result->wall_ns;

	slot->cpu_ns += result->on_cpu_ns;
	slot->timed_tasks++;
	iso_fastest_add(&run->fastest, worker, time_ns);
	iso_strategy_observe(
	    run->strategy, worker,
	    &(struct iso_ata_task){
		.time_s = (double)time_ns / ISO_NS_PER_S,
		.cost = (double)result->samples / (double)run->conf->training.samples_per_task,
		.round = round,
	    });
}

/* Said once, and not of what may be the fault of one worker among several. */
static void note_not_finite(struct run *run, uint32_t worker)
{
	uint32_t count = run->not_finite_in_row + 1;

	if (count == 1)
		run->not_finite_first = worker;
	bool is_any = worker != run->not_finite_first || run->here_count == 1;
	if (count > NOT_FINITE_MAX || (count == NOT_FINITE_MAX && !is_any))
		return;
	run->not_finite_in_row = count;
	if (count == NOT_FINITE_MAX)
		log_error("step %llu: the last %u gradients are no numbers; the learning-rate "
			  "may be too large",
			  (unsigned long long)run_steps(run), NOT_FINITE_MAX);
}

void run_result(struct run *run, uint64_t now_ns, uint32_t worker,
		const struct iso_train_result *result, const float *gradient)
{
	const struct iso_dispatch_result from = {
		.term = result->term,
		.task = result->task,
		.attempt = result->attempt,
		.worker = worker,
		.abandoned = gradient == NULL,
		/* Infinity minus itself is NaN, as NaN is. */
		.finite = gradient != NULL && result->loss - result->loss == 0 &&
			  iso_sgd_finite(gradient, run->params_count),
		.on_cpu_ns = result->on_cpu_ns,
	};
	struct checkpoint_ledger *ledger = &run->slots[worker].ledger;
	struct iso_dispatch_done done;

	enum iso_dispatch_verdict verdict =
	    iso_dispatch_result(run->dispatch, now_ns, &from, &done);
	if (verdict == ISO_DISPATCH_OTHER_TERM)
		return;
	ledger->cpu_ns += result->on_cpu_ns;
	switch (verdict) {
	case ISO_DISPATCH_ACCEPTED:
		run->not_finite_in_row = 0;
		learn(run, worker, result, done.tag);
		/* Before: who is no longer one of the fastest is to start nothing more. */
		run_admit(run, now_ns);
		arrive(run, result, gradient, &done);
		break;
	case ISO_DISPATCH_LATE:
		learn(run, worker, result, NO_ROUND);
		ledger->late++;
		break;
	case ISO_DISPATCH_ABANDONED: ledger->abandoned++; break;
	case ISO_DISPATCH_NOT_FINITE:
		ledger->not_finite++;
		note_not_finite(run, worker);
		break;
	case ISO_DISPATCH_OTHER_TERM: break;
	}
	if (verdict != ISO_DISPATCH_ACCEPTED)
		ledger->discarded_cpu_ns += result->on_cpu_ns;
	/* It does compute: let it, from now on, and not what it still has. */
	if (run->slots[worker].is_given_up)
		run->slots[worker].retry_at_ns = now_ns;
	run_advance(run, now_ns);
}

static bool may_start(const struct run *run, uint64_t now_ns)
{
	if (run->started_ns != 0 || run->here_count == 0)
		return false;
	return run->here_count == run->workers_count ||
	       now_ns >= run->first_join_ns + run->conf->training.start_after_ns;
}

static void start(struct run *run, uint64_t now_ns)
{
	run->started_ns = now_ns;
	run->evaluate_at_ns = now_ns;
	run->checkpoint_at_ns = now_ns + run->conf->checkpoint_interval_ns;
	run->round_started_ns = now_ns;
	log_info("training starts with %u of %u workers", run->here_count, run->workers_count);
	run_take_in_all(run, now_ns);
}

static void begin_round(struct run *run, uint64_t now_ns)
{
	bool allocates = run->plan.allocates;

	/* Fails only without present workers. */
	if (allocates &&
	    iso_strategy_allocate(run->strategy, run->allocations + 1, run->tasks) != ISO_OK)
		return;
	for (uint32_t i = 0; i < run->workers_count && allocates; i++)
		run->slots[i].allocation = run->tasks[i];
	run->allocations++;
	run->round_started_ns = now_ns;
	iso_method_begin(run->method, allocates ? run->tasks : NULL);
}

/* What the method wants done becomes tasks. */
static void take_orders(struct run *run, uint64_t now_ns)
{
	struct iso_method_order order;

	while (iso_method_next(run->method, &order)) {
		struct checkpoint_ledger *ledger = &run->slots[order.worker].ledger;

		if (order.act == ISO_METHOD_STOP) {
			ledger->stopped +=
			    iso_dispatch_stop(run->dispatch, now_ns, order.worker, order.version);
			continue;
		}
		iso_dispatch_start(run->dispatch, now_ns, order.worker, order.count, order.version,
				   run->plan.allocates ? run->allocations : 0);
		ledger->started += order.count;
	}
}

void run_advance(struct run *run, uint64_t now_ns)
{
	struct iso_dispatch_move move;

	if (may_start(run, now_ns))
		start(run, now_ns);
	while (iso_dispatch_tick(run->dispatch, now_ns, &move)) {
		iso_method_move(run->method, move.from, move.to, 1);
		run->slots[move.from].ledger.lost++;
		run->slots[move.to].ledger.started++;
	}
	run_look_after_workers(run, now_ns);
	run_admit(run, now_ns);
	if (run->joined_count > 0 && iso_method_between_rounds(run->method) &&
	    !run_is_over(run, now_ns))
		begin_round(run, now_ns);
	take_orders(run, now_ns);
}

/*
 * A task's mini-batch, and its size, follow from the run's seed and the task's number, so
 * that a task that is handed out again is the same one.
 */
static struct iso_train_task make_task(const struct run *run, const struct iso_dispatch_task *from)
{
	const struct cconf *conf = run->conf;
	double samples = (double)conf->training.samples_per_task;
	uint8_t bytes[8 + 8];

	iso_put_le(bytes, (uint64_t)conf->training.seed, 8);
	iso_put_le(bytes + 8, from->serial, 8);
	uint64_t seed = iso_checksum(bytes, sizeof(bytes));
	if (conf->training.samples_spread > 0) {
		struct iso_rng rng = { seed };

		samples *= 1 + conf->training.samples_spread * (2 * iso_rng_unit(&rng) - 1);
	}
	return (struct iso_train_task){
		.task = from->task,
		.attempt = from->attempt,
		.samples = samples < 1 ? 1 : (uint32_t)samples,
		.seed = seed,
	};
}

bool run_next_order(struct run *run, uint64_t now_ns, struct iso_train_task *tasks,
		    uint32_t capacity, struct iso_dispatch_order *ret_order)
{
	assert(capacity <= ISO_TRAIN_TASKS_MAX);
	if (!iso_dispatch_next_order(run->dispatch, now_ns, run->ordered, capacity, ret_order))
		return false;
	for (uint32_t i = 0; i < ret_order->count; i++)
		tasks[i] = make_task(run, &run->ordered[i]);
	return true;
}

bool run_next_cancel(struct run *run, struct iso_dispatch_cancel *ret_cancel)
{
	return iso_dispatch_next_cancel(run->dispatch, ret_cancel);
}

uint32_t run_points(const struct run *run)
{
	return iso_dispatch_points(run->dispatch);
}

bool run_needs_point(const struct run *run, uint32_t point, uint64_t version)
{
	uint64_t now;

	return iso_dispatch_point_in_use(run->dispatch, point, &now) && now == version;
}

void run_evaluate(struct run *run, uint64_t now_ns)
{
	uint64_t steps = run_steps(run);

	if (!evaluation_is_running(run->evaluation)) {
		if (run->started_ns == 0 || now_ns < run->evaluate_at_ns)
			return;
		run->evaluate_at_ns = now_ns + run->conf->evaluation_interval_ns;
		if (evaluation_knows(run->evaluation, steps))
			return;
		run_point(run, run->params);
		evaluation_start(run->evaluation, run->params, steps, run_elapsed_ns(run, now_ns),
				 now_ns);
	}
	if (evaluation_is_running(run->evaluation))
		(void)evaluation_step(run->evaluation, now_ns);
}

void run_evaluate_now(struct run *run, uint64_t now_ns)
{
	uint64_t steps = run_steps(run);

	evaluation_finish(run->evaluation);
	if (!evaluation_knows(run->evaluation, steps)) {
		run_point(run, run->params);
		evaluation_start(run->evaluation, run->params, steps, run_elapsed_ns(run, now_ns),
				 now_ns);
	}
	evaluation_finish(run->evaluation);
}

uint64_t run_wake_ns(const struct run *run, uint64_t now_ns)
{
	uint64_t at_ns = iso_dispatch_wake_ns(run->dispatch);

	if (run->started_ns == 0) {
		uint64_t start_ns = run->first_join_ns + run->conf->training.start_after_ns;

		return run->here_count > 0 && start_ns < at_ns ? start_ns : at_ns;
	}
	for (uint32_t i = 0; i < run->workers_count && run->given_up_count > 0; i++)
		if (run->slots[i].is_given_up && run->slots[i].retry_at_ns < at_ns)
			at_ns = run->slots[i].retry_at_ns;
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
	uint64_t steps = (uint64_t)conf->training.stop_after_rounds;

	return (steps != 0 && run_steps(run) >= steps) ||
	       (conf->training.stop_after_ns != 0 &&
		run_elapsed_ns(run, now_ns) >= conf->training.stop_after_ns);
}
