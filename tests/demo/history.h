/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_HISTORY_H
#define ISO_DEMO_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What was seen in a run: one sample each half second.  Unknown is NAN, in
 * CPUs where nothing else is said.
 */
#define HISTORY_NODES_MAX 16

struct node_sample {
	double share, on_cpu, demand, marginal_cost;
	double quota;	/* in the kernel: quota ÷ period */
	double quota_s; /* CPU time that the quota has allowed so far, by the observer */
	double used_s;	/* CPU time of its job so far, by the kernel's account */
	int64_t quota_us, period_us; /* as read; 0: not read */
	int64_t tasks;		     /* done so far; -1: unknown */
	int64_t restarts;	     /* of its worker; -1: unknown */
	char state[16];		     /* as the node calls it */
};

struct sample {
	double at_s; /* since the first phase began */
	struct node_sample nodes[HISTORY_NODES_MAX];
	bool ledger_known; /* the ledgers gave a consistent picture */
	uint64_t shares_ucpu, in_flight_ucpu;
	bool training; /* the first round has begun */
	int64_t round; /* steps of x; -1: unknown */
	double accuracy;
	double worker_cpu_s, greedy_cpu_s;
};

/* A part of the run: before the co-tenant came, while it was there, after it left. */
struct phase {
	const char *name;
	double from_s, to_s;
};

struct history {
	unsigned nodes;
	struct phase phases[3];
	struct sample *samples;
	size_t count, room;
};

/* Which number of a node. */
enum series { SERIES_SHARE = 1, SERIES_QUOTA, SERIES_ON_CPU, SERIES_DEMAND };

double node_sample_value(const struct node_sample *sample, enum series series);

/* Copies the sample; -ENOMEM. */
int history_add(struct history *history, const struct sample *sample);
void history_free(struct history *history);

/*
 * Mean over the last half of a phase, when what changed at its beginning has
 * settled; NAN when nothing is known.
 */
double history_settled(const struct history *history, const struct phase *phase, unsigned node,
		       enum series series);

/*
 * CPU time that a job used, and that its share allowed it, in a part of the
 * run.  The share is known at the samples only, but the observer sees every
 * change of the quota; and the quota is the share, but for what an agent takes
 * off to pay back.  So what the share allowed is what the quota did, and the
 * trapezoid of that difference; without an observer the share's trapezoid.
 */
struct spent {
	double used_s, allowed_s;
};

/* Between two samples; over all nodes with node == nodes. */
struct spent history_spent(const struct history *history, size_t from, size_t to, unsigned node);

/*
 * The worst used ÷ allowed over all windows of this length and all nodes; NAN
 * if the run was shorter.  *ret_node: who.
 */
double history_worst_window(const struct history *history, double window_s, unsigned *ret_node);

/* The newest known accuracy; NAN: none. */
double history_accuracy(const struct history *history);

#endif
