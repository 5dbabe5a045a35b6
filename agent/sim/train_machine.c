/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/clock.h"
#include "agent/sim/train_machine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Events between two looks at the progress: so many at first, then what a slice takes. */
#define EVENTS_FIRST  1024u
#define SLICE_LEAST_S 0.05
#define SLICE_MOST_S  0.2

void train_machine_free(struct train_machine *machine)
{
	free(machine->method_memory);
	free(machine->strategy_memory);
	free(machine->speeds_memory);
	free(machine->training_memory);
}

/* Room for one of the parts; 0 bytes: its configuration is out of range. */
static int room(struct train_machine *machine, const char *what, size_t bytes, void **ret_memory,
		struct error *reterr)
{
	if (bytes == 0)
		return error_set(reterr, -EINVAL, "%s: out of range", what);
	/* Not touched before it is used: most points of many workers never are. */
	*ret_memory = malloc(bytes);
	if (*ret_memory == NULL)
		return error_errno(reterr, -ENOMEM, "%s: %zu bytes", what, bytes);
	machine->bytes += bytes;
	return 0;
}

static int not_made(const char *what, enum iso_status status, struct error *reterr)
{
	return error_set(reterr, -EINVAL, "%s: %s", what, iso_status_text(status));
}

/* Only the m fastest take part, by their true means; of equal ones the first. */
static void admit_fastest(struct train_machine *machine)
{
	const struct train_world *world = machine->world;
	uint32_t m = machine->parameters.fastest, above = 0, admitted = 0;

	if (machine->parameters.kind != ISO_METHOD_NAIVE_OPTIMAL || m == 0)
		return;
	double last = world->sorted[m - 1];
	for (uint32_t w = 0; w < (uint32_t)world->scenario->workers; w++)
		above += world->means[w] < last;
	for (uint32_t w = 0; w < (uint32_t)world->scenario->workers; w++) {
		bool is_in =
		    world->means[w] < last || (world->means[w] == last && above + admitted < m);

		admitted += is_in && world->means[w] == last;
		iso_method_admit(machine->method, w, is_in);
	}
}

static int make_method(struct train_machine *machine, struct error *reterr)
{
	const struct scenario_curve *curve = machine->curve;
	struct iso_method_config config = {
		.kind = machine->parameters.kind,
		.workers = (uint32_t)machine->world->scenario->workers,
		.params = machine->world->problem.callbacks.params,
		.depth_max = 1,
		.batch = machine->parameters.batch,
		.delay_max = machine->parameters.delay_max,
		.capped = machine->capped,
		.step = machine->parameters.step,
		.decay = curve->decay,
	};
	size_t bytes = iso_method_size(&config);
	int r = room(machine, "method", bytes, &machine->method_memory, reterr);

	if (r < 0)
		return r;
	enum iso_status status =
	    iso_method_init(machine->method_memory, bytes, &config, &machine->method);
	if (status != ISO_OK)
		return not_made("method", status, reterr);
	if (machine->world->problem.start != NULL)
		iso_method_set_point(machine->method, machine->world->problem.start);
	admit_fastest(machine);
	return 0;
}

static double alpha_of(const struct train_world *world, const struct scenario_curve *curve)
{
	double largest = 0;

	if (curve->alpha > 0)
		return curve->alpha;
	for (int64_t w = 0; w < world->scenario->workers; w++)
		largest = fmax(largest, world->means[w]);
	return curve->alpha_means * largest;
}

struct iso_strategy_config train_strategy_config(const struct train_world *world,
						 const struct scenario_curve *curve, uint32_t batch)
{
	struct iso_strategy_config config = {
		.kind = (enum iso_strategy_kind)curve->allocation,
		.workers = (uint32_t)world->scenario->workers,
		.batch = batch,
		.width.alpha_s = alpha_of(world, curve),
		.seed = world->strategy_seed,
	};

	allocation_configure(&curve->options, &config);
	return config;
}

static int make_strategy(struct train_machine *machine, struct error *reterr)
{
	const struct scenario_curve *curve = machine->curve;
	struct iso_strategy_config config =
	    train_strategy_config(machine->world, curve, machine->parameters.batch);
	size_t bytes = iso_strategy_size(&config);

	if (curve->allocation == 0)
		return 0;
	int r = room(machine, "allocation", bytes, &machine->strategy_memory, reterr);
	if (r < 0)
		return r;
	enum iso_status status =
	    iso_strategy_init(machine->strategy_memory, bytes, &config, &machine->strategy);
	if (status != ISO_OK)
		return not_made("allocation", status, reterr);
	for (uint32_t w = 0; w < config.workers; w++)
		if (config.kind == ISO_STRATEGY_OFTA)
			iso_strategy_set_mean(machine->strategy, w, machine->world->means[w]);
	return 0;
}

static int make_speeds(struct train_machine *machine, struct error *reterr)
{
	const struct train_world *world = machine->world;
	const struct scenario *scenario = world->scenario;
	struct iso_speeds_config config = {
		.workers = (uint32_t)scenario->workers,
		.changes = world->changes,
		.change_count = world->change_count,
		.share = scenario->shares.start,
		.every_s = scenario->shares.every,
		.share_least = scenario->shares.least,
		.share_most = scenario->shares.most,
		.seed = world->speeds_seed,
	};
	size_t bytes = iso_speeds_size(&config);

	if (world->change_count == 0 && config.every_s == 0 && config.share == 1)
		return 0;
	int r = room(machine, "shares and events", bytes, &machine->speeds_memory, reterr);
	if (r < 0)
		return r;
	enum iso_status status =
	    iso_speeds_init(machine->speeds_memory, bytes, &config, &machine->speeds);
	return status == ISO_OK ? 0 : not_made("shares and events", status, reterr);
}

