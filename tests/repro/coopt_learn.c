/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data/partition.h"
#include "lib/data/toy.h"
#include "tests/repro/coopt.h"
#include "tests/repro/fit.h"

/*
 * SVM and linear regression on 20 nodes whose network is a new random graph every round (co-
 * optimisation, Figures 3 to 5): every node sees 75 % (SVM) or 70 % (regression) of the data,
 * y and z are quantised, and at the same time x is agreed on with log-quantised prices.
 *
 *   SVM         points in and around an ellipse, quadratic map, smooth hinge
 *   regression  four features and an offset
 *
 * Heterogeneous: node i has the i-th slice of the samples in the order of their first
 * coordinate; alike: parts as large of the samples at random.  Each with the best of six alphas.
 */
#define SAMPLES	 200u
#define POINTS	 150u /* of a curve */
#define ROUNDS	 1500u
#define SEEDS	 5u
#define FEATURES 4u

enum kind { SVM, REGRESSION, KINDS };
static const char *const kinds[KINDS] = { "SVM", "regression" };
static const double overlap[KINDS] = { 0.75, 0.70 };

enum { ALPHAS = 6 };
enum split { OVERLAP, ALIKE, SLICES, SPLITS };

struct part {
	uint64_t seed;
	enum kind kind;
	enum split split;
	struct iso_stream_config stream;
	double alpha; /* in units of 1 / L of the worst node */
	uint32_t rounds;
};

struct course {
	double round[POINTS], gap[POINTS], spread[POINTS];
	double curvature;
	double to_gap; /* round of gap 1e-6; infinite: never */
	double share_error, track_error, share_gap;
	bool diverged;
};

static int by_first(const void *a, const void *b)
{
	const double *x = *(const double *const *)a, *y = *(const double *const *)b;

	return (*x > *y) - (*x < *y);
}

/* order[SAMPLES]: rows by their first feature. */
static void sort(const struct coopt_problem *problem, uint32_t *order)
{
	const double *rows[SAMPLES];

	for (uint32_t s = 0; s < SAMPLES; s++)
		rows[s] = problem->x + (size_t)s * problem->smooth.features;
	qsort(rows, SAMPLES, sizeof(rows[0]), by_first);
	for (uint32_t s = 0; s < SAMPLES; s++)
		order[s] = (uint32_t)((size_t)(rows[s] - problem->x) / problem->smooth.features);
}

static void make_data(struct coopt_problem *problem, enum kind kind, uint64_t seed)
{
	double points[SAMPLES * 2], truth[FEATURES + 1];

	problem->smooth =
	    kind == SVM
		? (struct iso_smooth){ .kind = ISO_SMOOTH_SVM, .features = 3, .mu = 4, .c = 0.1 }
		: (struct iso_smooth){ .kind = ISO_SMOOTH_REGRESSION, .features = FEATURES };
	problem->x = calloc(SAMPLES, problem->smooth.features * sizeof(double));
	problem->targets = calloc(SAMPLES, sizeof(double));
	if (problem->x == NULL || problem->targets == NULL)
		repro_die("no memory");
	if (kind == SVM) {
		iso_toy_ellipse(seed, SAMPLES, 0.1, points, problem->targets);
		iso_toy_map(points, SAMPLES, problem->x);
	} else {
		iso_toy_regression(seed, SAMPLES, FEATURES, 0.5, problem->x, problem->targets,
				   truth);
	}
}

static void open_problem(struct coopt_problem *problem, const struct part *part)
{
	const struct iso_partition_config config = {
		.kind = part->split == OVERLAP ? ISO_PARTITION_OVERLAP : ISO_PARTITION_IID,
		.parts = COOPT_NODES,
		.overlap = overlap[part->kind],
		.seed = part->seed,
	};
	uint32_t *scratch = calloc(iso_partition_workspace(&config, SAMPLES) + 1, sizeof(uint32_t));

	*problem = (struct coopt_problem){ .nodes = COOPT_NODES };
	make_data(problem, part->kind, part->seed);
	problem->order = calloc(iso_partition_room(&config, SAMPLES), sizeof(uint32_t));
	problem->parts = calloc(COOPT_NODES, sizeof(*problem->parts));
	if (scratch == NULL || problem->order == NULL || problem->parts == NULL ||
	    iso_partition(&config, NULL, SAMPLES, scratch, problem->order) != ISO_OK)
		repro_die("no partition");
	free(scratch);
	if (part->split == SLICES)
		sort(problem, problem->order);
	for (uint32_t i = 0; i < COOPT_NODES; i++) {
		struct iso_part where = iso_partition_part(&config, SAMPLES, i);

		problem->parts[i] = (struct iso_samples){ .x = problem->x,
							  .targets = problem->targets,
							  .rows = problem->order + where.first,
							  .count = where.count,
							  .weight = 1 };
	}
	coopt_problem_solve(problem);
}

