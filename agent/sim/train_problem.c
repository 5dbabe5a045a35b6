/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/train_problem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/draw.h"
#include "lib/model/quadratic.h"

static double quadratic_gradient(void *context, uint32_t worker, const float *x,
				 struct iso_rng *rng, float *ret_gradient)
{
	const struct train_problem *problem = context;
	const struct scenario *scenario = problem->scenario;

	(void)worker;
	iso_quadratic_gradient(problem->callbacks.params, x,
			       scenario->problem.noise * iso_draw_normal(rng), ret_gradient);
	return 0;
}

static double data_gradient(void *context, uint32_t worker, const float *x, struct iso_rng *rng,
			    float *ret_gradient)
{
	const struct train_problem *problem = context;

	return train_data_gradient(problem->data, worker, x, rng, ret_gradient);
}

static int open_data(struct train_problem *problem, uint64_t seed, struct error *reterr)
{
	int r = train_data_open(problem->scenario, seed, &problem->data, reterr);

	if (r < 0)
		return r;
	uint32_t params = train_data_params(problem->data);
	problem->start = malloc(params * sizeof(*problem->start));
	if (problem->start == NULL)
		return error_errno(reterr, -ENOMEM, "a problem of %u parameters", params);
	train_data_start(problem->data, problem->start);
	problem->callbacks = (struct iso_problem){ params, problem, data_gradient };
	return 0;
}

static int open_quadratic(struct train_problem *problem, struct error *reterr)
{
	uint32_t params = (uint32_t)problem->scenario->problem.dimension;

	problem->start = malloc(params * sizeof(*problem->start));
	if (problem->start == NULL)
		return error_errno(reterr, -ENOMEM, "a problem of %u parameters", params);
	iso_quadratic_start(params, problem->start);
	problem->callbacks = (struct iso_problem){ params, problem, quadratic_gradient };
	return 0;
}

int train_problem_open(const struct scenario *scenario, uint64_t seed,
		       struct train_problem *ret_problem, struct error *reterr)
{
	*ret_problem = (struct train_problem){ .scenario = scenario };
	switch ((enum scenario_problem)scenario->problem.kind) {
	case SCENARIO_NO_PROBLEM: return 0;
	case SCENARIO_QUADRATIC: return open_quadratic(ret_problem, reterr);
	case SCENARIO_DATA: return open_data(ret_problem, seed, reterr);
	}
	return error_set(reterr, -EINVAL, "no such problem");
}

void train_problem_close(struct train_problem *problem)
{
	train_data_close(problem->data);
	free(problem->start);
	*problem = (struct train_problem){ 0 };
}

double train_problem_measure(const struct train_problem *problem, const float *x)
{
	uint32_t params = problem->callbacks.params;

	if (params == 0)
		return NAN;
	if (problem->data != NULL)
		return train_data_measure(problem->data, x);
	if (problem->scenario->problem.measure == SCENARIO_GAP)
		return iso_quadratic_gap(params, x);
	return iso_quadratic_gradient_square(params, x);
}
