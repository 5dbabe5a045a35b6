/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_RUNSTATE_H
#define ISO_COORDINATOR_RUNSTATE_H

#include "agent/train/coordinator_run.h"
#include "lib/ata/strategy.h"
#include "lib/sgd/fastest.h"
#include "lib/sgd/theory.h"

/*
 * What the parts of a run share: coordinator_run.c (events), coordinator_members.c (who takes
 * part), coordinator_plan.c (what is fixed), coordinator_open.c (start), coordinator_save.c
 * (checkpoints) and coordinator_view.c.
 */

struct slot {
	bool is_here;	  /* connected */
	bool is_joined;	  /* the method counts on it */
	bool is_given_up; /* it delivers nothing */
	bool is_admitted; /* naive-optimal: one of the fastest */
	uint64_t retry_at_ns;
	struct iso_train_speed speed;
	uint32_t allocation;
	struct checkpoint_ledger ledger; /* over all terms */
	/* Of this term. */
	uint64_t cpu_ns, timed_tasks;
};

struct run {
	const struct cconf *conf;
	int lock_fd; /* the state directory, locked */
	struct run_plan plan;
	struct run_model model;
	struct iso_model built_in; /* unless it is a user's */
	uint32_t params_count, workers_count;
	uint64_t term;
	uint64_t data_checksum;
	float *params; /* for evaluations */

	struct iso_strategy *strategy;
	struct iso_method *method;
	struct iso_dispatch *dispatch;
	void *strategy_memory, *method_memory, *dispatch_memory;

	/* Of what has come before the method's and the dispatcher's own counts. */
	struct iso_method_totals tasks_before;
	struct iso_dispatch_totals results_before;
	uint64_t ignored_cpu_ns, greedy_cpu_ns; /* over all terms */

	uint64_t allocations; /* rounds begun, over all terms */
	uint64_t rounds_seen; /* of the method, when train_loss was taken */
	uint64_t round_started_ns;
	double loss_sum;
	uint32_t loss_count; /* results since the last step of a batch */
	double train_loss;
	bool has_train_loss;

	struct slot *slots;
	uint32_t *tasks;
	struct iso_fastest fastest; /* naive-optimal */
	double *rates;		    /* ... of the workers: scratch */
	struct iso_dispatch_task *ordered; /* ISO_TRAIN_TASKS_MAX */
	uint64_t leases_expired_seen;
	uint32_t not_finite_in_row, not_finite_first; /* whose the first of them was */
	uint32_t here_count, joined_count, given_up_count;
	uint64_t first_join_ns; /* 0: nobody was here yet */

	uint64_t started_ns; /* of this term's training; 0: not yet */
	uint64_t elapsed_before_ns;

	struct evaluation *evaluation;
	uint64_t evaluate_at_ns;

	uint64_t checkpoint_at_ns, checkpoint_steps;
};

/* What the configuration, theory and the number of workers make of it. */
int run_plan_make(const struct cconf *conf, struct run_plan *ret_plan, struct error *reterr);
/* The plan's theory. */
void run_theory_text(const struct cconf *conf, const struct run_plan *plan,
		     const struct iso_theory_choice *choice, char text[RUN_THEORY_BYTES]);
/* The model for data like these, and whoever evaluates it. */
int run_open_model(struct run *run, const struct dataset *test, struct error *reterr);
/* What the allocation is to do, option by option. */
struct iso_strategy_config run_strategy_config(const struct cconf *conf,
					       const struct run_plan *plan);
/* In place of the one before, if there is one. */
int run_open_strategy(struct run *run, struct error *reterr);
/* step and decay as they are after `steps` steps, which the method does not know of. */
int run_open_method(struct run *run, uint64_t steps, struct error *reterr);
/* Of what the times of tasks are of: with another one, what was learnt is of no use. */
uint64_t run_times_checksum(const struct run *run);
#define RUN_TIMES_BYTES 8u /* of it, in a checkpoint behind the strategy's own state */
/* Whether it can be read, where it must be there. */
int run_check_profile(const struct cconf *conf, struct error *reterr);
/* Warm start, and the means of ofta. */
int run_read_profile(struct run *run, bool is_resumed, struct error *reterr);
int run_open_dispatch(struct run *run, uint64_t serial, struct error *reterr);

int run_open_fastest(struct run *run, struct error *reterr);

/* The workers that have gathered, when training starts. */
void run_take_in_all(struct run *run, uint64_t now_ns);
/* naive-optimal: who is to compute, by what is known now. */
void run_admit(struct run *run, uint64_t now_ns);
/* Who delivers nothing is left out, and is tried again in time. */
void run_look_after_workers(struct run *run, uint64_t now_ns);

uint64_t run_steps(const struct run *run);
uint64_t run_elapsed_ns(const struct run *run, uint64_t now_ns);
/* Over all terms. */
void run_add_task_totals(struct iso_method_totals *totals, const struct iso_method_totals *more);
struct iso_method_totals run_task_totals(const struct run *run);
struct iso_dispatch_totals run_result_totals(const struct run *run);

#endif
