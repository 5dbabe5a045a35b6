/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/remedy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ata/ras.h"
#include "lib/draw.h"

/* Workers, their true means now, and the strategy that does not know them. */
struct world {
	uint32_t n, batch;
	struct iso_strategy_config config;
	struct iso_strategy *strategy;
	void *memory, *ras;
	struct iso_rng rng;
	double *means_s; /* of a task of cost 1 */
	double fixed;	 /* part of a time that does not vary, the rest is exponential */
	uint32_t *tasks, *before, *best;
	/* Of the last round. */
	uint64_t round;
	double round_s, worker_s;
	uint32_t moved; /* tasks at another place than in the round before */
	double best_loss_s, best_worker_s;
	struct remedy_curve *curve;
	uint64_t rounds;
};

static void open_world(struct world *world, uint64_t seed, uint64_t rounds)
{
	uint32_t n = world->n;
	size_t size;

	world->config.workers = n;
	world->config.batch = world->batch;
	world->config.seed = seed;
	size = iso_strategy_size(&world->config);
	world->memory = malloc(size);
	world->ras = malloc(iso_ras_workspace_bytes(n));
	world->means_s = calloc(n, sizeof(*world->means_s));
	world->tasks = calloc(n, sizeof(*world->tasks));
	world->before = calloc(n, sizeof(*world->before));
	world->best = calloc(n, sizeof(*world->best));
	if (iso_strategy_init(world->memory, size, &world->config, &world->strategy) != ISO_OK)
		abort();
	for (uint32_t i = 0; i < n; i++)
		iso_strategy_set_present(world->strategy, i, true);
	world->rng.state = seed;
	world->round = 0;
	world->rounds = rounds;
	if (world->curve != NULL)
		world->curve->count = 0;
}

static void close_world(struct world *world)
{
	free(world->memory);
	free(world->ras);
	free(world->means_s);
	free(world->tasks);
	free(world->before);
	free(world->best);
}

/* After the means are set: what RAS does with them. */
static void find_best(struct world *world)
{
	iso_ras(world->means_s, world->n, world->batch, world->ras, world->best);
	world->best_loss_s = iso_ras_loss(world->means_s, world->best, world->n);
	world->best_worker_s = 0;
	for (uint32_t i = 0; i < world->n; i++)
		world->best_worker_s += world->best[i] * world->means_s[i];
}

static double task_time(struct world *world, uint32_t worker)
{
	double varying = (1 - world->fixed) * iso_draw_exponential(&world->rng);

	return world->means_s[worker] * (world->fixed + varying);
}

static void allocate(struct world *world)
{
	memcpy(world->before, world->tasks, world->n * sizeof(*world->tasks));
	world->round++;
	if (iso_strategy_allocate(world->strategy, world->round, world->tasks) != ISO_OK)
		abort();
	world->moved = 0;
	for (uint32_t i = 0; i < world->n; i++)
		if (world->tasks[i] > world->before[i])
			world->moved += world->tasks[i] - world->before[i];
	world->round_s = 0;
	world->worker_s = 0;
}

/* One round, of tasks that are alike. */
static void play(struct world *world)
{
	allocate(world);
	for (uint32_t i = 0; i < world->n; i++) {
		double sum_s = 0;

		for (uint32_t u = 0; u < world->tasks[i]; u++) {
			struct iso_ata_task task = { task_time(world, i), 1, world->round };

			sum_s += task.time_s;
			iso_strategy_observe(world->strategy, i, &task);
		}
		world->worker_s += sum_s;
		world->round_s = fmax(world->round_s, sum_s);
	}
}

/* max a_i mu_i of the last allocation over that of the best one. */
static double loss(const struct world *world)
{
	return iso_ras_loss(world->means_s, world->tasks, world->n) / world->best_loss_s;
}

static void note(struct world *world, double value)
{
	struct remedy_curve *curve = world->curve;
	uint64_t every = (world->rounds + REMEDY_POINTS - 1) / REMEDY_POINTS;

	if (curve == NULL || (world->round - 1) % every != 0)
		return;
	curve->x[curve->count] = (double)world->round;
	curve->y[curve->count++] = value;
}

static struct iso_ata_width narrow(double eta)
{
	return (struct iso_ata_width){ ISO_ATA_WIDTH_FINAL, 1, eta };
}

/* Three kinds of machines, of which a hundred each are there for 20 tasks a round. */
static void three_kinds(struct world *world)
{
	for (uint32_t i = 0; i < world->n; i++)
		world->means_s[i] = pow(3, i % 3);
	find_best(world);
}

static double first_rounds(struct world *world)
{
	double sum_s = 0;

	while (world->round < world->rounds) {
		play(world);
		sum_s += world->worker_s;
		note(world, sum_s / (double)world->round / world->best_worker_s);
	}
	return sum_s / (double)world->rounds / world->best_worker_s;
}

