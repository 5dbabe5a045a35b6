/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/training.h"

#include <assert.h>
#include <math.h>

#include "lib/ata/strategy.h"
#include "lib/carve.h"
#include "lib/sim/training_state.h"

/* Different streams for the workers and the gradients, whatever the seed. */
static struct iso_rng stream(uint64_t seed, uint64_t number)
{
	struct iso_rng rng = { seed ^ 0x6a09e667f3bcc909u };
	uint64_t mixed = iso_rng_next(&rng);

	rng.state = mixed + number * 0xd1342543de82ef95u;
	return (struct iso_rng){ iso_rng_next(&rng) };
}

static bool config_valid(const struct iso_training_config *config)
{
	bool allocated = config->capped || iso_method_traits(config->kind).wants_allocation;

	if (allocated && config->strategy == NULL)
		return false;
	if (config->workers == 0 || config->laws == NULL || config->method == NULL)
		return false;
	if (config->means_s != NULL && config->batch == 0)
		return false;
	if (config->is_oracle && (config->strategy == NULL || config->means_s == NULL))
		return false;
	return config->problem.params == 0 || config->problem.gradient != NULL;
}

/*
 * A method by rounds has everybody at one point; it is the current one, or the
 * one before until all have stopped.  Elsewhere every worker may be at its own.
 */
static uint32_t slots_of(const struct iso_training_config *config, bool by_rounds)
{
	if (config->problem.params == 0)
		return 0;
	return by_rounds ? 3 : config->workers + 2;
}

static size_t size_of(const struct iso_training_config *config, bool by_rounds)
{
	size_t n = config->workers;

	return iso_carve_bytes(sizeof(struct iso_training)) +
	       iso_carve_bytes(n * sizeof(struct iso_training_worker)) +
	       iso_carve_bytes(n * sizeof(struct iso_queue_entry)) +
	       2 * iso_carve_bytes(n * sizeof(uint32_t)) +
	       iso_carve_bytes(config->problem.params * sizeof(float)) +
	       iso_training_regret_bytes(config) +
	       iso_points_bytes(slots_of(config, by_rounds), config->problem.params);
}

size_t iso_training_size(const struct iso_training_config *config)
{
	if (!config_valid(config))
		return 0;
	return size_of(config, iso_method_traits(config->kind).by_rounds);
}

static void carve(struct iso_training *training, uint8_t *at)
{
	const struct iso_training_config *config = &training->config;
	uint32_t n = config->workers, params = config->problem.params;

	training->workers = iso_carve(&at, n * sizeof(*training->workers));
	struct iso_queue_entry *heap = iso_carve(&at, n * sizeof(*heap));
	iso_queue_init(&training->queue, heap, iso_carve(&at, n * sizeof(uint32_t)), n);
	training->tasks = iso_carve(&at, n * sizeof(*training->tasks));
	training->gradient = iso_carve(&at, params * sizeof(float));
	iso_training_regret_init(training, at);
	at += iso_training_regret_bytes(config);
	iso_points_init(&training->points, at, slots_of(config, training->by_rounds), params);
}

enum iso_status iso_training_init(void *memory, size_t size,
				  const struct iso_training_config *config,
				  struct iso_training **ret_training)
{
	struct iso_method_traits traits = iso_method_traits(config->kind);
	uint8_t *at = memory;
	size_t want = iso_training_size(config);
	uint32_t n = config->workers;

	if (want == 0)
		return ISO_E_RANGE;
	if (size < want)
		return ISO_E_SHORT;
	struct iso_training *training = iso_carve(&at, sizeof(*training));
	*training = (struct iso_training){ .config = *config,
					   .by_rounds = traits.by_rounds,
					   .allocated = traits.wants_allocation || config->capped,
					   .begun = config->rounds_before,
					   .current_slot = ISO_POINTS_NONE,
					   .rng = stream(config->seed, UINT64_MAX) };
	carve(training, at);
	/* What changes at once has done so before anything begins. */
	while (config->speeds != NULL && iso_speeds_next_s(config->speeds) <= 0)
		(void)iso_speeds_step(config->speeds);
	for (uint32_t w = 0; w < n; w++) {
		training->workers[w] = (struct iso_training_worker){ .rng = stream(config->seed, w),
								     .slot = ISO_POINTS_NONE };
		iso_training_look(training, w);
	}
	*ret_training = training;
	return ISO_OK;
}

