/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "tests/repro/fit.h"
#include "tests/repro/simulate.h"

/*
 * The figure of Ringleader ASGD (ICLR 2026): 100 clients with data of their own, a network
 * 784-128-10, mini-batches of 4, task times i + |N(0, i)| of clients in random order, and
 * ||grad f||^2 on all data against time.  The values that can be read off it are of MNIST.  Here
 * it is Fashion-MNIST, which the paper uses as well and Debian has; with ISO_MNIST=FOLDER
 * (isobar-data(5)) MNIST, too, and there the values are judged.
 *
 * The step sizes of the figure are those of the authors' script.  With Ringleader's, 0.05, all
 * ReLUs of the network die: ||grad f||^2 is small and stays where it is, as in the paper, and
 * the loss is that of guessing.  So the same is run with the steps of the authors' grids that have
 * the least loss, and the losses are told.
 */
#define END_S	200000.0
#define FLAT_S	70000.0
#define LOSS_S	100000.0
#define STEPS_S 20000.0
#define WORKERS 100
#define SAMPLES 40

enum { METHODS = 3, SEEDS = 3, STEPS = 3 };
enum method { RINGLEADER, IA2SGD, MALENIA };

static const struct {
	const char *curve, *name;
	double published;    /* ||grad f||^2 on MNIST at 200 000 s */
	double steps[STEPS]; /* of least loss, and its neighbours in the grid (or the next two) */
} methods[METHODS] = {
	{ "ringleader", "Ringleader", 2.1e-4, { 0.005, 0.001, 0.01 } },
	{ "ia2sgd", "IA2SGD", 1.25e-3, { 0.001, 0.005, 0.01 } },
	{ "malenia", "Malenia", 1.4e-3, { 0.5, 0.2, 1 } },
};

/* The runs of one figure: of each method, with the first seed and the next. */
struct figure {
	int seeds;
	struct simulated runs[METHODS][SEEDS];
};

static struct simulation part_of(const struct repro *repro, const char *scenario, int method)
{
	return (struct simulation){ .scenario = scenario,
				    .curve = methods[method].curve,
				    .seed = repro_seed(repro) };
}

/* Ends the program if there is no memory. */
static struct figure *simulate_figure(struct repro *repro, const char *scenario, int seeds,
				      const char *source)
{
	struct simulation parts[METHODS * SEEDS];
	struct simulated *results = calloc(METHODS * SEEDS, sizeof(*results));
	struct figure *figure = calloc(1, sizeof(*figure));

	if (figure == NULL || results == NULL)
		repro_die("no memory");
	assert(seeds > 0 && seeds <= SEEDS);
	figure->seeds = seeds;
	for (int i = 0; i < METHODS * seeds; i++) {
		parts[i] = part_of(repro, scenario, i / seeds);
		parts[i].seed += (uint64_t)(i % seeds);
		simulation_set(&parts[i], "time=%g", END_S);
		simulation_set(&parts[i], "samples=%d", SAMPLES);
		simulation_set(&parts[i], "problem.measure=gradient-square");
		if (source != NULL)
			simulation_set(&parts[i], "data.source=%s", source);
	}
	simulate(repro, parts, (size_t)(METHODS * seeds), results);
	for (int i = 0; i < METHODS * seeds; i++)
		figure->runs[i / seeds][i % seeds] = results[i];
	free(results);
	return figure;
}

/* ||grad f||^2 jumps from one update to the next: the median of a stretch, over all seeds. */
static double level(const struct figure *figure, int method, double from_s, double to_s)
{
	double values[SEEDS * SIMULATED_SAMPLES];
	size_t count = 0;

	for (int seed = 0; seed < figure->seeds; seed++) {
		const struct simulated *run = &figure->runs[method][seed];

		for (uint32_t i = 0; i < run->count; i++)
			if (run->samples[i].totals.time_s >= from_s &&
			    run->samples[i].totals.time_s <= to_s)
				values[count++] = run->samples[i].measure;
	}
	if (count == 0)
		repro_die("no sample from %g to %g s", from_s, to_s);
	return fit_quantile(values, count, 0.5);
}

static double end_level(const struct figure *figure, int method)
{
	return level(figure, method, 0.8 * END_S, END_S);
}

/* What the algorithm promises, whatever is computed. */
static void check_rules(struct repro *repro, const struct simulated *run)
{
	const struct iso_training_totals *totals = &run->end;

	repro_at_most(repro, 2 * WORKERS - 2, (double)totals->delay_max,
		      "Ringleader: largest delay, 2n - 2 (at most)");
	repro_row(repro, (double)totals->rounds, floor((double)totals->updates / WORKERS), 0,
		  "Ringleader: updates, in rounds of n");
	repro_at_most(repro, 0, (double)(totals->ignored + totals->stopped),
		      "Ringleader: gradients in vain (at most)");
}

