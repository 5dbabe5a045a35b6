/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include "lib/quantity.h"

uint64_t run_steps(const struct run *run)
{
	return run->tasks_before.updates + iso_method_totals(run->method).updates;
}

uint64_t run_elapsed_ns(const struct run *run, uint64_t now_ns)
{
	return run->elapsed_before_ns + (run->started_ns != 0 ? now_ns - run->started_ns : 0);
}

void run_add_task_totals(struct iso_method_totals *totals, const struct iso_method_totals *more)
{
	totals->rounds += more->rounds;
	totals->updates += more->updates;
	totals->started += more->started;
	totals->used += more->used;
	totals->buffered += more->buffered;
	totals->ignored += more->ignored;
	totals->stopped += more->stopped;
	totals->lost += more->lost;
	totals->in_flight += more->in_flight;
	totals->late += more->late;
	totals->delay_sum += more->delay_sum;
	if (more->delay_max > totals->delay_max)
		totals->delay_max = more->delay_max;
}

struct iso_method_totals run_task_totals(const struct run *run)
{
	struct iso_method_totals totals = iso_method_totals(run->method);

	run_add_task_totals(&totals, &run->tasks_before);
	return totals;
}

struct iso_dispatch_totals run_result_totals(const struct run *run)
{
	const struct iso_dispatch_totals *more = iso_dispatch_totals(run->dispatch);
	struct iso_dispatch_totals totals = run->results_before;

	totals.accepted += more->accepted;
	totals.late += more->late;
	totals.other_term += more->other_term;
	totals.abandoned += more->abandoned;
	totals.not_finite += more->not_finite;
	totals.moved += more->moved;
	totals.resent += more->resent;
	totals.leases_expired += more->leases_expired;
	totals.accepted_cpu_ns += more->accepted_cpu_ns;
	totals.late_cpu_ns += more->late_cpu_ns;
	totals.abandoned_cpu_ns += more->abandoned_cpu_ns;
	totals.not_finite_cpu_ns += more->not_finite_cpu_ns;
	return totals;
}

uint64_t run_term(const struct run *run)
{
	return run->term;
}

uint64_t run_version(const struct run *run)
{
	return iso_method_version(run->method);
}

uint32_t run_params_count(const struct run *run)
{
	return run->params_count;
}

void run_point(const struct run *run, float *ret_params)
{
	iso_method_point(run->method, ret_params);
}

const struct run_model *run_model(const struct run *run)
{
	return &run->model;
}

const char *run_evaluation_state(const struct run *run)
{
	return run->model.user_task != 0 ? evaluation_state(run->evaluation) : NULL;
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
	struct iso_method_totals tasks = run_task_totals(run);
	bool has_started = run->started_ns != 0;

	return (struct run_view){
		.plan = run->plan,
		.term = run->term,
		.steps = tasks.updates,
		.rounds = tasks.rounds,
		.elapsed_ns = run_elapsed_ns(run, now_ns),
		.round_age_ns = has_started ? now_ns - run->round_started_ns : 0,
		.has_started = has_started,
		.has_train_loss = run->has_train_loss,
		.train_loss = run->train_loss,
		.exploring =
		    has_started && run->plan.allocates && iso_strategy_exploring(run->strategy),
		.is_calibrating = run->plan.allocates && iso_strategy_calibrating(run->strategy),
		.width = iso_strategy_width(run->strategy),
		.tasks = tasks,
		.results = run_result_totals(run),
		.ignored_cpu_ns = run->ignored_cpu_ns,
		.greedy_cpu_ns = run->greedy_cpu_ns,
	};
}

struct run_worker_view run_worker_view(const struct run *run, uint32_t worker)
{
	const struct slot *slot = &run->slots[worker];
	struct iso_ata_samples samples = iso_strategy_samples(run->strategy, worker);
	struct run_worker_view view = {
		.speed = slot->speed,
		.allocation = slot->allocation,
		.is_given_up = slot->is_given_up,
		.ledger = slot->ledger,
		.score = run->plan.allocates ? iso_strategy_scores(run->strategy)[worker] : 0,
		.is_admitted = slot->is_admitted,
		.drifts = iso_strategy_drifts(run->strategy, worker),
		.cluster = iso_strategy_cluster(run->strategy, worker),
		.dispatch = iso_dispatch_worker(run->dispatch, worker),
	};

	if (slot->timed_tasks > 0)
		view.mean_on_cpu_ns = (double)slot->cpu_ns / (double)slot->timed_tasks;
	else if (run->conf->allocation.options.share_normalised)
		view.mean_on_cpu_ns = iso_ata_mean_s(&samples) * ISO_NS_PER_S;
	return view;
}

const struct evaluation_point *run_evaluations(const struct run *run, uint32_t *ret_count)
{
	return evaluation_points(run->evaluation, ret_count);
}
