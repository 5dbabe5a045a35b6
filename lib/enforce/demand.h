/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMAND_H
#define ISO_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Demand: the CPU that the job would use if it were not limited, estimated as
 * the mean number of its runnable threads (on CPU or waiting for it, throttled
 * included), at most the CPUs it may run on.
 *
 * The counters come from the meter; the estimate is an exponential mean with
 * time constant tau, exact for readings at any distance, so that a late tick
 * weighs as much as the time it covers.
 */
struct iso_demand {
	uint64_t tau_ns;
	bool started;      /* there is a reading to subtract from */
	bool known;        /* there is an estimate */
	uint64_t at_ns;
	uint64_t epoch;
	uint64_t on_cpu_ns;
	uint64_t wait_ns;
	double on_cpu;     /* CPUs, means over about tau */
	double runnable;
};

struct iso_demand_reading {
	uint64_t at_ns;      /* monotonic */
	uint64_t epoch;      /* counters of two epochs have nothing to do with each other */
	uint64_t on_cpu_ns;  /* cumulative over the job's threads */
	uint64_t wait_ns;    /* cumulative, runnable but not running */
};

/* tau_ns > 0. */
void iso_demand_init(struct iso_demand *demand, uint64_t tau_ns);

/*
 * Takes one reading.  Readings of a new epoch, at the same instant or with
 * counters that went back only move the starting point: a made-up rate would
 * be worse than none.
 */
void iso_demand_read(struct iso_demand *demand, const struct iso_demand_reading *reading);

/*
 * µCPU, at most cpus CPUs (> 0).  While demand->known is false there has been
 * no interval yet, and the answer is 0.
 */
uint64_t iso_demand_ucpu(const struct iso_demand *demand, uint32_t cpus);
uint64_t iso_demand_on_cpu_ucpu(const struct iso_demand *demand);
uint64_t iso_demand_wait_ucpu(const struct iso_demand *demand);

#endif
