/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>

#include "tests/repro/simulate.h"

/*
 * Appendix A.5 of ATA (ICML 2025): n = 51, and P = 0, 5 10^5 or 5 10^6 rounds in
 * which only the bandit learns, before those that count.  The paper has figures
 * only; they say that the more is known the closer ATA comes to the oracle.  P = 0 is
 * Table 1, and so is the oracle.
 */
#define ROUNDS	      3000000u
#define STATIC_ROUNDS 200000u
#define SHORTER	      100 /* the widths as printed learn within a hundredth of the rounds */

enum { METHODS = 2, PRIORS = 3, LEARNED = METHODS * PRIORS, GTA = LEARNED, OFTA, RUNS };
static const unsigned priors[PRIORS] = { 0, 500000, 5000000 };
static const char *const names[METHODS] = { "ATA", "ATA-Empirical" };
static const char *const curves[RUNS] = {
	"ata-0", "ata-5e5", "ata-5e6", "ata-empirical-0", "ata-empirical-5e5", "ata-empirical-5e6",
	"gta",	 "ofta",
};
static const struct {
	double worker, run;
} table_1[METHODS] = { { 2.91, 2.43 }, { 2.69, 2.45 } };

static double worker_ratio(const struct simulated *results, int run)
{
	return simulated_worker_time(&results[GTA]) / simulated_worker_time(&results[run]);
}

static double run_ratio(const struct simulated *results, int run)
{
	return simulated_round_time(&results[run]) / simulated_round_time(&results[GTA]);
}

static void check(struct repro *repro, const struct simulated *results, int m)
{
	const char *name = names[m];
	int most = m * PRIORS + PRIORS - 1;

	repro_row(repro, table_1[m].worker, worker_ratio(results, m * PRIORS), 0.01,
		  "P = 0, %s: total worker time", name);
	repro_row(repro, table_1[m].run, run_ratio(results, m * PRIORS), 0.01,
		  "P = 0, %s: run time", name);
	for (int p = 1; p < PRIORS; p++) {
		int i = m * PRIORS + p;

		repro_at_most(repro, run_ratio(results, i - 1), run_ratio(results, i),
			      "P = %.0e, %s: run time, with less known (at most)",
			      (double)priors[p], name);
	}
	repro_row(repro, worker_ratio(results, OFTA), worker_ratio(results, most), 0.03,
		  "P = 5e+06, %s: total worker time, OFTA's", name);
	repro_row(repro, run_ratio(results, OFTA), run_ratio(results, most), 0.03,
		  "P = 5e+06, %s: run time, OFTA's", name);
}

/* Of so few rounds only the order is known. */
static void check_short(struct repro *repro, const struct simulated *results)
{
	for (int i = 0; i < LEARNED; i++)
		if (i % PRIORS > 0)
			repro_at_most(repro, results[i - 1].end.regret_s, results[i].end.regret_s,
				      "P = %u, %s as printed: regret, with less known (at most)",
				      priors[i % PRIORS] / SHORTER, names[i / PRIORS]);
}

static void draw(struct repro *repro, const struct simulated *results)
{
	static double x[LEARNED][SIMULATED_SAMPLES], y[LEARNED][SIMULATED_SAMPLES];
	struct chart_curve lines[LEARNED];

	for (int i = 0; i < LEARNED; i++) {
		for (uint32_t j = 0; j < results[i].count; j++) {
			x[i][j] = (double)results[i].samples[j].totals.rounds;
			y[i][j] = results[i].samples[j].totals.regret_s;
		}
		lines[i] =
		    (struct chart_curve){ curves[i], x[i], y[i], results[i].count, CHART_LINES };
	}
	const struct chart chart = { .title = "time lost on the oracle's allocation",
				     .x_label = "round that counts",
				     .y_label = "regret",
				     .x_log = true,
				     .y_log = true,
				     .curves = lines,
				     .count = LEARNED };
	repro_draw(repro, NULL, "ATA, A.5: what is known beforehand, n = 51", &chart, 1, 1);
}

static void run(struct repro *repro)
{
	bool full = repro_full(repro);
	unsigned shorter = full ? 1 : SHORTER, count = full ? RUNS : LEARNED;
	struct simulation parts[RUNS];
	struct simulated *results = calloc(RUNS, sizeof(*results));

	if (results == NULL)
		repro_die("no memory");
	for (unsigned i = 0; i < count; i++) {
		parts[i] = (struct simulation){ .scenario = "ata-prior",
						.curve = curves[i],
						.seed = repro_seed(repro) };
		simulation_set(&parts[i], "rounds=%u",
			       (i < LEARNED ? ROUNDS : STATIC_ROUNDS) / shorter);
		if (!full) {
			simulation_set(&parts[i], "curve.%s.prior-rounds=%u", curves[i],
				       priors[i % PRIORS] / shorter);
			simulation_set(&parts[i], "curve.%s.width=2", curves[i]);
			simulation_set(&parts[i], "curve.%s.eta=1", curves[i]);
		}
	}
	simulate(repro, parts, count, results);
	if (full) {
		for (int m = 0; m < METHODS; m++)
			check(repro, results, m);
		draw(repro, results);
	} else {
		check_short(repro, results);
	}
	free(results);
}

const struct repro_experiment repro_experiment = {
	.name = "ata-prior",
	.about = "ATA (ICML 2025), A.5: rounds that only teach, before those that count",
	.run = run,
};
