/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRAINING_H
#define ISO_SIM_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/rng.h"
#include "lib/sgd/method.h"
#include "lib/sim/times.h"
#include "lib/status.h"

struct iso_speeds;
struct iso_strategy;

/*
 * Distributed training in simulated time: the driver of an SGD method
 * (lib/sgd/method.h) and an allocation strategy (lib/ata/strategy.h), the same
 * code that the coordinator drives with real workers.  Communication is free and
 * a worker computes one gradient at a time, as in the papers.
 *
 * Events are the ends of computations and the changes of lib/sim/speeds.h, in the
 * order of time; changes come before ends of the same time, and of several
 * workers the lower number comes first.  Nothing is allocated after init, and all
 * that is random follows from the seeds: a run replays bit for bit.
 *
 * The u-th task of a worker takes the same time whatever the method and the
 * strategy are, so that two of them can be compared on the same luck.
 */
struct iso_training;

/* What is minimised.  All callbacks are pure functions of their arguments. */
struct iso_problem {
	uint32_t params; /* 0: times only, no callback is called */
	void *context;
	/* One stochastic gradient of the worker's function at x; returns the loss. */
	double (*gradient)(void *context, uint32_t worker, const float *x, struct iso_rng *rng,
			   float *ret_gradient);
};

struct iso_training_config {
	uint32_t workers;	    /* n >= 1, up to 10^6 and more */
	const struct iso_law *laws; /* of each worker, at speed and share 1; borrowed */
	/* Of a task, all workers alike: its time is multiplied; NULL: 1. */
	const struct iso_law *size;
	uint64_t seed;
	struct iso_method *method;     /* of n workers, nobody has joined; borrowed, as all below */
	enum iso_method_kind kind;     /* of the method */
	bool capped;		       /* ... by the strategy's allocation */
	struct iso_strategy *strategy; /* NULL where the method needs no allocation */
	uint64_t rounds_before;	       /* the strategy has seen so many already */
	struct iso_speeds *speeds;     /* NULL: share and speed of everybody are 1 for ever */
	/*
	 * What the strategy learns: false, a task's time on the CPU, which stays
	 * the same while shares move; true, its wall time as in the papers.
	 */
	bool observe_wall;
	struct iso_problem problem; /* params as in the method */
	/*
	 * To measure the regret of the allocations: n true means, as laws give them.
	 * NULL: not measured.  With speeds, a worker's mean changes with its share and
	 * speed, and so does the best allocation.
	 */
	const double *means_s;
	bool is_oracle; /* OFTA: it is told each worker's mean, and again when that changes */
	uint32_t batch; /* tasks of a round, B */
};

/* Bytes that init needs, aligned for uint64_t; 0 if out of range. */
size_t iso_training_size(const struct iso_training_config *config);

/* ISO_E_RANGE: out of range, or an allocation is wanted and there is no strategy. */
ISO_MUST_USE enum iso_status iso_training_init(void *memory, size_t size,
					       const struct iso_training_config *config,
					       struct iso_training **ret_training);

/* Where to stop; whatever comes first. */
struct iso_training_until {
	double time_s;	 /* events at this time still happen; may be HUGE_VAL */
	uint64_t rounds; /* UINT64_MAX: no limit, as below */
	uint64_t updates;
	uint64_t events; /* counted from the start of the run */
};

enum iso_training_stop {
	ISO_TRAINING_TIME = 1,
	ISO_TRAINING_ROUNDS,
	ISO_TRAINING_UPDATES,
	ISO_TRAINING_EVENTS,
	ISO_TRAINING_STUCK,    /* nothing runs and nothing will change */
	ISO_TRAINING_DIVERGED, /* a gradient is no number; no method takes one like that */
};

enum iso_training_stop iso_training_run(struct iso_training *training,
					const struct iso_training_until *until);

/*
 * Where it stands.  Worker time: of every computation from its start to its end,
 * or to when it was stopped; running ones count so far.  So greedy allocation,
 * where everybody computes all the time, costs n times the round's time.
 */
struct iso_training_totals {
	double time_s;
	uint64_t rounds, updates;
	double worker_s;    /* worker time, wall */
	double cpu_s;	    /* the same in time on the CPU: weighted with the share */
	double discarded_s; /* part of worker_s: stopped, lost, or ignored on arrival */
	uint64_t started;   /* computations that workers have begun */
	uint64_t computed;  /* ... and ended; what the method made of them is in its totals: */
	uint64_t used, buffered, ignored; /* the last one with the gradient that was no number */
	uint64_t stopped, lost; /* begun and never ended: by order, or since the worker left */
	uint64_t running;
	uint64_t delay_max, delay_sum; /* of used gradients, in updates */
	/* Sum over rounds of l(a, mu) - l(RAS(mu), mu), l = max_i a_i mu_i: ATA (9); NaN without
	 * means_s. */
	double regret_s;
	uint64_t settled_round; /* the first one whose allocation did not explore; 0: none yet */
	uint64_t events;
	uint64_t digest; /* of every event so far: two runs with the same are the same */
};

void iso_training_totals(const struct iso_training *training,
			 struct iso_training_totals *ret_totals);

#endif
