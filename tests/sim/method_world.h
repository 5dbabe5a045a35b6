/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_SIM_METHOD_WORLD_H
#define TESTS_SIM_METHOD_WORLD_H

#include "lib/sgd/method.h"
#include "tests/sim/method_oracle.h"
#include "tests/test.h"

/* A method, its oracle, and the book of what is in flight. */

/* Check notes every assertion that holds; these are too many for that. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("seed %llu%s, step %u: %s", (unsigned long long)world->seed,  \
				     world->config.capped ? " capped" : "", world->step,           \
				     #condition);                                                  \
	} while (0)

#define WORKERS ORACLE_WORKERS
#define PARAMS  ORACLE_PARAMS
#define FLIGHTS 512
#define STEPS   400

struct flight {
	uint32_t worker;
	uint64_t version;
	bool stopped;
};

struct world {
	uint64_t seed;
	uint32_t step;
	struct iso_rng rng;
	struct iso_method_config config;
	struct iso_method_traits traits;
	struct iso_method *method;
	struct oracle oracle;
	struct flight flights[FLIGHTS];
	uint32_t count;
	uint32_t depth[WORKERS]; /* 0: absent */
	uint64_t point[WORKERS]; /* version it was last started at */
	uint32_t points_in_round[WORKERS];
	uint32_t starts_in_round[WORKERS];
	uint32_t tasks[WORKERS];
	uint64_t rounds, updates_at_round;
	uint64_t started, stopped, lost, late;
	bool never_disturbed;
	bool steady;          /* nobody comes, goes or loses work */
	uint32_t calm_rounds; /* since somebody came, went or lost work; 2: nothing of it is left */
	double speed[WORKERS];
};

/* For a seed that failed: ISO_SEED=n ISO_RUNS=1 ISO_TRACE=1 shows what happened. */
void method_world_trace(const char *what, uint32_t worker, uint32_t count, uint64_t version);

/* An oracle_in_flight_fn whose book is the world. */
uint32_t method_world_in_flight(const void *book, uint32_t worker, uint64_t version);

/* Takes the method's orders into the book, then compares everything. */
void method_world_after_event(struct world *world);

#endif
