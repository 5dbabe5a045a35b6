/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/repro/fit.h"
#include "tests/repro/simulate.h"

/*
 * Appendix A.3 of ATA (ICML 2025): 20 workers, B = 5, task times Exp(2 i), 5
 * runs of 4 million rounds.  The paper's figure shows regret that grows
 * logarithmically, on an axis that ends at 7 million; no numbers are published.
 *
 * Exploration is over for the fast workers first and for the slow ones last, so
 * R_K = a + b ln K (Theorem 6.1) is looked for in the last stretch, where K grows
 * by a factor of 8.  It is fitted there, and against it a power of K, in two
 * ways: how much of the variance each leaves, and how far each is off at the last
 * round when it is fitted to the first half of the stretch only.
 */
#define ROUNDS	4000000u
#define SHORTER 8 /* what learns fastest shows the same with so many times fewer rounds */
#define SEEDS	5
#define AXIS	7e6
#define STRETCH 8.0

enum { VARIANTS = 4, FASTEST = 2 };
static const char *const curves[VARIANTS] = { "ata", "ata-empirical", "ata-printed",
					      "ata-empirical-printed" };
static const char *const names[VARIANTS] = { "ATA", "ATA-Empirical", "ATA as printed",
					     "ATA-Empirical as printed" };

/* Regret after so many rounds, the mean over the seeds. */
struct growth {
	double round[SIMULATED_SAMPLES], regret[SIMULATED_SAMPLES];
	uint32_t count;
};

/* All seeds have their samples at the same rounds. */
static struct growth mean_of(const struct simulated *runs, unsigned seeds)
{
	struct growth growth = { .count = 0 };

	for (uint32_t i = 1; i < runs[0].count; i++) {
		double sum = 0;

		for (unsigned r = 0; r < seeds; r++)
			sum += runs[r].samples[i].totals.regret_s;
		growth.round[growth.count] = (double)runs[0].samples[i].totals.rounds;
		growth.regret[growth.count++] = sum / seeds;
	}
	return growth;
}

static double off(const struct fit *fit, bool power, double x, double y)
{
	double value = fit->a + fit->b * log(x);

	return fabs((power ? exp(value) : value) / y - 1);
}

static void check(struct repro *repro, const char *name, const struct growth *growth)
{
	uint32_t from = 0, last = growth->count - 1;

	while (growth->round[from] * STRETCH < growth->round[last])
		from++;
	const double *x = growth->round + from, *y = growth->regret + from;
	uint32_t count = growth->count - from, half = (count + 1) / 2;

	if (count < 8)
		repro_die("only %u samples to fit", count);
	struct fit line = fit_log(x, y, count), power = fit_power(x, y, count);
	struct fit early_line = fit_log(x, y, half), early_power = fit_power(x, y, half);
	double end_line = off(&early_line, false, x[count - 1], y[count - 1]);
	double end_power = off(&early_power, true, x[count - 1], y[count - 1]);

	repro_note(repro, "%s: from round %.0f R_K = %.4g + %.4g ln K; or proportional to K^%.3f",
		   name, x[0], line.a, line.b, power.b);
	repro_at_least(repro, 0.99, line.r2, "%s: R^2 of a + b ln K (at least)", name);
	repro_at_most(repro, 1, (1 - line.r2) / (1 - power.r2),
		      "%s: variance left by a + b ln K, of what a power leaves (at most)", name);
	repro_at_most(repro, 0.05, end_line, "%s: a + b ln K foretells the end, off by (at most)",
		      name);
	repro_at_least(repro, end_line, end_power, "%s: a power is further off (at least)", name);
}

static void draw(struct repro *repro, const struct growth *growths)
{
	struct chart_curve lines[VARIANTS];

	for (size_t v = 0; v < VARIANTS; v++)
		lines[v] = (struct chart_curve){ names[v], growths[v].round, growths[v].regret,
						 growths[v].count, CHART_LINES };
	const struct chart charts[] = {
		{ .title = "widths of the figure",
		  .x_label = "round",
		  .y_label = "regret",
		  .x_log = true,
		  .curves = lines,
		  .count = FASTEST },
		{ .title = "widths as printed",
		  .x_label = "round",
		  .y_label = "regret",
		  .x_log = true,
		  .curves = lines + FASTEST,
		  .count = VARIANTS - FASTEST },
	};
	repro_draw(repro, NULL, "ATA, A.3: regret, n = 20, B = 5, times Exp(2i)", charts, 2, 2);
}

static void run(struct repro *repro)
{
	bool full = repro_full(repro);
	size_t first = full ? 0 : FASTEST, count = (VARIANTS - first) * SEEDS;
	struct simulation parts[VARIANTS * SEEDS];
	struct simulated *results = calloc(count, sizeof(*results));
	struct growth growths[VARIANTS];

	if (results == NULL)
		repro_die("no memory");
	for (size_t i = 0; i < count; i++) {
		parts[i] = (struct simulation){ .scenario = "ata-regret",
						.curve = curves[first + i / SEEDS],
						.seed = repro_seed(repro) + i % SEEDS };
		simulation_set(&parts[i], "rounds=%u", full ? ROUNDS : ROUNDS / SHORTER);
	}
	simulate(repro, parts, count, results);
	for (size_t v = first; v < VARIANTS; v++) {
		growths[v] = mean_of(results + (v - first) * SEEDS, SEEDS);
		if (v == 0)
			repro_row(repro, AXIS, growths[v].regret[growths[v].count - 1], 0.15,
				  "%s: regret at the end, where the axis ends", names[v]);
		check(repro, names[v], &growths[v]);
	}
	if (full)
		draw(repro, growths);
	free(results);
}

const struct repro_experiment repro_experiment = {
	.name = "ata-regret",
	.about = "ATA (ICML 2025), A.3: regret grows logarithmically",
	.run = run,
};
