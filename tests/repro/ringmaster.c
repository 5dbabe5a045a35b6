/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>

#include "tests/repro/fit.h"
#include "tests/repro/simulate.h"

/*
 * The figure of Ringmaster ASGD (ICML 2025): 6174 workers on the quadratic of
 * dimension 1729.  The figure's axis says f - f*, but its start, 5.5e2, is
 * ||grad f(x^0)||^2, so that is what is compared, at the times where values can be
 * read off the poster and the slides.  Steps, R and batch are those the authors chose.
 *
 * The script that made the figure is not known: the poster says i + |N(0, i)| seconds, the
 * script that is left has about sqrt(i) in the place of i, and neither gives the curves exactly.
 * So there are two references: the figure, to an order of magnitude, and another simulation
 * with i + |N(0, i)|, to a factor of 2 and, near the noise that all methods end in, 3.
 * Delay-adaptive ASGD is the one that uses all workers, and where the figure has it the times
 * decide: it lies between what the two laws give.
 */
enum { CURVES = 5, TIMES = 5, SEEDS = 5 };
enum curve { STOPS, NO_STOPS, RENNALA, ADAPTIVE, ADAPTIVE_SQRT };
static const char *const curves[CURVES] = { "ringmaster-stops", "ringmaster", "rennala",
					    "delay-adaptive", "delay-adaptive" };
static const char *const names[CURVES] = { "Ringmaster", "Ringmaster without stops", "Rennala",
					   "delay-adaptive", "delay-adaptive, square-root times" };
static const double times[TIMES] = { 200, 400, 1000, 2000, 3000 };

/* 0: not known. */
static const double poster[CURVES][TIMES] = {
	{ 1e-2, 1.3e-3, 1.1e-4, 2e-5, 1.2e-5 },
	{ 0 },
	{ 4e-2, 5e-3, 3.2e-4, 5e-5, 2e-5 },
	{ 9e1, 1.5e1, 2.5, 2e-2, 1.5e-3 },
};
static const double again[CURVES][TIMES] = {
	{ 2.4e-3, 3.2e-4, 3.3e-5, 8e-6, 4e-6 },
	{ 0 },
	{ 6e-3, 7e-4, 9e-5, 1.8e-5, 9e-6 },
	{ 0, 0, 34, 0, 0 },
};
static const double updates[TIMES] = { 237, 478, 1193, 2373, 3568 };

struct results {
	struct simulated of[SEEDS][CURVES]; /* the short form has two seeds */
	double measure[CURVES][TIMES];	    /* medians over the seeds, and over samples nearby */
};

/*
 * ||grad f||^2 jumps from update to update once it has come down to the noise; what a figure
 * shows is the level, which is the median around the time.
 */
static double level(const struct results *results, int curve, double time_s)
{
	double values[SEEDS * SIMULATED_SAMPLES];
	size_t count = 0;

	for (int r = 0; r < SEEDS; r++) {
		const struct simulated *run = &results->of[r][curve];

		for (uint32_t i = 0; i < run->count; i++) {
			double at = run->samples[i].totals.time_s;

			if (at >= time_s * 0.95 && at <= time_s * 1.05)
				values[count++] = run->samples[i].measure;
		}
	}
	if (count == 0)
		repro_die("no sample at %g s", time_s);
	return fit_quantile(values, count, 0.5);
}

static void check_values(struct repro *repro, const struct results *results)
{
	for (int c = 0; c < CURVES; c++)
		for (int t = 0; t < TIMES; t++) {
			double ours = results->measure[c][t];

			if (poster[c][t] > 0 && c != ADAPTIVE)
				repro_row(repro, poster[c][t], ours, 9,
					  "%s at %.0f s: ||grad f||^2, of the figure", names[c],
					  times[t]);
			if (again[c][t] > 0)
				repro_row(repro, again[c][t], ours, t < 3 ? 1 : 2,
					  "%s at %.0f s: ||grad f||^2, of another simulation",
					  names[c], times[t]);
		}
}

/* The figure's delay-adaptive ASGD lies between the two. */
static void check_between(struct repro *repro, const struct results *results)
{
	for (int t = 0; t < TIMES; t++) {
		repro_at_most(repro, poster[ADAPTIVE][t], results->measure[ADAPTIVE_SQRT][t],
			      "%s at %.0f s: ||grad f||^2, of the figure (at most)",
			      names[ADAPTIVE_SQRT], times[t]);
		repro_at_least(repro, poster[ADAPTIVE][t], results->measure[ADAPTIVE][t],
			       "%s at %.0f s: ||grad f||^2, of the figure (at least)",
			       names[ADAPTIVE], times[t]);
	}
}