static double many_workers(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 300,
		.batch = 20,
		.fixed = 0.5,
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_EMPIRICAL,
			    .width = narrow(1),
			    .options.cluster = is_cured ? 0.1 : 0 },
	};

	open_world(&world, seed, 3000);
	three_kinds(&world);
	double symptom = first_rounds(&world);
	close_world(&world);
	return symptom;
}

/* On average: now and then chance makes clusters of what is not alike. */
double remedy_many_workers(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	double sum = 0;

	for (uint64_t u = 0; u < 4; u++)
		sum += many_workers(is_cured, seed + 1000 * u, u == 0 ? curve : NULL);
	return sum / 4;
}

double remedy_warm_start(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 300,
		.batch = 20,
		.fixed = 0.5,
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_EMPIRICAL, .width = narrow(1) },
	};

	open_world(&world, seed, 3000);
	three_kinds(&world);
	/* The earlier run had 400 times of each. */
	for (uint32_t i = 0; is_cured && i < world.n; i++) {
		struct iso_ata_samples samples = { 0 };

		for (int u = 0; u < 400; u++)
			iso_ata_samples_add(&samples, task_time(&world, i));
		if (iso_strategy_import(world.strategy, i, samples, 1000) != ISO_OK)
			abort();
	}
	double symptom = first_rounds(&world);
	close_world(&world);
	return symptom;
}

/*
 * Eight workers with means 1 to 1.7, and what worker 0's becomes at a third of the time; so
 * many times of it are known at first.
 */
static double sudden(struct world *world, uint64_t seed, double known, double before_s,
		     double after_s, uint64_t from)
{
	double sum = 0, deviation_s = 0.5 * before_s;
	struct iso_ata_samples samples = { known, known * before_s,
					   known * deviation_s * deviation_s };

	world->n = 8;
	world->batch = 24;
	world->fixed = 0.5;
	open_world(world, seed, 9000);
	if (known > 0 && iso_strategy_import(world->strategy, 0, samples, known) != ISO_OK)
		abort();
	while (world->round < world->rounds) {
		for (uint32_t i = 0; i < world->n; i++)
			world->means_s[i] = 1 + 0.1 * i;
		world->means_s[0] = world->round < 3000 ? before_s : after_s;
		find_best(world);
		play(world);
		note(world, loss(world));
		if (world->round > from && world->round <= from + 500)
			sum += loss(world);
	}
	close_world(world);
	return sum / 500;
}

double remedy_slow_down(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_EMPIRICAL,
			    .width = narrow(1),
			    .options.drift = is_cured ? 24 : 0 },
	};

	return sudden(&world, seed, 0, 1, 10, 3000);
}

double remedy_speed_up(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_EMPIRICAL,
			    .width = narrow(0.3),
			    .options = { .drift = is_cured ? 24 : 0,
					 .probe_rounds = is_cured ? 20 : 0 } },
	};

	/* Not noticed at once: one task in 20 rounds. */
	return sudden(&world, seed, 400, 20, 0.2, 8000);
}

double remedy_wandering(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 12,
		.batch = 24,
		.fixed = 0.7,
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_POOLED,
			    .options.discount = is_cured ? 0.99 : 0 },
	};
	double sum = 0;

	open_world(&world, seed, 12000);
	while (world.round < world.rounds) {
		/* Each goes from 1/3 to 3 and back in 4000 rounds, at different times. */
		for (uint32_t i = 0; i < world.n; i++)
			world.means_s[i] = pow(
			    3, sin(2 * M_PI * ((double)world.round / 4000 + (double)i / world.n)));
		find_best(&world);
		play(&world);
		note(&world, loss(&world));
		sum += loss(&world);
	}
	close_world(&world);
	return sum / (double)world.rounds;
}

double remedy_oscillation(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 4,
		.batch = 80,
		.fixed = 0.7,
		.curve = curve,
		/* A short memory, since speeds may change any time. */
		.config = { .kind = ISO_STRATEGY_ATA_POOLED,
			    .options = { .discount = 0.5, .smoothing = is_cured ? 0.1 : 0 } },
	};
	double heat[4] = { 0 }, sum = 0;

	open_world(&world, seed, 400);
	while (world.round < world.rounds) {
		/* What a worker has had to do makes it hot, and that makes it slow. */
		for (uint32_t i = 0; i < world.n; i++)
			world.means_s[i] = 1 + 0.05 * i + pow(heat[i] / 20, 8);
		find_best(&world);
		play(&world);
		for (uint32_t i = 0; i < world.n; i++)
			heat[i] += 0.5 * (world.tasks[i] - heat[i]);
		note(&world, world.tasks[0]);
		if (world.round > 100)
			sum += world.moved;
	}
	close_world(&world);
	return sum / (double)(world.rounds - 100);
}

