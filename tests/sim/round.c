/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ata/strategy.h"
#include "lib/sgd/round.h"
#include "tests/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * A coordinator and its workers under a simulated clock and network: messages are
 * lost, doubled, delayed and so reordered; workers die, come back, slow down,
 * and one may go silent for good.  Whatever happens, each round must end with
 * exactly B different tasks, and the run must end.
 */
#define WORKERS 5
#define BATCH   11
#define ROUNDS  30
#define TERM    3
#define MS      1000000ull
#define QUEUE   4096

enum event_type { ORDER = 1, RESULT, CRASH, RETURN, RATE };

struct event {
	uint64_t at_ns;
	uint64_t sequence; /* ties by age: replays bit for bit */
	enum event_type type;
	uint32_t worker;
	uint32_t life;     /* of the worker it was meant for, or from */
	uint64_t number;
	struct iso_round_task task;
	bool with_params;
	uint64_t on_cpu_ns;
};

struct worker {
	bool up;
	bool silent;           /* takes orders and never answers */
	uint32_t life;
	uint64_t has_round;    /* parameters it holds */
	uint64_t free_at_ns;
	double task_ms;
	uint64_t share_ucpu;
};

struct world {
	struct iso_rng rng;
	uint64_t now_ns;
	uint64_t sequence;
	double loss;
	struct iso_round *round;
	struct iso_strategy *strategy;
	struct worker workers[WORKERS];
	struct event queue[QUEUE];
	uint32_t queued;
	uint64_t sent;         /* results that left a worker */
	bool greedy;
};

static double unit(struct world *world)
{
	return iso_rng_unit(&world->rng);
}

static void push(struct world *world, struct event event)
{
	ck_assert_uint_lt(world->queued, QUEUE);
	event.sequence = world->sequence++;
	world->queue[world->queued++] = event;
}

static uint32_t first_event(const struct world *world)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < world->queued; i++) {
		const struct event *a = &world->queue[i], *b = &world->queue[first];

		if (a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->sequence < b->sequence))
			first = i;
	}
	return first;
}

/* Over the network: lost, on time, late or twice. */
static void post(struct world *world, struct event event)
{
	uint64_t sent_ns = event.at_ns;

	for (int copies = unit(world) < world->loss ? 2 : 1; copies > 0; copies--) {
		event.at_ns = sent_ns + (uint64_t)(MS * (0.1 + 3 * unit(world)));
		if (unit(world) < world->loss)
			event.at_ns += (uint64_t)(400 * MS * unit(world));
		if (unit(world) >= world->loss)
			push(world, event);
	}
}

static void send_orders(struct world *world)
{
	struct iso_round_task tasks[4];
	struct iso_round_order order;
	struct iso_round_cancel cancel;

	while (iso_round_next_order(world->round, world->now_ns, tasks, 4, &order)) {
		ck_assert(world->workers[order.worker].up);
		for (uint32_t t = 0; t < order.count; t++)
			post(world, (struct event){ .at_ns = world->now_ns, .type = ORDER,
						    .worker = order.worker,
						    .life = world->workers[order.worker].life,
						    .number = order.number, .task = tasks[t],
						    .with_params = order.with_params });
	}
	/* These workers do not care for cancels; nothing may depend on them. */
	while (iso_round_next_cancel(world->round, &cancel))
		ck_assert_uint_lt(cancel.worker, WORKERS);
}

static void work(struct world *world, const struct event *order)
{
	struct worker *worker = &world->workers[order->worker];

	if (!worker->up || worker->life != order->life)
		return;
	if (order->with_params && order->number > worker->has_round)
		worker->has_round = order->number;
	/* Without the parameters, or of the past: nothing to be done. */
	if (worker->has_round != order->number || worker->silent)
		return;
	double on_cpu_ns = worker->task_ms * MS * (0.5 + unit(world));
	double rate = (double)worker->share_ucpu / 1e6;
	uint64_t start_ns = world->now_ns > worker->free_at_ns ? world->now_ns : worker->free_at_ns;

	worker->free_at_ns = start_ns + (uint64_t)(on_cpu_ns / (rate < 1 ? rate : 1));
	world->sent++;
	post(world, (struct event){ .at_ns = worker->free_at_ns, .type = RESULT,
				    .worker = order->worker, .life = worker->life,
				    .number = order->number, .task = order->task,
				    .on_cpu_ns = (uint64_t)on_cpu_ns });
}