static void check_order(struct repro *repro, const struct results *results)
{
	for (int t = 0; t < TIMES; t++) {
		const struct train_sample *stops = simulated_at(&results->of[0][STOPS], times[t]);
		const struct train_sample *goes_on =
		    simulated_at(&results->of[0][NO_STOPS], times[t]);
		double done = (double)stops->totals.updates;

		repro_row(repro, updates[t], done, 0.06,
			  "Ringmaster at %.0f s: updates, of another simulation", times[t]);
		repro_row(repro, 0.96, (double)goes_on->totals.updates / done, 0.03,
			  "Ringmaster at %.0f s: updates without stops, of those with", times[t]);
		/* On the way down; later both are in the noise. */
		if (times[t] <= 1000)
			repro_at_most(
			    repro, results->measure[RENNALA][t], results->measure[STOPS][t],
			    "Ringmaster at %.0f s: ||grad f||^2, Rennala's (at most)", times[t]);
		repro_at_most(
		    repro, results->measure[ADAPTIVE][t] / 10, results->measure[RENNALA][t],
		    "Rennala at %.0f s: ||grad f||^2, delay-adaptive's / 10 (at most)", times[t]);
	}
	repro_at_most(repro, 5, (double)results->of[0][STOPS].end.delay_max,
		      "Ringmaster: largest delay that was applied, R - 1 (at most)");
	repro_row(repro, 550.8, results->of[0][STOPS].samples[0].measure, 0.001,
		  "||grad f(x^0)||^2");
}

static void draw(struct repro *repro, const struct results *results)
{
	static double x[CURVES][SIMULATED_SAMPLES], y[CURVES][SIMULATED_SAMPLES];
	static const char *const titles[] = { "Ringmaster, of the figure", NULL,
					      "Rennala, of the figure",
					      "delay-adaptive, of the figure", NULL };
	struct chart_curve lines[2 * CURVES];
	size_t count = 0;

	for (int c = 0; c < CURVES; c++) {
		const struct simulated *run = &results->of[0][c];

		for (uint32_t i = 0; i < run->count; i++) {
			x[c][i] = run->samples[i].totals.time_s;
			y[c][i] = run->samples[i].measure;
		}
		lines[count++] =
		    (struct chart_curve){ names[c], x[c], y[c], run->count, CHART_LINES };
	}
	for (int c = 0; c < CURVES; c++)
		if (titles[c] != NULL)
			lines[count++] = (struct chart_curve){ titles[c], times, poster[c], TIMES,
							       CHART_POINTS };
	const struct chart chart = { .title = "n = 6174, d = 1729",
				     .x_label = "seconds",
				     .y_label = "||grad f||^2",
				     .y_log = true,
				     .curves = lines,
				     .count = count };
	repro_draw(repro, NULL, "Ringmaster ASGD", &chart, 1, 1);
}

static void run(struct repro *repro)
{
	struct simulation parts[CURVES * SEEDS];
	struct results *results = calloc(1, sizeof(*results));
	int count = CURVES * (repro_full(repro) ? SEEDS : 2);

	if (results == NULL)
		repro_die("no memory");
	for (int i = 0; i < count; i++) {
		parts[i] = (struct simulation){ .scenario = "ringmaster",
						.curve = curves[i % CURVES],
						.seed = repro_seed(repro) + (unsigned)i / CURVES };
		if (i % CURVES == ADAPTIVE_SQRT)
			simulation_set(&parts[i], "times.power=0.5");
	}
	simulate(repro, parts, (size_t)count, &results->of[0][0]);
	for (int c = 0; c < CURVES; c++)
		for (int t = 0; t < TIMES; t++)
			results->measure[c][t] = level(results, c, times[t]);
	check_values(repro, results);
	check_between(repro, results);
	check_order(repro, results);
	if (repro_full(repro))
		draw(repro, results);
	free(results);
}

const struct repro_experiment repro_experiment = {
	.name = "ringmaster",
	.about = "Ringmaster ASGD (ICML 2025), the figure: ||grad f||^2 against time",
	.run = run,
};
