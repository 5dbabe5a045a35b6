/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_REPRO_SIMULATE_H
#define ISO_REPRO_SIMULATE_H

#include <stdint.h>

#include "agent/sim/train.h"
#include "tests/repro/repro.h"

/*
 * One curve of a scenario of etc/scenarios (isobar-sim(1)), simulated as isobar-sim would do
 * it.  A mistake in it ends the program.
 */
#define SIMULATION_SETS 8

struct simulation {
	const char *scenario; /* its name */
	const char *curve;    /* its name there */
	char sets[SIMULATION_SETS][256];
	unsigned set_count;
	const char *more; /* lines after those of the file; NULL: none.  Borrowed */
	uint64_t seed;
	uint32_t place; /* for the caller */
};

/* What is different from the file: "workers=459", "curve.step=0.1", as with isobar-sim --set. */
__attribute__((format(printf, 2, 3))) void simulation_set(struct simulation *simulation,
							  const char *format, ...);

#define SIMULATED_SAMPLES 320

struct simulated {
	/* The first at time 0, the last at the end. */
	struct train_sample samples[SIMULATED_SAMPLES];
	uint32_t count;
	struct iso_training_totals end;
};

/* All of them, in order and side by side; see repro_each(). */
void simulate(struct repro *repro, const struct simulation *simulations, size_t count,
	      struct simulated *results);

/* Whether Fashion-MNIST is there; else says that it is not. */
bool simulate_has_data(struct repro *repro);

/* Means over the rounds, of greedy and of allocating methods alike. */
double simulated_round_time(const struct simulated *result);
double simulated_worker_time(const struct simulated *result);

/* The sample at a time: the last one that is not later. */
const struct train_sample *simulated_at(const struct simulated *result, double time_s);

#endif
