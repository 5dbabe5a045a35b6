/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRAIN_MACHINE_H
#define ISO_SIM_TRAIN_MACHINE_H

#include "agent/sim/train_world.h"
#include "lib/ata/strategy.h"

/* What one run is made of; freed together. */
struct train_machine {
	const struct train_world *world;
	const struct scenario_curve *curve;
	const struct train_progress *progress; /* NULL: nobody looks */
	struct train_parameters parameters;
	bool capped;
	void *method_memory, *strategy_memory, *speeds_memory, *training_memory;
	struct iso_method *method;
	struct iso_strategy *strategy;
	struct iso_speeds *speeds;
	struct iso_training *training;
	size_t bytes;
	double cpu_s; /* that train_machine_run() took */
};

/* What a curve's options ask of its allocation, of which a round has `batch` tasks. */
struct iso_strategy_config train_strategy_config(const struct train_world *world,
						 const struct scenario_curve *curve,
						 uint32_t batch);

/* Of a curve, with its parameters; prior rounds have been run.  progress may be NULL. */
int train_machine_make(const struct train_world *world, const struct scenario_curve *curve,
		       const struct train_progress *progress, struct train_machine *ret_machine,
		       struct error *reterr);
/* To the target; how much of what the limits allow is done goes to the progress. */
enum iso_training_stop train_machine_run(struct train_machine *machine, bool is_prior,
					 const struct iso_training_until *target,
					 const struct iso_training_until *limits);
/* Also of one that could not be made, or is zeroed. */
void train_machine_free(struct train_machine *machine);

#endif
