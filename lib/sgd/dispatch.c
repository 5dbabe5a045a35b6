/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/dispatch.h"

#include <assert.h>
#include <string.h>

#include "lib/ata/ras.h"
#include "lib/carve.h"
#include "lib/sgd/board.h"

static bool config_valid(const struct iso_dispatch_config *config)
{
	return config->workers > 0 && config->tasks_max > 0 && config->threads_max > 0 &&
	       (uint64_t)config->workers + config->tasks_max < UINT32_MAX &&
	       config->lease_mads > 0 && config->lease_first_ns > 0 && config->lease_min_ns > 0;
}

/* Each task and each worker may stand on one of its own, and there is the newest. */
static uint32_t points_max(const struct iso_dispatch_config *config)
{
	return config->tasks_max + config->workers + 1;
}

size_t iso_dispatch_size(const struct iso_dispatch_config *config)
{
	if (!config_valid(config))
		return 0;
	size_t n = config->workers;

	return iso_carve_bytes(sizeof(struct iso_dispatch)) + n * sizeof(struct worker) +
	       iso_carve_bytes(config->tasks_max * sizeof(struct task)) +
	       iso_carve_bytes(points_max(config) * sizeof(struct point)) +
	       iso_carve_bytes(DONE_ELSEWHERE_MAX * sizeof(struct done_elsewhere)) +
	       n * sizeof(double) + iso_carve_bytes(n * sizeof(uint32_t)) +
	       iso_ras_workspace_bytes(config->workers);
}

static void chain_up(struct iso_dispatch *dispatch)
{
	const struct list empty = { .first = NOBODY, .last = NOBODY };
	uint32_t n = dispatch->config.tasks_max;

	dispatch->orphans = empty;
	for (uint32_t i = 0; i < dispatch->config.workers; i++) {
		dispatch->workers[i].assigned = empty;
		dispatch->workers[i].leased = empty;
		dispatch->workers[i].point = NO_POINT;
	}
	for (uint32_t t = 0; t < n; t++) {
		dispatch->tasks[t].previous = t > 0 ? t - 1 : NOBODY;
		dispatch->tasks[t].next = t + 1 < n ? t + 1 : NOBODY;
	}
	dispatch->free_tasks = (struct list){ .first = 0, .last = n - 1, .count = n };
	for (uint32_t p = 0; p < dispatch->points_max; p++)
		dispatch->points[p].next = p + 1 < dispatch->points_max ? p + 1 : NO_POINT;
	dispatch->free_point = 0;
	dispatch->newest = NO_POINT;
}

enum iso_status iso_dispatch_init(void *memory, size_t size,
				  const struct iso_dispatch_config *config,
				  struct iso_dispatch **ret_dispatch)
{
	size_t needed = iso_dispatch_size(config);
	uint8_t *free_bytes = memory;

	if (needed == 0)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	assert((uintptr_t)memory % 8 == 0);
	memset(memory, 0, needed);
	struct iso_dispatch *dispatch = iso_carve(&free_bytes, sizeof(*dispatch));
	uint32_t n = config->workers;
	dispatch->config = *config;
	dispatch->serial = config->serial;
	dispatch->points_max = points_max(config);
	dispatch->workers = iso_carve(&free_bytes, n * sizeof(*dispatch->workers));
	dispatch->tasks = iso_carve(&free_bytes, config->tasks_max * sizeof(*dispatch->tasks));
	dispatch->points = iso_carve(&free_bytes, dispatch->points_max * sizeof(struct point));
	dispatch->elsewhere =
	    iso_carve(&free_bytes, DONE_ELSEWHERE_MAX * sizeof(*dispatch->elsewhere));
	dispatch->scores = iso_carve(&free_bytes, n * sizeof(double));
	dispatch->allocation = iso_carve(&free_bytes, n * sizeof(uint32_t));
	dispatch->ras = free_bytes;
	assert(free_bytes + iso_ras_workspace_bytes(n) == (uint8_t *)memory + needed);
	chain_up(dispatch);
	*ret_dispatch = dispatch;
	return ISO_OK;
}

