/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/base/directory.h"
#include "agent/base/log.h"
#include "lib/bytes.h"

/* A run begins, anew or from a checkpoint. */

/*
 * Two coordinators would overwrite each other's checkpoints; the lock ends with
 * the process.  A file of ours alone: what others may open they may lock.  Not
 * of the name that the control socket's has, whose directory may be the same.
 */
static int lock_state(struct run *run, struct error *reterr)
{
	const char *folder = run->conf->state_directory;
	char path[PATH_MAX];
	int r = directory_make(folder, 0755, reterr);

	if (r < 0)
		return r;
	if (snprintf(path, sizeof(path), "%s/state.lock", folder) >= (int)sizeof(path))
		return error_errno(reterr, -ENAMETOOLONG, "'%.80s'", folder);
	run->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (run->lock_fd < 0)
		return error_errno(reterr, -errno, "open '%s'", path);
	if (flock(run->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(reterr, -EBUSY, "'%s' is in use by another coordinator", folder);
	return 0;
}

/* What must be the same for the parameters to mean the same. */
static int check_model(const struct run *run, const struct checkpoint *from, struct error *reterr)
{
	const struct run_model *model = &run->model;

	if (from->user_task != model->user_task && from->model == model->kind)
		return error_set(reterr, -EINVAL,
				 "'%s/checkpoint' is of another task than '%s' is now; --restart "
				 "begins anew",
				 run->conf->state_directory, run->conf->training.task);
	if (from->model == model->kind && from->features == model->features &&
	    from->classes == model->classes && from->hidden == model->hidden &&
	    from->params_count == run->params_count)
		return 0;
	return error_set(reterr, -EINVAL,
			 "'%s/checkpoint' is of another model: kind %u, %u features, %u classes, "
			 "%u hidden units, where this one has %u, %u, %u and %u; --restart begins "
			 "anew",
			 run->conf->state_directory, from->model, from->features, from->classes,
			 from->hidden, model->kind, model->features, model->classes, model->hidden);
}

static bool has_same_workers(const struct run *run, const struct checkpoint *from)
{
	if (from->workers_count != run->workers_count)
		return false;
	for (uint32_t i = 0; i < run->workers_count; i++)
		if (strcmp(run->conf->workers[i].name, from->workers[i].name) != 0)
			return false;
	return true;
}

static int bad_state(const struct run *run, enum iso_status status, struct error *reterr)
{
	return error_set(reterr, -EBADMSG, "'%s/checkpoint': state of the method: %s",
			 run->conf->state_directory, iso_status_text(status));
}

/* Another method, or other workers: what its state says of x, and its counts. */
static int take_over(struct run *run, const struct checkpoint *from, struct error *reterr)
{
	/* Only what a state must agree with. */
	const struct iso_method_config config = {
		.kind = (enum iso_method_kind)from->method,
		.workers = from->workers_count,
		.params = from->params_count,
		.depth_max = 1,
		.batch = 1,
		.delay_max = 1,
	};
	size_t size = iso_method_size(&config);
	void *memory = size > 0 ? calloc(1, size) : NULL;
	struct iso_method *old;

	if (size > 0 && memory == NULL)
		return error_errno(reterr, -ENOMEM, "read a checkpoint");
	enum iso_status status = iso_method_init(memory, size, &config, &old);
	if (status == ISO_OK)
		status = iso_method_restore(old, from->method_state, from->method_bytes);
	if (status == ISO_OK) {
		struct iso_method_totals totals = iso_method_totals(old);

		/* What its tables hold is used no more. */
		totals.lost += totals.buffered;
		totals.buffered = 0;
		iso_method_point(old, run->params);
		run_add_task_totals(&run->tasks_before, &totals);
	}
	free(memory);
	if (status != ISO_OK)
		return bad_state(run, status, reterr);
	log_info("method or workers have changed: going on from the parameters alone");
	int r = run_open_method(run, run->tasks_before.updates, reterr);
	if (r == 0)
		iso_method_set_point(run->method, run->params);
	return r;
}

/* The method goes on bit for bit if it is the same with the same workers. */
static int restore_method(struct run *run, const struct checkpoint *from, struct error *reterr)
{
	run->tasks_before = from->tasks_before;
	if (from->method != (uint32_t)run->plan.method || !has_same_workers(run, from))
		return take_over(run, from, reterr);
	int r = run_open_method(run, from->tasks_before.updates, reterr);
	if (r < 0)
		return r;
	enum iso_status status =
	    iso_method_restore(run->method, from->method_state, from->method_bytes);
	return status == ISO_OK ? 0 : bad_state(run, status, reterr);
}

/* Whether the strategy can go on from these states; what they hold is not looked at. */
static bool has_same_allocation(const struct run *run, const struct checkpoint *from)
{
	size_t own_bytes = iso_strategy_state_bytes(run->strategy);

	return from->strategy == (uint32_t)run->conf->allocation.strategy &&
	       from->strategy_bytes == own_bytes + RUN_TIMES_BYTES &&
	       from->worker_bytes == iso_strategy_worker_bytes(run->strategy) &&
	       iso_get_le(from->strategy_state + own_bytes, RUN_TIMES_BYTES) ==
		   run_times_checksum(run);
}

/* What was learnt is the worker's, by its name: all of it, or else none. */
static int restore_workers(struct run *run, const struct checkpoint *from, struct error *reterr)
{
	bool fits = has_same_allocation(run, from) &&
		    iso_strategy_restore(run->strategy, from->strategy_state) == ISO_OK;

	for (uint32_t i = 0; i < run->workers_count; i++) {
		for (uint32_t j = 0; j < from->workers_count; j++) {
			const uint8_t *state = from->worker_states + (size_t)j * from->worker_bytes;

			if (strcmp(run->conf->workers[i].name, from->workers[j].name) != 0)
				continue;
			run->slots[i].ledger = from->workers[j].ledger;
			if (fits && iso_strategy_restore_worker(run->strategy, i, state) != ISO_OK)
				fits = false;
		}
	}
	if (fits)
		return 0;
	log_info("the allocation has changed: the workers' speeds are learnt anew");
	return run_open_strategy(run, reterr);
}

static int restore(struct run *run, const struct checkpoint *from, struct error *reterr)
{
	int r = check_model(run, from, reterr);

	if (r == 0)
		r = restore_method(run, from, reterr);
	if (r < 0)
		return r;
	run->data_checksum = from->data_checksum;
	run->elapsed_before_ns = from->elapsed_ns;
	run->train_loss = from->train_loss;
	run->has_train_loss = run_steps(run) > 0;
	run->results_before = from->results;
	run->ignored_cpu_ns = from->ignored_cpu_ns;
	run->greedy_cpu_ns = from->greedy_cpu_ns;
	run->allocations = from->allocations;
	run->rounds_seen = iso_method_totals(run->method).rounds;
	evaluation_restore(run->evaluation, from->evaluations, from->evaluations_count);
	return restore_workers(run, from, reterr);
}

static int open_parts(struct run *run, const struct checkpoint *from, struct error *reterr)
{
	int r = run_open_strategy(run, reterr);

	if (r == 0)
		r = run_open_dispatch(run, from != NULL ? from->serial : 0, reterr);
	if (r == 0 && from != NULL)
		r = restore(run, from, reterr);
	/* After it: means that are given hold, not those of before. */
	if (r == 0)
		r = run_read_profile(run, from != NULL, reterr);
	if (r < 0 || from != NULL)
		return r;
	r = run_open_method(run, 0, reterr);
	if (r < 0)
		return r;
	r = evaluation_init(run->evaluation, (uint64_t)run->conf->training.seed, run->params,
			    reterr);
	if (r == 0)
		iso_method_set_point(run->method, run->params);
	return r;
}

static int open_all(struct run *run, struct run_options options, struct error *reterr)
{
	struct checkpoint from = { 0 };

	run->params = calloc(run->params_count, sizeof(*run->params));
	run->slots = calloc(run->workers_count, sizeof(*run->slots));
	run->tasks = calloc(run->workers_count, sizeof(*run->tasks));
	run->ordered = calloc(ISO_TRAIN_TASKS_MAX, sizeof(*run->ordered));
	if (run->params == NULL || run->slots == NULL || run->tasks == NULL || run->ordered == NULL)
		return error_errno(reterr, -ENOMEM, "training run");
	for (uint32_t i = 0; i < run->workers_count; i++)
		run->slots[i].is_admitted = true;
	int r = run_open_fastest(run, reterr);
	if (r == 0)
		r = lock_state(run, reterr);
	if (r < 0)
		return r;
	run->term = options.term_min > 0 ? options.term_min : 1;
	r = checkpoint_read(run->conf->state_directory, &from, reterr);
	bool is_found = r == 0;
	if ((r == -ENOENT && !options.resume) || (r < 0 && options.restart))
		r = 0;
	/* Also of one begun anew, so that the last orders are not taken for ours. */
	if (is_found && run->term <= from.term)
		run->term = from.term + 1;
	if (r == 0)
		r = open_parts(run, is_found && !options.restart ? &from : NULL, reterr);
	checkpoint_free(&from);
	return r;
}

int run_open(const struct cconf *conf, const struct dataset *test, struct run_options options,
	     struct run **ret_run, struct error *reterr)
{
	struct run *run = calloc(1, sizeof(*run));

	if (run == NULL)
		return error_errno(reterr, -ENOMEM, "training run");
	run->conf = conf;
	run->lock_fd = -1;
	run->workers_count = conf->workers_count;
	int r = run_plan_make(conf, &run->plan, reterr);
	if (r == 0)
		r = run_open_model(run, test, reterr);
	if (r == 0)
		r = open_all(run, options, reterr);
	if (r < 0) {
		run_close(run);
		return r;
	}
	run->checkpoint_steps = run_steps(run);
	if (run->checkpoint_steps > 0)
		log_info("going on after step %llu in term %llu",
			 (unsigned long long)run->checkpoint_steps, (unsigned long long)run->term);
	*ret_run = run;
	return 0;
}

struct run *run_close(struct run *run)
{
	if (run == NULL)
		return NULL;
	evaluation_close(run->evaluation);
	if (run->lock_fd >= 0)
		close(run->lock_fd);
	free(run->strategy_memory);
	free(run->method_memory);
	free(run->dispatch_memory);
	free(run->params);
	free(run->slots);
	free(run->tasks);
	free(run->rates);
	free(run->fastest.of);
	free(run->fastest.scratch_s);
	free(run->ordered);
	free(run);
	return NULL;
}
