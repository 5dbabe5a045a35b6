/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule.h"

#include <assert.h>
#include <string.h>

#include "lib/sgd/rule_vector.h"

/*
 * Rounds that average gradients at one point x^k.
 *
 * minibatch (ATA algorithm 1): worker i computes a_i; x -= gamma / B sum of the B.  Lost work,
 *      and that of a worker that leaves, is done by others: first by those that have
 *      finished their own, in the order in which they did, which the fast ones do first.
 *      So a round ends as long as one worker is present, and its step is always
 *      the mean of B gradients.
 * rennala (Ringmaster section 2.2): every worker computes one after the other; when S are in,
 *      x -= gamma / S sum, and the rest is stopped.  A newcomer joins the round.
 * sgd-ata (ATA appendix B, own data): worker i computes a_i + 1; x -= gamma / n sum over
 *      the workers of the mean of theirs.  Lost work is done again by its worker.  If a
 *      worker leaves in mid-round, the c of its a_i + 1 gradients that are in stay, and it
 *      weighs c / (a_i + 1) instead of 1 in the mean: the step leans to those that stayed.
 *      If nothing is in and nobody left, the round ends without a step.
 */

static void gather(struct iso_method *method)
{
	method->totals.buffered++;
	method->got++;
}

static void finish(struct iso_method *method, double weight)
{
	method->totals.buffered -= method->got;
	method->totals.used += method->got;
	iso_rule_finish(method, method->sum, weight);
}

static void clear(struct iso_method *method)
{
	if (method->config.params > 0)
		memset(method->sum, 0, method->config.params * sizeof(*method->sum));
	method->got = 0;
	method->expected = 0;
	method->owed = 0;
}

/* minibatch */

static void push_idle(struct iso_method *method, uint32_t index)
{
	struct iso_rule_worker *worker = &method->workers[index];

	if (worker->idle)
		return;
	worker->idle = true;
	worker->next_idle = ISO_RULE_NONE;
	if (method->idle.head == ISO_RULE_NONE)
		method->idle.head = index;
	else
		method->workers[method->idle.tail].next_idle = index;
	method->idle.tail = index;
}

/* The first that is done with its own and has nothing new; ISO_RULE_NONE: nobody. */
static uint32_t pop_idle(struct iso_method *method)
{
	while (method->idle.head != ISO_RULE_NONE) {
		uint32_t index = method->idle.head;
		struct iso_rule_worker *worker = &method->workers[index];

		method->idle.head = worker->next_idle;
		worker->idle = false;
		if (iso_rule_present(worker) && iso_rule_outstanding(worker) == 0)
			return index;
	}
	return ISO_RULE_NONE;
}

/* The present workers in turn. */
static uint32_t next_present(struct iso_method *method)
{
	assert(method->present > 0);
	do
		method->cursor = (method->cursor + 1) % method->config.workers;
	while (!iso_rule_present(&method->workers[method->cursor]));
	return method->cursor;
}

/* Whoever computes now will be done or lost, and asks again: so it cannot stay owed. */
static void give_owed(struct iso_method *method)
{
	while (method->owed > 0) {
		uint32_t index = pop_idle(method);

		if (index == ISO_RULE_NONE) {
			if (iso_rule_outstanding_all(method) > 0 || method->present == 0)
				return;
			break;
		}
		iso_rule_start(method, index, 1);
		method->owed--;
	}
	for (; method->owed > 0; method->owed--)
		iso_rule_start(method, next_present(method), 1);
}

static void minibatch_begin(struct iso_method *method, const uint32_t *tasks)
{
	clear(method);
	method->idle = (struct iso_rule_queue){ ISO_RULE_NONE, ISO_RULE_NONE };
	for (uint32_t i = 0; i < method->config.workers; i++) {
		method->workers[i].idle = false;
		method->expected += tasks[i];
		if (iso_rule_present(&method->workers[i]))
			iso_rule_start(method, i, tasks[i]);
		else
			method->owed += tasks[i];
	}
	assert(method->expected > 0);
	give_owed(method);
}

static enum iso_method_verdict minibatch_arrive(struct iso_method *method,
						const struct iso_method_arrival *arrival)
{
	iso_vector_add(method->sum, arrival->gradient, method->config.params);
	gather(method);
	if (method->got == method->expected) {
		finish(method, (double)method->expected);
		return ISO_METHOD_USED;
	}
	if (iso_rule_outstanding(&method->workers[arrival->worker]) == 0)
		push_idle(method, arrival->worker);
	give_owed(method);
	return ISO_METHOD_BUFFERED;
}

