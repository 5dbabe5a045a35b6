/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_RUN_H
#define ISO_COORDINATOR_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/train/checkpoint.h"
#include "agent/train/coordinator_conf.h"
#include "agent/train/dataset.h"
#include "agent/train/evaluate.h"
#include "lib/model/model.h"
#include "lib/sgd/round.h"
#include "lib/wire/train.h"

/*
 * One training run: parameters, rounds, allocation, evaluation, checkpoints.
 * It knows workers as slots, 0 to workers_count - 1 in the order of the
 * configuration, and no network: events come in with their time, what to send
 * comes out.
 */
struct run;

/*
 * conf and test are borrowed until run_close().  Goes on from the checkpoint in
 * the state directory if there is one; with restart it starts anew and
 * will replace it; with resume it must be there (-ENOENT).  -EBADMSG: damaged.
 * -EINVAL: the checkpoint is of another model.
 */
struct run_options {
	bool resume, restart;
};
int run_open(const struct cconf *conf, const struct dataset *test, struct run_options options,
	     struct run **ret_run, struct error *reterr);
/* Takes NULL; returns NULL.  Writes nothing. */
struct run *run_close(struct run *run);

/* Workers.  A join of one that is here counts as leave and join. */
void run_join(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed);
void run_leave(struct run *run, uint64_t now_ns, uint32_t worker);
void run_set_speed(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed);

enum iso_round_verdict run_result(struct run *run, uint64_t now_ns,
				  const struct iso_round_result *result, uint64_t wall_ns);

/*
 * Ends leases, takes the step of a complete round and starts the next one.
 * Call after events and no later than run_wake_ns(); then drain orders and cancels.
 */
void run_advance(struct run *run, uint64_t now_ns);
bool run_next_order(struct run *run, uint64_t now_ns, struct iso_train_task *tasks,
		    uint32_t capacity, struct iso_round_order *ret_order);
bool run_next_cancel(struct run *run, struct iso_round_cancel *ret_cancel);

/* Does a slice of an evaluation if one is due or running. */
void run_evaluate(struct run *run, uint64_t now_ns);
/* Does the rest of it at once, or all of a new one if there is a newer round: for the end. */
void run_evaluate_now(struct run *run, uint64_t now_ns);

/* Writes a checkpoint, if `force` or one is due; a failure is returned each time it is tried. */
int run_checkpoint(struct run *run, uint64_t now_ns, bool force, struct error *reterr);

/* UINT64_MAX: nothing to do before an event; now_ns or less: at once. */
uint64_t run_wake_ns(const struct run *run, uint64_t now_ns);

/* The configured time or number of rounds is reached. */
bool run_is_over(const struct run *run, uint64_t now_ns);

uint64_t run_term(const struct run *run);
/* Changes with the parameters; counts from 0. */
uint64_t run_version(const struct run *run);
const float *run_params(const struct run *run);
const struct iso_model *run_model(const struct run *run);

/* Of the training data; the first worker that comes sets it.  0: not known yet. */
uint64_t run_data_checksum(const struct run *run);
void run_set_data_checksum(struct run *run, uint64_t checksum);

struct run_view {
	uint64_t term, round;
	uint64_t elapsed_ns; /* of training, over all terms */
	uint64_t round_age_ns;
	bool has_started; /* in this term */
	bool has_train_loss;
	double train_loss;
	bool exploring;
	struct iso_round_totals totals; /* over all terms */
};
struct run_view run_view(const struct run *run, uint64_t now_ns);

struct run_worker_view {
	struct iso_train_speed speed;
	uint32_t allocation;   /* tasks of this round it was given at its start */
	uint64_t tasks_done;   /* over all terms */
	double mean_on_cpu_ns; /* 0: none yet */
	double score;	       /* the strategy's, 0: unknown */
	struct iso_round_worker_view round;
};
struct run_worker_view run_worker_view(const struct run *run, uint32_t worker);

/* Oldest first; thinned out evenly when it gets long. */
const struct evaluation_point *run_evaluations(const struct run *run, uint32_t *ret_count);

#endif
