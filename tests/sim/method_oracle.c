/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/method_oracle.h"

#include <stdlib.h>
#include <string.h>

static uint32_t present(const struct oracle *oracle)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		count += oracle->present[i];
	return count;
}

static void add(struct oracle_list *list, const struct oracle_gradient *gradient)
{
	if (list->count == ORACLE_LIST)
		abort();
	list->items[list->count++] = *gradient;
}

static uint32_t count_of(const struct oracle_list *list, uint32_t worker)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		count += list->items[i].worker == worker;
	return count;
}

/* Takes a worker's gradients of other versions out; those never used were in vain. */
static void drop(struct oracle *oracle, struct oracle_list *list, uint32_t worker,
		 uint64_t version_kept)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct oracle_gradient *item = &list->items[i];

		if (item->worker == worker && item->version != version_kept)
			oracle->ignored += !item->used;
		else
			list->items[kept++] = *item;
	}
	list->count = kept;
}

static double step_of(struct oracle *oracle)
{
	return oracle->config.step / (1 + oracle->config.decay * (double)oracle->k);
}

static void use(struct oracle *oracle, struct oracle_gradient *gradient)
{
	uint64_t delay = oracle->k - gradient->version;

	if (delay > oracle->delay_max)
		oracle->delay_max = delay;
	if (gradient->used)
		return;
	gradient->used = true;
	oracle->used++;
	oracle->delay_sum += delay;
}

/* x moves by the gradients of the list, each weighted by weight[its worker]. */
static void update(struct oracle *oracle, const double *weight)
{
	struct oracle_list *list = &oracle->now;
	double step = step_of(oracle);

	for (uint32_t p = 0; p < ORACLE_PARAMS; p++) {
		double sum = 0;

		for (uint32_t i = 0; i < list->count; i++)
			sum += weight[list->items[i].worker] * list->items[i].values[p];
		oracle->x[p] -= step * sum;
	}
	for (uint32_t i = 0; i < list->count; i++)
		use(oracle, &list->items[i]);
	oracle->k++;
}

static void update_by_mean(struct oracle *oracle)
{
	double weight[ORACLE_WORKERS];

	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		weight[i] = 1.0 / oracle->now.count;
	update(oracle, weight);
}

static void update_by_mean_of_means(struct oracle *oracle)
{
	double weight[ORACLE_WORKERS], filled = 0;

	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		filled += count_of(&oracle->now, i) > 0;
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		weight[i] = 1.0 / filled / count_of(&oracle->now, i);
	update(oracle, weight);
}

/* Each worker weighs as much as it has done of what it was to do. */
static void update_by_parts(struct oracle *oracle)
{
	double weight[ORACLE_WORKERS], all = 0;

	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		if (oracle->tasks[i] > 0)
			all += (double)count_of(&oracle->now, i) / oracle->tasks[i];
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		weight[i] = oracle->tasks[i] > 0 ? 1.0 / oracle->tasks[i] / all : 0;
	update(oracle, weight);
}

static void end_round(struct oracle *oracle)
{
	oracle->now.count = 0;
	oracle->rounds++;
	oracle->in_round = false;
}

static bool harmonic_enough(const struct oracle *oracle)
{
	double sum = 0, n = present(oracle);

	if (n == 0)
		return false;
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++) {
		if (!oracle->present[i])
			continue;
		if (count_of(&oracle->now, i) == 0)
			return false;
		sum += 1.0 / count_of(&oracle->now, i);
	}
	return 1 / (sum / n) >= oracle->config.batch / n * (1 - 1e-9);
}

/* Whether the round has what it waits for: then x moves. */
static bool round_done(struct oracle *oracle)
{
	switch ((int)oracle->config.kind) {
	case ISO_METHOD_MINIBATCH:
	case ISO_METHOD_RENNALA:
		if (oracle->now.count < oracle->batch)
			return false;
		update_by_mean(oracle);
		break;
	case ISO_METHOD_SGD_ATA:
		for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
			if (!oracle->gone[i] && oracle->tasks[i] > count_of(&oracle->now, i))
				return false;
		if (oracle->now.count > 0)
			update_by_parts(oracle);
		break;
	default:
		if (!harmonic_enough(oracle))
			return false;
		update_by_mean_of_means(oracle);
	}
	end_round(oracle);
	return true;
}

