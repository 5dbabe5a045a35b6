/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/ata/ras.h"
#include "lib/ata/score.h"
#include "lib/sgd/board.h"

/* Nothing to wait for is longer than this, however small a share becomes. */
#define LEASE_MAX_NS (3600ull * 1000000000)

/* A share of nothing would make times infinite. */
double iso_board_rate(const struct worker *worker)
{
	double rate = iso_rate_cpus(worker->threads, worker->share_ucpu);

	return rate > 1e-3 ? rate : 1e-3;
}

uint64_t iso_board_lease_end(const struct iso_dispatch *dispatch, const struct worker *worker)
{
	const struct iso_dispatch_config *config = &dispatch->config;

	if (!worker->present || worker->leased.count == 0)
		return UINT64_MAX;
	double length = (double)config->lease_first_ns;
	if (worker->pace.seen >= ISO_PACE_SURE) {
		uint32_t held = worker->leased.count;
		uint32_t running = held < worker->threads ? held : worker->threads;

		length = (double)worker->pace.median_ns +
			 (double)config->lease_mads * (double)worker->pace.mad_ns;
		length *= (double)running / iso_board_rate(worker);
	}
	if (length < (double)config->lease_min_ns)
		length = (double)config->lease_min_ns;
	assert(worker->backoff <= BACKOFF_MAX);
	length *= (double)(1u << worker->backoff);
	if (length > (double)LEASE_MAX_NS)
		length = (double)LEASE_MAX_NS;
	return worker->lease_start_ns + (uint64_t)length;
}

/* Mean over the workers whose speed is known; 1 if none is. */
static double typical_ns(const struct iso_dispatch *dispatch)
{
	double sum = 0;
	uint32_t known = 0;

	for (uint32_t i = 0; i < dispatch->config.workers; i++) {
		const struct worker *worker = &dispatch->workers[i];

		if (!worker->present || worker->pace.seen == 0)
			continue;
		sum += (double)worker->pace.mean_ns;
		known++;
	}
	return known > 0 ? sum / known : 1;
}

/* On-CPU time of a task, by what is known best. */
static double task_ns(const struct worker *worker, double otherwise_ns)
{
	if (worker->batch_results > 0)
		return (double)worker->batch_cpu_ns / worker->batch_results;
	return worker->pace.seen > 0 ? (double)worker->pace.mean_ns : otherwise_ns;
}

/*
 * Who would be done first with one more task: workers that are not suspect
 * come before all others, and each lease that ran out doubles the estimate.
 */
static uint32_t best_worker(const struct iso_dispatch *dispatch)
{
	double typical = typical_ns(dispatch), best_ns = 0;
	uint32_t best = NOBODY;

	for (uint32_t i = 0; i < dispatch->config.workers; i++) {
		const struct worker *worker = &dispatch->workers[i];

		if (!worker->present)
			continue;
		double end_ns = (double)(worker->assigned.count + worker->leased.count + 1) *
				task_ns(worker, typical) / iso_board_rate(worker) *
				(double)(1u << worker->backoff);
		bool better = best == NOBODY;
		if (!better && worker->suspect != dispatch->workers[best].suspect)
			better = !worker->suspect;
		else if (!better)
			better = end_ns < best_ns;
		if (better) {
			best = i;
			best_ns = end_ns;
		}
	}
	assert(best != NOBODY); /* whose lease ran out is present */
	return best;
}

static void expire(struct iso_dispatch *dispatch, uint32_t index)
{
	struct worker *worker = &dispatch->workers[index];
	enum task_state after = dispatch->config.movable ? TASK_ORPHAN : TASK_ASSIGNED;

	assert(worker->present);
	assert(worker->leased.count > 0);
	dispatch->totals.leases_expired++;
	worker->suspect = true;
	worker->expired++;
	if (worker->backoff < BACKOFF_MAX)
		worker->backoff++;
	if (!dispatch->config.movable)
		dispatch->totals.resent += worker->leased.count;
	while (worker->leased.count > 0) {
		dispatch->tasks[worker->leased.first].attempt++;
		iso_board_set_state(dispatch, worker->leased.first, after);
	}
}

bool iso_dispatch_tick(struct iso_dispatch *dispatch, uint64_t now_ns,
		       struct iso_dispatch_move *ret_move)
{
	assert(now_ns >= dispatch->now_ns);
	dispatch->now_ns = now_ns;
	for (uint32_t i = 0; i < dispatch->config.workers; i++)
		if (iso_board_lease_end(dispatch, &dispatch->workers[i]) <= now_ns)
			expire(dispatch, i);
	while (dispatch->orphans.count > 0) {
		uint32_t task = dispatch->orphans.first;
		uint32_t from = dispatch->tasks[task].worker, to = best_worker(dispatch);

		iso_board_assign(dispatch, task, to);
		if (to == from) {
			dispatch->totals.resent++;
			continue;
		}
		dispatch->totals.moved++;
		*ret_move = (struct iso_dispatch_move){ from, to };
		return true;
	}
	return false;
}

uint64_t iso_dispatch_wake_ns(const struct iso_dispatch *dispatch)
{
	uint64_t wake_ns = dispatch->orphans.count > 0 ? dispatch->now_ns : UINT64_MAX;

	for (uint32_t i = 0; i < dispatch->config.workers; i++) {
		uint64_t end_ns = iso_board_lease_end(dispatch, &dispatch->workers[i]);

		wake_ns = end_ns < wake_ns ? end_ns : wake_ns;
	}
	return wake_ns;
}

/*
 * The batch-th smallest of all the times u c_i / r_i: until then the greedy rule
 * keeps every present worker busy.
 */
uint64_t iso_dispatch_greedy_ns(struct iso_dispatch *dispatch, uint32_t batch)
{
	double typical = typical_ns(dispatch), rates = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < dispatch->config.workers; i++) {
		struct worker *worker = &dispatch->workers[i];

		if (worker->present) {
			double cost_ns = task_ns(worker, typical), rate = iso_board_rate(worker);

			dispatch->scores[count++] = (cost_ns > 1 ? cost_ns : 1) / rate;
			rates += rate;
		}
		worker->batch_cpu_ns = 0;
		worker->batch_results = 0;
	}
	if (count == 0)
		return 0;
	iso_ras(dispatch->scores, count, batch, dispatch->ras, dispatch->allocation);
	return (uint64_t)(rates * iso_ras_loss(dispatch->scores, dispatch->allocation, count));
}