static void follow(const struct coopt_problem *problem, const struct part *part,
		   struct coopt_run *run, struct course *course)
{
	uint32_t done = 0;

	course->to_gap = HUGE_VAL;
	for (uint32_t k = 0; k < POINTS; k++) {
		uint32_t until = (uint32_t)((uint64_t)part->rounds * (k + 1) / POINTS);

		coopt_rounds(run, until - done);
		done = until;
		course->round[k] = done;
		course->gap[k] = coopt_worst_gap(problem, run->field);
		course->spread[k] = coopt_spread(problem, run->field);
		if (course->gap[k] <= 1e-6 && course->to_gap > done)
			course->to_gap = done;
	}
	course->share_error = run->share_error;
	course->track_error = run->track_error;
	course->share_gap = iso_field_share_gap(run->field);
	course->diverged = run->diverged;
}

static void work(const void *data, void *result)
{
	const struct part *part = data;
	struct course *course = result;
	struct iso_site sites[COOPT_NODES];
	struct coopt_problem problem;
	struct coopt_net net;
	struct coopt_run run;

	open_problem(&problem, part);
	coopt_net_draw(&net, 0.3, 1, part->seed);
	struct iso_field_config config =
	    coopt_config(&net, &problem, part->alpha, &part->stream);
	course->curvature = problem.curvature;
	coopt_share(&config, sites, part->seed);
	coopt_open(&run, &config);
	follow(&problem, part, &run, course);
	coopt_close(&run);
	coopt_problem_close(&problem);
}

static const struct iso_stream_config streams[] = {
	{ .mode = ISO_STREAM_NONE },
	{ .mode = ISO_STREAM_INNOVATION, .bits = 4, .rho = 0.5 },
	{ .mode = ISO_STREAM_LOG, .bits = 10, .rho = 0.125 },
};
enum { NONE, INNOVATION, LOG, STREAMS };
static const char *const stream_names[STREAMS] = { "none", "innovation", "log" };

static void check_sums(struct repro *repro, enum kind kind, const struct course *courses,
		       uint32_t count)
{
	double share_error = 0, track_error = 0;

	for (uint32_t k = 0; k < count; k++) {
		share_error = fmax(share_error, courses[k].share_error);
		track_error = fmax(track_error, courses[k].track_error);
	}
	repro_at_most(repro, 1e-9, share_error,
		      "%s: |sum of x - b| / b, any round of any run (at most)", kinds[kind]);
	repro_at_most(repro, 1, track_error,
		      "%s: |sum of z - sum of gradients|, rounding is 1 (at most)", kinds[kind]);
}

static void check_streams(struct repro *repro, enum kind kind, const struct course *courses)
{
	for (int stream = NONE; stream <= INNOVATION; stream++) {
		repro_at_most(repro, 1e-9, courses[stream].gap[POINTS - 1],
			      "%s, %s: gap of the worst node at the end (at most)", kinds[kind],
			      stream_names[stream]);
		repro_at_most(repro, 1e-6, courses[stream].spread[POINTS - 1],
			      "%s, %s: distance from consensus at the end (at most)", kinds[kind],
			      stream_names[stream]);
	}
	repro_at_most(repro, 0.01, courses[LOG].gap[POINTS - 1],
		      "%s, log: gap of the worst node at the end (at most)", kinds[kind]);
	/* Values in one bin look equal: as far as a bin is wide. */
	repro_at_most(repro, exp(0.125) - 1, courses[LOG].spread[POINTS - 1],
		      "%s, log: distance from consensus at the end (at most)", kinds[kind]);
	repro_note(repro, "%s: cost of the shares meanwhile %.2g above the optimum", kinds[kind],
		   courses[LOG].share_gap);
}

