/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/board.h"

#include <assert.h>

static struct list *list_of(struct iso_dispatch *dispatch, const struct task *task)
{
	switch (task->state) {
	case TASK_FREE: return &dispatch->free_tasks;
	case TASK_ORPHAN: return &dispatch->orphans;
	case TASK_ASSIGNED: return &dispatch->workers[task->worker].assigned;
	case TASK_LEASED: break;
	}
	return &dispatch->workers[task->worker].leased;
}

static void take_out(struct iso_dispatch *dispatch, uint32_t index)
{
	struct task *task = &dispatch->tasks[index];
	struct list *list = list_of(dispatch, task);

	assert(list->count > 0);
	if (task->previous != NOBODY)
		dispatch->tasks[task->previous].next = task->next;
	else
		list->first = task->next;
	if (task->next != NOBODY)
		dispatch->tasks[task->next].previous = task->previous;
	else
		list->last = task->previous;
	list->count--;
	dispatch->assigned -= task->state == TASK_ASSIGNED;
}

static void put_in(struct iso_dispatch *dispatch, uint32_t index)
{
	struct task *task = &dispatch->tasks[index];
	struct list *list = list_of(dispatch, task);

	task->previous = list->last;
	task->next = NOBODY;
	if (list->last != NOBODY)
		dispatch->tasks[list->last].next = index;
	else
		list->first = index;
	list->last = index;
	list->count++;
	dispatch->assigned += task->state == TASK_ASSIGNED;
}

void iso_board_set_state(struct iso_dispatch *dispatch, uint32_t task, enum task_state state)
{
	assert(dispatch->tasks[task].state != TASK_FREE);
	assert(state != TASK_FREE);
	take_out(dispatch, task);
	dispatch->tasks[task].state = state;
	put_in(dispatch, task);
}

static void unref(struct iso_dispatch *dispatch, uint32_t index)
{
	if (index == NO_POINT)
		return;
	struct point *point = &dispatch->points[index];
	assert(point->refs > 0);
	if (--point->refs > 0)
		return;
	point->next = dispatch->free_point;
	dispatch->free_point = index;
}

static void ref(struct iso_dispatch *dispatch, uint32_t index)
{
	assert(index < dispatch->points_max);
	dispatch->points[index].refs++;
}

uint32_t iso_board_point(struct iso_dispatch *dispatch, uint32_t worker, uint64_t version)
{
	uint32_t newest = dispatch->newest, given = dispatch->workers[worker].point;

	if (newest != NO_POINT && dispatch->points[newest].version == version)
		return newest;
	if (given != NO_POINT && dispatch->points[given].version == version)
		return given;
	assert(newest == NO_POINT || dispatch->points[newest].version < version);
	uint32_t index = dispatch->free_point;
	/* A point each for all tasks, all workers and the newest. */
	assert(index != NO_POINT);
	dispatch->free_point = dispatch->points[index].next;
	dispatch->points[index] = (struct point){ .version = version, .refs = 1, .next = NO_POINT };
	unref(dispatch, newest);
	dispatch->newest = index;
	return index;
}

void iso_board_give_point(struct iso_dispatch *dispatch, uint32_t index, uint32_t point)
{
	struct worker *worker = &dispatch->workers[index];

	if (worker->point == point)
		return;
	if (point != NO_POINT)
		ref(dispatch, point);
	unref(dispatch, worker->point);
	worker->point = point;
	worker->has_point = false;
}

void iso_board_add(struct iso_dispatch *dispatch, uint32_t worker, uint32_t point, uint64_t tag)
{
	uint32_t index = dispatch->free_tasks.first;

	/* The configuration says how many there can be. */
	assert(index != NOBODY);
	take_out(dispatch, index);
	struct task *task = &dispatch->tasks[index];
	*task = (struct task){
		.state = TASK_ASSIGNED,
		.generation = task->generation + 1,
		.attempt = 1,
		.worker = worker,
		.before = NOBODY,
		.point = point,
		.serial = dispatch->serial++,
		.tag = tag,
	};
	ref(dispatch, point);
	put_in(dispatch, index);
}

void iso_board_remove(struct iso_dispatch *dispatch, uint32_t index)
{
	struct task *task = &dispatch->tasks[index];

	assert(task->state != TASK_FREE);
	take_out(dispatch, index);
	unref(dispatch, task->point);
	task->state = TASK_FREE;
	put_in(dispatch, index);
}

void iso_board_assign(struct iso_dispatch *dispatch, uint32_t index, uint32_t to)
{
	struct task *task = &dispatch->tasks[index];
	struct worker *worker = &dispatch->workers[to];

	assert(task->state == TASK_ORPHAN);
	assert(worker->present);
	take_out(dispatch, index);
	if (task->worker != to) {
		task->before = task->worker;
		task->worker = to;
		uint64_t version = dispatch->points[task->point].version;
		if (worker->point == NO_POINT || dispatch->points[worker->point].version < version)
			iso_board_give_point(dispatch, to, task->point);
	}
	task->state = TASK_ASSIGNED;
	put_in(dispatch, index);
}

void iso_board_cancel(struct iso_dispatch *dispatch, uint32_t index, uint64_t oldest)
{
	struct worker *worker = &dispatch->workers[index];

	if (oldest == UINT64_MAX ? worker->cancel_all : oldest <= worker->oldest)
		return;
	dispatch->cancels += !worker->cancel && !worker->cancel_all;
	if (oldest == UINT64_MAX)
		worker->cancel_all = true;
	else
		worker->cancel = true, worker->oldest = oldest;
}

void iso_board_cancelled(struct iso_dispatch *dispatch, uint32_t index)
{
	struct worker *worker = &dispatch->workers[index];

	dispatch->cancels -= worker->cancel || worker->cancel_all;
	worker->cancel = false;
	worker->cancel_all = false;
}

static void note(struct iso_dispatch *dispatch, uint32_t worker, uint64_t id, uint32_t attempt)
{
	/* It is only advice. */
	if (dispatch->elsewhere_count == DONE_ELSEWHERE_MAX)
		return;
	dispatch->elsewhere[dispatch->elsewhere_count++] =
	    (struct done_elsewhere){ .worker = worker, .attempt = attempt, .task = id };
}

void iso_board_note_elsewhere(struct iso_dispatch *dispatch, uint32_t index, uint32_t by)
{
	const struct task *task = &dispatch->tasks[index];
	uint64_t id = iso_board_task_id(dispatch, index);

	if (task->worker != by && task->state == TASK_LEASED)
		note(dispatch, task->worker, id, task->attempt);
	if (task->before != NOBODY && task->before != by)
		note(dispatch, task->before, id, task->attempt - 1);
}

uint64_t iso_board_task_id(const struct iso_dispatch *dispatch, uint32_t task)
{
	return (uint64_t)dispatch->tasks[task].generation << 32 | task;
}
