/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/method_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void method_world_trace(const char *what, uint32_t worker, uint32_t count, uint64_t version)
{
	if (getenv("ISO_TRACE") != NULL)
		fprintf(stderr, "%s worker %u count %u version %llu\n", what, worker, count,
			(unsigned long long)version);
}

uint32_t method_world_in_flight(const void *book, uint32_t worker, uint64_t version)
{
	const struct world *world = book;
	uint32_t count = 0;

	for (uint32_t i = 0; i < world->count; i++)
		count += world->flights[i].worker == worker && !world->flights[i].stopped &&
			 world->flights[i].version <= version;
	return count;
}

static void take_start(struct world *world, const struct iso_method_order *order)
{
	uint32_t worker = order->worker;

	method_world_trace("  start", worker, order->count, order->version);
	must(order->count > 0);
	if (order->version != world->point[worker]) {
		must(order->version == iso_method_version(world->method));
		world->points_in_round[worker]++;
	}
	world->point[worker] = order->version;
	world->oracle.start[worker] = order->version;
	world->started += order->count;
	world->starts_in_round[worker] += order->count;
	for (uint32_t i = 0; i < order->count; i++) {
		must(world->count < FLIGHTS);
		world->flights[world->count++] =
		    (struct flight){ .worker = worker, .version = order->version };
	}
	if (!world->traits.wants_allocation)
		must(method_world_in_flight(world, worker, UINT64_MAX) <= world->depth[worker]);
}

static void take_stop(struct world *world, const struct iso_method_order *order)
{
	bool any = false;

	method_world_trace("  stop", order->worker, 0, order->version);
	must(world->traits.stops);
	for (uint32_t i = 0; i < world->count; i++) {
		struct flight *flight = &world->flights[i];

		if (flight->worker != order->worker || flight->version >= order->version ||
		    flight->stopped)
			continue;
		flight->stopped = true;
		world->stopped++;
		any = true;
	}
	must(any);
}

static void take_orders(struct world *world)
{
	struct iso_method_order order;

	while (iso_method_next(world->method, &order)) {
		must(order.worker < WORKERS);
		must(world->depth[order.worker] > 0);
		if (order.act == ISO_METHOD_START)
			take_start(world, &order);
		else
			take_stop(world, &order);
	}
}

static void check_totals(const struct world *world)
{
	struct iso_method_totals totals = iso_method_totals(world->method);
	const struct oracle *oracle = &world->oracle;

	must(totals.started == world->started);
	must(totals.stopped == world->stopped);
	must(totals.lost == world->lost);
	must(totals.late == world->late);
	must(totals.used == oracle->used);
	must(totals.buffered == oracle_buffered(oracle));
	must(totals.ignored == oracle->ignored);
	must(totals.updates == oracle->k);
	must(totals.delay_max == oracle->delay_max);
	must(totals.delay_sum == oracle->delay_sum);
	uint64_t flying = 0;
	for (uint32_t i = 0; i < world->config.workers; i++) {
		flying += method_world_in_flight(world, i, UINT64_MAX);
		must(iso_method_worker(world->method, i).in_flight ==
		     method_world_in_flight(world, i, UINT64_MAX));
	}
	must(totals.in_flight == flying);
	must(totals.started == totals.used + totals.buffered + totals.ignored + totals.stopped +
				   totals.lost + totals.in_flight);
}

static void check_point(const struct world *world)
{
	const double *x = iso_method_exact_point(world->method);
	float rounded[PARAMS];

	must(iso_method_version(world->method) == world->oracle.k);
	iso_method_point(world->method, rounded);
	for (uint32_t p = 0; p < world->config.params; p++)
		must(rounded[p] == (float)x[p]);
	for (uint32_t p = 0; p < world->config.params; p++)
		must(fabs(x[p] - world->oracle.x[p]) <= 2e-6 * (1 + (double)world->oracle.k));
}

/* Someone must always be at work, or a begin() be due: else nothing would ever happen again. */
static void check_alive(const struct world *world)
{
	uint32_t present = 0;

	for (uint32_t i = 0; i < WORKERS; i++)
		present += world->depth[i] > 0;
	if (present > 0 && !iso_method_between_rounds(world->method))
		must(iso_method_totals(world->method).in_flight > 0);
}

static void check_delays(const struct world *world)
{
	uint64_t delay_max = iso_method_totals(world->method).delay_max;
	uint64_t version = iso_method_version(world->method);

	switch ((int)world->config.kind) {
	case ISO_METHOD_RINGMASTER_STOPS:
		/* What is in flight can still be used, so nothing need be ignored. */
		must(iso_method_totals(world->method).ignored == 0);
		for (uint32_t i = 0; i < world->count; i++)
			if (!world->flights[i].stopped)
				must(version - world->flights[i].version < world->config.delay_max);
		/* fallthrough */
	case ISO_METHOD_RINGMASTER: must(delay_max < world->config.delay_max); break;
	case ISO_METHOD_RINGLEADER:
		/* Nothing is thrown away but by those who come and go. */
		must(!world->never_disturbed || world->oracle.ignored == 0);
		must(delay_max <= 2 * world->config.workers - 2);
		break;
	case ISO_METHOD_MINIBATCH:
	case ISO_METHOD_RENNALA:
	case ISO_METHOD_MALENIA:
	case ISO_METHOD_SGD_ATA: must(delay_max == 0); break;
	}
}

static uint32_t cap_of(const struct world *world, uint32_t worker)
{
	if (world->config.kind == ISO_METHOD_RINGLEADER)
		return world->tasks[worker] + 1 + (world->rounds == 0);
	return world->tasks[worker];
}

/* What must hold of a round that is over. */
static void check_round(struct world *world)
{
	uint64_t rounds = iso_method_totals(world->method).rounds;
	uint64_t updates = iso_method_version(world->method);

	if (rounds == world->rounds)
		return;
	must(rounds == world->rounds + 1);
	if (world->traits.by_rounds || world->config.kind == ISO_METHOD_RINGLEADER)
		must(rounds == world->oracle.rounds);
	for (uint32_t i = 0; i < world->config.workers && world->calm_rounds >= 2; i++) {
		if (world->config.capped)
			must(world->starts_in_round[i] <= cap_of(world, i));
		if (world->config.kind == ISO_METHOD_SGD_ATA)
			must(world->starts_in_round[i] == world->tasks[i] + 1);
		if (world->config.kind == ISO_METHOD_MINIBATCH)
			must(world->starts_in_round[i] == world->tasks[i]);
		if (world->config.kind == ISO_METHOD_RINGLEADER)
			must(world->points_in_round[i] == 1 + (world->rounds == 0));
	}
	if (world->config.kind == ISO_METHOD_RINGLEADER && world->calm_rounds >= 2)
		must(updates - world->updates_at_round == world->config.workers);
	world->rounds = rounds;
	world->updates_at_round = updates;
	world->calm_rounds += world->steady;
	memset(world->points_in_round, 0, sizeof(world->points_in_round));
	memset(world->starts_in_round, 0, sizeof(world->starts_in_round));
}

void method_world_after_event(struct world *world)
{
	take_orders(world);
	oracle_settle(&world->oracle, method_world_in_flight, world);
	check_round(world);
	check_totals(world);
	check_point(world);
	check_delays(world);
	check_alive(world);
}