static bool table_full(const struct oracle *oracle)
{
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		if (oracle->present[i] && count_of(&oracle->now, i) == 0)
			return false;
	return present(oracle) > 0;
}

static bool any_expected(const struct oracle *oracle)
{
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		if (oracle->expected[i])
			return true;
	return false;
}

static void update_for(struct oracle *oracle, uint32_t worker)
{
	update_by_mean_of_means(oracle);
	oracle->expected[worker] = false;
	oracle->point[worker] = oracle->k;
	oracle->has_point[worker] = false;
}

/* Who is to have a new point has it with its next START. */
static void take_points(struct oracle *oracle)
{
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++) {
		if (oracle->has_point[i] || oracle->start[i] < oracle->point[i] ||
		    oracle->start[i] > oracle->k)
			continue;
		oracle->point[i] = oracle->start[i];
		oracle->has_point[i] = true;
	}
}

static void open_phase_2(struct oracle *oracle)
{
	oracle->updating = true;
	memcpy(oracle->expected, oracle->present, sizeof(oracle->expected));
}

static void swap_tables(struct oracle *oracle)
{
	for (uint32_t i = 0; i < oracle->now.count; i++)
		oracle->ignored += !oracle->now.items[i].used;
	oracle->now = oracle->next;
	oracle->next.count = 0;
	oracle->updating = false;
	oracle->rounds++;
	oracle->in_round = !oracle->config.capped;
}

static enum iso_method_verdict ringleader(struct oracle *oracle,
					  const struct oracle_gradient *gradient)
{
	uint32_t worker = gradient->worker;
	bool is_early = oracle->updating && !oracle->expected[worker];
	struct oracle_list *table = is_early ? &oracle->next : &oracle->now;

	drop(oracle, table, worker, gradient->version);
	add(table, gradient);
	if (is_early)
		return ISO_METHOD_BUFFERED;
	if (!oracle->updating) {
		if (!table_full(oracle) || !oracle->in_round)
			return ISO_METHOD_BUFFERED;
		open_phase_2(oracle);
	}
	if (gradient->others > 0)
		return ISO_METHOD_BUFFERED;
	update_for(oracle, worker);
	return ISO_METHOD_USED;
}

static enum iso_method_verdict ia2sgd(struct oracle *oracle, const struct oracle_gradient *gradient)
{
	struct oracle_list *table = &oracle->now;

	for (uint32_t i = 0; i < table->count; i++)
		if (table->items[i].worker == gradient->worker &&
		    table->items[i].version > gradient->version)
			return ISO_METHOD_IGNORED;
	drop(oracle, table, gradient->worker, UINT64_MAX);
	add(table, gradient);
	oracle->updating |= table_full(oracle);
	if (!oracle->updating)
		return ISO_METHOD_BUFFERED;
	/* Only the arriving gradient's delay counts: an entry's age has no bound. */
	uint64_t before = oracle->delay_max, delay = oracle->k - gradient->version;
	update_by_mean_of_means(oracle);
	oracle->delay_max = delay > before ? delay : before;
	for (uint32_t i = 0; i < ORACLE_WORKERS && oracle->k >= oracle->forget_at; i++)
		if (!oracle->present[i])
			drop(oracle, table, i, UINT64_MAX);
	return ISO_METHOD_USED;
}

static enum iso_method_verdict asynchronous(struct oracle *oracle,
					    const struct oracle_gradient *gradient)
{
	struct oracle_gradient once = *gradient;
	uint64_t delay = oracle->k - gradient->version;
	double scale = 1, n = 0;
	bool bounded = oracle->config.kind == ISO_METHOD_RINGMASTER ||
		       oracle->config.kind == ISO_METHOD_RINGMASTER_STOPS;

	if (bounded && delay >= oracle->config.delay_max)
		return ISO_METHOD_IGNORED;
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		n += oracle->present[i] ? oracle->depth[i] : 0;
	if (oracle->config.kind == ISO_METHOD_DELAY_ADAPTIVE)
		scale = n / ((double)delay > n ? (double)delay : n);
	for (uint32_t p = 0; p < ORACLE_PARAMS; p++)
		oracle->x[p] -= step_of(oracle) * scale * gradient->values[p];
	use(oracle, &once);
	oracle->k++;
	return ISO_METHOD_USED;
}