static void draw(struct repro *repro, enum kind kind, const struct course *streamed,
		 const struct course *alike, const struct course *slices)
{
	const struct course *const shown[] = { &streamed[NONE], &streamed[INNOVATION],
					       &streamed[LOG], alike, slices };
	static const char *const titles[] = { "overlap, none", "overlap, innovation",
					      "overlap, log", "alike", "slices" };
	struct chart_curve curves[2][5];

	for (int k = 0; k < 5; k++) {
		curves[0][k] = (struct chart_curve){ titles[k], shown[k]->round, shown[k]->gap,
						     POINTS, CHART_LINES };
		curves[1][k] = (struct chart_curve){ titles[k], shown[k]->round, shown[k]->spread,
						     POINTS, CHART_LINES };
	}
	const struct chart charts[] = {
		{ "gap of the worst node", "round", "gap", false, true, curves[0], 5 },
		{ "consensus", "round", "distance from the mean", false, true, curves[1], 5 },
	};
	repro_draw(repro, kinds[kind], "20 nodes, a random graph every round", charts, 2, 2);
}

/* The part with the k-th of the alphas, for one seed and split. */
static struct part attempt(enum kind kind, uint64_t seed, enum split split, uint32_t k)
{
	return (struct part){
		.seed = seed,
		.kind = kind,
		.split = split,
		.stream = streams[INNOVATION],
		.alpha = 0.5 * (1u << k),
		.rounds = ROUNDS,
	};
}

static const struct course *fastest(const struct course *courses)
{
	const struct course *best = courses;

	for (uint32_t k = 1; k < ALPHAS; k++)
		if (courses[k].to_gap < best->to_gap)
			best = &courses[k];
	return best;
}

/* Each with the alpha that is best for it; those that diverge are slow. */
static void check_heterogeneity(struct repro *repro, enum kind kind, const struct course *courses,
				uint32_t seeds)
{
	double ratios[SEEDS];

	for (uint32_t s = 0; s < seeds; s++) {
		const struct course *alike = fastest(courses + 2 * s * ALPHAS);
		const struct course *slices = fastest(courses + (2 * s + 1) * ALPHAS);

		ratios[s] = slices->to_gap / alike->to_gap;
		repro_note(repro, "%s: gap of 1e-6 in %g rounds alike, %g in slices; L %.3g, %.3g",
			   kinds[kind], alike->to_gap, slices->to_gap, alike->curvature,
			   slices->curvature);
	}
	repro_at_least(repro, 1.0001, fit_quantile(ratios, seeds, 0.5),
		       "%s: rounds to a gap of 1e-6 in slices, alike is 1 (at least)", kinds[kind]);
}

static void check_kind(struct repro *repro, enum kind kind)
{
	static struct part parts[STREAMS + 2 * SEEDS * ALPHAS];
	static struct course courses[STREAMS + 2 * SEEDS * ALPHAS];
	uint32_t seeds = repro_full(repro) ? SEEDS : 1, count = STREAMS;

	for (uint32_t k = 0; k < STREAMS; k++)
		parts[k] = (struct part){ .seed = repro_seed(repro),
					  .kind = kind,
					  .split = OVERLAP,
					  .stream = streams[k],
					  .alpha = 0.5,
					  .rounds = ROUNDS };
	for (uint32_t s = 0; s < seeds; s++)
		for (int split = ALIKE; split <= SLICES; split++)
			for (uint32_t k = 0; k < ALPHAS; k++)
				parts[count++] =
				    attempt(kind, repro_seed(repro) + s, (enum split)split, k);
	repro_each(repro, work, parts, sizeof(parts[0]), count, courses, sizeof(courses[0]));
	for (uint32_t k = 0; k < STREAMS; k++)
		if (courses[k].diverged)
			repro_die("%s with %s has diverged", kinds[kind], stream_names[k]);
	check_streams(repro, kind, courses);
	check_sums(repro, kind, courses, count);
	check_heterogeneity(repro, kind, courses + STREAMS, seeds);
	if (repro_full(repro))
		draw(repro, kind, courses, fastest(courses + STREAMS),
		     fastest(courses + STREAMS + ALPHAS));
}

static void run(struct repro *repro)
{
	check_kind(repro, SVM);
	check_kind(repro, REGRESSION);
}

const struct repro_experiment repro_experiment = {
	.name = "coopt_learn",
	.about = "co-optimisation, Figures 3 to 5: SVM and regression on 20 nodes",
	.run = run,
};
