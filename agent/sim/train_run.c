/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agent/sim/train.h"
#include "agent/sim/train_machine.h"
#include "lib/checksum.h"

static void take_sample(const struct train_machine *machine, float *x,
			struct train_sample *ret_sample)
{
	iso_training_totals(machine->training, &ret_sample->totals);
	if (x != NULL)
		iso_method_point(machine->method, x);
	ret_sample->measure = train_problem_measure(&machine->world->problem, x);
}

/* Where the j-th of `samples` points is on the way to limit. */
static double spaced(const struct scenario *scenario, double limit, double first, int64_t j)
{
	double part = (double)j / (double)scenario->samples;

	return scenario->spacing == 0 ? part * limit : first * pow(limit / first, part);
}

static struct iso_training_until limits_of(const struct scenario *scenario)
{
	return (struct iso_training_until){
		.time_s = scenario->time > 0 ? scenario->time : HUGE_VAL,
		.rounds = scenario->rounds > 0 ? (uint64_t)scenario->rounds : UINT64_MAX,
		.updates = scenario->updates > 0 ? (uint64_t)scenario->updates : UINT64_MAX,
		.events = UINT64_MAX,
	};
}

/* The next stop of the run, along the first of time, rounds and updates that is limited. */
static struct iso_training_until target_of(const struct scenario *scenario, int64_t j)
{
	struct iso_training_until until = limits_of(scenario);

	if (j == scenario->samples)
		return until;
	if (scenario->time > 0)
		until.time_s = spaced(scenario, scenario->time, scenario->time * 1e-4, j);
	else if (scenario->rounds > 0)
		until.rounds = (uint64_t)round(spaced(scenario, (double)scenario->rounds, 1, j));
	else
		until.updates = (uint64_t)round(spaced(scenario, (double)scenario->updates, 1, j));
	return until;
}

static bool is_over(const struct iso_training_until *limits,
		    const struct iso_training_totals *totals, enum iso_training_stop stop)
{
	return stop == ISO_TRAINING_STUCK || stop == ISO_TRAINING_DIVERGED ||
	       totals->time_s >= limits->time_s || totals->rounds >= limits->rounds ||
	       totals->updates >= limits->updates;
}

static void run_samples(struct train_machine *machine, struct train_result *result)
{
	const struct scenario *scenario = machine->world->scenario;
	struct iso_training_until limits = limits_of(scenario);

	take_sample(machine, result->point, &result->samples[result->count++]);
	for (int64_t j = scenario->spacing == 0; j <= scenario->samples; j++) {
		struct train_sample *last = &result->samples[result->count - 1];
		struct iso_training_until target = target_of(scenario, j);

		/* Points that lie too close for whole numbers are one. */
		if (target.rounds <= last->totals.rounds || target.updates <= last->totals.updates)
			continue;
		result->stop = train_machine_run(machine, false, &target, &limits);
		take_sample(machine, result->point, &result->samples[result->count++]);
		if (is_over(&limits, &result->samples[result->count - 1].totals, result->stop))
			break;
	}
	result->cpu_s = machine->cpu_s;
	result->end = result->samples[result->count - 1];
	result->digest = result->end.totals.digest;
	if (result->point != NULL)
		result->digest ^= iso_checksum(result->point, result->params * sizeof(float));
}

int train_run(struct train_world *world, unsigned curve, const struct train_progress *progress,
	      struct train_result *ret_result, struct error *reterr)
{
	const struct scenario *scenario = world->scenario;
	const struct scenario_curve *of = &scenario->curves[curve];
	__attribute__((cleanup(train_machine_free))) struct train_machine machine = { 0 };
	int r = train_machine_make(world, of, progress, &machine, reterr);

	if (r < 0)
		return error_wrap(reterr, "%s: curve %s", scenario->path, of->name);
	struct train_result result = { .curve = of,
				       .seed = world->seed,
				       .parameters = machine.parameters,
				       .bytes = machine.bytes };
	result.params = world->problem.callbacks.params;
	result.samples = calloc((size_t)scenario->samples + 2, sizeof(*result.samples));
	result.point = result.params > 0 ? calloc(result.params, sizeof(float)) : NULL;
	if (result.samples == NULL || (result.params > 0 && result.point == NULL)) {
		train_result_close(&result);
		return error_errno(reterr, -ENOMEM, "%s: curve %s", scenario->path, of->name);
	}
	run_samples(&machine, &result);
	*ret_result = result;
	return 0;
}

void train_result_close(struct train_result *result)
{
	free(result->samples);
	free(result->point);
	*result = (struct train_result){ 0 };
}
