/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/method.h"

#include <assert.h>

#include "lib/sgd/rule.h"
#include "lib/sgd/rule_vector.h"

/*
 * The events: what starts, stops, lands, is ignored or lost is counted here, what a rule uses or
 * keeps in that rule (rule_*.c).  The sum is checked around every event.
 */

/* What must hold before and after every event. */
static void assert_valid(const struct iso_method *method)
{
	const struct iso_method_totals *totals = &method->totals;

	assert(totals->started == totals->used + totals->buffered + totals->ignored +
				      totals->stopped + totals->lost + totals->in_flight);
	assert(method->present <= method->config.workers);
	assert(!method->rule->same_point || !method->between || totals->in_flight == 0);
	assert(totals->delay_max <= totals->updates);
}

/* Takes a worker's computations away; returns how many, ordered ones with them. */
static uint32_t withdraw(struct iso_method *method, uint32_t index, uint64_t *total)
{
	struct iso_rule_worker *worker = &method->workers[index];
	uint32_t gone = iso_rule_outstanding(worker);

	assert(method->totals.in_flight >= worker->in_flight);
	assert(method->pending >= worker->pending);
	method->totals.in_flight -= worker->in_flight;
	*total += worker->in_flight;
	method->pending -= worker->pending;
	worker->in_flight = 0;
	worker->pending = 0;
	if (method->rule->flights)
		iso_rule_flights_drop(method, index);
	return gone;
}

void iso_method_leave(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = iso_rule_worker_at(method, index);

	assert_valid(method);
	if (!iso_rule_present(worker))
		return;
	uint32_t gone = withdraw(method, index, &method->totals.lost);
	worker->stop = false;
	method->depth -= worker->depth;
	worker->depth = 0;
	method->present--;
	method->rule->leave(method, index, gone);
	assert_valid(method);
}

static void set_depth(struct iso_method *method, struct iso_rule_worker *worker, uint32_t depth)
{
	assert(depth > 0);
	method->depth -= worker->depth;
	worker->depth = depth < method->config.depth_max ? depth : method->config.depth_max;
	method->depth += worker->depth;
}

void iso_method_set_depth(struct iso_method *method, uint32_t index, uint32_t depth)
{
	struct iso_rule_worker *worker = iso_rule_worker_at(method, index);

	assert_valid(method);
	assert(iso_rule_present(worker));
	set_depth(method, worker, depth);
	if (method->rule->refill != NULL && !method->between)
		method->rule->refill(method, index);
	assert_valid(method);
}

void iso_method_join(struct iso_method *method, uint32_t index, uint32_t depth)
{
	struct iso_rule_worker *worker = iso_rule_worker_at(method, index);

	iso_method_leave(method, index);
	set_depth(method, worker, depth);
	worker->point = method->totals.updates;
	worker->has_point = false;
	method->present++;
	method->rule->join(method, index);
	assert_valid(method);
}

void iso_method_begin(struct iso_method *method, const uint32_t *tasks)
{
	assert_valid(method);
	assert(method->between);
	assert((tasks != NULL) ==
	       (iso_method_traits(method->config.kind).wants_allocation || method->config.capped));
	method->between = false;
	method->rule->begin(method, tasks);
	assert_valid(method);
}

/* Whether the method still waits for this computation; if so it no longer is in flight. */
static bool land(struct iso_method *method, uint32_t index, uint64_t version)
{
	struct iso_rule_worker *worker = iso_rule_worker_at(method, index);

	assert(version <= method->totals.updates);
	if (worker->in_flight == 0)
		return false;
	if (method->rule->same_point && version != method->totals.updates)
		return false;
	if (method->rule->last_point && version != worker->point)
		return false;
	if (method->rule->flights && !iso_rule_flight_take(method, index, version))
		return false;
	worker->in_flight--;
	method->totals.in_flight--;
	return true;
}

enum iso_method_verdict iso_method_arrive(struct iso_method *method,
					  const struct iso_method_arrival *arrival)
{
	assert_valid(method);
	assert((arrival->gradient != NULL) == (method->config.params > 0));
	if (!land(method, arrival->worker, arrival->version)) {
		method->totals.late++;
		return ISO_METHOD_IGNORED;
	}
	enum iso_method_verdict verdict = method->rule->arrive(method, arrival);
	if (verdict == ISO_METHOD_IGNORED)
		method->totals.ignored++;
	assert_valid(method);
	return verdict;
}

void iso_method_lost(struct iso_method *method, uint32_t worker, uint64_t version, uint32_t count)
{
	uint32_t lost = 0;

	assert_valid(method);
	while (lost < count && land(method, worker, version))
		lost++;
	method->totals.lost += lost;
	if (lost > 0)
		method->rule->lost(method, worker, lost);
	assert_valid(method);
}

