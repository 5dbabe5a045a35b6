/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/method_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Each method under random orders of arrival, and with workers that come, go, lose work
 * and restart from a saved state.  A book of what is in flight and an oracle that shares no
 * code say after every event what x, the verdict and every count must be.
 */

static uint32_t below(struct world *world, uint32_t limit)
{
	return (uint32_t)iso_rng_below(&world->rng, limit);
}

static bool chance(struct world *world, double probability)
{
	return iso_rng_unit(&world->rng) < probability;
}

static void draw_allocation(struct world *world)
{
	uint32_t left = 1 + below(world, 12), present = 0;

	memset(world->tasks, 0, sizeof(world->tasks));
	for (uint32_t i = 0; i < WORKERS; i++)
		present += world->depth[i] > 0;
	while (left > 0) {
		uint32_t worker = below(world, world->config.workers);

		/* Now and then somebody has left since the allocation was made. */
		if (world->depth[worker] == 0 && (world->config.capped || chance(world, 0.9)))
			continue;
		world->tasks[worker]++;
		left--;
	}
	must(present > 0);
}

static bool anybody(const struct world *world)
{
	for (uint32_t i = 0; i < WORKERS; i++)
		if (world->depth[i] > 0)
			return true;
	return false;
}

static void begin(struct world *world)
{
	const uint32_t *tasks = NULL;

	if (!anybody(world) || !iso_method_between_rounds(world->method))
		return;
	if (world->traits.wants_allocation || world->config.capped) {
		draw_allocation(world);
		tasks = world->tasks;
	}
	for (uint32_t i = 0; i < WORKERS && tasks != NULL; i++)
		method_world_trace("begin", i, tasks[i], world->oracle.k);
	oracle_begin(&world->oracle, tasks);
	iso_method_begin(world->method, tasks);
	method_world_after_event(world);
}

static void forget_flights(struct world *world, uint32_t worker)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < world->count; i++) {
		if (world->flights[i].worker != worker)
			world->flights[kept++] = world->flights[i];
		else if (!world->flights[i].stopped)
			world->lost++;
	}
	world->count = kept;
}

static void leave(struct world *world, uint32_t worker)
{
	method_world_trace("leave", worker, 0, world->oracle.k);
	world->calm_rounds = 0;
	forget_flights(world, worker);
	world->depth[worker] = 0;
	if (world->oracle.present[worker])
		oracle_leave(&world->oracle, worker);
	iso_method_leave(world->method, worker);
	method_world_after_event(world);
}

static void join(struct world *world, uint32_t worker)
{
	if (world->depth[worker] > 0)
		leave(world, worker);
	world->calm_rounds = 0;
	world->depth[worker] = 1 + below(world, world->config.depth_max);
	world->point[worker] = UINT64_MAX;
	method_world_trace("join", worker, world->depth[worker], world->oracle.k);
	world->oracle.depth[worker] = world->depth[worker];
	oracle_join(&world->oracle, worker);
	iso_method_join(world->method, worker, world->depth[worker]);
	method_world_after_event(world);
}

/* Quick workers' flights are drawn more often. */
static uint32_t draw_flight(struct world *world)
{
	double all = 0;

	for (uint32_t i = 0; i < world->count; i++)
		all += world->speed[world->flights[i].worker];
	all *= iso_rng_unit(&world->rng);
	for (uint32_t i = 0; i < world->count; i++) {
		all -= world->speed[world->flights[i].worker];
		if (all < 0)
			return i;
	}
	return world->count - 1;
}

static struct flight take_flight(struct world *world, uint32_t index)
{
	struct flight flight = world->flights[index];

	world->flights[index] = world->flights[--world->count];
	return flight;
}

static void arrive(struct world *world)
{
	struct flight flight = take_flight(world, draw_flight(world));
	struct oracle_gradient gradient = { .worker = flight.worker, .version = flight.version };
	float values[PARAMS];

	for (uint32_t p = 0; p < PARAMS; p++) {
		values[p] = (float)(iso_rng_unit(&world->rng) - 0.5);
		gradient.values[p] = (double)values[p];
	}
	struct iso_method_arrival arrival = { .worker = flight.worker,
					      .version = flight.version,
					      .gradient =
						  world->config.params > 0 ? values : NULL };
	method_world_trace(flight.stopped ? "late" : "arrive", flight.worker, 1, flight.version);
	gradient.others = method_world_in_flight(world, flight.worker, UINT64_MAX);
	uint64_t updates = world->oracle.k;
	enum iso_method_verdict expected = ISO_METHOD_IGNORED;
	if (flight.stopped)
		world->late++;
	else
		expected = oracle_arrive(&world->oracle, &gradient);
	enum iso_method_verdict verdict = iso_method_arrive(world->method, &arrival);
	method_world_after_event(world);
	if (world->oracle.k != updates)
		expected = ISO_METHOD_USED;
	must(verdict == expected);
}

static void lose(struct world *world)
{
	struct flight flight = take_flight(world, below(world, world->count));

	world->calm_rounds = 0;
	method_world_trace("lose", flight.worker, 1, flight.version);
	world->lost += !flight.stopped;
	iso_method_lost(world->method, flight.worker, flight.version, 1);
	method_world_after_event(world);
}

/* What it had started before goes on, so for a while it may have more. */
static void rethread(struct world *world)
{
	uint32_t worker = below(world, world->config.workers);

	if (world->depth[worker] == 0)
		return;
	world->calm_rounds = 0;
	world->depth[worker] = 1 + below(world, world->config.depth_max);
	method_world_trace("depth", worker, world->depth[worker], world->oracle.k);
	world->oracle.depth[worker] = world->depth[worker];
	iso_method_set_depth(world->method, worker, world->depth[worker]);
	method_world_after_event(world);
}