/* Who is best, and that Ringleader is at rest from 70 000 s on, within a factor of 3. */
static void check_order(struct repro *repro, const struct figure *figure, const char *data)
{
	double ringleader = end_level(figure, RINGLEADER);

	for (int m = IA2SGD; m < METHODS; m++)
		repro_at_most(repro, end_level(figure, m), ringleader,
			      "%s: Ringleader's ||grad f||^2 at the end, %s's (at most)", data,
			      methods[m].name);
	repro_row(repro, ringleader, level(figure, RINGLEADER, FLAT_S, 2 * FLAT_S), 2,
		  "%s: Ringleader's ||grad f||^2 from 70 000 to 140 000 s, at the end", data);
}

/* An order of magnitude, where the data are those of the paper. */
static void compare_values(struct repro *repro, const struct figure *figure, bool same_data)
{
	for (int m = 0; m < METHODS; m++) {
		double ours = end_level(figure, m);

		if (same_data)
			repro_row(repro, methods[m].published, ours, 9,
				  "MNIST: %s's ||grad f||^2 at 200 000 s", methods[m].name);
		else
			repro_unlike(repro, methods[m].published, ours,
				     "Fashion-MNIST: %s's ||grad f||^2 at 200 000 s, MNIST's",
				     methods[m].name);
	}
}

/* What ||grad f||^2 does not tell. */
static void find_losses(struct repro *repro, const char *scenario, const char *source,
			double losses[METHODS])
{
	struct simulation parts[METHODS];
	struct simulated *results = calloc(METHODS, sizeof(*results));

	if (results == NULL)
		repro_die("no memory");
	for (int m = 0; m < METHODS; m++) {
		parts[m] = part_of(repro, scenario, m);
		simulation_set(&parts[m], "time=%g", LOSS_S);
		simulation_set(&parts[m], "samples=1");
		simulation_set(&parts[m], "problem.measure=loss");
		if (source != NULL)
			simulation_set(&parts[m], "data.source=%s", source);
	}
	simulate(repro, parts, METHODS, results);
	for (int m = 0; m < METHODS; m++)
		losses[m] = results[m].samples[results[m].count - 1].measure;
	free(results);
}

static void tell(struct repro *repro, const struct figure *figure, const char *what,
		 const double losses[METHODS])
{
	for (int m = 0; m < METHODS; m++)
		repro_note(repro, "%s: %s ends at ||grad f||^2 %.2g; loss %.3g (100 000 s)", what,
			   methods[m].name, end_level(figure, m), losses[m]);
}

/* That the steps of least loss are, each against two others of its grid. */
static void check_steps(struct repro *repro)
{
	struct simulation parts[METHODS * STEPS];
	struct simulated *results = calloc(METHODS * STEPS, sizeof(*results));

	if (results == NULL)
		repro_die("no memory");
	for (int i = 0; i < METHODS * STEPS; i++) {
		int m = i % METHODS;

		parts[i] = part_of(repro, "ringleader-loss", m);
		simulation_set(&parts[i], "curve.%s.step=%g", methods[m].curve,
			       methods[m].steps[i / METHODS]);
		simulation_set(&parts[i], "time=%g", STEPS_S);
		simulation_set(&parts[i], "samples=1");
	}
	simulate(repro, parts, METHODS * STEPS, results);
	for (int i = METHODS; i < METHODS * STEPS; i++) {
		int m = i % METHODS;

		repro_at_least(repro, results[m].samples[1].measure, results[i].samples[1].measure,
			       "%s with step %g: loss after 20 000 s, that with %g (at least)",
			       methods[m].name, methods[m].steps[i / METHODS], methods[m].steps[0]);
	}
	free(results);
}

/* A curve a method, the median of its seeds at each time; then what was read off the paper. */
static void lay_out(const struct figure *figure, struct chart *chart,
		    double y[METHODS][SIMULATED_SAMPLES], double x[METHODS][SIMULATED_SAMPLES],
		    struct chart_curve *curves)
{
	static const char *const titles[METHODS] = { "Ringleader on MNIST, of the figure",
						     "IA2SGD on MNIST, of the figure",
						     "Malenia on MNIST, of the figure" };
	static const double end_s = END_S;

