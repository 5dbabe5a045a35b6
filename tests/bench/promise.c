/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * The worst window of 10 s, used / share, of the agent's job and of a writer that
 * just writes each new share, at five changes a second: side by side, with the
 * same load.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/promise.h"

#define PAIRS	    3u
#define SECONDS	    24u
#define BUDGET_UCPU 900000u
#define TICK_NS	    200000000u

#define NAME "worst 10 s of a moving share / a naive writer's"

static void measure(void)
{
	struct promise_job jobs[2];
	struct promise_result results[2];
	struct bench_pairs pairs = { 0 };
	double worst_sum;

	for (unsigned i = 0; i < 2; i++)
		jobs[i] = (struct promise_job){ .period_ms = 100,
						.load = LOAD_BUSY,
						.threads = (int)sysconf(_SC_NPROCESSORS_ONLN),
						.naive = i == 1,
						.tick_ns = TICK_NS };
	for (unsigned n = 0; n < PAIRS; n++) {
		promise_run(jobs, 2, SECONDS, BUDGET_UCPU, n, results, &worst_sum);
		bench_add(&pairs, results[0].worst, results[1].worst);
	}
	bench_print(NAME, "x", &pairs, 0.75);
	test_cgroup_sweep();
}

int main(void)
{
	const char *why = promise_missing();

	if (why != NULL) {
		bench_skip(NAME, why);
		return 0;
	}
	measure();
	return 0;
}
