/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <math.h>

#include "lib/ata/strategy.h"
#include "lib/bytes.h"
#include "lib/sgd/step.h"
#include "lib/sim/training_state.h"

void iso_training_digest(struct iso_training *training, uint64_t what, uint64_t more)
{
	uint64_t mixed = training->totals.digest ^ what ^ (more * 0x9e3779b97f4a7c15u);

	mixed ^= iso_bits_of_double(training->now_s);
	mixed *= 0xff51afd7ed558ccdu;
	training->totals.digest = mixed ^ (mixed >> 32);
}

/* Who stands still, or nearly so, is not known. */
static void tell_mean(struct iso_training *training, uint32_t w, const struct iso_speed *speed)
{
	const struct iso_training_config *config = &training->config;
	double rate = config->observe_wall ? speed->speed * speed->share : speed->speed;
	double mean_s = rate > 0 ? config->means_s[w] / rate : 0;

	iso_strategy_set_mean(config->strategy, w, iso_ata_time_valid(mean_s) ? mean_s : 0);
}

void iso_training_look(struct iso_training *training, uint32_t w)
{
	struct iso_training_worker *worker = &training->workers[w];
	struct iso_speed speed = { 1, 1, true };

	if (training->config.speeds != NULL)
		speed = iso_speeds_of(training->config.speeds, w);
	worker->share = speed.share;
	worker->rate = speed.share * speed.speed;
	if (training->config.strategy != NULL) {
		iso_strategy_set_rate(training->config.strategy, w, speed.share);
		/* What an earlier run left may be another. */
		iso_strategy_set_present(training->config.strategy, w, speed.present);
	}
	if (training->config.is_oracle)
		tell_mean(training, w, &speed);
	if (speed.present == worker->present) {
		iso_training_regret_speed(training, w);
		return;
	}
	worker->present = speed.present;
	iso_training_regret_speed(training, w);
	if (speed.present)
		iso_method_join(training->config.method, w, 1);
	else
		iso_method_leave(training->config.method, w);
}

void iso_training_advance(struct iso_training *training, struct iso_training_worker *worker)
{
	double elapsed_s = training->now_s - worker->since_s;

	worker->since_s = training->now_s;
	if (!worker->running)
		return;
	worker->wall_s += elapsed_s;
	worker->cpu_s += elapsed_s * worker->share;
	worker->left_s = fmax(0, worker->left_s - elapsed_s * worker->rate);
}

void iso_training_schedule(struct iso_training *training, uint32_t w)
{
	const struct iso_training_worker *worker = &training->workers[w];
	double end_s =
	    worker->rate > 0 ? training->now_s + worker->left_s / worker->rate : HUGE_VAL;

	iso_queue_set(&training->queue, w, end_s);
}

static void begin_task(struct iso_training *training, uint32_t w)
{
	struct iso_training_worker *worker = &training->workers[w];

	assert(worker->present);
	assert(!worker->running);
	assert(worker->queued > 0);
	worker->queued--;
	worker->running = true;
	worker->since_s = training->now_s;
	worker->size = 1;
	if (training->config.size != NULL)
		worker->size = iso_law_draw(training->config.size, worker->drawn, &worker->rng);
	worker->left_s =
	    worker->size * iso_law_draw(&training->config.laws[w], worker->drawn++, &worker->rng);
	worker->wall_s = 0;
	worker->cpu_s = 0;
	training->totals.started++;
	iso_training_schedule(training, w);
}

void iso_training_halt(struct iso_training *training, struct iso_training_worker *worker,
		       uint64_t *count)
{
	worker->queued = 0;
	if (!worker->running)
		return;
	iso_training_advance(training, worker);
	worker->running = false;
	training->totals.worker_s += worker->wall_s;
	training->totals.cpu_s += worker->cpu_s;
	training->totals.discarded_s += worker->wall_s;
	*count += 1;
}

void iso_training_rest(struct iso_training *training, struct iso_training_worker *worker)
{
	if (!training->by_rounds || worker->running || worker->queued > 0)
		return;
	iso_points_drop(&training->points, worker->slot);
	worker->slot = ISO_POINTS_NONE;
}

static void give_point(struct iso_training *training, struct iso_training_worker *worker,
		       uint64_t version)
{
	struct iso_points *points = &training->points;

	if (points->params == 0 || (worker->slot != ISO_POINTS_NONE && worker->version == version))
		return;
	assert(version == iso_method_version(training->config.method));
	if (training->current_slot == ISO_POINTS_NONE || training->current_version != version) {
		iso_points_drop(points, training->current_slot);
		training->current_slot = iso_points_take(points);
		training->current_version = version;
		iso_method_point(training->config.method,
				 iso_points_at(points, training->current_slot));
	}
	iso_points_drop(points, worker->slot);
	iso_points_share(points, training->current_slot);
	worker->slot = training->current_slot;
}

static void obey(struct iso_training *training, const struct iso_method_order *order)
{
	struct iso_training_worker *worker = &training->workers[order->worker];

	if (order->act == ISO_METHOD_STOP) {
		if (worker->version < order->version)
			iso_training_halt(training, worker, &training->totals.stopped);
		iso_training_rest(training, worker);
		return;
	}
	if (!worker->running && worker->queued == 0) {
		give_point(training, worker, order->version);
		worker->version = order->version;
		worker->round = training->begun;
	}
	/* What runs and what follows is at one point. */
	assert(worker->version == order->version);
	worker->queued += order->count;
	if (!worker->running)
		begin_task(training, order->worker);
}

void iso_training_obey(struct iso_training *training)
{
	struct iso_method_order order;

	while (iso_method_next(training->config.method, &order))
		obey(training, &order);
}

static enum iso_method_verdict hand_in(struct iso_training *training, uint32_t w)
{
	const struct iso_training_worker *worker = &training->workers[w];
	const struct iso_problem *problem = &training->config.problem;
	struct iso_method_arrival arrival = { .worker = w, .version = worker->version };

	if (problem->params > 0) {
		/* As late as possible: of what is stopped no gradient is ever computed. */
		(void)problem->gradient(problem->context, w,
					iso_points_at(&training->points, worker->slot),
					&training->rng, training->gradient);
		arrival.gradient = training->gradient;
		training->diverged = !iso_sgd_finite(training->gradient, problem->params);
		if (training->diverged)
			return ISO_METHOD_IGNORED;
	}
	return iso_method_arrive(training->config.method, &arrival);
}

void iso_training_end(struct iso_training *training, uint32_t w)
{
	struct iso_training_worker *worker = &training->workers[w];
	struct iso_training_totals *totals = &training->totals;

	/* Not by the clock, which is coarser late in a long run. */
	worker->wall_s += worker->left_s / worker->rate;
	worker->cpu_s += worker->left_s / worker->rate * worker->share;
	worker->running = false;
	totals->worker_s += worker->wall_s;
	totals->cpu_s += worker->cpu_s;
	totals->computed++;
	if (training->config.strategy != NULL)
		iso_strategy_observe(training->config.strategy, w,
				     &(struct iso_ata_task){ training->config.observe_wall
								 ? worker->wall_s
								 : worker->cpu_s,
							     worker->size, worker->round });
	if (hand_in(training, w) == ISO_METHOD_IGNORED)
		totals->discarded_s += worker->wall_s;
	iso_training_digest(training, w, worker->version);
	if (training->diverged)
		return;
	iso_training_obey(training);
	if (!worker->running && worker->queued > 0)
		begin_task(training, w);
	iso_training_rest(training, worker);
}
