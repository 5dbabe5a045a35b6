/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_EVALUATE_H
#define ISO_EVALUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/train/dataset.h"
#include "lib/model/model.h"

/*
 * Accuracy and loss on a test set over the course of a run.  Of a built-in model
 * one evaluation is done here, a slice at a time (about a millisecond each), so
 * that whoever evaluates can go on with its other work in between.  A user's task is
 * evaluated by a child process (agent/train/examiner.h): none of it runs here.
 */
struct evaluation;

#define EVALUATIONS_MAX 256u

struct evaluation_point {
	uint64_t at_ns; /* of training */
	uint64_t round;
	double accuracy; /* of 1 */
	double loss;	 /* mean, without penalty */
};

/* All of it is borrowed until evaluation_close(). */
struct evaluation_config {
	const struct dataset *data;    /* the test set */
	const struct iso_model *model; /* NULL: a user's task, and then: */
	const char *task;	       /* its shared object */
	const char *folder;	       /* of the data, which the child reads itself */
	const char *executable;	       /* isobar-worker */
	uint64_t limit_ns;	       /* CPU time of one call of the task */
};

/* -EINVAL: the data do not fit; -ECHILD: the task does not work; *reterr says why. */
int evaluation_open(const struct evaluation_config *config, struct evaluation **ret_evaluation,
		    struct error *reterr);

/* Takes NULL; returns NULL. */
struct evaluation *evaluation_close(struct evaluation *evaluation);

/* Number of parameters, as the model or the task says. */
uint32_t evaluation_params(const struct evaluation *evaluation);

/* What WELCOME says of a user's task: the checksum of its file; 0: a built-in model. */
uint64_t evaluation_user_task(const struct evaluation *evaluation);

/* The name of the user's task; NULL: a built-in model. */
const char *evaluation_task_name(const struct evaluation *evaluation);

/* Where training starts.  Before the first evaluation; waits for a user's task. */
int evaluation_init(struct evaluation *evaluation, uint64_t seed, float *ret_params,
		    struct error *reterr);

/*
 * Starts an evaluation at a copy of these parameters; one that runs is given up,
 * or goes on if a child does it, and then nothing starts; nor does it while the child
 * is to rest after a failure.  at_ns is the time of training, now_ns the clock's.
 */
void evaluation_start(struct evaluation *evaluation, const float *params, uint64_t round,
		      uint64_t at_ns, uint64_t now_ns);

bool evaluation_is_running(const struct evaluation *evaluation);

/*
 * One slice of the one that runs, or a look at what the child says; true when it
 * was the last one: a point was added.  It may also stop running without one: the
 * child failed, which was logged.
 */
bool evaluation_step(struct evaluation *evaluation, uint64_t now_ns);

/* The rest of the one that runs, at once; of a child's after half a minute what there is. */
void evaluation_finish(struct evaluation *evaluation);

/* When to step; UINT64_MAX: nothing is running. */
uint64_t evaluation_wake_ns(const struct evaluation *evaluation, uint64_t now_ns);

/* "running", "failed: WHY" or "given up: WHY"; valid until the next call. */
const char *evaluation_state(struct evaluation *evaluation);

/* Whether this round is evaluated or being evaluated. */
bool evaluation_knows(const struct evaluation *evaluation, uint64_t round);

/*
 * Oldest first, valid until the next step; thinned out evenly when it gets long.
 * There may be none.
 */
const struct evaluation_point *evaluation_points(const struct evaluation *evaluation,
						 uint32_t *ret_count);

/* Puts back the points of an earlier process, at most EVALUATIONS_MAX. */
void evaluation_restore(struct evaluation *evaluation, const struct evaluation_point *points,
			uint32_t count);

#endif