static void deliver(struct world *world, const struct event *event)
{
	float gradient[BATCH] = { 0 };
	const struct iso_round_result result = {
		.term = TERM, .number = event->number, .worker = event->worker,
		.task = event->task.task, .attempt = event->task.attempt,
		.on_cpu_ns = event->on_cpu_ns, .loss = 1, .gradient = gradient,
	};

	/* One-hot: the mean gradient shows how often each task was counted. */
	gradient[world->greedy ? 0 : event->task.task % BATCH] = 1;
	enum iso_round_verdict verdict = iso_round_result(world->round, world->now_ns, &result);
	ck_assert_int_ne(verdict, ISO_ROUND_OTHER_TERM);
	if (verdict == ISO_ROUND_ACCEPTED)
		iso_strategy_observe(
			world->strategy, event->worker,
			&(struct iso_ata_task){ .time_s = (double)event->on_cpu_ns / 1e9 });
}

static void crash(struct world *world, uint32_t index)
{
	struct worker *worker = &world->workers[index];

	if (!worker->up)
		return;
	worker->up = false;
	worker->life++;
	worker->has_round = 0;
	iso_strategy_set_present(world->strategy, index, false);
	iso_round_leave(world->round, world->now_ns, index);
	push(world, (struct event){ .at_ns = world->now_ns + (uint64_t)(2000 * MS * unit(world)),
				    .type = RETURN, .worker = index });
}

static void come(struct world *world, uint32_t index)
{
	struct worker *worker = &world->workers[index];

	worker->up = true;
	worker->free_at_ns = world->now_ns;
	worker->share_ucpu = 200000 + iso_rng_below(&world->rng, 1200000);
	iso_strategy_set_present(world->strategy, index, true);
	iso_strategy_set_rate(world->strategy, index, iso_rate_cpus(1, worker->share_ucpu));
	iso_round_join(world->round, world->now_ns, index, 1, worker->share_ucpu);
}

static void change_rate(struct world *world, uint32_t index)
{
	struct worker *worker = &world->workers[index];

	worker->share_ucpu = 50000 + iso_rng_below(&world->rng, 1500000);
	if (unit(world) < 0.2)
		worker->task_ms *= 0.2 + 3 * unit(world);
	if (worker->up) {
		iso_strategy_set_rate(world->strategy, index, iso_rate_cpus(1, worker->share_ucpu));
		iso_round_set_rate(world->round, world->now_ns, index, 1, worker->share_ucpu);
	}
}

static void disturb(struct world *world)
{
	struct event event = { .at_ns = world->now_ns + 1,
			       .worker = (uint32_t)iso_rng_below(&world->rng, WORKERS) };

	event.type = unit(world) < 0.3 ? CRASH : RATE;
	push(world, event);
}

/* The next thing that happens: an event, or a lease that ends before it. */
static void advance(struct world *world)
{
	uint64_t wake_ns = iso_round_wake_ns(world->round);
	uint32_t first = first_event(world);

	ck_assert_msg(world->queued > 0 || wake_ns < UINT64_MAX, "nothing will ever happen again");
	if (world->queued == 0 || wake_ns < world->queue[first].at_ns) {
		world->now_ns = wake_ns > world->now_ns ? wake_ns : world->now_ns;
		iso_round_tick(world->round, world->now_ns);
		send_orders(world);
		return;
	}
	struct event event = world->queue[first];
	world->queue[first] = world->queue[--world->queued];
	world->now_ns = event.at_ns > world->now_ns ? event.at_ns : world->now_ns;
	switch (event.type) {
	case ORDER: work(world, &event); break;
	case RESULT: deliver(world, &event); break;
	case CRASH: crash(world, event.worker); break;
	case RETURN: come(world, event.worker); break;
	case RATE: change_rate(world, event.worker); break;
	}
	if (unit(world) < 0.02)
		disturb(world);
	send_orders(world);
}

