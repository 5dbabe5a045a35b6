/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PROMISE_H
#define ISO_PROMISE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/load.h"

/*
 * What jobs physically use, by the kernel's own accounting, while their
 * shares move: real groups of the cpu controller, and either the agent's job
 * (agent/node/job.h) or a writer without any care.  The shares are parts of one
 * budget; what a job gives up at its tick another one takes at its own, so
 * that they never sum up to more.
 */
#define PROMISE_JOBS_MAX  4u
#define PROMISE_WINDOW_NS 10000000000u

struct promise_job {
	uint64_t period_ms;
	enum load_kind load;
	int threads;
	bool naive;             /* the share is written as it is, when it changes */
	uint64_t tick_ns;       /* the share changes at each tick */
};

struct promise_result {
	double worst;           /* used / integral of the share, in the worst window */
	double mean;            /* over the whole run */
	double possible;        /* the mean, had the host not kept CPU from the job */
	unsigned changes;       /* of the share */
	uint64_t late_ns;       /* how late it was looked after, at worst */
};

/* NULL, or why it cannot be measured here. */
const char *promise_missing(void);

/* ret_worst_sum: used by all / budget, in the worst window.  A failure ends the process. */
void promise_run(const struct promise_job *jobs, unsigned count, unsigned seconds,
		 uint64_t budget_ucpu, uint64_t seed, struct promise_result *ret_results,
		 double *ret_worst_sum);

#endif
