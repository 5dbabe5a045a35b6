/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>

#include "agent/sim/train_world.h"
#include "lib/ata/strategy.h"
#include "lib/sgd/theory.h"

static enum iso_method_kind kind_of(const struct scenario_curve *curve)
{
	enum iso_method_kind kind = (enum iso_method_kind)(curve->method + 1);

	if (kind == ISO_METHOD_MINIBATCH && curve->allocation == ISO_STRATEGY_GTA)
		return ISO_METHOD_RENNALA;
	return kind;
}

static int choose_by_theory(const struct train_world *world, const struct scenario_curve *curve,
			    struct train_parameters *parameters, struct error *reterr)
{
	const struct scenario *scenario = world->scenario;
	uint32_t n = (uint32_t)scenario->workers;
	const struct iso_theory_problem problem = { scenario->theory.smoothness,
						    scenario->theory.variance,
						    scenario->theory.target, scenario->theory.gap };
	bool has_batch = parameters->kind == ISO_METHOD_RENNALA ||
			 parameters->kind == ISO_METHOD_MALENIA;
	const struct iso_theory_setting setting = {
		.kind = parameters->kind,
		.workers = n,
		.batch = has_batch ? 0 : parameters->batch,
		/* Capped by an allocation, fast workers may have one gradient like all others. */
		.harmonic_batch =
			curve->allocation != 0 ? 1 : iso_theory_harmonic_batch(world->sorted, n),
	};
	struct iso_theory_choice choice;

	if (parameters->kind == ISO_METHOD_NAIVE_OPTIMAL) {
		parameters->fastest =
		    iso_theory_fastest(world->sorted, n, problem.variance, problem.target);
		return 0;
	}
	enum iso_status status = iso_theory_choose(&problem, &setting, &choice);
	if (status == ISO_E_UNKNOWN)
		return error_set(reterr, -EINVAL, "the papers choose no step for %s",
				 iso_method_text(parameters->kind));
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "section theory is out of range");
	parameters->step = choice.step;
	parameters->updates = choice.updates;
	if (choice.delay_max > 0)
		parameters->delay_max = choice.delay_max;
	if (choice.batch > 0)
		parameters->batch = choice.batch;
	return 0;
}

int train_choose(const struct train_world *world, const struct scenario_curve *curve,
		 struct train_parameters *ret_parameters, struct error *reterr)
{
	struct train_parameters parameters = {
		.kind = kind_of(curve),
		.batch = (uint32_t)(curve->batch > 0 ? curve->batch : world->scenario->batch),
		.delay_max = (uint64_t)curve->delay_max,
		.fastest = (uint32_t)curve->fastest,
		.step = curve->step,
	};
	int r = curve->by_theory ? choose_by_theory(world, curve, &parameters, reterr) : 0;

	if (r == 0)
		*ret_parameters = parameters;
	return r;
}
