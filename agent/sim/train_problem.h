/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRAIN_PROBLEM_H
#define ISO_SIM_TRAIN_PROBLEM_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/sim/scenario.h"
#include "agent/sim/train_data.h"
#include "lib/sim/training.h"

/* What a scenario minimises, as callbacks of the training driver. */
struct train_problem {
	const struct scenario *scenario; /* borrowed */
	struct iso_problem callbacks;
	struct train_data *data; /* owns; NULL unless that is the problem */
	float *start;		 /* owns; params floats */
};

/* *ret_problem must stay where it is: the callbacks have its address. */
int train_problem_open(const struct scenario *scenario, uint64_t seed,
		       struct train_problem *ret_problem, struct error *reterr);
void train_problem_close(struct train_problem *problem);

/* What the curves show; NaN if there is nothing. */
double train_problem_measure(const struct train_problem *problem, const float *x);

#endif
