/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRAIN_WORLD_H
#define ISO_SIM_TRAIN_WORLD_H

#include "agent/sim/train.h"
#include "agent/sim/train_problem.h"
#include "lib/sim/speeds.h"

/* What the files of train share. */

struct train_world {
	const struct scenario *scenario;
	uint64_t seed;
	uint64_t times_seed, speeds_seed, strategy_seed, prior_seed;
	struct iso_law *laws; /* owns, as all below */
	double *means;
	double *sorted;	     /* ... in rising order */
	struct iso_law size; /* kind 0: all tasks alike */
	struct iso_speed_change *changes;
	uint32_t change_count;
	double **traces; /* of the groups, the last one of all the others */
	struct train_problem problem;
};

/*
 * Measured times: one positive number a line, "#" begins a comment.  free() them.
 * -EINVAL: "FILE: line N: ...".
 */
int train_trace_read(const char *path, double **ret_times, uint32_t *ret_count,
		     struct error *reterr);

/* train_theory.c */
int train_choose(const struct train_world *world, const struct scenario_curve *curve,
		 struct train_parameters *ret_parameters, struct error *reterr);

#endif