static struct worker *worker_at(const struct iso_dispatch *dispatch, uint32_t worker)
{
	assert(worker < dispatch->config.workers);
	return &dispatch->workers[worker];
}

static void pass_time(struct iso_dispatch *dispatch, uint64_t now_ns)
{
	assert(now_ns >= dispatch->now_ns);
	assert(dispatch->assigned <= dispatch->config.tasks_max);
	assert(dispatch->cancels <= dispatch->config.workers);
	dispatch->now_ns = now_ns;
}

static void set_speed(struct iso_dispatch *dispatch, struct worker *worker, uint32_t threads,
		      uint64_t share_ucpu)
{
	uint32_t most = dispatch->config.threads_max;

	assert(threads > 0);
	worker->threads = threads < most ? threads : most;
	worker->share_ucpu = share_ucpu;
}

void iso_dispatch_join(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t index,
		       uint32_t threads, uint64_t share_ucpu)
{
	struct worker *worker = worker_at(dispatch, index);

	pass_time(dispatch, now_ns);
	(void)iso_dispatch_leave(dispatch, now_ns, index);
	worker->present = true;
	worker->suspect = false;
	worker->backoff = 0;
	worker->expired = 0;
	worker->oldest = 0;
	set_speed(dispatch, worker, threads, share_ucpu);
}

/* Those of the worker at points older than `version`; how many there were. */
static uint32_t forget(struct iso_dispatch *dispatch, const struct list *list, uint32_t worker,
		       uint64_t version)
{
	uint32_t count = 0;

	for (uint32_t t = list->first, next; t != NOBODY; t = next) {
		const struct task *task = &dispatch->tasks[t];

		next = task->next;
		if (task->worker != worker || dispatch->points[task->point].version >= version)
			continue;
		iso_board_remove(dispatch, t);
		count++;
	}
	return count;
}

static uint32_t forget_older(struct iso_dispatch *dispatch, uint32_t index, uint64_t version)
{
	const struct worker *worker = worker_at(dispatch, index);

	return forget(dispatch, &worker->assigned, index, version) +
	       forget(dispatch, &worker->leased, index, version) +
	       forget(dispatch, &dispatch->orphans, index, version);
}

uint32_t iso_dispatch_leave(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t index)
{
	struct worker *worker = worker_at(dispatch, index);

	pass_time(dispatch, now_ns);
	uint32_t count = forget_older(dispatch, index, UINT64_MAX);
	assert(worker->assigned.count + worker->leased.count == 0);
	iso_board_cancelled(dispatch, index);
	iso_board_give_point(dispatch, index, NO_POINT);
	worker->present = false;
	return count;
}

void iso_dispatch_drop(struct iso_dispatch *dispatch, uint32_t worker)
{
	assert(worker_at(dispatch, worker)->leased.count == 0);
	iso_board_cancel(dispatch, worker, UINT64_MAX);
}

void iso_dispatch_set_rate(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t worker,
			   uint32_t threads, uint64_t share_ucpu)
{
	pass_time(dispatch, now_ns);
	set_speed(dispatch, worker_at(dispatch, worker), threads, share_ucpu);
}

void iso_dispatch_start(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t index,
			uint32_t count, uint64_t version, uint64_t tag)
{
	const struct worker *worker = worker_at(dispatch, index);

	pass_time(dispatch, now_ns);
	assert(worker->present);
	assert(version >= worker->oldest);
	uint32_t point = iso_board_point(dispatch, index, version);
	iso_board_give_point(dispatch, index, point);
	for (uint32_t u = 0; u < count; u++)
		iso_board_add(dispatch, index, point, tag);
	if (dispatch->config.newest_only)
		iso_board_cancel(dispatch, index, version);
}

uint32_t iso_dispatch_stop(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t index,
			   uint64_t version)
{
	pass_time(dispatch, now_ns);
	uint32_t count = forget_older(dispatch, index, version);
	if (worker_at(dispatch, index)->present)
		iso_board_cancel(dispatch, index, version);
	return count;
}