double remedy_chatty(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 40,
		.batch = 50,
		.fixed = 0.5,
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_POOLED,
			    .options.every_rounds = is_cured ? 50 : 0 },
	};
	double moved = 0, sum = 0;

	open_world(&world, seed, 6000);
	for (uint32_t i = 0; i < world.n; i++)
		world.means_s[i] = 1;
	find_best(&world);
	while (world.round < world.rounds) {
		play(&world);
		moved += world.moved;
		sum += loss(&world);
		note(&world, moved);
	}
	close_world(&world);
	/* It must not be bought with rounds that take longer. */
	return sum / (double)world.rounds > 1.15 ? HUGE_VAL : moved / (double)world.rounds;
}

/* One task in twenty is forty times as large, and takes as much longer. */
static void play_uneven(struct world *world)
{
	allocate(world);
	for (uint32_t i = 0; i < world->n; i++) {
		for (uint32_t u = 0; u < world->tasks[i]; u++) {
			struct iso_ata_task task = { 0, 1, world->round };

			task.cost = iso_rng_below(&world->rng, 20) == 0 ? 40 : 1;
			task.time_s = task.cost * task_time(world, i);
			iso_strategy_observe(world->strategy, i, &task);
		}
	}
}

double remedy_uneven(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 16,
		.batch = 48,
		.fixed = 0.9,
		.curve = curve,
		/* Narrow, since all times of one size are nearly the same. */
		.config = { .kind = ISO_STRATEGY_ATA_EMPIRICAL,
			    .width = narrow(0.05),
			    .options.by_cost = is_cured },
	};
	double sum = 0;

	open_world(&world, seed, 2000);
	for (uint32_t i = 0; i < world.n; i++)
		world.means_s[i] = 1 + 0.1 * i;
	find_best(&world);
	while (world.round < world.rounds) {
		play_uneven(&world);
		note(&world, loss(&world));
		sum += loss(&world);
	}
	close_world(&world);
	return sum / (double)world.rounds;
}

double remedy_unlucky(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 6,
		.batch = 24,
		.fixed = 0.9,
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_EMPIRICAL,
			    .width = narrow(0.02),
			    .options.explore_tasks = is_cured ? 20 : 0 },
	};
	double sum = 0;

	open_world(&world, seed, 2000);
	for (uint32_t i = 0; i < world.n; i++)
		world.means_s[i] = i == 0 ? 0.25 : 1;
	find_best(&world);
	while (world.round < world.rounds) {
		/* The fastest one's first task finds everything on disk. */
		world.means_s[0] = world.round == 0 ? 20 : 0.25;
		play(&world);
		note(&world, loss(&world));
		sum += loss(&world);
	}
	close_world(&world);
	return sum / (double)world.rounds;
}

double remedy_alpha(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 12,
		.batch = 24,
		.fixed = 0.5,
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA,
			    .width = { ISO_ATA_WIDTH_FINAL, 300, 1 },
			    .options.calibrate_tasks = is_cured ? 24 : 0 },
	};
	double sum = 0;

	open_world(&world, seed, 2000);
	for (uint32_t i = 0; i < world.n; i++)
		world.means_s[i] = 1 + 0.5 * i;
	find_best(&world);
	while (world.round < world.rounds) {
		play(&world);
		note(&world, loss(&world));
		sum += loss(&world);
	}
	close_world(&world);
	return sum / (double)world.rounds;
}

double remedy_late(bool is_cured, uint64_t seed, struct remedy_curve *curve)
{
	struct world world = {
		.n = 8,
		.batch = 16,
		.fixed = 0.5,
		.curve = curve,
		.config = { .kind = ISO_STRATEGY_ATA_POOLED, .options.by_round = !is_cured },
	};
	double lost = 0;

	open_world(&world, seed, 1000);
	for (uint32_t i = 0; i < world.n; i++)
		world.means_s[i] = 1;
	world.means_s[7] = 50;
	find_best(&world);
	while (world.round < world.rounds) {
		allocate(&world);
		/* Its tasks are given to others after a while, and its own results come a round
		 * late. */
		lost += world.tasks[7];
		for (uint32_t i = 0; i < world.n; i++)
			for (uint32_t u = 0; u < (i == 7 ? world.before[i] : world.tasks[i]); u++)
				iso_strategy_observe(
				    world.strategy, i,
				    &(struct iso_ata_task){ task_time(&world, i), 1,
							    world.round - (i == 7) });
		note(&world, lost);
	}
	close_world(&world);
	return lost / (double)world.rounds;
}
