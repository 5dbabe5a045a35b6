/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "agent/sim/train.h"
#include "agent/sim/train_world.h"
#include "lib/ata/strategy.h"
#include "lib/checksum.h"
#include "lib/sgd/method.h"

/* Events between two looks at the progress: a fraction of a second. */
#define EVENTS_AT_ONCE 500000

/* What one run is made of; freed together. */
struct machine {
	const struct train_world *world;
	const struct scenario_curve *curve;
	struct train_parameters parameters;
	bool capped;
	void *method_memory, *strategy_memory, *speeds_memory, *training_memory;
	struct iso_method *method;
	struct iso_strategy *strategy;
	struct iso_speeds *speeds;
	struct iso_training *training;
	size_t bytes;
};

static void machine_free(struct machine *machine)
{
	free(machine->method_memory);
	free(machine->strategy_memory);
	free(machine->speeds_memory);
	free(machine->training_memory);
}

/* Room for one of the parts; 0 bytes: its configuration is out of range. */
static int room(struct machine *machine, const char *what, size_t bytes, void **ret_memory,
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
static void admit_fastest(struct machine *machine)
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

static int make_method(struct machine *machine, struct error *reterr)
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

static double alpha_of(const struct machine *machine)
{
	double largest = 0;

	if (machine->curve->alpha > 0)
		return machine->curve->alpha;
	for (int64_t w = 0; w < machine->world->scenario->workers; w++)
		largest = fmax(largest, machine->world->means[w]);
	return machine->curve->alpha_means * largest;
}

static int make_strategy(struct machine *machine, struct error *reterr)
{
	const struct scenario_curve *curve = machine->curve;
	struct iso_strategy_config config = {
		.kind = (enum iso_strategy_kind)curve->allocation,
		.workers = (uint32_t)machine->world->scenario->workers,
		.batch = machine->parameters.batch,
		.width = { .constant = curve->width == SCENARIO_WIDTH_4E ? ISO_ATA_WIDTH_FIRST
									 : ISO_ATA_WIDTH_FINAL,
			   .alpha_s = alpha_of(machine),
			   .eta = curve->eta },
		.by_rate = curve->share_normalised,
		.options = { .explore_tasks = (uint32_t)curve->explore_tasks,
			     .discount = curve->discount,
			     .smoothing = curve->smoothing,
			     .every_rounds = (uint32_t)curve->every_rounds,
			     .by_round = curve->statistics == SCENARIO_BY_ROUND,
			     .by_cost = curve->cost_normalised,
			     .calibrate_tasks = (uint32_t)curve->calibrate_tasks,
			     .cluster = curve->cluster,
			     .drift = curve->drift,
			     .probe_rounds = (uint32_t)curve->probe_rounds },
		.seed = machine->world->strategy_seed,
	};
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

static int make_speeds(struct machine *machine, struct error *reterr)
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

static struct iso_training_config training_config(const struct machine *machine)
{
	const struct train_world *world = machine->world;
	/* Of greedy allocation the regret says nothing: it starts more than it needs. */
	bool regret = machine->strategy != NULL && machine->curve->allocation != ISO_STRATEGY_GTA;

	return (struct iso_training_config){
		.workers = (uint32_t)world->scenario->workers,
		.laws = world->laws,
		.size = world->size.kind != 0 ? &world->size : NULL,
		.seed = world->times_seed,
		.method = machine->method,
		.kind = machine->parameters.kind,
		.capped = machine->capped,
		.strategy = machine->strategy,
		.rounds_before = (uint64_t)machine->curve->prior_rounds,
		.speeds = machine->speeds,
		.observe_wall = !machine->curve->share_normalised,
		.problem = world->problem.callbacks,
		.means_s = regret ? world->means : NULL,
		.batch = machine->parameters.batch,
	};
}

static int make_training(struct machine *machine, const struct iso_training_config *config,
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

/* Rounds in which the allocation learns and nothing else happens (ATA, appendix A.5). */
static int learn_before(const struct machine *of, struct error *reterr)
{
	static const struct iso_method_config without_model = { .kind = ISO_METHOD_MINIBATCH,
								.depth_max = 1 };
	__attribute__((cleanup(machine_free))) struct machine machine = { .world = of->world,
									  .curve = of->curve };
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
					      .seed = of->world->prior_seed,
					      .method = machine.method,
					      .kind = method.kind,
					      .strategy = of->strategy };
	struct iso_training_until until = { HUGE_VAL, (uint64_t)of->curve->prior_rounds, UINT64_MAX,
					    UINT64_MAX };
	r = make_training(&machine, &config, reterr);
	if (r == 0)
		(void)iso_training_run(machine.training, &until);
	return r;
}

static double cpu_s(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void take_sample(const struct machine *machine, float *x, struct train_sample *ret_sample)
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
		until.rounds = (uint64_t)spaced(scenario, (double)scenario->rounds, 1, j);
	else
		until.updates = (uint64_t)spaced(scenario, (double)scenario->updates, 1, j);
	return until;
}

static bool is_over(const struct iso_training_until *limits,
		    const struct iso_training_totals *totals, enum iso_training_stop stop)
{
	return stop == ISO_TRAINING_STUCK || totals->time_s >= limits->time_s ||
	       totals->rounds >= limits->rounds || totals->updates >= limits->updates;
}

static double part_done(const struct iso_training_until *limits,
			const struct iso_training_totals *totals)
{
	double part =
	    fmax(totals->time_s / limits->time_s, (double)totals->rounds / (double)limits->rounds);

	return fmin(1, fmax(part, (double)totals->updates / (double)limits->updates));
}

static enum iso_training_stop run_to(const struct machine *machine,
				     const struct iso_training_until *target,
				     const struct train_progress *progress,
				     struct train_result *result)
{
	struct iso_training_until limits = limits_of(machine->world->scenario), until = *target;
	struct iso_training_totals totals;
	enum iso_training_stop stop;

	do {
		double from_s = cpu_s();

		iso_training_totals(machine->training, &totals);
		until.events = totals.events + EVENTS_AT_ONCE;
		stop = iso_training_run(machine->training, &until);
		result->cpu_s += cpu_s() - from_s;
		if (progress != NULL)
			progress->fn(progress->context, machine->curve, machine->world->seed,
				     part_done(&limits, &totals));
	} while (stop == ISO_TRAINING_EVENTS);
	return stop;
}

static void run_samples(const struct machine *machine, const struct train_progress *progress,
			struct train_result *result)
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
		result->stop = run_to(machine, &target, progress, result);
		take_sample(machine, result->point, &result->samples[result->count++]);
		if (is_over(&limits, &result->samples[result->count - 1].totals, result->stop))
			break;
	}
	result->end = result->samples[result->count - 1];
	result->digest = result->end.totals.digest;
	if (result->point != NULL)
		result->digest ^= iso_checksum(result->point, result->params * sizeof(float));
}

static int make_machine(struct machine *machine, struct error *reterr)
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

int train_run(struct train_world *world, unsigned curve, const struct train_progress *progress,
	      struct train_result *ret_result, struct error *reterr)
{
	const struct scenario *scenario = world->scenario;
	const struct scenario_curve *of = &scenario->curves[curve];
	__attribute__((cleanup(machine_free))) struct machine machine = { .world = world,
									  .curve = of };
	int r = train_choose(world, of, &machine.parameters, reterr);

	if (r == 0) {
		machine.capped =
		    of->allocation != 0 && iso_method_traits(machine.parameters.kind).can_cap;
		r = make_machine(&machine, reterr);
	}
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
	run_samples(&machine, progress, &result);
	*ret_result = result;
	return 0;
}

void train_result_close(struct train_result *result)
{
	free(result->samples);
	free(result->point);
	*result = (struct train_result){ 0 };
}
