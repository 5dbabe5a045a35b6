/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_BOARD_H
#define ISO_SGD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/sgd/dispatch.h"
#include "lib/sgd/pace.h"

/*
 * The inside of the dispatcher, shared by dispatch.c (what happens), dispatch_lease.c
 * (until when) and board.c (who holds what).  Nobody else includes this.
 */

#define NOBODY      UINT32_MAX
#define NO_POINT    UINT32_MAX
#define BACKOFF_MAX 6u

enum task_state {
	TASK_FREE = 0, /* in the list of free ones */
	TASK_ASSIGNED, /* its worker is to be told */
	TASK_LEASED,   /* its worker was told */
	TASK_ORPHAN,   /* movable, its lease ran out: somebody else is looked for */
};

struct task {
	enum task_state state;
	uint32_t generation; /* of the slot: which task of those it has had */
	uint32_t attempt;    /* the latest handed out; another one each time */
	uint32_t worker;
	uint32_t before;     /* who had it before and may be at it still; NOBODY */
	uint32_t point;
	uint32_t previous, next; /* in its list */
	uint64_t serial;
	uint64_t tag;
};

struct list {
	uint32_t first, last; /* NOBODY: empty */
	uint32_t count;
};

struct point {
	uint64_t version;
	uint32_t refs; /* tasks on it, workers it was last given to, 1 for the newest */
	uint32_t next; /* free ones */
};

struct worker {
	bool present;
	bool suspect;
	bool has_point;  /* has delivered a result of `point` */
	bool cancel;     /* it is to be told of `oldest` */
	bool cancel_all;
	uint32_t threads;
	uint32_t backoff; /* leases that ran out in a row, at most BACKOFF_MAX */
	uint32_t expired; /* the same without bound */
	uint32_t point;   /* the latest it was given */
	uint64_t share_ucpu;
	uint64_t oldest;
	struct list assigned, leased;
	uint64_t lease_start_ns; /* meaningful while it has leased tasks */
	uint64_t accepted;
	uint64_t batch_cpu_ns; /* of its results since the greedy rule was asked last */
	uint32_t batch_results;
	struct iso_pace pace;
};

/* A task that was done by another worker than this one. */
struct done_elsewhere {
	uint32_t worker, attempt;
	uint64_t task;
};
#define DONE_ELSEWHERE_MAX 256u

struct iso_dispatch {
	struct iso_dispatch_config config;
	struct iso_dispatch_totals totals;
	uint64_t now_ns;
	uint64_t serial;
	uint32_t next;     /* worker to look at first for orders */
	uint32_t assigned; /* tasks in TASK_ASSIGNED, of all workers */
	uint32_t newest;   /* point; NO_POINT: none yet */
	uint32_t points_max, free_point;
	uint32_t cancels;  /* workers with cancel or cancel_all set */
	uint32_t elsewhere_count;
	struct list free_tasks, orphans;
	struct worker *workers;
	struct task *tasks;
	struct point *points;
	struct done_elsewhere *elsewhere;
	/* Scratch for what the greedy rule would have burnt. */
	double *scores;
	uint32_t *allocation;
	void *ras;
};

/* The list of tasks in its state, and the move from one to another. */
void iso_board_set_state(struct iso_dispatch *dispatch, uint32_t task, enum task_state state);

/* A new task of the worker, which is to be told of it. */
void iso_board_add(struct iso_dispatch *dispatch, uint32_t worker, uint32_t point, uint64_t tag);

/* The task is no more. */
void iso_board_remove(struct iso_dispatch *dispatch, uint32_t task);

/* An orphan goes to a worker. */
void iso_board_assign(struct iso_dispatch *dispatch, uint32_t task, uint32_t worker);

/* The point of this version as the worker may be given it; takes no reference. */
uint32_t iso_board_point(struct iso_dispatch *dispatch, uint32_t worker, uint64_t version);

/* The worker has been given the point, or NO_POINT: has none. */
void iso_board_give_point(struct iso_dispatch *dispatch, uint32_t worker, uint32_t point);

/* The worker shall hear that what is older is in vain. */
void iso_board_cancel(struct iso_dispatch *dispatch, uint32_t worker, uint64_t oldest);
/* It has heard, or there is nobody to hear. */
void iso_board_cancelled(struct iso_dispatch *dispatch, uint32_t worker);

/* What others computed of it is in vain, if it went through several hands. */
void iso_board_note_elsewhere(struct iso_dispatch *dispatch, uint32_t task, uint32_t by);

/* What is sent over the wire for a slot and its generation. */
uint64_t iso_board_task_id(const struct iso_dispatch *dispatch, uint32_t task);

/* At how many CPUs it runs; never 0. */
double iso_board_rate(const struct worker *worker);

/* When its next result is due; UINT64_MAX while nothing is. */
uint64_t iso_board_lease_end(const struct iso_dispatch *dispatch, const struct worker *worker);

#endif
