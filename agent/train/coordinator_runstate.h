/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_RUNSTATE_H
#define ISO_COORDINATOR_RUNSTATE_H

#include "agent/train/coordinator_run.h"
#include "lib/ata/strategy.h"

/* What coordinator_run.c (rounds) and coordinator_save.c (start and checkpoints) share. */

struct slot {
	bool is_present;
	struct iso_train_speed speed;
	uint32_t allocation;
	uint64_t tasks_done;	    /* over all terms */
	uint64_t cpu_ns, cpu_tasks; /* of this term */
};

struct run {
	const struct cconf *conf;
	int lock_fd; /* the state directory, locked */
	struct iso_model model;
	uint32_t params_count, workers_count;
	bool is_greedy;

	uint64_t term, round; /* round: the last one in the parameters */
	uint64_t data_checksum;
	float *params;
	double train_loss;
	bool has_train_loss;

	struct iso_strategy *strategy;
	struct iso_round *rounds;
	void *strategy_memory, *rounds_memory;
	struct iso_round_totals totals_before; /* of earlier terms */
	bool is_round_open;
	uint64_t round_started_ns;
	struct slot *slots;
	uint32_t *tasks;
	struct iso_round_task *ordered; /* ISO_TRAIN_TASKS_MAX */
	uint32_t present_count;
	uint64_t first_join_ns; /* 0: nobody was here yet */

	uint64_t started_ns; /* of this term's training; 0: not yet */
	uint64_t elapsed_before_ns;

	struct evaluation *evaluation;
	uint64_t evaluate_at_ns;

	uint64_t checkpoint_at_ns, checkpoint_round;
};

uint64_t run_elapsed_ns(const struct run *run, uint64_t now_ns);
/* Over all terms. */
struct iso_round_totals run_totals(const struct run *run);

#endif
