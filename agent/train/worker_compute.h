/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_COMPUTE_H
#define ISO_WORKER_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/meter/cpuclock.h"
#include "agent/train/dataset.h"
#include "agent/train/fence.h"
#include "agent/train/objective.h"

/* The gradient of one task, by one thread with memory of its own. */

/* What all tasks of a session have in common; all of it is borrowed. */
struct lesson {
	struct objective objective;
	const struct dataset *data;
	const uint32_t *part; /* sample numbers of this worker */
	uint32_t part_samples;
	uint32_t samples_max; /* of a task: 1 .. part_samples */
};

struct task {
	uint64_t term;
	uint64_t version; /* of the parameters it is computed at */
	uint64_t seed;	  /* of the mini-batch */
	uint64_t task;
	uint32_t attempt;
	uint32_t samples; /* in its mini-batch, 1 .. samples_max */
	/* Instead of a mini-batch that is drawn: those of the part from number first on. */
	bool is_range;
	uint32_t first;
};

/* Whether there are such samples. */
bool task_fits(const struct task *task, const struct lesson *lesson);

struct task_result {
	struct task task;
	bool abandoned;	 /* stopped on the way: only the times count */
	bool not_finite; /* loss or gradient are no numbers: whole, and of no use */
	uint64_t on_cpu_ns;
	uint64_t wall_ns;
	double loss;
	float *gradient; /* objective.params floats, to free(); NULL if abandoned */
};

/* A thread's memory for one lesson. */
struct desk {
	uint32_t *samples;
	float *x, *targets; /* x: NULL where sparse rows are taken as they lie */
	struct fence workspace, gradient;
};

/* 0 or -ENOMEM.  A zeroed desk may be closed, and so may one that is half open. */
int desk_open(const struct lesson *lesson, struct desk *ret_desk);
void desk_close(struct desk *desk);

/* Asked between two chunks of a task; true: nobody wants it any more. */
typedef bool compute_is_unwanted_fn(void *context);

/*
 * Never fails: what cannot be computed comes back abandoned.  A user's task that
 * writes beyond its arrays ends the process (agent/train/taskwatch.h).
 */
struct task_result compute(const struct lesson *lesson, struct desk *desk, const struct task *task,
			   const float *params, struct cpuclock *clock,
			   compute_is_unwanted_fn *is_unwanted, void *context);

#endif