/* The result's task, if it waits for just such a result; NOBODY. */
static uint32_t open_task(const struct iso_dispatch *dispatch,
			  const struct iso_dispatch_result *result)
{
	uint32_t index = (uint32_t)result->task;

	if (index >= dispatch->config.tasks_max || result->attempt == 0)
		return NOBODY;
	const struct task *task = &dispatch->tasks[index];
	if (task->state == TASK_FREE || result->task != iso_board_task_id(dispatch, index) ||
	    result->attempt > task->attempt)
		return NOBODY;
	/* An earlier attempt of the same task is as good, whoever made it. */
	return dispatch->config.movable || result->worker == task->worker ? index : NOBODY;
}

/* It lives, and we know how fast: whatever becomes of the result. */
static void learn_pace(struct iso_dispatch *dispatch, const struct iso_dispatch_result *result)
{
	struct worker *worker = worker_at(dispatch, result->worker);

	worker->suspect = false;
	worker->backoff = 0;
	worker->expired = 0;
	worker->lease_start_ns = dispatch->now_ns;
	iso_pace_add(&worker->pace, result->on_cpu_ns);
}

static void accept(struct iso_dispatch *dispatch, const struct iso_dispatch_result *result,
		   uint32_t index, struct iso_dispatch_done *ret_done)
{
	struct worker *worker = worker_at(dispatch, result->worker);
	const struct task *task = &dispatch->tasks[index];

	*ret_done = (struct iso_dispatch_done){
		.worker = task->worker,
		.version = dispatch->points[task->point].version,
		.serial = task->serial,
		.tag = task->tag,
	};
	worker->has_point |= worker->point == task->point;
	worker->accepted++;
	worker->batch_results++;
	worker->batch_cpu_ns += result->on_cpu_ns;
	iso_board_note_elsewhere(dispatch, index, result->worker);
	iso_board_remove(dispatch, index);
	dispatch->totals.accepted++;
	dispatch->totals.accepted_cpu_ns += result->on_cpu_ns;
}

static enum iso_dispatch_verdict count(enum iso_dispatch_verdict verdict, uint64_t on_cpu_ns,
				       uint64_t *results, uint64_t *cpu_ns)
{
	*results += 1;
	*cpu_ns += on_cpu_ns;
	return verdict;
}

enum iso_dispatch_verdict iso_dispatch_result(struct iso_dispatch *dispatch, uint64_t now_ns,
					      const struct iso_dispatch_result *result,
					      struct iso_dispatch_done *ret_done)
{
	struct iso_dispatch_totals *totals = &dispatch->totals;
	uint64_t cpu_ns = result->on_cpu_ns;

	pass_time(dispatch, now_ns);
	if (result->term != dispatch->config.term) {
		totals->other_term++;
		return ISO_DISPATCH_OTHER_TERM;
	}
	if (result->abandoned)
		return count(ISO_DISPATCH_ABANDONED, cpu_ns, &totals->abandoned,
			     &totals->abandoned_cpu_ns);
	learn_pace(dispatch, result);
	uint32_t task = open_task(dispatch, result);
	if (task == NOBODY)
		return count(ISO_DISPATCH_LATE, cpu_ns, &totals->late, &totals->late_cpu_ns);
	if (result->finite) {
		accept(dispatch, result, task, ret_done);
		return ISO_DISPATCH_ACCEPTED;
	}
	/* Whoever has it meanwhile may go on. */
	if (dispatch->tasks[task].worker == result->worker &&
	    dispatch->tasks[task].attempt == result->attempt) {
		bool movable = dispatch->config.movable;

		worker_at(dispatch, result->worker)->suspect = true;
		dispatch->tasks[task].attempt++;
		iso_board_set_state(dispatch, task, movable ? TASK_ORPHAN : TASK_ASSIGNED);
	}
	return count(ISO_DISPATCH_NOT_FINITE, cpu_ns, &totals->not_finite,
		     &totals->not_finite_cpu_ns);
}

static void fill_order(struct iso_dispatch *dispatch, uint32_t index,
		       struct iso_dispatch_task *tasks, uint32_t capacity,
		       struct iso_dispatch_order *ret_order)
{
	struct worker *worker = &dispatch->workers[index];
	uint32_t point = dispatch->tasks[worker->assigned.first].point, count = 0;