void iso_method_move(struct iso_method *method, uint32_t from, uint32_t to, uint32_t count)
{
	struct iso_rule_worker *loser = iso_rule_worker_at(method, from);
	struct iso_rule_worker *winner = iso_rule_worker_at(method, to);

	assert_valid(method);
	assert(method->config.kind == ISO_METHOD_MINIBATCH);
	assert(iso_rule_present(winner));
	assert(loser->in_flight >= count);
	loser->in_flight -= count;
	winner->in_flight += count;
	method->totals.lost += count;
	method->totals.started += count;
	assert_valid(method);
}

static void enqueue(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = &method->workers[index];
	struct iso_rule_queue *orders = &method->orders;

	if (worker->queued)
		return;
	worker->queued = true;
	worker->next = ISO_RULE_NONE;
	if (orders->head == ISO_RULE_NONE)
		orders->head = index;
	else
		method->workers[orders->tail].next = index;
	orders->tail = index;
}

void iso_rule_start(struct iso_method *method, uint32_t index, uint32_t count)
{
	struct iso_rule_worker *worker = iso_rule_worker_at(method, index);

	assert(iso_rule_present(worker));
	if (count == 0)
		return;
	worker->pending += count;
	method->pending += count;
	enqueue(method, index);
}

void iso_rule_fill(struct iso_method *method, uint32_t index)
{
	iso_rule_start(method, index, iso_rule_free(iso_rule_worker_at(method, index)));
}

void iso_rule_fill_lost(struct iso_method *method, uint32_t index, uint32_t count)
{
	(void)count;
	iso_rule_fill(method, index);
}

void iso_rule_stop(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = iso_rule_worker_at(method, index);
	uint64_t before = method->totals.stopped;

	(void)withdraw(method, index, &method->totals.stopped);
	if (method->totals.stopped == before)
		return;
	worker->stop = true;
	enqueue(method, index);
}

void iso_rule_stop_one(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = iso_rule_worker_at(method, index);

	assert(worker->in_flight > 0);
	worker->in_flight--;
	method->totals.in_flight--;
	method->totals.stopped++;
	worker->stop = true;
	enqueue(method, index);
}

/* gamma_k, and on to the next point. */
static double next_step(struct iso_method *method)
{
	const struct iso_method_config *config = &method->config;
	double updates = (double)method->totals.updates++;

	return config->step / (1 + config->decay * updates);
}

void iso_rule_update(struct iso_method *method, const double *sum, double weight)
{
	assert(weight > 0);
	iso_vector_step(method->x, sum, method->config.params, next_step(method) / weight);
}

void iso_rule_update_by(struct iso_method *method, const float *gradient, double scale)
{
	assert(scale > 0);
	iso_vector_step_float(method->x, gradient, method->config.params,
			      next_step(method) * scale);
}

void iso_rule_finish(struct iso_method *method, const double *sum, double weight)
{
	assert(method->rule->same_point);
	assert(!method->between);
	if (weight > 0)
		iso_rule_update(method, sum, weight);
	for (uint32_t i = 0; iso_rule_outstanding_all(method) > 0; i++)
		iso_rule_stop(method, i);
	method->totals.rounds++;
	method->between = true;
}

/* Older points than this are in vain, now and at any later time. */
static uint64_t stop_version(const struct iso_method *method)
{
	uint64_t version = method->totals.updates;

	if (method->rule->same_point)
		return version;
	assert(version >= method->config.delay_max);
	return version - method->config.delay_max + 1;
}

static struct iso_method_order hand_out(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = &method->workers[index];
	uint32_t count = worker->pending;

	assert(method->pending >= count);
	if (!method->rule->last_point || !worker->has_point)
		worker->point = method->totals.updates;
	worker->has_point = true;
	assert(worker->point <= method->totals.updates);
	worker->pending = 0;
	method->pending -= count;
	worker->in_flight += count;
	method->totals.in_flight += count;
	method->totals.started += count;
	if (method->rule->flights)
		iso_rule_flights_add(method, index, count);
	return (struct iso_method_order){
		.act = ISO_METHOD_START, .worker = index, .count = count, .version = worker->point
	};
}

bool iso_method_next(struct iso_method *method, struct iso_method_order *ret_order)
{
	while (method->orders.head != ISO_RULE_NONE) {
		uint32_t index = method->orders.head;
		struct iso_rule_worker *worker = &method->workers[index];

		assert(worker->queued);
		if (worker->stop) {
			worker->stop = false;
			*ret_order = (struct iso_method_order){
				.act = ISO_METHOD_STOP,
				.worker = index,
				.version = stop_version(method),
			};
			return true;
		}
		method->orders.head = worker->next;
		worker->queued = false;
		if (worker->pending == 0)
			continue;
		*ret_order = hand_out(method, index);
		return true;
	}
	method->orders.tail = ISO_RULE_NONE;
	return false;
}
