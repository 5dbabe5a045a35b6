/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_EVALUATE_H
#define ISO_EVALUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/train/dataset.h"
#include "lib/model/model.h"

/*
 * Accuracy and loss on a test set over the course of a run.  One evaluation is
 * done a slice at a time (about a millisecond each), so that whoever evaluates
 * can go on with its other work in between.
 */
struct evaluation;

#define EVALUATIONS_MAX 256u

struct evaluation_point {
	uint64_t at_ns; /* of training */
	uint64_t round;
	double accuracy; /* of 1 */
	double loss;	 /* mean, without penalty */
};

/* The data set is borrowed until evaluation_close(). */
int evaluation_open(const struct iso_model *model, const struct dataset *data,
		    struct evaluation **ret_evaluation, struct error *reterr);

/* Takes NULL; returns NULL. */
struct evaluation *evaluation_close(struct evaluation *evaluation);

/* Starts an evaluation at a copy of these parameters; one that runs is given up. */
void evaluation_start(struct evaluation *evaluation, const float *params, uint64_t round,
		      uint64_t at_ns);

bool evaluation_is_running(const struct evaluation *evaluation);

/* One slice of the one that runs; true when it was the last one: a point was added. */
bool evaluation_step(struct evaluation *evaluation);

/* Whether this round is evaluated or being evaluated. */
bool evaluation_knows(const struct evaluation *evaluation, uint64_t round);

/* Oldest first, valid until the next step; thinned out evenly when it gets long. */
const struct evaluation_point *evaluation_points(const struct evaluation *evaluation,
						 uint32_t *ret_count);

/* Puts back the points of an earlier process, at most EVALUATIONS_MAX. */
void evaluation_restore(struct evaluation *evaluation, const struct evaluation_point *points,
			uint32_t count);

#endif