	if (worker->leased.count == 0)
		worker->lease_start_ns = dispatch->now_ns;
	while (worker->assigned.count > 0 && count < capacity) {
		uint32_t t = worker->assigned.first;
		const struct task *task = &dispatch->tasks[t];

		if (task->point != point)
			break;
		tasks[count++] = (struct iso_dispatch_task){
			.task = iso_board_task_id(dispatch, t),
			.serial = task->serial,
			.attempt = task->attempt,
		};
		iso_board_set_state(dispatch, t, TASK_LEASED);
	}
	assert(count > 0);
	if (!worker->cancel_all)
		iso_board_cancelled(dispatch, index);
	uint64_t version = dispatch->points[point].version;
	*ret_order = (struct iso_dispatch_order){
		.worker = index,
		.count = count,
		.with_params = !worker->has_point || worker->point != point,
		.point = point,
		.version = version,
		.oldest = worker->oldest < version ? worker->oldest : version,
	};
}

bool iso_dispatch_next_order(struct iso_dispatch *dispatch, uint64_t now_ns,
			     struct iso_dispatch_task *tasks, uint32_t capacity,
			     struct iso_dispatch_order *ret_order)
{
	uint32_t n = dispatch->config.workers;

	assert(capacity >= 1);
	pass_time(dispatch, now_ns);
	for (uint32_t i = 0; i < n && dispatch->assigned > 0; i++) {
		uint32_t index = (dispatch->next + i) % n;

		if (dispatch->workers[index].assigned.count == 0)
			continue;
		dispatch->next = index;
		fill_order(dispatch, index, tasks, capacity, ret_order);
		return true;
	}
	return false;
}

bool iso_dispatch_next_cancel(struct iso_dispatch *dispatch, struct iso_dispatch_cancel *ret_cancel)
{
	while (dispatch->elsewhere_count > 0) {
		struct done_elsewhere done = dispatch->elsewhere[--dispatch->elsewhere_count];

		if (!dispatch->workers[done.worker].present)
			continue;
		*ret_cancel = (struct iso_dispatch_cancel){ .worker = done.worker,
							    .attempt = done.attempt,
							    .task = done.task };
		return true;
	}
	for (uint32_t i = 0; i < dispatch->config.workers && dispatch->cancels > 0; i++) {
		const struct worker *worker = &dispatch->workers[i];
		bool is_all = worker->cancel_all;

		/* An order that is to come says it as well. */
		if (!is_all && (!worker->cancel || worker->assigned.count > 0))
			continue;
		iso_board_cancelled(dispatch, i);
		*ret_cancel = (struct iso_dispatch_cancel){
			.worker = i,
			.oldest = is_all ? UINT64_MAX : worker->oldest,
		};
		return true;
	}
	return false;
}

uint32_t iso_dispatch_points(const struct iso_dispatch *dispatch)
{
	return dispatch->points_max;
}

bool iso_dispatch_point_in_use(const struct iso_dispatch *dispatch, uint32_t point,
			       uint64_t *ret_version)
{
	assert(point < dispatch->points_max);
	if (dispatch->points[point].refs == 0)
		return false;
	*ret_version = dispatch->points[point].version;
	return true;
}

const struct iso_dispatch_totals *iso_dispatch_totals(const struct iso_dispatch *dispatch)
{
	return &dispatch->totals;
}

uint64_t iso_dispatch_serial(const struct iso_dispatch *dispatch)
{
	return dispatch->serial;
}

struct iso_dispatch_worker iso_dispatch_worker(const struct iso_dispatch *dispatch, uint32_t index)
{
	const struct worker *worker = worker_at(dispatch, index);

	return (struct iso_dispatch_worker){
		.present = worker->present,
		.suspect = worker->suspect,
		.leases_expired = worker->expired,
		.tasks = worker->assigned.count + worker->leased.count,
		.accepted = worker->accepted,
		.mean_ns = worker->pace.mean_ns,
		.median_ns = worker->pace.median_ns,
		.lease_end_ns = iso_board_lease_end(dispatch, worker),
	};
}
