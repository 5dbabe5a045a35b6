/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/train/worker_points.h"
#include "agent/train/worker_queue.h"
#include "lib/wire/worker.h"

struct thread {
	struct pool *pool;
	pthread_t id;
	uint32_t index;
	/* Under the lock. */
	uint32_t tid;
	bool enrol;    /* wants to be registered */
	uint32_t slot; /* answered and not taken up yet */
	bool has_shared_clock;
	struct entry *running;
	bool abandon; /* the running one is not wanted */
	/* The thread's own. */
	struct cpuclock clock;
	struct desk desk;
	uint64_t desk_number; /* of the lesson that the desk is for; 0: none */
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* for active threads: a task, a slot, the end */
	pthread_cond_t rest; /* for the others: they are active, a slot, the end */
	pthread_cond_t idle; /* a thread has become idle */
	int fd;
	const struct cpuclock_map *map;
	bool quit;
	uint32_t threads_count, active;
	uint32_t running;
	struct lesson lesson;
	bool has_lesson;
	uint64_t lesson_number; /* counts from 1 */
	struct points points;
	struct queue queue, done;
	struct thread threads[POOL_THREADS_MAX];
};

static void wake_threads(struct pool *pool)
{
	pthread_cond_broadcast(&pool->work);
	pthread_cond_broadcast(&pool->rest);
}

static void wake_owner(struct pool *pool)
{
	uint64_t one = 1;

	(void)!write(pool->fd, &one, sizeof(one));
}

static bool is_unwanted(void *context)
{
	struct thread *thread = context;

	pthread_mutex_lock(&thread->pool->lock);
	bool unwanted = thread->abandon || thread->pool->quit;
	pthread_mutex_unlock(&thread->pool->lock);
	return unwanted;
}

/* Takes up the slot that the agent answered with; only between two tasks. */
static void change_clock(struct thread *thread)
{
	uint32_t slot = thread->slot;

	thread->slot = ISO_WORKER_NO_SLOT;
	if (slot == ISO_WORKER_NO_SLOT)
		return;
	/* On failure it is the kernel's clock, as before. */
	thread->has_shared_clock = cpuclock_init(&thread->clock, thread->pool->map, slot) == 0;
}

/* Waits for a task, with the lock held; NULL: to end. */
static struct entry *wait_for_task(struct thread *thread)
{
	struct pool *pool = thread->pool;

	for (;;) {
		if (pool->quit)
			return NULL;
		change_clock(thread);
		bool is_active = thread->index < pool->active;
		if (is_active && pool->queue.count > 0)
			break;
		pthread_cond_wait(is_active ? &pool->work : &pool->rest, &pool->lock);
	}
	return queue_pop(&pool->queue);
}

/* Without the lock; the lesson cannot change while a thread is running. */
static void run_task(struct thread *thread, struct entry *entry)
{
	struct pool *pool = thread->pool;

	if (thread->desk_number != pool->lesson_number) {
		desk_close(&thread->desk);
		thread->desk_number = 0;
		if (desk_open(&pool->lesson, &thread->desk) < 0) {
			/* No memory: the task's lease will end, and another try comes. */
			entry->result =
			    (struct task_result){ .task = entry->task, .abandoned = true };
			return;
		}
		thread->desk_number = pool->lesson_number;
	}
	entry->result = compute(&pool->lesson, &thread->desk, &entry->task, entry->point->values,
				&thread->clock, is_unwanted, thread);
}

