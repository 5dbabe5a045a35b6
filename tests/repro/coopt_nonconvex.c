/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data/toy.h"
#include "lib/rng.h"
#include "tests/repro/coopt.h"

/*
 * Costs that are not convex by themselves (co-optimisation, Figure 6; its equation (58) is not
 * known to us, this is the example of the authors' other papers):
 *
 *     g_i(y) = s y^2 + 3 sin^2 y + a_i cos y + b_i y,    sum a_i = sum b_i = 0
 *
 * With s = 4 the mean has a second derivative of 8 + 6 cos 2y >= 2, as the method
 * assumes.  With s = 2, as it was printed, it is 4 + 6 cos 2y, negative near pi/2: nothing is
 * promised, and what happens is shown: 0 is still the one stationary point of the mean.  Nodes
 * start far apart, in [-5, 5).
 */
#define ROUNDS 3000u
#define POINTS 150u
#define SEEDS  10u
#define SIZE   20.0 /* of a and b; a cost with a^2 above 96 is not convex */

struct part {
	uint64_t seed;
	double square; /* s */
	struct iso_stream_config stream;
};

struct course {
	double round[POINTS], worst[POINTS]; /* largest |y_i - y*|, y* = 0 */
	double mean, spread, gradient, least_curvature;
	double share_error, track_error;
	bool diverged;
};

struct waves {
	double ab[COOPT_NODES][2], square;
};

static double gradient(void *context, uint32_t node, const double *y, double *ret_gradient)
{
	const struct waves *waves = context;
	double a = waves->ab[node][0], b = waves->ab[node][1], s = waves->square, at = *y;

	*ret_gradient = 2 * s * at + 3 * sin(2 * at) - a * sin(at) + b;
	return s * at * at + 3 * sin(at) * sin(at) + a * cos(at) + b * at;
}

/* The smallest second derivative of any node's cost. */
static double least_curvature(const struct waves *waves)
{
	double least = HUGE_VAL;

	for (uint32_t i = 0; i < COOPT_NODES; i++)
		for (double y = -4; y < 4; y += 0.01)
			least = fmin(least,
				     2 * waves->square + 6 * cos(2 * y) - waves->ab[i][0] * cos(y));
	return least;
}

static double largest(const struct iso_field *field)
{
	double worst = 0;

	for (uint32_t i = 0; i < COOPT_NODES; i++)
		worst = fmax(worst, fabs(*iso_field_y(field, i)));
	return worst;
}

static void finish(struct waves *waves, const struct coopt_run *run, struct course *course)
{
	double sum = 0, own;

	iso_field_mean(run->field, &course->mean);
	course->spread = iso_field_spread(run->field, &course->mean);
	for (uint32_t i = 0; i < COOPT_NODES; i++) {
		(void)gradient(waves, i, &course->mean, &own);
		sum += own / COOPT_NODES;
	}
	course->gradient = fabs(sum);
	course->share_error = run->share_error;
	course->track_error = run->track_error;
	course->diverged = run->diverged;
}

static void work(const void *data, void *result)
{
	const struct part *part = data;
	struct course *course = result;
	struct waves waves = { .square = part->square };
	struct iso_rng rng = { part->seed };
	struct iso_site sites[COOPT_NODES];
	double start[COOPT_NODES];
	struct coopt_net net;
	struct coopt_run run;

	iso_toy_waves(part->seed, COOPT_NODES, SIZE, &waves.ab[0][0]);
	for (uint32_t i = 0; i < COOPT_NODES; i++)
		start[i] = 10 * iso_rng_unit(&rng) - 5;
	coopt_net_draw(&net, 0.3, 1, part->seed);
	struct iso_field_config config = {
		.graph = &net.graph,
		.weights = ISO_WEIGHTS_METROPOLIS,
		.switching = &net.switching,
		.params = 1,
		.start = start,
		.gradient = gradient,
		.context = &waves,
		.step = 0.5,
		.alpha = 0.01,
		.vector = part->stream,
	};
	course->least_curvature = least_curvature(&waves);
	config.vector.n = 1;
	coopt_share(&config, sites, part->seed);
	coopt_open(&run, &config);
	for (uint32_t k = 0; k < POINTS; k++) {
		coopt_rounds(&run, ROUNDS / POINTS);
		course->round[k] = (k + 1) * (double)(ROUNDS / POINTS);
		course->worst[k] = largest(run.field);
	}
	finish(&waves, &run, course);
	coopt_close(&run);
}

