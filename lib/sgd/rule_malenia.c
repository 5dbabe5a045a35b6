/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule.h"

#include <assert.h>

/*
 * malenia (Ringleader section 3.3): all workers compute at x^k, each on its own data, until
 *
 *      ( (1/n) sum_i 1/B_i )^-1 >= S/n
 *
 * with B_i the gradients of worker i so far; then x -= gamma (1/n) sum_i (1/B_i) sum_j g_ij and
 * the rest is stopped.
 *
 * The condition is over the workers that are present, so no round waits for a worker that
 * has left: n shrinks.  What it had delivered in this round stays in the mean of means.  A
 * newcomer joins the round and is waited for.
 */

/* The sum over 1/B_i is kept up with each arrival; this is far above its rounding. */
#define ROUNDING 1e-9

static double inverse(uint32_t count)
{
	return count == 0 ? 0 : 1.0 / count;
}

static bool is_enough(const struct iso_method *method)
{
	double n = method->present;
	double sum_max = n * n / method->config.batch;

	if (method->missing > 0 || method->present == 0)
		return false;
	return method->inverse_sum <= sum_max * (1 + ROUNDING);
}

static bool finish_if_enough(struct iso_method *method)
{
	if (method->between || !is_enough(method))
		return false;
	assert(method->table.filled >= method->present);
	iso_rule_table_use(method, &method->table);
	iso_rule_finish(method, method->table.sum, method->table.filled);
	return true;
}

static void malenia_join(struct iso_method *method, uint32_t worker)
{
	uint32_t count = method->table.entries[worker].count;

	if (method->between)
		return;
	if (count == 0)
		method->missing++;
	method->inverse_sum += inverse(count);
	iso_rule_fill(method, worker);
}

static void malenia_leave(struct iso_method *method, uint32_t worker, uint32_t gone)
{
	uint32_t count = method->table.entries[worker].count;

	(void)gone;
	if (method->between)
		return;
	if (count == 0)
		method->missing--;
	method->inverse_sum -= inverse(count);
	(void)finish_if_enough(method);
}

static void malenia_begin(struct iso_method *method, const uint32_t *tasks)
{
	(void)tasks;
	iso_rule_table_clear(method, &method->table);
	method->missing = method->present;
	method->inverse_sum = 0;
	for (uint32_t i = 0; i < method->config.workers; i++)
		if (iso_rule_present(&method->workers[i]))
			iso_rule_fill(method, i);
}

static enum iso_method_verdict malenia_arrive(struct iso_method *method,
					      const struct iso_method_arrival *arrival)
{
	uint32_t count = method->table.entries[arrival->worker].count;

	iso_rule_table_add(method, &method->table, arrival);
	method->inverse_sum += inverse(count + 1) - inverse(count);
	if (count == 0)
		method->missing--;
	if (finish_if_enough(method))
		return ISO_METHOD_USED;
	iso_rule_fill(method, arrival->worker);
	return ISO_METHOD_BUFFERED;
}

const struct iso_rule iso_rule_malenia = {
	.join = malenia_join,
	.leave = malenia_leave,
	.begin = malenia_begin,
	.arrive = malenia_arrive,
	.lost = iso_rule_fill_lost,
	.refill = iso_rule_fill,
	.table = true,
	.same_point = true,
};
