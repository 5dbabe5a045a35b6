/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_QUEUE_H
#define ISO_WORKER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/train/worker_compute.h"
#include "agent/train/worker_points.h"

/*
 * Tasks in line, and results: each with the point that it is computed at, held for as
 * long as it is there.  Whoever shares one between threads holds a lock around these
 * functions.
 */
struct entry {
	struct task task;
	struct point *point; /* NULL: a result that was taken and put back */
	struct entry *next;
	struct task_result result; /* once it is done */
};

struct queue {
	struct entry *first, **end;
	uint32_t count;
};

void queue_init(struct queue *ret_queue);

/* The queue takes the entry over. */
void queue_push(struct queue *queue, struct entry *entry);
void queue_push_first(struct queue *queue, struct entry *entry);

/* The first, which is the caller's then; NULL: none. */
struct entry *queue_pop(struct queue *queue);

/* Releases its point, too. */
void entry_free(struct entry *entry, struct points *points);

/* Whether a task is one of those that are meant. */
typedef bool queue_match_fn(const struct task *task, const struct task *wanted);

/* Frees those that are meant; match NULL: all. */
void queue_forget(struct queue *queue, queue_match_fn *match, const struct task *wanted,
		  struct points *points);

#endif
