/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"

/* The states that the checkpoint borrows; free what there is. */
static void free_states(struct checkpoint *checkpoint)
{
	free(checkpoint->method_state);
	free(checkpoint->strategy_state);
	free(checkpoint->worker_states);
	free(checkpoint->workers);
}

static bool make_states(struct run *run, struct checkpoint *checkpoint)
{
	checkpoint->method_bytes = iso_method_state_bytes(run->method);
	uint32_t own_bytes = (uint32_t)iso_strategy_state_bytes(run->strategy);
	checkpoint->strategy_bytes = own_bytes + RUN_TIMES_BYTES;
	checkpoint->worker_bytes = (uint32_t)iso_strategy_worker_bytes(run->strategy);
	checkpoint->method_state = malloc(checkpoint->method_bytes + 1);
	checkpoint->strategy_state = malloc(checkpoint->strategy_bytes + 1ull);
	checkpoint->worker_states =
	    malloc((size_t)checkpoint->worker_bytes * run->workers_count + 1);
	checkpoint->workers = calloc(run->workers_count, sizeof(*checkpoint->workers));
	if (checkpoint->method_state == NULL || checkpoint->strategy_state == NULL ||
	    checkpoint->worker_states == NULL || checkpoint->workers == NULL)
		return false;
	iso_method_save(run->method, checkpoint->method_state);
	iso_strategy_save(run->strategy, checkpoint->strategy_state);
	iso_put_le(checkpoint->strategy_state + own_bytes, run_times_checksum(run),
		   RUN_TIMES_BYTES);
	for (uint32_t i = 0; i < run->workers_count; i++) {
		struct checkpoint_worker *worker = &checkpoint->workers[i];

		memcpy(worker->name, run->conf->workers[i].name, sizeof(worker->name));
		worker->ledger = run->slots[i].ledger;
		/* What it holds now is lost to whoever goes on from here. */
		worker->ledger.lost += iso_dispatch_worker(run->dispatch, i).tasks;
		iso_strategy_save_worker(run->strategy, i,
					 checkpoint->worker_states +
					     (size_t)i * checkpoint->worker_bytes);
	}
	return true;
}

static int write_checkpoint(struct run *run, uint64_t now_ns, struct error *reterr)
{
	struct checkpoint checkpoint = {
		.term = run->term,
		.elapsed_ns = run_elapsed_ns(run, now_ns),
		.data_checksum = run->data_checksum,
		.train_loss = run->train_loss,
		.allocations = run->allocations,
		.serial = iso_dispatch_serial(run->dispatch),
		.ignored_cpu_ns = run->ignored_cpu_ns,
		.greedy_cpu_ns = run->greedy_cpu_ns,
		.tasks_before = run->tasks_before,
		.results = run_result_totals(run),
		.method = (uint32_t)run->plan.method,
		.strategy = (uint32_t)run->conf->allocation.strategy,
		.model = run->model.kind,
		.features = run->model.features,
		.classes = run->model.classes,
		.hidden = run->model.hidden,
		.user_task = run->model.user_task,
		.params_count = run->params_count,
		.workers_count = run->workers_count,
	};
	struct evaluation_point copied[EVALUATIONS_MAX];
	const struct evaluation_point *points =
	    evaluation_points(run->evaluation, &checkpoint.evaluations_count);

	memcpy(copied, points, checkpoint.evaluations_count * sizeof(*points));
	checkpoint.evaluations = copied;
	int r = make_states(run, &checkpoint)
		    ? checkpoint_write(run->conf->state_directory, &checkpoint, reterr)
		    : error_errno(reterr, -ENOMEM, "checkpoint");
	free_states(&checkpoint);
	return r;
}

int run_checkpoint(struct run *run, uint64_t now_ns, bool force, struct error *reterr)
{
	uint64_t steps = run_steps(run);

	if (!force && (run->started_ns == 0 || now_ns < run->checkpoint_at_ns ||
		       run->checkpoint_steps == steps))
		return 0;
	run->checkpoint_at_ns = now_ns + run->conf->checkpoint_interval_ns;
	int r = write_checkpoint(run, now_ns, reterr);
	if (r == 0)
		run->checkpoint_steps = steps;
	return r;
}
