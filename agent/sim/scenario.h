/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_SCENARIO_H
#define ISO_SIM_SCENARIO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/allocation.h"
#include "agent/conf/confutil.h"

/*
 * A simulated training run as a text file: who computes how fast, what is
 * minimised, and which methods and allocations are compared.  isobar-sim(1)
 * has the grammar.
 */

#define SCENARIO_NAME_BYTES  64
#define SCENARIO_PATH_BYTES  256
#define SCENARIO_CURVES_MAX  48u
#define SCENARIO_GROUPS_MAX  256u
#define SCENARIO_CHANGES_MAX 256u

enum scenario_law {
	SCENARIO_CONSTANT,
	SCENARIO_EXPONENTIAL,
	SCENARIO_SHIFTED_EXPONENTIAL,
	SCENARIO_UNIFORM,
	SCENARIO_HALF_NORMAL,
	SCENARIO_LOGNORMAL,
	SCENARIO_GAMMA,
	SCENARIO_TRACE,
	SCENARIO_MIXED,
};
enum scenario_growth { SCENARIO_POWER, SCENARIO_GROUPS };
enum scenario_change { SCENARIO_SPEED, SCENARIO_SHARE, SCENARIO_LEAVE, SCENARIO_JOIN };
enum scenario_problem { SCENARIO_NO_PROBLEM, SCENARIO_QUADRATIC, SCENARIO_DATA };
enum scenario_measure {
	SCENARIO_GRADIENT_SQUARE,
	SCENARIO_GAP,
	SCENARIO_LOSS,
	SCENARIO_ACCURACY,
};
enum scenario_partition {
	SCENARIO_IID,
	SCENARIO_DIRICHLET,
	SCENARIO_OVERLAP,
	SCENARIO_SHARED,
};

/* "NAME": one curve of the comparison. */
struct scenario_curve {
	char name[SCENARIO_NAME_BYTES];
	int line;
	struct confutil_lines lines;
	int method;	/* enum iso_method_kind - 1 */
	int allocation; /* 0: none; else enum iso_strategy_kind */
	int64_t batch, delay_max;
	double step, decay;
	bool by_theory;
	int64_t fastest;
	double alpha, alpha_means;
	int64_t prior_rounds;
	struct allocation_options options;
};

/* "FIRST-LAST": workers that are alike. */
struct scenario_group {
	char range[SCENARIO_NAME_BYTES];
	int line;
	struct confutil_lines lines;
	int law; /* enum scenario_law */
	double mean, shift, shape;
	char trace[SCENARIO_PATH_BYTES];
};

/* "NAME": what happens to workers. */
struct scenario_event {
	char name[SCENARIO_NAME_BYTES];
	int line;
	struct confutil_lines lines;
	double at;
	char workers[SCENARIO_NAME_BYTES];
	int what; /* enum scenario_change */
	double value;
};

struct scenario {
	char path[PATH_MAX];
	char title[160];
	int64_t workers, batch, seed;
	double time; /* limits; 0: none */
	int64_t rounds, updates;
	int64_t samples;
	int spacing; /* 0: even, 1: log */

	struct {
		int law, growth;
		double power, scale, shift, shape;
		bool shuffled;
		char trace[SCENARIO_PATH_BYTES];
	} times;
	struct {
		int law;
		double shape;
	} size;
	struct {
		double start, every, least, most;
	} shares;
	struct {
		int kind, measure;
		int64_t dimension;
		double noise;
	} problem;
	struct {
		double smoothness, variance, target, gap; /* target 0: not said */
	} theory;
	struct {
		char source[2 * SCENARIO_PATH_BYTES]; /* as dataset_open() takes it */
		int model, partition;
		int64_t hidden, samples_per_task, partition_seed, measured;
		double l2, dirichlet_alpha, overlap;
	} data;
	struct {
		int x, y;
		bool x_log, y_log;
	} plot;

	unsigned curve_count, group_count, event_count;
	struct scenario_curve curves[SCENARIO_CURVES_MAX];
	struct scenario_group groups[SCENARIO_GROUPS_MAX];
	struct scenario_event events[SCENARIO_CHANGES_MAX];
};

/*
 * name: a path if it has a slash, else a file of that name here or the
 * scenario of that name that is installed.  sets: "key=value", "section.key=value",
 * "curve.NAME.key=value" or "curve.key=value" for all curves; they
 * replace what the file says.  free() it.  -EINVAL with "FILE: line N: ..." or
 * "--set TEXT: ..."; -ENOENT.  *ret_scenario is untouched on failure.
 */
int scenario_load(const char *name, const char *const *sets, size_t set_count,
		  struct scenario **ret_scenario, struct error *reterr);

/* Same, from text. */
int scenario_parse(const char *name, const char *text, const char *const *sets, size_t set_count,
		   struct scenario **ret_scenario, struct error *reterr);

/* The folder of the installed ones; ISOBAR_SCENARIOS in the environment goes before it. */
const char *scenario_folder(void);

/* Two numbers from 1 to workers as in "3-17", or one alone, into places from 0. */
int scenario_range(const char *text, int64_t workers, uint32_t *ret_first, uint32_t *ret_last,
		   struct error *reterr);

/* Every option, for the manual. */
const struct confutil_schema *scenario_schema(void);

#endif
