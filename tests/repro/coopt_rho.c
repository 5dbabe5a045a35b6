/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data/toy.h"
#include "tests/repro/coopt.h"

/*
 * What rho does (co-optimisation, section 4; hints name 1/32, 1/8 and 1/4): linear regression
 * on 20 nodes whose network is a new random graph every round.  "Exact convergence" of
 * the log quantiser is the paper's claim.  Residual: the largest spread of the last fifth.
 */
#define SAMPLES	 200u
#define FEATURES 4u
#define POINTS	 100u
#define ROUNDS	 1500u

enum { RHOS = 4, RUNS = 2 * RHOS + 1 };
static const double rhos[RHOS] = { 1.0 / 32, 1.0 / 8, 1.0 / 4, 1.0 / 2 };
static const char *const names[RUNS] = { "log, 1/32",	    "log, 1/8",		"log, 1/4",
					 "log, 1/2",	    "innovation, 1/32", "innovation, 1/8",
					 "innovation, 1/4", "innovation, 1/2",	"uniform, 1/8" };

struct part {
	uint64_t seed;
	struct iso_stream_config stream;
};

struct course {
	double round[POINTS], gap[POINTS], spread[POINTS];
	double residual, bits;
	bool diverged;
};

static void open_problem(struct coopt_problem *problem, uint64_t seed)
{
	double truth[FEATURES + 1];

	*problem = (struct coopt_problem){
		.smooth = { .kind = ISO_SMOOTH_REGRESSION, .features = FEATURES },
		.nodes = COOPT_NODES,
		.x = calloc((size_t)SAMPLES * FEATURES, sizeof(double)),
		.targets = calloc(SAMPLES, sizeof(double)),
		.parts = calloc(COOPT_NODES, sizeof(*problem->parts)),
	};
	if (problem->x == NULL || problem->targets == NULL || problem->parts == NULL)
		repro_die("no memory");
	iso_toy_regression(seed, SAMPLES, FEATURES, 0.5, problem->x, problem->targets, truth);
	for (uint32_t i = 0; i < COOPT_NODES; i++)
		problem->parts[i] = (struct iso_samples){
			.x = problem->x + (size_t)i * (SAMPLES / COOPT_NODES) * FEATURES,
			.targets = problem->targets + (size_t)i * (SAMPLES / COOPT_NODES),
			.count = SAMPLES / COOPT_NODES,
			.weight = 1,
		};
	coopt_problem_solve(problem);
}

static void work(const void *data, void *result)
{
	const struct part *part = data;
	struct course *course = result;
	struct coopt_problem problem;
	struct iso_field_counts counts;
	struct coopt_net net;
	struct coopt_run run;

	open_problem(&problem, part->seed);
	coopt_net_draw(&net, 0.3, 1, part->seed);
	struct iso_field_config config = coopt_config(&net, &problem, 0.5, &part->stream);
	coopt_open(&run, &config);
	for (uint32_t k = 0; k < POINTS; k++) {
		coopt_rounds(&run, ROUNDS / POINTS);
		course->round[k] = (k + 1) * (double)(ROUNDS / POINTS);
		course->gap[k] = coopt_worst_gap(&problem, run.field);
		course->spread[k] = coopt_spread(&problem, run.field);
		if (k >= POINTS / 5 * 4)
			course->residual = fmax(course->residual, course->spread[k]);
	}
	iso_field_counts(run.field, &counts);
	course->bits = (double)(counts.bits - counts.catch_up_bits) /
		       (2.0 * problem.params * (double)counts.messages);
	course->diverged = run.diverged;
	coopt_close(&run);
	coopt_problem_close(&problem);
}

static void check(struct repro *repro, const struct course *courses)
{
	for (int k = 0; k < RHOS; k++) {
		repro_at_most(repro, exp(rhos[k]) - 1, courses[k].residual,
			      "%s: distance from consensus that stays (at most)", names[k]);
		repro_at_most(repro, 1e-9, courses[RHOS + k].residual,
			      "%s: distance from consensus that stays (at most)", names[RHOS + k]);
	}
	repro_at_least(repro, 4, courses[RHOS - 1].residual / courses[0].residual,
		       "log: what stays with rho = 1/2, with 1/32 it is 1 (at least)");
	repro_at_least(repro, 1e-3, courses[RUNS - 1].residual,
		       "%s: it stalls, distance from consensus that stays (at least)",
		       names[RUNS - 1]);
	if (repro_full(repro)) {
		repro_known_unmet(repro);
		repro_at_most(repro, 1e-9, courses[0].residual,
			      "%s: exact convergence, as is claimed (at most)", names[0]);
	}
	for (int k = 0; k < RUNS; k++)
		repro_note(repro, "%s: gap %.2g, stays %.2g apart, %.3g bits a component and head",
			   names[k], courses[k].gap[POINTS - 1], courses[k].residual,
			   courses[k].bits);
}

static void run(struct repro *repro)
{
	static struct course courses[RUNS];
	struct chart_curve curves[RUNS];
	struct part parts[RUNS];

	for (int k = 0; k < RUNS; k++) {
		enum iso_stream_mode mode = k < RHOS ? ISO_STREAM_LOG : ISO_STREAM_INNOVATION;

		parts[k] = (struct part){
			.seed = repro_seed(repro),
			.stream = { .mode = mode, .bits = k < RHOS ? 10 : 6, .rho = rhos[k % RHOS] }
		};
	}
	parts[RUNS - 1].stream =
	    (struct iso_stream_config){ .mode = ISO_STREAM_UNIFORM, .bits = 10, .step = 0.125 };
	repro_each(repro, work, parts, sizeof(parts[0]), RUNS, courses, sizeof(courses[0]));
	for (int k = 0; k < RUNS; k++) {
		if (courses[k].diverged)
			repro_die("%s has diverged", names[k]);
		curves[k] = (struct chart_curve){ names[k], courses[k].round, courses[k].spread,
						  POINTS, CHART_LINES };
	}
	check(repro, courses);
	const struct chart chart = { "consensus", "round", "distance from the mean", false, true,
				     curves,	  RUNS };

	if (repro_full(repro))
		repro_draw(repro, NULL, "what rho does, linear regression, 20 nodes", &chart, 1, 1);
}

const struct repro_experiment repro_experiment = {
	.name = "coopt_rho",
	.about = "co-optimisation: rho from 1/32 to 1/2, and a uniform quantiser",
	.run = run,
};