static const struct iso_stream_config streams[] = {
	{ .mode = ISO_STREAM_NONE },
	{ .mode = ISO_STREAM_INNOVATION, .bits = 4, .rho = 0.5 },
	{ .mode = ISO_STREAM_LOG, .bits = 10, .rho = 0.125 },
};
enum { STREAMS = 3 };
static const char *const names[STREAMS] = { "none", "innovation", "log" };

static void check_convex(struct repro *repro, const struct course *courses, uint32_t seeds)
{
	double least = HUGE_VAL, share_error = 0, track_error = 0;

	for (int stream = 0; stream < STREAMS; stream++) {
		double worst = 0;

		for (uint32_t s = 0; s < seeds; s++) {
			const struct course *course = &courses[stream * (int)seeds + (int)s];

			worst = fmax(worst, course->worst[POINTS - 1]);
			least = fmin(least, course->least_curvature);
			share_error = fmax(share_error, course->share_error);
			track_error = fmax(track_error, course->track_error);
			if (course->diverged)
				repro_die("%s has diverged", names[stream]);
		}
		repro_at_most(repro, 1e-9, worst,
			      "4y^2, %s: largest distance to the optimum (at most)", names[stream]);
	}
	repro_at_most(repro, -1, least, "4y^2: least second derivative of a node's cost (at most)");
	repro_at_most(repro, 1e-9, share_error, "|sum of x - b| / b, any round (at most)");
	repro_at_most(repro, 1, track_error,
		      "|sum of z - sum of gradients|, rounding is 1 (at most)");
}

/* Stationary points of the mean are 0 and, where it is not convex, others perhaps. */
static void show_other(struct repro *repro, const struct course *courses, uint32_t seeds)
{
	double gradients = 0, spread = 0, farthest = 0;

	for (uint32_t s = 0; s < seeds; s++) {
		gradients = fmax(gradients, courses[s].gradient);
		spread = fmax(spread, courses[s].spread);
		farthest = fmax(farthest, courses[s].worst[POINTS - 1]);
	}
	repro_note(repro,
		   "2y^2, not as assumed: gradient of the mean %.2g, spread %.2g, farthest "
		   "from the global optimum %.3g",
		   gradients, spread, farthest);
}

static void run(struct repro *repro)
{
	static struct part parts[(STREAMS + 1) * SEEDS];
	static struct course courses[(STREAMS + 1) * SEEDS];
	uint32_t seeds = repro_full(repro) ? SEEDS : 2, count = 0;

	for (int stream = 0; stream <= STREAMS; stream++)
		for (uint32_t s = 0; s < seeds; s++)
			parts[count++] = (struct part){ .seed = repro_seed(repro) + s,
							.square = stream < STREAMS ? 4 : 2,
							.stream = streams[stream % STREAMS] };
	repro_each(repro, work, parts, sizeof(parts[0]), count, courses, sizeof(courses[0]));
	check_convex(repro, courses, seeds);
	show_other(repro, courses + (size_t)STREAMS * seeds, seeds);
	if (!repro_full(repro))
		return;
	struct chart_curve curves[STREAMS + 1];

	for (int k = 0; k <= STREAMS; k++)
		curves[k] =
		    (struct chart_curve){ k < STREAMS ? names[k] : "2y^2, none",
					  courses[(size_t)k * seeds].round,
					  courses[(size_t)k * seeds].worst, POINTS, CHART_LINES };
	const struct chart chart = {
		"distance of the worst node", "round", "|y - y*|", false, true, curves, STREAMS + 1
	};

	repro_draw(repro, NULL, "costs that are not convex by themselves", &chart, 1, 1);
}

const struct repro_experiment repro_experiment = {
	.name = "coopt_nonconvex",
	.about = "co-optimisation, Figure 6: costs that are not convex by themselves",
	.run = run,
};