static void move(struct world *world)
{
	struct flight *flight = &world->flights[below(world, world->count)];
	uint32_t to = below(world, world->config.workers);

	if (world->config.kind != ISO_METHOD_MINIBATCH || world->depth[to] == 0 || flight->stopped)
		return;
	world->calm_rounds = 0;
	world->lost++;
	world->started++;
	iso_method_move(world->method, flight->worker, to, 1);
	flight->worker = to;
	method_world_after_event(world);
}

static struct iso_method *make(const struct iso_method_config *config)
{
	size_t size = iso_method_size(config);
	struct iso_method *method = NULL;

	ck_assert_ok(iso_method_init(malloc(size), size, config, &method));
	return method;
}

/* The coordinator stops and starts again from what it saved: the same x, tables and totals. */
static void restart(struct world *world)
{
	size_t size = iso_method_state_bytes(world->method);
	uint8_t *bytes = malloc(size), *again = malloc(size);
	struct iso_method *method = make(&world->config);

	method_world_trace("restart", 0, 0, world->oracle.k);
	iso_method_save(world->method, bytes);
	ck_assert_ok(iso_method_restore(method, bytes, size));
	must(iso_method_state_bytes(method) == size);
	iso_method_save(method, again);
	ck_assert_mem_eq(bytes, again, size);
	for (uint32_t p = 0; p < world->config.params; p++)
		must(iso_method_exact_point(method)[p] == iso_method_exact_point(world->method)[p]);
	uint64_t buffered = oracle_buffered(&world->oracle);
	for (uint32_t i = 0; i < WORKERS; i++)
		forget_flights(world, i);
	oracle_restart(&world->oracle);
	/* What an unfinished round by allocation had is given up. */
	if (world->traits.by_rounds)
		world->lost += buffered - oracle_buffered(&world->oracle);
	else if (world->config.kind == ISO_METHOD_RINGLEADER)
		world->lost += buffered - oracle_buffered(&world->oracle);
	memset(world->depth, 0, sizeof(world->depth));
	world->calm_rounds = 0;
	free(world->method);
	free(bytes);
	free(again);
	world->method = method;
	method_world_after_event(world);
}

static void draw_config(struct world *world, enum iso_method_kind kind, bool capped)
{
	world->traits = iso_method_traits(kind);
	world->config = (struct iso_method_config){
		.kind = kind,
		.workers = 1 + below(world, WORKERS),
		.params = below(world, 4) > 0 ? PARAMS : 0,
		.depth_max = 1 + below(world, 3),
		.batch = 1 + below(world, 12),
		.delay_max = 1 + below(world, 8),
		.capped = capped,
		.step = 0.5,
		.decay = below(world, 2) * 0.01,
	};
	world->method = make(&world->config);
	world->oracle.config = world->config;
	world->oracle.in_round = !world->traits.by_rounds && !capped;
	for (uint32_t i = 0; i < WORKERS; i++)
		world->speed[i] = 0.1 + pow(iso_rng_unit(&world->rng), 3);
}

static void one_step(struct world *world)
{
	uint32_t what = world->steady ? 100 : below(world, 100);

	if (world->count > 0 && what >= 12)
		arrive(world);
	else if (what < 4)
		join(world, below(world, world->config.workers));
	else if (what < 7)
		leave(world, below(world, world->config.workers));
	else if (what < 9 && world->count > 0)
		lose(world);
	else if (what < 10 && world->count > 0)
		move(world);
	else if (what < 11)
		rethread(world);
	else if (chance(world, 0.3))
		restart(world);
	begin(world);
}

static void run(enum iso_method_kind kind, bool capped, bool steady, uint64_t seed)
{
	struct world *world = calloc(1, sizeof(*world));

	world->seed = seed;
	world->rng.state = seed;
	world->steady = steady;
	world->never_disturbed = steady;
	world->calm_rounds = steady ? 2 : 0;
	draw_config(world, kind, capped);
	method_world_trace(capped ? "capped" : iso_method_text(kind), world->config.workers,
			   world->config.depth_max, seed);
	for (uint32_t i = 0; i < world->config.workers; i++)
		join(world, i);
	world->calm_rounds = steady ? 2 : 0;
	begin(world);
	for (; world->step < STEPS; world->step++)
		one_step(world);
	/* Whatever happened, it goes on. */
	world->steady = true;
	for (uint32_t i = 0; i < world->config.workers; i++)
		if (world->depth[i] == 0)
			join(world, i);
	begin(world);
	uint64_t updates = iso_method_version(world->method);
	for (; world->step < 2 * STEPS; world->step++)
		one_step(world);
	must(iso_method_version(world->method) > updates);
	free(world->method);
	free(world);
}

/* The number of the loop is the kind; ISO_SEED and ISO_RUNS choose the seeds. */
static void run_seeds(int kind_number, bool steady)
{
	enum iso_method_kind kind = (enum iso_method_kind)kind_number;

	for (int i = 0; i < test_runs(40); i++) {
		uint64_t seed = test_seed_base() + (uint64_t)i;

		run(kind, false, steady, seed);
		if (iso_method_traits(kind).can_cap)
			run(kind, true, steady, seed);
	}
}

START_TEST(a_method_equals_its_plain_form)
{
	run_seeds(_i, true);
}
END_TEST

START_TEST(a_method_survives_joins_leaves_losses_and_restarts)
{
	run_seeds(_i, false);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("method");
	TCase *tc = tcase_create("method");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_method_equals_its_plain_form, 1, ISO_METHOD_KINDS + 1);
	tcase_add_loop_test(tc, a_method_survives_joins_leaves_losses_and_restarts, 1,
			    ISO_METHOD_KINDS + 1);
	suite_add_tcase(suite, tc);
	return suite;
}
