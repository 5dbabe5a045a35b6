/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MEASURE_H
#define ISO_MEASURE_H

#include <sys/types.h>

#include "agent/meter/meter.h"
#include "tests/cgroup_fixture.h"
#include "tests/load.h"

/* What the tests of the meter share.  Whatever fails fails the test. */

struct measure_use {
	double on_cpus, wait_cpus; /* by the meter, per second of wall time */
	uint64_t switches;
};

/* NULL, or why nothing can be measured by eBPF here. */
const char *measure_missing(void);

/* eBPF or nothing. */
struct meter_options measure_options(const struct test_cgroup *job);
struct meter *measure_open(const struct test_cgroup *job);

struct meter_reading measure_read(struct meter *meter);
struct measure_use measure_during(struct meter *meter, unsigned ms);

/* What nobody uses any more: the dying and the stopped switch a last time. */
struct meter_reading measure_settled(struct meter *meter);

/*
 * Lets the load go on until the kernel says that it has used some time, with the
 * load held at both ends, where both accounts are exact: they differ by less than
 * share.
 */
void measure_assert_as_kernel(struct meter *meter, const struct load *load, uint64_t ms,
			      double share);
void measure_assert_nothing(struct meter *meter, unsigned ms);

/*
 * Threads that always want to run.  A stint begins for the kernel a little before
 * the hook sees it, so that a slow switch is counted twice: as waited and as run.
 * A thread that is counted wrongly makes a difference of 1.
 */
void measure_assert_demand(struct measure_use use, double threads);

/* 0: the caller. */
void measure_pin(pid_t pid, size_t cpu);

#endif
