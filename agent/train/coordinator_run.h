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
#include "lib/ata/score.h"
#include "lib/sgd/dispatch.h"
#include "lib/sgd/method.h"
#include "lib/wire/train.h"

/*
 * One training run: the strategy says who gets how many tasks, the method what
 * a gradient does to the model, the dispatcher who holds which task until when.
 * The run knows workers as slots, 0 to workers_count - 1 in the order of the
 * configuration, and no network: events come in with their time, what to send
 * comes out.
 */
struct run;

/*
 * What run_open() would refuse and can be seen without the data: theory, the profile and
 * the user's task as files.  Runs and writes nothing, and logs what is taken from theory.
 * The message lacks the file's name.
 */
int run_check(const struct cconf *conf, struct error *reterr);

/*
 * conf and test are borrowed until run_close().  Goes on from the checkpoint in
 * the state directory if there is one; with restart it starts anew and
 * will replace it; with resume it must be there (-ENOENT).  -EBADMSG: damaged.
 * -EINVAL: the checkpoint is of another model, or the configuration makes no sense.
 */
struct run_options {
	bool resume, restart;
	/*
	 * Of this start's term.  Larger at each one, as the time is, so that no term
	 * comes again where the checkpoint is gone, or is an older copy: workers of the
	 * other one may still be there.
	 */
	uint64_t term_min;
};
int run_open(const struct cconf *conf, const struct dataset *test, struct run_options options,
	     struct run **ret_run, struct error *reterr);
/* Takes NULL; returns NULL.  Writes nothing. */
struct run *run_close(struct run *run);

/* Workers.  A join of one that is here counts as leave and join. */
void run_join(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed);
void run_leave(struct run *run, uint64_t now_ns, uint32_t worker);
void run_set_speed(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed);

/* gradient: params floats, borrowed; NULL if the task was abandoned. */
void run_result(struct run *run, uint64_t now_ns, uint32_t worker,
		const struct iso_train_result *result, const float *gradient);

/*
 * Ends leases, begins rounds, takes up what the method orders.  Call no later than
 * run_wake_ns() and, like run_result() and the others above, drain cancels and then
 * orders after it: the point of an order can be had only before the next event.
 */
void run_advance(struct run *run, uint64_t now_ns);
bool run_next_cancel(struct run *run, struct iso_dispatch_cancel *ret_cancel);
bool run_next_order(struct run *run, uint64_t now_ns, struct iso_train_task *tasks,
		    uint32_t capacity, struct iso_dispatch_order *ret_order);

/* The points that orders name: how many indices there are, and whether one is still needed. */
uint32_t run_points(const struct run *run);
bool run_needs_point(const struct run *run, uint32_t point, uint64_t version);

/* Does a slice of an evaluation if one is due or running. */
void run_evaluate(struct run *run, uint64_t now_ns);
/* Does the rest of it at once, or all of a new one if there is a newer step: for the end. */
void run_evaluate_now(struct run *run, uint64_t now_ns);

/* Writes a checkpoint, if `force` or one is due; a failure is returned each time it is tried. */
int run_checkpoint(struct run *run, uint64_t now_ns, bool force, struct error *reterr);

/* Writes what was learnt of the workers' speed, if the configuration wants it. */
int run_write_profile(const struct run *run, struct error *reterr);

/* UINT64_MAX: nothing to do before an event; now_ns or less: at once. */
uint64_t run_wake_ns(const struct run *run, uint64_t now_ns);

/* The configured time or number of steps is reached. */
bool run_is_over(const struct run *run, uint64_t now_ns);

uint64_t run_term(const struct run *run);
/* Changes with the parameters. */
uint64_t run_version(const struct run *run);
uint32_t run_params_count(const struct run *run);
/* The parameters now. */
void run_point(const struct run *run, float *ret_params);

/* What is learnt, as WELCOME says it. */
struct run_model {
	uint32_t kind; /* enum iso_train_model */
	uint32_t features;
	uint32_t classes; /* linear: 1 */
	uint32_t hidden;
	bool wants_classes;
	uint64_t user_task; /* checksum of the shared object; 0: a model of ours */
};
const struct run_model *run_model(const struct run *run);
/* "running", or what is wrong with the process that evaluates a user's task; NULL: none does. */
const char *run_evaluation_state(const struct run *run);

/* Of the training data; the first worker that comes sets it.  0: not known yet. */
uint64_t run_data_checksum(const struct run *run);
void run_set_data_checksum(struct run *run, uint64_t checksum);

/* What is fixed for the run, from the configuration or from theory. */
#define RUN_THEORY_BYTES 160
struct run_plan {
	enum iso_method_kind method;
	struct iso_method_traits traits;
	bool allocates;	    /* each round by an allocation */
	bool caps;	    /* ... which limits an asynchronous method */
	uint32_t batch;	    /* B, S */
	uint64_t delay_max; /* R */
	double step;	    /* gamma */
	/* Of what theory says, what was taken from it, for people; empty: nothing. */
	char theory[RUN_THEORY_BYTES];
};

struct run_view {
	struct run_plan plan;
	uint64_t term;
	uint64_t steps, rounds;
	uint64_t elapsed_ns; /* of training, over all terms */
	uint64_t round_age_ns;
	bool has_started; /* in this term */
	bool has_train_loss;
	double train_loss;
	bool exploring;
	bool is_calibrating;	    /* alpha and eta are not settled yet */
	struct iso_ata_width width; /* as the allocation has them now */
	/* Over all terms. */
	struct iso_method_totals tasks;
	struct iso_dispatch_totals results;
	uint64_t ignored_cpu_ns; /* of accepted results that were too late to be used */
	uint64_t greedy_cpu_ns;
};
struct run_view run_view(const struct run *run, uint64_t now_ns);

struct run_worker_view {
	struct iso_train_speed speed;
	uint32_t allocation; /* tasks of this round it was given at its start */
	bool is_given_up;
	struct checkpoint_ledger ledger;
	double mean_on_cpu_ns; /* 0: none yet */
	double score;	       /* the strategy's, 0: unknown */
	bool is_admitted;      /* naive-optimal: one of the fastest */
	uint32_t drifts;       /* how often its speed was found to have changed */
	uint32_t cluster;      /* workers with the same number share samples */
	struct iso_dispatch_worker dispatch;
};
struct run_worker_view run_worker_view(const struct run *run, uint32_t worker);

/* Oldest first; thinned out evenly when it gets long. */
const struct evaluation_point *run_evaluations(const struct run *run, uint32_t *ret_count);

#endif
