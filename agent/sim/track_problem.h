/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRACK_PROBLEM_H
#define ISO_SIM_TRACK_PROBLEM_H

#include <stdint.h>

#include "agent/base/error.h"
#include "lib/data/partition.h"
#include "lib/model/smooth.h"

/*
 * What the nodes learn together: samples that are made or read, split among them, and
 * the optimum that one machine with all of them finds.
 */
struct track_problem_options {
	enum iso_smooth_kind kind;
	const char *data;  /* as isobar-data(5) has it; NULL: made from the seed */
	uint32_t samples;  /* of all, at most; 0: all that are read, 40 a node */
	uint32_t features; /* of regression data that are made */
	uint8_t zero, one; /* logistic, svm: the two classes of images */
	double l2, mu, c, noise;
	enum iso_partition_kind partition;
	double dirichlet, overlap;
};

struct track_problem {
	struct iso_smooth smooth;
	uint32_t nodes, params, samples;
	struct iso_samples *parts; /* one a node */
	uint32_t *counts;	   /* samples of each */
	double curvature;	   /* L, the largest */
	double *optimum;	   /* y* */
	double least;		   /* mean of the g_i at y* */
	/* Owns all of them, and the rest. */
	double *x, *targets, *workspace;
	uint32_t *order;
	uint8_t *labels;
};

/* -EINVAL, -ENOMEM and what reading the data gives. */
int track_problem_open(const struct track_problem_options *options, uint32_t nodes, uint64_t seed,
		       struct track_problem *ret_problem, struct error *reterr);

/* Zeroes it; a zeroed one is fine. */
void track_problem_close(struct track_problem *problem);

/* For lib/sim/field.h and lib/track/push.h; context is the problem. */
double track_problem_gradient(void *context, uint32_t node, const double *y, double *ret_gradient);
void track_problem_push_gradient(void *context, uint32_t node, const double *y,
				 double *ret_gradient);
void track_problem_sample_gradient(void *context, uint32_t node, uint32_t sample, const double *y,
				   double *ret_gradient);

/* Mean of the g_i. */
double track_problem_value(struct track_problem *problem, const double *y);

#endif