	for (int m = 0; m < METHODS; m++) {
		const struct simulated *runs = figure->runs[m];

		for (uint32_t i = 0; i < runs[0].count; i++) {
			double values[SEEDS];

			for (int seed = 0; seed < figure->seeds; seed++)
				values[seed] = runs[seed].samples[i].measure;
			x[m][i] = runs[0].samples[i].totals.time_s;
			y[m][i] = fit_quantile(values, (size_t)figure->seeds, 0.5);
		}
		curves[m] =
		    (struct chart_curve){ methods[m].name, x[m], y[m], runs[0].count, CHART_LINES };
		curves[METHODS + m] =
		    (struct chart_curve){ titles[m], &end_s, &methods[m].published, 1,
					  CHART_POINTS };
	}
	chart->x_label = "seconds";
	chart->y_label = "||grad f||^2";
	chart->y_log = true;
	chart->curves = curves;
	chart->count = 2 * METHODS;
}

static void draw(struct repro *repro, const char *suffix, const char *const titles[],
		 const struct figure *const figures[], size_t count)
{
	static double x[2][METHODS][SIMULATED_SAMPLES], y[2][METHODS][SIMULATED_SAMPLES];
	struct chart_curve curves[2][2 * METHODS];
	struct chart charts[2] = { 0 };

	assert(count <= 2);
	for (size_t i = 0; i < count; i++) {
		charts[i].title = titles[i];
		lay_out(figures[i], &charts[i], y[i], x[i], curves[i]);
	}
	repro_draw(repro, suffix, "Ringleader ASGD, n = 100, Dirichlet 0.1", charts, count, count);
}

static void run_full(struct repro *repro)
{
	static const char *const titles[] = { "Fashion-MNIST, the authors' steps",
					      "Fashion-MNIST, the steps of least loss" };
	struct figure *authors = simulate_figure(repro, "ringleader", SEEDS, NULL);
	struct figure *trained = simulate_figure(repro, "ringleader-loss", 1, NULL);
	const struct figure *const both[] = { authors, trained };
	double losses[METHODS];

	check_rules(repro, &authors->runs[RINGLEADER][0]);
	check_order(repro, authors, "Fashion-MNIST");
	compare_values(repro, authors, false);
	find_losses(repro, "ringleader", NULL, losses);
	tell(repro, authors, titles[0], losses);
	find_losses(repro, "ringleader-loss", NULL, losses);
	tell(repro, trained, titles[1], losses);
	check_steps(repro);
	draw(repro, NULL, titles, both, 2);
	free(authors);
	free(trained);
}

static void run_mnist(struct repro *repro, const char *folder)
{
	static const char *const title = "MNIST, the authors' steps";
	struct figure *figure = simulate_figure(repro, "ringleader", SEEDS, folder);
	const struct figure *const one = figure;
	double losses[METHODS];

	check_order(repro, figure, "MNIST");
	compare_values(repro, figure, true);
	find_losses(repro, "ringleader", folder, losses);
	tell(repro, figure, title, losses);
	draw(repro, "mnist", &title, &one, 1);
	free(figure);
}

/* The short form: that it is learnt from data that nobody else has. */
static void run_short(struct repro *repro)
{
	struct simulation parts[METHODS];
	struct simulated *results = calloc(METHODS, sizeof(*results));

	if (results == NULL)
		repro_die("no memory");
	for (int m = 0; m < METHODS; m++) {
		parts[m] = part_of(repro, "ringleader-loss", m);
		simulation_set(&parts[m], "time=%g", END_S / 40);
		simulation_set(&parts[m], "samples=1");
	}
	simulate(repro, parts, METHODS, results);
	check_rules(repro, &results[RINGLEADER]);
	for (int m = 0; m < METHODS; m++)
		repro_at_most(repro, 1.8, results[m].samples[results[m].count - 1].measure,
			      "%s: loss after 5000 s, 2.3 at the start (at most)", methods[m].name);
	free(results);
}

static void run(struct repro *repro)
{
	const char *mnist = getenv("ISO_MNIST");

	if (!simulate_has_data(repro))
		return;
	if (!repro_full(repro)) {
		run_short(repro);
		return;
	}
	run_full(repro);
	if (mnist != NULL)
		run_mnist(repro, mnist);
	else
		repro_note(repro, "MNIST itself is left out: ISO_MNIST=FOLDER says where it is");
}

const struct repro_experiment repro_experiment = {
	.name = "ringleader",
	.about = "Ringleader ASGD (ICLR 2026), the figure: ||grad f||^2 against time",
	.run = run,
};