static void setup(struct world *world, uint64_t seed, enum iso_strategy_kind kind)
{
	const struct iso_round_config config = {
		.workers = WORKERS, .batch = BATCH, .params = BATCH, .threads_max = 2,
		.greedy_depth = 2, .lease_mads = 8, .lease_first_ns = 500 * MS,
		.lease_min_ns = 20 * MS, .term = TERM,
	};
	const struct iso_strategy_config strategy = {
		.kind = kind, .workers = WORKERS, .batch = BATCH, .by_rate = true, .seed = seed,
		.width = { ISO_ATA_WIDTH_FINAL, 0.01, 0.5 },
	};

	memset(world, 0, sizeof(*world));
	world->rng.state = seed;
	world->greedy = kind == ISO_STRATEGY_GTA;
	world->loss = 0.3 * unit(world);
	ck_assert_ok(iso_round_init(malloc(iso_round_size(&config)), iso_round_size(&config),
				    &config, &world->round));
	ck_assert_ok(iso_strategy_init(malloc(iso_strategy_size(&strategy)),
				       iso_strategy_size(&strategy), &strategy, &world->strategy));
	for (uint32_t i = 0; i < WORKERS; i++) {
		world->workers[i].task_ms = 2 + 40 * unit(world);
		push(world, (struct event){ .at_ns = (uint64_t)(500 * MS * unit(world)),
					    .type = RETURN, .worker = i });
	}
	/* In every third world one worker takes work and never answers; the others must do. */
	world->workers[0].silent = seed % 3 == 0;
}

static void check_round(const struct world *world, uint64_t number)
{
	const struct iso_round_totals *totals = iso_round_totals(world->round);
	const float *gradient = iso_round_gradient(world->round);
	float expected = 1.0f / BATCH;

	ck_assert_uint_eq(totals->rounds, number);
	ck_assert_uint_eq(totals->accepted, number * BATCH);
	ck_assert_double_eq_tol(iso_round_loss(world->round), 1, 1e-12);
	if (world->greedy)
		ck_assert_double_eq_tol((double)gradient[0], 1, 1e-6);
	for (uint32_t t = 0; !world->greedy && t < BATCH; t++)
		ck_assert_msg(fabsf(gradient[t] - expected) < 1e-7f,
			      "task %u does not count exactly once", t);
}

static void run(uint64_t seed, enum iso_strategy_kind kind)
{
	static struct world world;
	uint32_t tasks[WORKERS];

	setup(&world, seed, kind);
	for (uint64_t number = 1; number <= ROUNDS; number++) {
		while (iso_strategy_allocate(world.strategy, number, tasks) != ISO_OK)
			advance(&world);
		iso_round_start(world.round, world.now_ns, number, world.greedy ? NULL : tasks);
		send_orders(&world);
		for (int steps = 0; !iso_round_complete(world.round); steps++) {
			ck_assert_msg(steps < 20000, "seed %llu hangs in round %llu",
				      (unsigned long long)seed, (unsigned long long)number);
			advance(&world);
		}
		check_round(&world, number);
	}
	/* Every result that arrived was one of these. */
	const struct iso_round_totals *totals = iso_round_totals(world.round);
	uint64_t heard = totals->accepted + totals->late + totals->old;
	ck_assert_uint_le(heard, 2 * world.sent);
	ck_assert_uint_eq(totals->other_term + totals->not_finite + totals->abandoned, 0);
	free(world.round);
	free(world.strategy);
}

START_TEST(every_round_ends_with_each_task_once)
{
	const enum iso_strategy_kind kinds[] = { ISO_STRATEGY_ATA_EMPIRICAL, ISO_STRATEGY_UTA,
						 ISO_STRATEGY_GTA, ISO_STRATEGY_ATA };

	for (int i = 0; i < test_runs(120); i++)
		run(test_seed_base() + (uint64_t)i, kinds[i % 4]);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("rounds");
	TCase *tcase = tcase_create("lossy network");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, every_round_ends_with_each_task_once);
	suite_add_tcase(suite, tcase);
	return suite;
}
