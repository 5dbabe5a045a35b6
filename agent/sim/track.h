/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRACK_H
#define ISO_SIM_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/base/error.h"
#include "agent/sim/network.h"
#include "agent/sim/track_problem.h"
#include "lib/graph/switching.h"
#include "lib/graph/weights.h"
#include "lib/quant/stream.h"
#include "lib/sim/field.h"
#include "lib/track/adapt.h"
#include "lib/track/push.h"

/*
 * isobar-sim track: models that nodes agree on without a coordinator, and shares with them.
 * Either methods are compared on one problem, or one method at many sizes.
 */

/* Gradient tracking with each way to send, then the push-sum methods. */
#define TRACK_STREAMS 5
#define TRACK_METHODS (TRACK_STREAMS + ISO_PUSH_METHODS)

enum track_format { TRACK_TEXT, TRACK_CSV, TRACK_JSON };

enum track_alpha { TRACK_ALPHA_UNSAID, TRACK_ALPHA_ADAPTIVE, TRACK_ALPHA_SAFE, TRACK_ALPHA_FIXED };

struct track_options {
	struct track_problem_options problem;
	bool graphs[NETWORK_KINDS];	/* one, but with scale */
	struct network_options network; /* the last one that was named */
	uint32_t sizes[NETWORK_SIZES_MAX];
	unsigned size_count;
	enum iso_weights_kind weights;
	bool switches;
	struct iso_switching switching;
	bool methods[TRACK_METHODS];
	unsigned bits, coarser;
	double rho, uniform;
	enum track_alpha alpha_kind;
	double alpha, step, push_step;
	double goal;
	uint64_t rounds;
	uint64_t every; /* rounds between two points of a curve */
	uint64_t seed;
	enum track_format format;
	const char *plot; /* NULL: none */
	bool plot_bits;	  /* against bits, not rounds */
	bool scale, timing;
};

/* false: said on standard error what is wrong with them.  argv[0] is changed. */
bool track_options_read(int argc, char **argv, struct track_options *ret);

/* Of one method, after so many rounds: gradients of all samples, for those that take single ones.
 */
struct track_point {
	uint64_t round;
	double gap;    /* of the mean of all models, as a part of that at the start */
	double spread; /* largest distance to the mean, relative to its norm */
	double bits;   /* sent by a node, mean */
};

struct track_run {
	int method;
	struct track_point *points; /* owns; the first is the start */
	size_t point_count;
	bool reached, diverged;
	struct track_point goal; /* where the gap was reached, for good */
	struct track_point end;
	double bits_per_number; /* sent bits by numbers they are for */
	double share_gap;	/* NAN: no shares */
	uint64_t digest;
	double seconds; /* of CPU, evaluation included */
};

const char *track_method_name(int method);
const char *track_graph_name(const struct track_options *options);

/* What all runs share. */
struct track_world {
	const struct track_options *options;
	struct network network;
	double *weights;	    /* one an edge */
	double lambda2, lambda_max; /* the least and the largest over what was drawn */
	bool lambda2_known;
	struct iso_site *sites;
	int64_t budget_ucpu;
	struct track_problem problem;
	double *start;	  /* y(0) of all nodes */
	double start_gap; /* of their mean */
};

int track_world_open(const struct track_options *options, struct track_world *ret_world,
		     struct error *reterr);
void track_world_close(struct track_world *world);

/* The configuration of a field in this world with this way to send; borrows from both. */
struct iso_field_config track_world_field(struct track_world *world, enum iso_stream_mode mode);

/*
 * Its alpha, and its step where both are derived, as the options have it; ret_adapt is set if
 * it adapts.  -EINVAL: no safe one is known.
 */
int track_world_alpha(const struct track_world *world, struct iso_field_config *config,
		      struct iso_track_adapt *ret_adapt, struct error *reterr);

/* After a round, where it adapts: the alpha of the next one. */
void track_world_adapt(const struct track_world *world, struct iso_field *field,
		       struct iso_track_adapt *adapt);

/*
 * One method in this world.  -ENOTRECOVERABLE: a sum was broken, which is a bug.
 * What diverges is no error.
 */
int track_run(struct track_world *world, int method, struct track_run *ret_run,
	      struct error *reterr);

/* Prints the head, one run as it ends, and the end. */
void track_print_head(FILE *out, const struct track_world *world);
void track_print_run(FILE *out, const struct track_world *world, const struct track_run *run,
		     bool is_first);
void track_print_end(FILE *out, const struct track_options *options);

/* The gap against rounds or bits, as an SVG drawn by gnuplot. */
int track_plot(const struct track_options *options, const struct track_run *runs, size_t count,
	       struct error *reterr);

/* Rounds to the goal against nodes, printed as they end; returns as track_run(). */
int track_scale(const struct track_options *options, FILE *out, struct error *reterr);

#endif