static void minibatch_join(struct iso_method *method, uint32_t worker)
{
	if (method->between)
		return;
	push_idle(method, worker);
	give_owed(method);
}

static void minibatch_lost(struct iso_method *method, uint32_t worker, uint32_t count)
{
	(void)worker;
	method->owed += count;
	give_owed(method);
}

static void minibatch_leave(struct iso_method *method, uint32_t worker, uint32_t gone)
{
	if (!method->between)
		minibatch_lost(method, worker, gone);
}

const struct iso_rule iso_rule_minibatch = {
	.join = minibatch_join,
	.leave = minibatch_leave,
	.begin = minibatch_begin,
	.arrive = minibatch_arrive,
	.lost = minibatch_lost,
	.round_sum = true,
	.same_point = true,
};

/* rennala */

static void rennala_join(struct iso_method *method, uint32_t worker)
{
	if (!method->between)
		iso_rule_fill(method, worker);
}

static void rennala_leave(struct iso_method *method, uint32_t worker, uint32_t gone)
{
	(void)method;
	(void)worker;
	(void)gone;
}

static void rennala_begin(struct iso_method *method, const uint32_t *tasks)
{
	(void)tasks;
	clear(method);
	for (uint32_t i = 0; i < method->config.workers; i++)
		if (iso_rule_present(&method->workers[i]))
			iso_rule_fill(method, i);
}

static enum iso_method_verdict rennala_arrive(struct iso_method *method,
					      const struct iso_method_arrival *arrival)
{
	iso_vector_add(method->sum, arrival->gradient, method->config.params);
	gather(method);
	if (method->got == method->config.batch) {
		finish(method, (double)method->config.batch);
		return ISO_METHOD_USED;
	}
	iso_rule_fill(method, arrival->worker);
	return ISO_METHOD_BUFFERED;
}

const struct iso_rule iso_rule_rennala = {
	.join = rennala_join,
	.leave = rennala_leave,
	.begin = rennala_begin,
	.arrive = rennala_arrive,
	.lost = iso_rule_fill_lost,
	.refill = iso_rule_fill,
	.round_sum = true,
	.same_point = true,
};

/* sgd-ata */

static void sgd_ata_join(struct iso_method *method, uint32_t worker)
{
	method->workers[worker].tasks = 0; /* waits for the next round */
	method->workers[worker].arrived = 0;
}

static void sgd_ata_begin(struct iso_method *method, const uint32_t *tasks)
{
	clear(method);
	method->weight_whole = 0;
	method->weight_part = 0;
	for (uint32_t i = 0; i < method->config.workers; i++) {
		struct iso_rule_worker *worker = &method->workers[i];

		worker->arrived = 0;
		worker->tasks = 0;
		if (!iso_rule_present(worker))
			continue;
		assert(tasks[i] < UINT32_MAX);
		worker->tasks = tasks[i] + 1;
		method->expected += worker->tasks;
		iso_rule_start(method, i, worker->tasks);
	}
	method->between = method->expected == 0;
}

static enum iso_method_verdict sgd_ata_arrive(struct iso_method *method,
					      const struct iso_method_arrival *arrival)
{
	struct iso_rule_worker *worker = &method->workers[arrival->worker];

	assert(worker->arrived < worker->tasks);
	iso_vector_add_scaled(method->sum, arrival->gradient, method->config.params,
			      1.0 / worker->tasks);
	gather(method);
	if (++worker->arrived == worker->tasks)
		method->weight_whole++;
	if (method->got < method->expected)
		return ISO_METHOD_BUFFERED;
	finish(method, method->weight_whole + method->weight_part);
	return ISO_METHOD_USED;
}

static void sgd_ata_leave(struct iso_method *method, uint32_t index, uint32_t gone)
{
	struct iso_rule_worker *worker = &method->workers[index];

	if (method->between || gone == 0)
		return;
	assert(gone == worker->tasks - worker->arrived);
	method->weight_part += (double)worker->arrived / worker->tasks;
	method->expected -= gone;
	if (method->got == method->expected)
		finish(method, method->weight_whole + method->weight_part);
}

const struct iso_rule iso_rule_sgd_ata = {
	.join = sgd_ata_join,
	.leave = sgd_ata_leave,
	.begin = sgd_ata_begin,
	.arrive = sgd_ata_arrive,
	.lost = iso_rule_start,
	.round_sum = true,
	.same_point = true,
};
