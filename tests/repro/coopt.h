/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_REPRO_COOPT_H
#define ISO_REPRO_COOPT_H

#include <stdint.h>

#include "lib/model/smooth.h"
#include "lib/sim/field.h"
#include "lib/track/step.h"
#include "tests/repro/repro.h"

/*
 * What the experiments of the co-optimisation paper (arXiv 2510.25176) have in common: its
 * network and its iteration (lib/sim/field.h), with the sums looked at in every round.
 */

/* Random graphs of 20 nodes, as in section 4.8 of our formulas; the complete graph's edges. */
#define COOPT_NODES 20u
#define COOPT_EDGES (COOPT_NODES * (COOPT_NODES - 1) / 2)

struct coopt_net {
	struct iso_graph_edge edges[COOPT_EDGES];
	struct iso_graph graph;
	struct iso_switching switching;
};

/*
 * Each pair of nodes is linked with probability `up`, drawn anew every `dwell` rounds, and
 * the whole is connected at all times.
 */
void coopt_net_draw(struct coopt_net *net, double up, uint32_t dwell, uint64_t seed);

/* Eigenvalues over 100 draws: the least second one and the greatest. */
void coopt_net_facts(const struct coopt_net *net, struct iso_track_facts *ret_facts);

/* A field and the worst that its sums were in any round so far. */
struct coopt_run {
	struct iso_field *field;
	void *memory;
	double share_error; /* relative to the budget */
	double track_error; /* relative to what rounding may do to that sum */
	bool diverged;
};

/* Ends the program if the configuration is out of range. */
void coopt_open(struct coopt_run *run, const struct iso_field_config *config);

/* Ends early where it diverges. */
void coopt_rounds(struct coopt_run *run, uint32_t rounds);

void coopt_close(struct coopt_run *run);

/*
 * Sites for the x of a run that is about y: quadratic costs without boxes, 1.2 times the
 * demands as budget.  Fills in sites, budget, step and log-quantised prices of the config.
 */
void coopt_share(struct iso_field_config *config, struct iso_site *sites, uint64_t seed);

/* What y is learnt from: a part of the data for each node. */
struct coopt_problem {
	struct iso_smooth smooth;
	uint32_t nodes, params;
	double *x, *targets;	   /* owned */
	uint32_t *order;	   /* owned; NULL: parts are as the data lie */
	struct iso_samples *parts; /* owned */
	double *workspace;	   /* owned */
	double *best;		   /* owned: the y that minimises the mean of all g_i, */
	double best_value;	   /* that mean, */
	double first_value;	   /* and it at y = 0 */
	double curvature;	   /* L of the node that has most */
};

/* With smooth, nodes, x, targets, order and parts filled in: the rest. */
void coopt_problem_solve(struct coopt_problem *problem);
void coopt_problem_close(struct coopt_problem *problem);

/* For fields: context is the problem. */
double coopt_gradient(void *problem, uint32_t node, const double *y, double *ret_gradient);

/*
 * A field that learns the problem over such a network; alpha: in units of 1/L.  Both are
 * borrowed.
 */
struct iso_field_config coopt_config(const struct coopt_net *net, struct coopt_problem *problem,
				     double alpha, const struct iso_stream_config *stream);

/* (F(y) - F*) / (F(0) - F*) of any y, and the largest of all nodes'. */
double coopt_gap(const struct coopt_problem *problem, const double *y);
double coopt_worst_gap(const struct coopt_problem *problem, const struct iso_field *field);

/* Consensus: the largest distance of a node's y to the mean, relative to it. */
double coopt_spread(const struct coopt_problem *problem, const struct iso_field *field);

#endif
