/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_POOL_H
#define ISO_WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/meter/cpuclock.h"
#include "agent/train/worker_compute.h"

/*
 * The threads that compute.  One thread, the owner, hands out tasks and takes
 * results; pool_fd() tells it when there is something to take.  Threads beyond
 * the active number sleep.
 */
struct pool;

#define POOL_THREADS_MAX 256u

/*
 * Starts threads_max (1 .. POOL_THREADS_MAX) threads, one of them active.  The
 * map of on-CPU clocks may be NULL and must outlive the pool.
 */
int pool_open(uint32_t threads_max, const struct cpuclock_map *map, struct pool **ret_pool,
	      struct error *reterr);

/* Waits for the chunks that are being computed.  Takes NULL; returns NULL. */
struct pool *pool_close(struct pool *pool);

/* Readable when there is a result or a thread to register; read by the functions below. */
int pool_fd(const struct pool *pool);

void pool_set_active(struct pool *pool, uint32_t threads);

/*
 * Forgets tasks and results, waits until every thread is idle (they stop at
 * the next chunk), and goes on with this lesson, which is copied, but not what
 * it points to; NULL: with none.
 */
void pool_set_lesson(struct pool *pool, const struct lesson *lesson);

/*
 * The parameters of a version, params floats to free(), taken over on failure
 * too.  They are kept until others come, and for as long as a task waits or runs
 * at them; what is queued or running is not touched.  0 or -ENOMEM.
 */
int pool_set_point(struct pool *pool, uint64_t version, float *params);

/*
 * Computes the task at the point of its version; one that is here already goes on, as
 * the attempt that it was ordered as first.  0; -ENOSPC: POOL_TASKS_MAX are
 * queued; -ENODATA: no lesson, or nothing is known of this version any more; -ERANGE:
 * more samples than the lesson's tasks or its part have, or none.
 */
#define POOL_TASKS_MAX 8192u
int pool_submit(struct pool *pool, const struct task *task);

/*
 * Forgets a queued task, or lets a running one come back abandoned; task NULL: all.
 * Term and task are compared, and the attempt: not one that came after it.
 */
void pool_cancel(struct pool *pool, const struct task *task);

/* The same for all tasks at versions older than this one. */
void pool_cancel_older(struct pool *pool, uint64_t version);

/* Points in memory, for tests and the log. */
uint32_t pool_points(struct pool *pool);

/* The next result; false: none.  Call until false. */
bool pool_take(struct pool *pool, struct task_result *ret_result);

/* A result that could not be passed on: moves it back, to be taken first.  0 or -ENOMEM. */
int pool_untake(struct pool *pool, const struct task_result *result);

/* The tid of a thread that wants an on-CPU clock; false: none.  Call until false. */
bool pool_take_enrolment(struct pool *pool, uint32_t *ret_tid);
/* The answer to it; the thread changes its clock between two tasks. */
void pool_set_slot(struct pool *pool, uint32_t tid, uint32_t slot);

/* Threads whose clock is the shared one, for the log. */
uint32_t pool_shared_clocks(struct pool *pool);

#endif
