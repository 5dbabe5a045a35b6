/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_WHOLE_RUN_H
#define TESTS_UNIT_WHOLE_RUN_H

#include "lib/ata/strategy.h"
#include "lib/sim/speeds.h"
#include "lib/sim/training.h"

#define RUN_WORKERS_MAX 40

/* A whole simulated run; all parts are freed with it. */
struct run {
	struct iso_law laws[RUN_WORKERS_MAX];
	struct iso_method *method;
	struct iso_strategy *strategy;
	struct iso_speeds *speeds;
	struct iso_training *training;
	struct iso_training_config config;
	double *means;
};

/* Memory that is not zero; free() it. */
void *run_room(size_t bytes);

/* Workers that need so many seconds for every task. */
struct run run_with_constants(uint32_t n, const double *times);

/* Parts of the run, before it is started. */
void run_strategy(struct run *run, enum iso_strategy_kind kind, uint32_t batch);
void run_speeds(struct run *run, const struct iso_speeds_config *config);
/* Of workers that own one CPU each at first. */
void run_changes(struct run *run, const struct iso_speed_change *changes, uint32_t count);

/* x: where the parameters are; NULL: where the method has them. */
void run_start(struct run *run, struct iso_method_config config, const float *x);

/* Goes on until then, and checks that it stopped so and every computation came to one end. */
struct iso_training_totals run_until(struct run *run, double time_s, uint64_t rounds,
				     enum iso_training_stop stop);
struct iso_training_totals run_after_rounds(struct run *run, uint64_t rounds);
struct iso_training_totals run_at_time(struct run *run, double time_s);

void run_finish(struct run *run);

/* f = x^2 / 2 for each of *(uint32_t *)context parameters: the gradient is the point itself. */
double run_identity(void *context, uint32_t worker, const float *x, struct iso_rng *rng,
		    float *ret_gradient);

#endif
