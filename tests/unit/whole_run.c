/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/whole_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

void *run_room(size_t bytes)
{
	void *memory = malloc(bytes);

	ck_assert_uint_gt(bytes, 0);
	ck_assert_ptr_nonnull(memory);
	memset(memory, 0xa5, bytes);
	return memory;
}

void run_strategy(struct run *run, enum iso_strategy_kind kind, uint32_t batch)
{
	struct iso_strategy_config config = { .kind = kind,
					      .workers = run->config.workers,
					      .batch = batch,
					      .width = { 2, 10, 1 },
					      .by_rate = true,
					      .seed = 3 };
	size_t bytes = iso_strategy_size(&config);

	ck_assert_ok(iso_strategy_init(run_room(bytes), bytes, &config, &run->strategy));
	run->config.strategy = run->strategy;
	run->config.batch = batch;
}

void run_speeds(struct run *run, const struct iso_speeds_config *config)
{
	size_t bytes = iso_speeds_size(config);

	ck_assert_ok(iso_speeds_init(run_room(bytes), bytes, config, &run->speeds));
	run->config.speeds = run->speeds;
}

void run_changes(struct run *run, const struct iso_speed_change *changes, uint32_t count)
{
	run_speeds(run, &(struct iso_speeds_config){ .workers = run->config.workers,
						     .share = 1,
						     .changes = changes,
						     .change_count = count });
}

void run_start(struct run *run, struct iso_method_config config, const float *x)
{
	config.workers = run->config.workers;
	config.depth_max = 1;
	config.params = run->config.problem.params;
	size_t bytes = iso_method_size(&config);

	ck_assert_ok(iso_method_init(run_room(bytes), bytes, &config, &run->method));
	if (x != NULL)
		iso_method_set_point(run->method, x);
	run->config.method = run->method;
	run->config.kind = config.kind;
	run->config.capped = config.capped;
	run->config.laws = run->laws;
	bytes = iso_training_size(&run->config);
	ck_assert_ok(iso_training_init(run_room(bytes), bytes, &run->config, &run->training));
}

void run_finish(struct run *run)
{
	free(run->training);
	free(run->method);
	free(run->strategy);
	free(run->speeds);
	free(run->means);
}

struct run run_with_constants(uint32_t n, const double *times)
{
	struct run run = { .config = { .workers = n } };

	for (uint32_t w = 0; w < n; w++)
		run.laws[w] = (struct iso_law){ .kind = ISO_LAW_CONSTANT, .scale = times[w] };
	return run;
}

struct iso_training_totals run_until(struct run *run, double time_s, uint64_t rounds,
				     enum iso_training_stop stop)
{
	const struct iso_training_until until = { time_s, rounds, UINT64_MAX, UINT64_MAX };
	struct iso_training_totals totals;

	ck_assert_int_eq(iso_training_run(run->training, &until), stop);
	iso_training_totals(run->training, &totals);
	ck_assert_uint_eq(totals.started,
			  totals.computed + totals.stopped + totals.lost + totals.running);
	ck_assert_uint_eq(totals.computed, totals.used + totals.buffered + totals.ignored);
	return totals;
}

struct iso_training_totals run_after_rounds(struct run *run, uint64_t rounds)
{
	return run_until(run, HUGE_VAL, rounds, ISO_TRAINING_ROUNDS);
}

struct iso_training_totals run_at_time(struct run *run, double time_s)
{
	return run_until(run, time_s, UINT64_MAX, ISO_TRAINING_TIME);
}

double run_identity(void *context, uint32_t worker, const float *x, struct iso_rng *rng,
		    float *ret_gradient)
{
	uint32_t params = *(const uint32_t *)context;

	(void)worker;
	(void)rng;
	memcpy(ret_gradient, x, params * sizeof(*x));
	return 0;
}