/* NULL: all tasks are of one size. */
static const struct iso_law *size_of(const struct train_world *world)
{
	return world->size.kind != 0 ? &world->size : NULL;
}

static struct iso_training_config training_config(const struct train_machine *machine)
{
	const struct train_world *world = machine->world;
	/* Of greedy allocation the regret says nothing: it starts more than it needs. */
	bool regret = machine->strategy != NULL && machine->curve->allocation != ISO_STRATEGY_GTA;

	return (struct iso_training_config){
		.workers = (uint32_t)world->scenario->workers,
		.laws = world->laws,
		.size = size_of(world),
		.seed = world->times_seed,
		.method = machine->method,
		.kind = machine->parameters.kind,
		.capped = machine->capped,
		.strategy = machine->strategy,
		.rounds_before = (uint64_t)machine->curve->prior_rounds,
		.speeds = machine->speeds,
		.observe_wall = !machine->curve->options.share_normalised,
		.problem = world->problem.callbacks,
		.means_s = regret ? world->means : NULL,
		.is_oracle = machine->strategy != NULL &&
			     machine->curve->allocation == ISO_STRATEGY_OFTA,
		.batch = machine->parameters.batch,
	};
}

static int make_training(struct train_machine *machine, const struct iso_training_config *config,
			 struct error *reterr)
{
	size_t bytes = iso_training_size(config);
	int r = room(machine, "driver", bytes, &machine->training_memory, reterr);

	if (r < 0)
		return r;
	enum iso_status status =
	    iso_training_init(machine->training_memory, bytes, config, &machine->training);
	return status == ISO_OK ? 0 : not_made("driver", status, reterr);
}

static double part_done(const struct iso_training_until *limits,
			const struct iso_training_totals *totals)
{
	double part =
	    fmax(totals->time_s / limits->time_s, (double)totals->rounds / (double)limits->rounds);

	return fmin(1, fmax(part, (double)totals->updates / (double)limits->updates));
}

enum iso_training_stop train_machine_run(struct train_machine *machine, bool is_prior,
					 const struct iso_training_until *target,
					 const struct iso_training_until *limits)
{
	struct iso_training_until until = *target;
	struct iso_training_totals totals;
	enum iso_training_stop stop;
	uint64_t events = EVENTS_FIRST;

	iso_training_totals(machine->training, &totals);
	do {
		double from_s = clock_cpu_s();

		until.events = totals.events + events;
		stop = iso_training_run(machine->training, &until);
		iso_training_totals(machine->training, &totals);
		double took_s = clock_cpu_s() - from_s;
		machine->cpu_s += took_s;
		if (took_s < SLICE_LEAST_S)
			events *= 2;
		else if (took_s > SLICE_MOST_S && events > 1)
			events /= 2;
		if (machine->progress != NULL)
			machine->progress->fn(machine->progress->context,
					      &(struct train_stage){ machine->curve,
								     machine->world->seed, is_prior,
								     part_done(limits, &totals) });
	} while (stop == ISO_TRAINING_EVENTS);
	return stop;
}

/* Rounds in which the allocation learns and nothing else happens (ATA, appendix A.5). */
static int learn_before(const struct train_machine *of, struct error *reterr)
{
	static const struct iso_method_config without_model = { .kind = ISO_METHOD_MINIBATCH,
								.depth_max = 1 };
	__attribute__((cleanup(train_machine_free))) struct train_machine machine = {
		.world = of->world, .curve = of->curve, .progress = of->progress
	};
	struct iso_method_config method = without_model;

	if (of->curve->prior_rounds == 0)
		return 0;
	method.workers = (uint32_t)of->world->scenario->workers;
	method.batch = of->parameters.batch;
	int r = room(&machine, "method", iso_method_size(&method), &machine.method_memory, reterr);
	if (r < 0)
		return r;
	enum iso_status status =
	    iso_method_init(machine.method_memory, machine.bytes, &method, &machine.method);
	if (status != ISO_OK)
		return not_made("method", status, reterr);
	struct iso_training_config config = { .workers = method.workers,
					      .laws = of->world->laws,
					      .size = size_of(of->world),
					      .seed = of->world->prior_seed,
					      .method = machine.method,
					      .kind = method.kind,
					      .strategy = of->strategy };
	struct iso_training_until until = { HUGE_VAL, (uint64_t)of->curve->prior_rounds, UINT64_MAX,
					    UINT64_MAX };
	r = make_training(&machine, &config, reterr);
	if (r == 0)
		(void)train_machine_run(&machine, true, &until, &until);
	return r;
}

static int make_parts(struct train_machine *machine, struct error *reterr)
{
	int r = make_method(machine, reterr);

	if (r == 0)
		r = make_strategy(machine, reterr);
	if (r == 0)
		r = learn_before(machine, reterr);
	if (r == 0)
		r = make_speeds(machine, reterr);
	if (r < 0)
		return r;
	struct iso_training_config config = training_config(machine);
	return make_training(machine, &config, reterr);
}

int train_machine_make(const struct train_world *world, const struct scenario_curve *curve,
		       const struct train_progress *progress, struct train_machine *ret_machine,
		       struct error *reterr)
{
	struct train_machine machine = { .world = world, .curve = curve, .progress = progress };
	int r = train_choose(world, curve, &machine.parameters, reterr);

	if (r == 0) {
		machine.capped =
		    curve->allocation != 0 && iso_method_traits(machine.parameters.kind).can_cap;
		r = make_parts(&machine, reterr);
	}
	if (r < 0) {
		train_machine_free(&machine);
		return r;
	}
	*ret_machine = machine;
	return 0;
}
