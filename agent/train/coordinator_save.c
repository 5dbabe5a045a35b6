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
#include "lib/quantity.h"

static const enum iso_strategy_kind strategies[] = {
	[CCONF_STRATEGY_ATA] = ISO_STRATEGY_ATA,
	[CCONF_STRATEGY_ATA_EMPIRICAL] = ISO_STRATEGY_ATA_EMPIRICAL,
	[CCONF_STRATEGY_GTA] = ISO_STRATEGY_GTA,
	[CCONF_STRATEGY_UTA] = ISO_STRATEGY_UTA,
};

static int open_strategy(struct run *run)
{
	const struct cconf *conf = run->conf;
	const struct iso_strategy_config config = {
		.kind = strategies[conf->allocation.strategy],
		.workers = run->workers_count,
		.batch = (uint32_t)conf->training.tasks_per_round,
		.width = {
			.constant = conf->allocation.width == CCONF_WIDTH_2 ?
					    ISO_ATA_WIDTH_FINAL :
					    ISO_ATA_WIDTH_FIRST,
			.alpha_s = (double)conf->allocation.alpha_ns / ISO_NS_PER_S,
			.eta = conf->allocation.eta,
		},
		.by_rate = conf->allocation.share_normalised,
		.seed = (uint64_t)conf->training.seed,
	};
	size_t size = iso_strategy_size(&config);

	run->is_greedy = config.kind == ISO_STRATEGY_GTA;
	run->strategy_memory = calloc(1, size + 1);
	if (run->strategy_memory == NULL)
		return -ENOMEM;
	return iso_strategy_init(run->strategy_memory, size, &config, &run->strategy) == ISO_OK
		   ? 0
		   : -EINVAL;
}

static int open_rounds(struct run *run)
{
	const struct cconf *conf = run->conf;
	const struct iso_round_config config = {
		.workers = run->workers_count,
		.batch = (uint32_t)conf->training.tasks_per_round,
		.params = run->params_count,
		.threads_max = 256,
		.greedy_depth = 2,
		.lease_mads = (uint32_t)conf->lease.mads,
		.lease_first_ns = conf->lease.first_ns,
		.lease_min_ns = conf->lease.least_ns,
		.term = run->term,
	};
	size_t size = iso_round_size(&config);

	run->rounds_memory = calloc(1, size + 1);
	if (run->rounds_memory == NULL)
		return -ENOMEM;
	return iso_round_init(run->rounds_memory, size, &config, &run->rounds) == ISO_OK ? 0
											 : -EINVAL;
}

/* Takes over what an earlier term knew; workers are found by name. */
static int restore(struct run *run, const struct checkpoint *from, struct error *reterr)
{
	if (from->features != run->model.features || from->classes != run->model.classes ||
	    from->params_count != run->params_count)
		return error_set(reterr, -EINVAL,
				 "'%s/checkpoint' is of a model with %u features and %u classes, "
				 "this one has %u and %u; --restart begins anew",
				 run->conf->state_directory, from->features, from->classes,
				 run->model.features, run->model.classes);
	run->term = from->term + 1;
	run->round = from->round;
	run->data_checksum = from->data_checksum;
	run->elapsed_before_ns = from->elapsed_ns;
	run->train_loss = from->train_loss;
	run->has_train_loss = from->round > 0;
	run->totals_before = from->totals;
	memcpy(run->params, from->params, run->params_count * sizeof(*run->params));
	return 0;
}

static void restore_parts(struct run *run, const struct checkpoint *from)
{
	evaluation_restore(run->evaluation, from->evaluations, from->evaluations_count);
	iso_strategy_restore_rng(run->strategy, from->rng);
	for (uint32_t i = 0; i < run->workers_count; i++) {
		for (uint32_t j = 0; j < from->workers_count; j++) {
			if (strcmp(run->conf->workers[i].name, from->workers[j].name) != 0)
				continue;
			if (iso_strategy_import(run->strategy, i, from->workers[j].samples,
						1e300) != ISO_OK)
				log_debug("of the times of '%s' nothing is known",
					  run->conf->workers[i].name);
			run->slots[i].tasks_done = from->workers[j].tasks_done;
		}
	}
}

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

static int open_all(struct run *run, const struct dataset *test, struct run_options options,
		    struct error *reterr)
{
	struct checkpoint from = { 0 };
	bool is_found = false;
	int r;