static void *thread_main(void *argument)
{
	struct thread *thread = argument;
	struct pool *pool = thread->pool;
	struct entry *entry;

	/* Until the agent has answered, if there is one: the kernel's clock. */
	(void)cpuclock_init(&thread->clock, NULL, 0);
	pthread_mutex_lock(&pool->lock);
	thread->tid = (uint32_t)gettid();
	thread->enrol = pool->map != NULL;
	wake_owner(pool);
	while ((entry = wait_for_task(thread)) != NULL) {
		thread->running = entry;
		thread->abandon = false;
		pool->running++;
		pthread_mutex_unlock(&pool->lock);
		run_task(thread, entry);
		pthread_mutex_lock(&pool->lock);
		thread->running = NULL;
		pool->running--;
		queue_push(&pool->done, entry);
		pthread_cond_signal(&pool->idle);
		wake_owner(pool);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int pool_open(uint32_t threads_max, const struct cpuclock_map *map, struct pool **ret_pool,
	      struct error *reterr)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	sigset_t all, before;

	assert(threads_max >= 1);
	assert(threads_max <= POOL_THREADS_MAX);
	if (pool == NULL)
		return error_errno(reterr, -ENOMEM, "start threads");
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->rest, NULL);
	pthread_cond_init(&pool->idle, NULL);
	pool->map = map;
	pool->active = 1;
	queue_init(&pool->queue);
	queue_init(&pool->done);
	pool->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = pool->fd < 0 ? -errno : 0;

	/* Signals are the owner's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (uint32_t i = 0; i < threads_max && r == 0; i++) {
		struct thread *thread = &pool->threads[i];

		thread->pool = pool;
		thread->index = i;
		thread->slot = ISO_WORKER_NO_SLOT;
		r = -pthread_create(&thread->id, NULL, thread_main, thread);
		pool->threads_count += r == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		pool_close(pool);
		return error_errno(reterr, r, "start thread %u of %u", pool->threads_count + 1,
				   threads_max);
	}
	*ret_pool = pool;
	return 0;
}

struct pool *pool_close(struct pool *pool)
{
	if (pool == NULL)
		return NULL;
	pthread_mutex_lock(&pool->lock);
	pool->quit = true;
	wake_threads(pool);
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t i = 0; i < pool->threads_count; i++) {
		pthread_join(pool->threads[i].id, NULL);
		desk_close(&pool->threads[i].desk);
	}
	queue_forget(&pool->queue, NULL, NULL, &pool->points);
	queue_forget(&pool->done, NULL, NULL, &pool->points);
	points_forget(&pool->points);
	if (pool->fd >= 0)
		close(pool->fd);
	pthread_cond_destroy(&pool->idle);
	pthread_cond_destroy(&pool->rest);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}

int pool_fd(const struct pool *pool)
{
	return pool->fd;
}

void pool_set_active(struct pool *pool, uint32_t threads)
{
	assert(threads >= 1);
	pthread_mutex_lock(&pool->lock);
	pool->active = threads < pool->threads_count ? threads : pool->threads_count;
	wake_threads(pool);
	pthread_mutex_unlock(&pool->lock);
}

void pool_set_lesson(struct pool *pool, const struct lesson *lesson)
{
	pthread_mutex_lock(&pool->lock);
	queue_forget(&pool->queue, NULL, NULL, &pool->points);
	for (uint32_t i = 0; i < pool->threads_count; i++)
		pool->threads[i].abandon = true;
	while (pool->running > 0)
		pthread_cond_wait(&pool->idle, &pool->lock);
	queue_forget(&pool->done, NULL, NULL, &pool->points);
	points_forget(&pool->points);
	pool->has_lesson = lesson != NULL;
	if (lesson != NULL) {
		assert(lesson->samples_max >= 1);
		assert(lesson->samples_max <= lesson->part_samples);
		pool->lesson = *lesson;
		pool->lesson_number++;
	}
	pthread_mutex_unlock(&pool->lock);
}

int pool_set_point(struct pool *pool, uint64_t version, float *params)
{
	pthread_mutex_lock(&pool->lock);
	assert(pool->has_lesson);
	int r = points_add(&pool->points, version, params);
	pthread_mutex_unlock(&pool->lock);
	return r;
}

/* Whether the task is waiting, running or done and not taken yet. */
static bool has_task(const struct pool *pool, const struct task *task)
{
	for (const struct entry *entry = pool->queue.first; entry != NULL; entry = entry->next)
		if (entry->task.term == task->term && entry->task.task == task->task)
			return true;
	for (const struct entry *entry = pool->done.first; entry != NULL; entry = entry->next)
		if (!entry->result.abandoned && entry->result.task.term == task->term &&
		    entry->result.task.task == task->task)
			return true;
	for (uint32_t i = 0; i < pool->threads_count; i++) {
		const struct thread *thread = &pool->threads[i];

		if (thread->running != NULL && !thread->abandon &&
		    thread->running->task.term == task->term &&
		    thread->running->task.task == task->task)
			return true;
	}
	return false;
}

int pool_submit(struct pool *pool, const struct task *task)
{
	struct point *point = NULL;
	struct entry *entry = NULL;
	int r = 0;

	pthread_mutex_lock(&pool->lock);
	/* Ordered again because its lease has ended: it is on its way. */
	if (task->attempt > 1 && has_task(pool, task)) {
		pthread_mutex_unlock(&pool->lock);
		return 0;
	}
	if (pool->has_lesson)
		point = points_take(&pool->points, task->version);
	if (point == NULL)
		r = -ENODATA;
	else if (!task_fits(task, &pool->lesson))
		r = -ERANGE;
	else if (pool->queue.count == POOL_TASKS_MAX)
		r = -ENOSPC;
	else if ((entry = calloc(1, sizeof(*entry))) == NULL)
		r = -ENOMEM;
	if (r == 0) {
		entry->task = *task;
		entry->point = point;
		queue_push(&pool->queue, entry);
		pthread_cond_signal(&pool->work);
	} else {
		points_release(&pool->points, point);
	}
	pthread_mutex_unlock(&pool->lock);
	return r;
}

/* Those that a cancel means. */
static bool is_same(const struct task *a, const struct task *b)
{
	return a->term == b->term && a->task == b->task && a->attempt <= b->attempt;
}

static bool is_older(const struct task *task, const struct task *than)
{
	return task->version < than->version;
}

static bool is_any(const struct task *task, const struct task *nothing)
{
	(void)task;
	(void)nothing;
	return true;
}

static void cancel(struct pool *pool, queue_match_fn *match, const struct task *wanted)
{
	pthread_mutex_lock(&pool->lock);
	queue_forget(&pool->queue, match, wanted, &pool->points);
	for (uint32_t i = 0; i < pool->threads_count; i++) {
		struct thread *thread = &pool->threads[i];

		if (thread->running != NULL && match(&thread->running->task, wanted))
			thread->abandon = true;
	}
	pthread_mutex_unlock(&pool->lock);
}

void pool_cancel(struct pool *pool, const struct task *task)
{
	cancel(pool, task != NULL ? is_same : is_any, task);
}

void pool_cancel_older(struct pool *pool, uint64_t version)
{
	cancel(pool, is_older, &(struct task){ .version = version });
}

uint32_t pool_points(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	uint32_t count = points_count(&pool->points);
	pthread_mutex_unlock(&pool->lock);
	return count;
}

bool pool_take(struct pool *pool, struct task_result *ret_result)
{
	uint64_t wakes;

	(void)!read(pool->fd, &wakes, sizeof(wakes));
	pthread_mutex_lock(&pool->lock);
	struct entry *entry = queue_pop(&pool->done);
	if (entry != NULL) {
		*ret_result = entry->result;
		entry->result.gradient = NULL;
		entry_free(entry, &pool->points);
	}
	pthread_mutex_unlock(&pool->lock);
	return entry != NULL;
}

int pool_untake(struct pool *pool, const struct task_result *result)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (entry == NULL)
		return -ENOMEM;
	entry->result = *result;
	pthread_mutex_lock(&pool->lock);
	queue_push_first(&pool->done, entry);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

bool pool_take_enrolment(struct pool *pool, uint32_t *ret_tid)
{
	bool found = false;

	pthread_mutex_lock(&pool->lock);
	for (uint32_t i = 0; i < pool->threads_count && !found; i++) {
		struct thread *thread = &pool->threads[i];

		if (!thread->enrol)
			continue;
		thread->enrol = false;
		*ret_tid = thread->tid;
		found = true;
	}
	pthread_mutex_unlock(&pool->lock);
	return found;
}

void pool_set_slot(struct pool *pool, uint32_t tid, uint32_t slot)
{
	pthread_mutex_lock(&pool->lock);
	for (uint32_t i = 0; i < pool->threads_count; i++)
		if (pool->threads[i].tid == tid)
			pool->threads[i].slot = slot;
	wake_threads(pool);
	pthread_mutex_unlock(&pool->lock);
}

uint32_t pool_shared_clocks(struct pool *pool)
{
	uint32_t count = 0;

	pthread_mutex_lock(&pool->lock);
	for (uint32_t i = 0; i < pool->threads_count; i++)
		count += pool->threads[i].has_shared_clock;
	pthread_mutex_unlock(&pool->lock);
	return count;
}
