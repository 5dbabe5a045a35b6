/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_BOARD_H
#define ISO_SGD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/sgd/pace.h"
#include "lib/sgd/round.h"

/*
 * The inside of a round, shared by round.c (what happens) and board.c (who holds
 * which task, and until when).  Nobody else includes this.
 */

#define NOBODY UINT32_MAX

enum task_state {
	TASK_FREE = 0, /* greedy: slot not in use */
	TASK_QUEUED,   /* exact: nobody has it */
	TASK_ASSIGNED, /* its worker is to be told */
	TASK_LEASED,   /* its worker was told */
	TASK_DONE,
};

struct task {
	enum task_state state;
	uint32_t attempt; /* the latest handed out */
	uint32_t worker;
	bool cancel;      /* done, and its worker does not know */
};

struct worker {
	bool present;
	bool suspect;
	bool has_params;
	bool cancel_all;
	uint32_t threads;
	uint64_t share_ucpu;
	uint32_t assigned;       /* tasks in TASK_ASSIGNED */
	uint32_t leased;         /* tasks in TASK_LEASED */
	uint32_t backoff;        /* leases that ran out in a row */
	uint64_t lease_start_ns; /* meaningful while leased > 0 */
	uint64_t accepted;
	uint64_t round_cpu_ns;   /* of its results in this round */
	uint32_t round_results;
	struct iso_pace pace;
};

struct iso_round {
	struct iso_round_config config;
	struct iso_round_totals totals;
	uint64_t now_ns;
	uint64_t number;
	bool greedy;
	bool complete;
	uint32_t accepted;   /* in this round */
	uint32_t queued;     /* tasks in TASK_QUEUED */
	uint32_t cancels;    /* tasks with cancel set */
	uint32_t next;       /* worker to look at first for orders */
	uint32_t slots;      /* greedy: slots per worker */
	uint32_t tasks_max;
	double loss;         /* sum, then mean */
	struct worker *workers;
	struct task *tasks;
	float *gradient;     /* sum, then mean */
	/* Scratch for what the greedy rule would have burnt. */
	double *scores;
	uint32_t *allocation;
	void *ras;
};

/* At how many CPUs it runs; never 0. */
double iso_board_rate(const struct worker *worker);

/* When its next result is due; UINT64_MAX while nothing is. */
uint64_t iso_board_lease_end(const struct iso_round *round, const struct worker *worker);

/* Moves a task to another state and keeps the counts right. */
void iso_board_set_state(struct iso_round *round, struct task *task, enum task_state state);

/* Somebody is to be told of it, or was. */
bool iso_board_is_held(const struct task *task);

/* Gives a task that nobody holds to a worker, under a new attempt. */
void iso_board_assign(struct iso_round *round, struct task *task, uint32_t worker);

/* Exact modes: tasks that nobody has go to whoever would be done first. */
void iso_board_assign_queued(struct iso_round *round);

/* Greedy mode: as many tasks as keep the worker's threads busy. */
void iso_board_refill(struct iso_round *round, uint32_t worker);

/* All it holds: queued again (exact) or given up (greedy). */
void iso_board_take_back(struct iso_round *round, uint32_t worker);

/* What the greedy rule would have burnt in the round that is complete now. */
uint64_t iso_board_greedy_ns(struct iso_round *round);

#endif