static void change_speed(struct iso_training *training)
{
	uint32_t w = iso_speeds_step(training->config.speeds);
	struct iso_training_worker *worker = &training->workers[w];

	iso_training_digest(training, w, UINT64_MAX);
	iso_training_advance(training, worker);
	if (!iso_speeds_of(training->config.speeds, w).present)
		iso_training_halt(training, worker, &training->totals.lost);
	iso_training_look(training, w);
	if (worker->running)
		iso_training_schedule(training, w);
	iso_training_rest(training, worker);
	iso_training_obey(training);
}

/* False: nobody is there. */
static bool begin_round(struct iso_training *training)
{
	const struct iso_training_config *config = &training->config;

	if (training->allocated &&
	    iso_strategy_allocate(config->strategy, training->begun + 1, training->tasks) != ISO_OK)
		return false;
	training->begun++;
	if (training->allocated)
		iso_training_regret_round(training);
	iso_method_begin(config->method, training->allocated ? training->tasks : NULL);
	iso_training_obey(training);
	return true;
}

/* When the next task ends; entries of those that do not run any more go. */
static double next_end_s(struct iso_training *training)
{
	while (training->queue.count > 0) {
		const struct iso_queue_entry *first = iso_queue_first(&training->queue);

		if (training->workers[first->id].running)
			return first->time;
		iso_queue_remove_first(&training->queue);
	}
	return HUGE_VAL;
}

/* 0: none is reached. */
static int reached(const struct iso_training *training, const struct iso_training_until *until)
{
	const struct iso_method *method = training->config.method;

	if (training->diverged)
		return ISO_TRAINING_DIVERGED;
	if (iso_method_version(method) >= until->updates)
		return ISO_TRAINING_UPDATES;
	if (until->rounds < UINT64_MAX && iso_method_totals(method).rounds >= until->rounds)
		return ISO_TRAINING_ROUNDS;
	return training->totals.events >= until->events ? ISO_TRAINING_EVENTS : 0;
}

enum iso_training_stop iso_training_run(struct iso_training *training,
					const struct iso_training_until *until)
{
	struct iso_speeds *speeds = training->config.speeds;

	iso_training_obey(training);
	for (;;) {
		int stop = reached(training, until);

		if (stop != 0)
			return (enum iso_training_stop)stop;
		bool waits = iso_method_between_rounds(training->config.method);
		if (waits)
			(void)begin_round(training);
		double end_s = next_end_s(training);
		double change_s = speeds != NULL ? iso_speeds_next_s(speeds) : HUGE_VAL;

		/* Shares that move help nobody who does not run. */
		if (end_s == HUGE_VAL && (speeds == NULL || !iso_speeds_will_change(speeds)))
			return ISO_TRAINING_STUCK;
		if (fmin(end_s, change_s) > until->time_s) {
			training->now_s = fmax(training->now_s, until->time_s);
			return ISO_TRAINING_TIME;
		}
		training->totals.events++;
		training->now_s = fmin(end_s, change_s);
		if (change_s <= end_s)
			change_speed(training);
		else
			iso_training_end(training, iso_queue_first(&training->queue)->id);
	}
}

void iso_training_totals(const struct iso_training *training,
			 struct iso_training_totals *ret_totals)
{
	struct iso_method_totals method = iso_method_totals(training->config.method);
	struct iso_training_totals totals = training->totals;

	totals.time_s = training->now_s;
	if (training->config.means_s == NULL)
		totals.regret_s = NAN;
	totals.rounds = method.rounds;
	totals.updates = method.updates;
	totals.used = method.used;
	totals.buffered = method.buffered;
	totals.ignored = method.ignored + training->diverged;
	totals.delay_max = method.delay_max;
	totals.delay_sum = method.delay_sum;
	for (uint32_t w = 0; w < training->config.workers; w++) {
		const struct iso_training_worker *worker = &training->workers[w];
		double elapsed_s = training->now_s - worker->since_s;

		if (!worker->running)
			continue;
		totals.running++;
		totals.worker_s += worker->wall_s + elapsed_s;
		totals.cpu_s += worker->cpu_s + elapsed_s * worker->share;
	}
	*ret_totals = totals;
}
