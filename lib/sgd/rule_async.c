/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule.h"

#include <assert.h>

/*
 * One update for each gradient, as it comes; its worker goes on at the new point.
 *
 * asgd: x -= gamma g, whatever the delay (Ringmaster section 2.2, R infinite; capped: ATA
 *      algorithm 7).
 * delay-adaptive: x -= gamma n / max(n, delay) g, with n the computations that the workers
 *      that are present run at once: in the papers one each.
 * naive-optimal (Ringmaster algorithm 3): asgd, but only admitted workers start.
 * ringmaster (algorithm 4): a gradient with a delay of R or more is ignored, and its worker
 *      starts at the current point.
 * ringmaster-stops (algorithm 5): a computation whose delay becomes R is stopped in the same
 *      event, and its worker starts at the new point: what arrives is never ignored.
 *
 * A newcomer starts at once, lost work is replaced by a start of the same worker; a
 * leaver changes nothing but n.  Capped, each start of a round uses up one of the
 * worker's tasks, whatever becomes of it: never more starts than the allocation has.
 * The tasks of a worker that leaves are dropped, so such a round has fewer updates.
 */

static void refill(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = &method->workers[index];
	uint32_t starts = iso_rule_free(worker);

	if (worker->refused)
		return;
	if (method->config.capped) {
		if (starts > worker->tasks)
			starts = worker->tasks;
		worker->tasks -= starts;
		method->expected -= starts;
	}
	iso_rule_start(method, index, starts);
}

/* Capped: nothing may start any more and nothing is to come. */
static void end_round(struct iso_method *method)
{
	if (!method->config.capped || method->between)
		return;
	if (method->expected > 0 || iso_rule_outstanding_all(method) > 0)
		return;
	method->between = true;
	method->totals.rounds++;
}

static void async_join(struct iso_method *method, uint32_t index)
{
	assert(method->workers[index].tasks == 0);
	refill(method, index);
}

static void async_leave(struct iso_method *method, uint32_t index, uint32_t gone)
{
	struct iso_rule_worker *worker = &method->workers[index];

	(void)gone;
	method->expected -= worker->tasks;
	worker->tasks = 0;
	end_round(method);
}

static void async_begin(struct iso_method *method, const uint32_t *tasks)
{
	assert(method->expected == 0);
	for (uint32_t i = 0; i < method->config.workers; i++) {
		struct iso_rule_worker *worker = &method->workers[i];

		if (!iso_rule_present(worker))
			continue;
		worker->tasks = tasks[i];
		method->expected += tasks[i];
		refill(method, i);
	}
	method->between = method->expected == 0 && iso_rule_outstanding_all(method) == 0;
}

static void async_lost(struct iso_method *method, uint32_t index, uint32_t count)
{
	(void)count;
	refill(method, index);
	end_round(method);
}

static bool in_time(const struct iso_method *method, uint64_t delay)
{
	enum iso_method_kind kind = method->config.kind;

	if (kind != ISO_METHOD_RINGMASTER && kind != ISO_METHOD_RINGMASTER_STOPS)
		return true;
	return delay < method->config.delay_max;
}

static double scale_of(const struct iso_method *method, uint64_t delay)
{
	double n = method->depth;

	if (method->config.kind != ISO_METHOD_DELAY_ADAPTIVE || (double)delay <= n)
		return 1;
	return n / (double)delay;
}

static enum iso_method_verdict async_arrive(struct iso_method *method,
					    const struct iso_method_arrival *arrival)
{
	uint64_t delay = method->totals.updates - arrival->version;
	bool used = in_time(method, delay);

	if (used) {
		iso_rule_update_by(method, arrival->gradient, scale_of(method, delay));
		method->totals.used++;
		method->totals.delay_sum += delay;
		if (delay > method->totals.delay_max)
			method->totals.delay_max = delay;
	}
	refill(method, arrival->worker);
	end_round(method);
	return used ? ISO_METHOD_USED : ISO_METHOD_IGNORED;
}

const struct iso_rule iso_rule_async = {
	.join = async_join,
	.leave = async_leave,
	.begin = async_begin,
	.arrive = async_arrive,
	.lost = async_lost,
	.refill = refill,
};

static enum iso_method_verdict stops_arrive(struct iso_method *method,
					    const struct iso_method_arrival *arrival)
{
	enum iso_method_verdict verdict = async_arrive(method, arrival);
	uint64_t version = method->totals.updates;
	uint32_t worker;

	assert(verdict == ISO_METHOD_USED);
	if (version < method->config.delay_max)
		return verdict;
	uint64_t in_time_from = version - method->config.delay_max + 1;
	while ((worker = iso_rule_flight_take_older(method, in_time_from)) != ISO_RULE_NONE) {
		iso_rule_stop_one(method, worker);
		refill(method, worker);
	}
	end_round(method);
	return verdict;
}

const struct iso_rule iso_rule_async_stops = {
	.join = async_join,
	.leave = async_leave,
	.begin = async_begin,
	.arrive = stops_arrive,
	.lost = async_lost,
	.refill = refill,
	.flights = true,
};

void iso_method_admit(struct iso_method *method, uint32_t worker, bool admitted)
{
	struct iso_rule_worker *at = iso_rule_worker_at(method, worker);

	assert(method->config.kind == ISO_METHOD_NAIVE_OPTIMAL);
	at->refused = !admitted;
	if (iso_rule_present(at))
		refill(method, worker);
}
