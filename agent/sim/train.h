/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRAIN_H
#define ISO_SIM_TRAIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/base/error.h"
#include "agent/sim/scenario.h"
#include "lib/sim/times.h"
#include "lib/sim/training.h"

/*
 * Runs the curves of a scenario and shows them.  Everything here can be called
 * from elsewhere, to make experiments of scenarios:
 *
 *	scenario_load(name, sets, count, &scenario, &error);
 *	train_open(scenario, seed, &world, &error);
 *	train_run(world, curve, progress, &result, &error);
 *	... result.end.totals, result.samples[] ...
 *	train_result_close(&result);
 *	train_close(world);
 *	free(scenario);
 */

/* A point of a curve. */
struct train_sample {
	struct iso_training_totals totals;
	double measure; /* NaN: the problem is none, or the point no number any more */
};

/* What a curve runs with, whether it is written in the scenario or chosen by theory. */
struct train_parameters {
	enum iso_method_kind kind; /* a minibatch allocated greedily is Rennala */
	uint32_t batch;
	uint64_t delay_max;
	uint32_t fastest; /* naive-optimal; 0: all */
	double step;
	double updates; /* by theory: that are enough; 0: not by theory */
};

struct train_result {
	const struct scenario_curve *curve; /* in the scenario */
	uint64_t seed;
	struct train_parameters parameters;
	enum iso_training_stop stop;
	struct train_sample *samples; /* owns; the first at time 0, the last at the end */
	size_t count;
	struct train_sample end;
	uint64_t digest; /* of all events, and of x: runs with the same one are the same */
	size_t bytes;	 /* of method, allocation and driver */
	double cpu_s;	 /* CPU time of the simulation, gradients included, measures not */
	float *point;	 /* owns; x at the end, params floats */
	uint32_t params;
};

/* What all curves of one seed have in common: task times, changes, the problem. */
struct train_world;

/* scenario is borrowed until train_close().  -EINVAL, -ENOMEM and the errors of reading files. */
int train_open(const struct scenario *scenario, uint64_t seed, struct train_world **ret_world,
	       struct error *reterr);
struct train_world *train_close(struct train_world *world);

/* The laws of the scenario's workers; borrowed. */
const struct iso_law *train_laws(const struct train_world *world);
/* Their means. */
const double *train_means(const struct train_world *world);

/* Where a run is. */
struct train_stage {
	const struct scenario_curve *curve;
	uint64_t seed;
	bool is_prior; /* in its prior rounds, which come first */
	double part;   /* how much of these, or of the rest, is done, 0 to 1 */
};

/* Called some times a second. */
struct train_progress {
	void (*fn)(void *context, const struct train_stage *stage);
	void *context;
};

/* One curve, by its place in the scenario.  progress may be NULL. */
int train_run(struct train_world *world, unsigned curve, const struct train_progress *progress,
	      struct train_result *ret_result, struct error *reterr);
void train_result_close(struct train_result *result);

enum train_format { TRAIN_TEXT, TRAIN_CSV, TRAIN_JSON };

void train_print_head(FILE *out, enum train_format format, bool timing,
		      const struct scenario *scenario);
void train_print(FILE *out, enum train_format format, bool timing, const struct scenario *scenario,
		 const struct train_result *result, bool is_first);
void train_print_end(FILE *out, enum train_format format);

/* Every curve; of several seeds the median.  Into an SVG, or a PNG by its name. */
int train_plot(const char *path, const struct scenario *scenario,
	       const struct train_result *results, size_t count, struct error *reterr);

#endif