static bool in_rounds(const struct oracle *oracle)
{
	return iso_method_traits(oracle->config.kind).by_rounds;
}

enum iso_method_verdict oracle_arrive(struct oracle *oracle, const struct oracle_gradient *gradient)
{
	enum iso_method_verdict verdict;

	if (in_rounds(oracle)) {
		add(&oracle->now, gradient);
		return round_done(oracle) ? ISO_METHOD_USED : ISO_METHOD_BUFFERED;
	}
	if (oracle->config.kind == ISO_METHOD_RINGLEADER)
		verdict = ringleader(oracle, gradient);
	else if (oracle->config.kind == ISO_METHOD_IA2SGD)
		verdict = ia2sgd(oracle, gradient);
	else
		verdict = asynchronous(oracle, gradient);
	oracle->ignored += verdict == ISO_METHOD_IGNORED;
	return verdict;
}

void oracle_join(struct oracle *oracle, uint32_t worker)
{
	oracle->present[worker] = true;
	oracle->point[worker] = oracle->k;
	oracle->has_point[worker] = false;
	oracle->start[worker] = UINT64_MAX; /* none */
	oracle->expected[worker] = false;
}

void oracle_leave(struct oracle *oracle, uint32_t worker)
{
	oracle->present[worker] = false;
	oracle->expected[worker] = false;
	oracle->gone[worker] = true;
	if (in_rounds(oracle) && oracle->in_round)
		(void)round_done(oracle);
	if (oracle->config.kind == ISO_METHOD_IA2SGD) {
		drop(oracle, &oracle->now, worker, UINT64_MAX);
		oracle->updating &= oracle->now.count > 0;
	}
}

void oracle_begin(struct oracle *oracle, const uint32_t *tasks)
{
	oracle->in_round = true;
	oracle->begun = true;
	oracle->batch = 0;
	memset(oracle->gone, 0, sizeof(oracle->gone));
	for (uint32_t i = 0; i < oracle->config.workers && tasks != NULL; i++) {
		oracle->tasks[i] = tasks[i];
		if (oracle->config.kind == ISO_METHOD_SGD_ATA)
			oracle->tasks[i] = oracle->present[i] ? tasks[i] + 1 : 0;
		oracle->batch += tasks[i];
	}
	if (tasks == NULL)
		oracle->batch = oracle->config.batch;
}

/* One that came back since its last START may have got one now, at the very last point. */
static bool is_idle(const struct oracle *oracle, uint32_t worker, uint32_t flying)
{
	if (oracle->begun && !oracle->has_point[worker] && oracle->tasks[worker] > 0)
		return false;
	return flying == 0;
}

void oracle_settle(struct oracle *oracle, oracle_in_flight_fn *in_flight, const void *book)
{
	if (oracle->config.kind != ISO_METHOD_RINGLEADER)
		return;
	take_points(oracle);
	uint32_t flying = 0;
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		flying += in_flight(book, i, oracle->point[i]);
	if (oracle->in_round && !oracle->updating && table_full(oracle) &&
	    (oracle->begun || flying == 0))
		open_phase_2(oracle);
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		if (oracle->expected[i] && is_idle(oracle, i, in_flight(book, i, oracle->point[i])))
			update_for(oracle, i);
	oracle->begun = false;
	take_points(oracle);
	if (oracle->updating && !any_expected(oracle))
		swap_tables(oracle);
}

void oracle_restart(struct oracle *oracle)
{
	for (uint32_t i = 0; i < ORACLE_WORKERS; i++)
		oracle->present[i] = oracle->expected[i] = false;
	if (oracle->config.kind == ISO_METHOD_RINGLEADER && oracle->updating) {
		oracle->now = oracle->next;
		oracle->updating = false;
	}
	oracle->next.count = 0;
	if (oracle->config.kind != ISO_METHOD_RINGLEADER &&
	    oracle->config.kind != ISO_METHOD_IA2SGD)
		oracle->now.count = 0;
	oracle->forget_at = oracle->k + 2 * oracle->now.count;
	oracle->in_round = !in_rounds(oracle) && !oracle->config.capped;
}

uint64_t oracle_buffered(const struct oracle *oracle)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < oracle->now.count; i++)
		count += !oracle->now.items[i].used;
	for (uint32_t i = 0; i < oracle->next.count; i++)
		count += !oracle->next.items[i].used;
	return count;
}