	run->params = calloc(run->params_count, sizeof(*run->params));
	run->slots = calloc(run->workers_count, sizeof(*run->slots));
	run->tasks = calloc(run->workers_count, sizeof(*run->tasks));
	run->ordered = calloc(ISO_TRAIN_TASKS_MAX, sizeof(*run->ordered));
	if (run->params == NULL || run->slots == NULL || run->tasks == NULL || run->ordered == NULL)
		return error_errno(reterr, -ENOMEM, "training run");
	r = lock_state(run, reterr);
	if (r < 0)
		return r;
	run->term = 1;
	r = checkpoint_read(run->conf->state_directory, &from, reterr);
	is_found = r == 0;
	if ((r == -ENOENT && !options.resume) || (r < 0 && options.restart))
		r = 0;
	if (is_found && options.restart) {
		/* Its term still counts, so that its last orders are not taken for ours. */
		run->term = from.term + 1;
		is_found = false;
	}
	if (r == 0 && is_found)
		r = restore(run, &from, reterr);
	if (r == 0)
		r = evaluation_open(&(struct evaluation_config){ .data = test,
								 .model = &run->model },
				    &run->evaluation, reterr);
	if (r == 0) {
		r = open_strategy(run);
		if (r == 0)
			r = open_rounds(run);
		if (r < 0)
			error_errno(reterr, r, "training run");
	}
	if (r == 0 && is_found)
		restore_parts(run, &from);
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
	run->model = (struct iso_model){
		.kind = ISO_MODEL_SOFTMAX,
		.features = test->features,
		.classes = test->classes,
		.l2 = (float)conf->training.l2,
	};
	run->params_count = iso_model_params(&run->model);
	run->workers_count = conf->workers_count;
	int r = open_all(run, test, options, reterr);
	if (r < 0) {
		run_close(run);
		return r;
	}
	run->checkpoint_round = run->round;
	if (run->round > 0)
		log_info("going on after round %llu in term %llu", (unsigned long long)run->round,
			 (unsigned long long)run->term);
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
	free(run->rounds_memory);
	free(run->params);
	free(run->slots);
	free(run->tasks);
	free(run->ordered);
	free(run);
	return NULL;
}

static int write_checkpoint(struct run *run, uint64_t now_ns, struct error *reterr)
{
	struct checkpoint checkpoint = {
		.term = run->term,
		.round = run->round,
		.elapsed_ns = run_elapsed_ns(run, now_ns),
		.rng = iso_strategy_rng(run->strategy),
		.data_checksum = run->data_checksum,
		.train_loss = run->train_loss,
		.totals = run_totals(run),
		.features = run->model.features,
		.classes = run->model.classes,
		.params_count = run->params_count,
		.workers_count = run->workers_count,
		.params = run->params,
	};
	const struct evaluation_point *points =
	    evaluation_points(run->evaluation, &checkpoint.evaluations_count);
	struct evaluation_point copied[EVALUATIONS_MAX];

	memcpy(copied, points, checkpoint.evaluations_count * sizeof(*points));
	checkpoint.evaluations = copied;
	checkpoint.workers = calloc(run->workers_count, sizeof(*checkpoint.workers));
	if (checkpoint.workers == NULL)
		return error_errno(reterr, -ENOMEM, "checkpoint");
	for (uint32_t i = 0; i < run->workers_count; i++) {
		memcpy(checkpoint.workers[i].name, run->conf->workers[i].name,
		       sizeof(run->conf->workers[i].name));
		checkpoint.workers[i].samples = iso_strategy_samples(run->strategy, i);
		checkpoint.workers[i].tasks_done = run->slots[i].tasks_done;
	}
	int r = checkpoint_write(run->conf->state_directory, &checkpoint, reterr);
	free(checkpoint.workers);
	return r;
}

int run_checkpoint(struct run *run, uint64_t now_ns, bool force, struct error *reterr)
{
	if (!force && (run->started_ns == 0 || now_ns < run->checkpoint_at_ns ||
		       run->checkpoint_round == run->round))
		return 0;
	run->checkpoint_at_ns = now_ns + run->conf->checkpoint_interval_ns;
	int r = write_checkpoint(run, now_ns, reterr);
	if (r == 0)
		run->checkpoint_round = run->round;
	return r;
}
