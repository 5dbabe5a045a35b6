/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/repro/simulate.h"

/*
 * Tables 1 and 2 of "ATA: Adaptive Task Allocation ..." (ICML 2025): B = 23
 * tasks a round, 3 million rounds; total worker time GTA / method, run time
 * method / GTA.
 *
 * The tables were made with widths of 4 e alpha, and twice that for
 * ATA-Empirical (eta = 2), as the first version and the authors' code have
 * them.  The final paper prints 2 alpha and eta = 1, which does much better;
 * for that, for the uniform rule and for the round that ends exploration the
 * references are another, independent simulation of the same set-up.
 */
#define ROUNDS 3000000u

enum method { ATA, EMPIRICAL, OFTA, METHODS };
static const char *const method_names[METHODS] = { "ATA", "ATA-Empirical", "OFTA" };

/* 0 where nothing is known. */
struct cell {
	double worker, run;
	double explored;
};

struct setting {
	const char *scenario, *times;
	uint32_t workers;
	struct cell published[METHODS]; /* width 4 e, eta 2 */
	struct cell printed[2];		/* width 2, eta 1: ATA, ATA-Empirical */
	struct cell uniform;
};

/* clang-format off */
static const struct setting settings[] = {
	{ "ata-table-1", "sqrt", 17,
	  { { 1.30, 1.73, 26418 }, { 1.26, 1.75, 7015 }, { 1.26, 1.74, 0 } },
	  { { 1.261, 1.743, 694 }, { 1.259, 1.744, 50 } }, { 1.086, 2.379, 0 } },
	{ "ata-table-1", "sqrt", 51,
	  { { 2.91, 2.43, 118046 }, { 2.69, 2.45, 23837 }, { 3.03, 2.17, 0 } },
	  { { 3.021, 2.192, 3212 }, { 3.028, 2.176, 188 } }, { 1.550, 3.856, 0 } },
	{ "ata-table-1", "sqrt", 153,
	  { { 7.22, 3.44, 489306 }, { 7.02, 3.14, 79789 }, { 9.1, 2.17, 0 } },
	  { { 8.925, 2.283, 13693 }, { 9.063, 2.189, 687 } }, { 2.708, 6.650, 0 } },
	{ "ata-table-1", "sqrt", 459,
	  { { 12.45, 6.36, 1924720 }, { 14.1, 5.51, 263988 }, { 27.3, 2.17, 0 } },
	  { { 25.05, 2.693, 54962 }, { 26.94, 2.248, 2437 } }, { 4.708, 11.49, 0 } },
	{ "ata-table-2", "linear", 17,
	  { { 2.32, 1.71, 243393 }, { 1.91, 1.71, 7016 }, { 2.1, 1.58, 0 } },
	  { { 2.11, 1.59, 6159 }, { 2.09, 1.58, 50 } }, { 0.699, 4.347, 0 } },
	{ "ata-table-2", "linear", 51,
	  { { 6.71, 3.27, 2644514 }, { 5.02, 2.12, 23837 }, { 6.29, 1.58, 0 } },
	  { { 6.60, 1.66, 69434 }, { 6.27, 1.59, 189 } }, { 0.725, 9.672, 0 } },
};
/* clang-format on */
#define SETTINGS      (sizeof(settings) / sizeof(settings[0]))
#define SQRT_SETTINGS 4u /* Table 1; the rest is Table 2 */

/* What is run in each setting: the curves of the scenarios. */
enum run { GTA, RUN_OFTA, UTA, WIDE_ATA, WIDE_EMPIRICAL, NARROW_ATA, NARROW_EMPIRICAL, RUNS };
static const char *const curves[RUNS] = {
	"gta", "ofta", "uta", "ata", "ata-empirical", "ata-printed", "ata-empirical-printed",
};

static struct simulation part_of(size_t s, enum run run, uint64_t rounds, uint64_t seed)
{
	struct simulation part = {
		.scenario = settings[s].scenario,
		.curve = curves[run],
		.seed = seed,
		.place = (uint32_t)(s * RUNS + run),
	};

	simulation_set(&part, "workers=%u", settings[s].workers);
	simulation_set(&part, "rounds=%" PRIu64, rounds);
	simulation_set(&part, "samples=1");
	return part;
}

static bool learns(enum run run)
{
	return run >= WIDE_ATA;
}

/*
 * A round's time has a standard deviation of about 30 % of its mean, so these give the
 * mean of a method that does not learn to 0.3 and 0.07 %.  What learns needs all its
 * rounds: learning is paid for over all of them.
 */
#define STATIC_SHORT 10000u
#define STATIC_FULL  200000u

/* In the short form those that learn are run in one setting, with the tables' widths. */
static bool is_run(const struct repro *repro, size_t setting, enum run run)
{
	return repro_full(repro) || !learns(run) || (setting == 0 && run <= WIDE_EMPIRICAL);
}

struct results {
	struct simulated of[SETTINGS][RUNS];
};

/* The longest first: those that learn, and many workers. */
static size_t list(const struct repro *repro, struct simulation *parts)
{
	size_t count = 0;

	for (int learning = 1; learning >= 0; learning--) {
		uint64_t rounds = learning	      ? ROUNDS
				  : repro_full(repro) ? STATIC_FULL
						      : STATIC_SHORT;

		for (size_t s = SETTINGS; s-- > 0;)
			for (enum run run = GTA; run < RUNS; run++)
				if (is_run(repro, s, run) && learns(run) == learning)
					parts[count++] = part_of(s, run, rounds, repro_seed(repro));
	}
	return count;
}

static void run_all(struct repro *repro, struct results *results)
{
	struct simulation parts[SETTINGS * RUNS];
	struct simulated *done = calloc(SETTINGS * RUNS, sizeof(*done));
	size_t count = list(repro, parts);

	if (done == NULL)
		repro_die("no memory");
	simulate(repro, parts, count, done);
	for (size_t i = 0; i < count; i++)
		results->of[parts[i].place / RUNS][parts[i].place % RUNS] = done[i];
	free(done);
}

static double worker_ratio(const struct results *results, size_t s, enum run run)
{
	return simulated_worker_time(&results->of[s][GTA]) /
	       simulated_worker_time(&results->of[s][run]);
}

static double run_ratio(const struct results *results, size_t s, enum run run)
{
	return simulated_round_time(&results->of[s][run]) /
	       simulated_round_time(&results->of[s][GTA]);
}

static void check(struct repro *repro, const struct results *results, size_t s, enum run run,
		  const struct cell *cell, const char *what)
{
	const char *times = settings[s].times;
	uint32_t n = settings[s].workers;

	if (!is_run(repro, s, run))
		return;
	repro_row(repro, cell->worker, worker_ratio(results, s, run), 0.01,
		  "%s times, n = %u, %s: total worker time", times, n, what);
	repro_row(repro, cell->run, run_ratio(results, s, run), 0.01,
		  "%s times, n = %u, %s: run time", times, n, what);
	/* Of hundreds of samples each, the slowest worker's decides: that varies with luck. */
	if (cell->explored > 0)
		repro_row(repro, cell->explored, (double)results->of[s][run].end.settled_round,
			  cell->explored > 5000 ? 0.02 : 0.1,
			  "%s times, n = %u, %s: first round with all scores positive", times, n,
			  what);
}

/* Published means of a round's time that the ratios rest on. */
static void check_means(struct repro *repro, const struct results *results)
{
	static const double greedy[SETTINGS] = { 243.7, 195.7, 195.7, 195.7, 493.5, 493.5 };
	static const double optimal[SETTINGS] = { 425.0, 425.0, 425.0, 425.0, 780.4, 780.4 };

	for (size_t s = 0; s < SETTINGS; s++) {
		const char *times = settings[s].times;

		repro_row(repro, greedy[s], simulated_round_time(&results->of[s][GTA]), 0.01,
			  "%s times, n = %u: mean time of a GTA round", times, settings[s].workers);
		repro_row(repro, optimal[s], simulated_round_time(&results->of[s][RUN_OFTA]), 0.01,
			  "%s times, n = %u: mean time of an OFTA round", times,
			  settings[s].workers);
	}
}

/* Published as points, ours as lines, over the number of workers: `count` settings from `first`. */
static void draw(struct repro *repro, const struct results *results, size_t first, size_t count,
		 const char *suffix, const char *title)
{
	double n[SETTINGS], ours[2][METHODS][SETTINGS], theirs[2][METHODS][SETTINGS];
	struct chart_curve lines[2][2 * METHODS];
	static const char *const published[METHODS] = { "ATA, published",
							"ATA-Empirical, published",
							"OFTA, published" };
	static const enum run runs[METHODS] = { WIDE_ATA, WIDE_EMPIRICAL, RUN_OFTA };

	assert(first + count <= SETTINGS);
	for (size_t i = 0; i < count; i++) {
		size_t s = first + i;

		n[i] = settings[s].workers;
		for (int m = 0; m < METHODS; m++) {
			ours[0][m][i] = worker_ratio(results, s, runs[m]);
			ours[1][m][i] = run_ratio(results, s, runs[m]);
			theirs[0][m][i] = settings[s].published[m].worker;
			theirs[1][m][i] = settings[s].published[m].run;
		}
	}
	for (int axis = 0; axis < 2; axis++) {
		for (int m = 0; m < METHODS; m++) {
			lines[axis][m] = (struct chart_curve){ method_names[m], n, ours[axis][m],
							       count, CHART_LINES };
			lines[axis][METHODS + m] =
			    (struct chart_curve){ published[m], n, theirs[axis][m], count,
						  CHART_POINTS };
		}
	}
	const struct chart charts[] = {
		{ .title = "total worker time, GTA / method",
		  .x_label = "workers",
		  .y_label = "",
		  .x_log = true,
		  .curves = lines[0],
		  .count = 2 * METHODS },
		{ .title = "run time, method / GTA",
		  .x_label = "workers",
		  .y_label = "",
		  .x_log = true,
		  .curves = lines[1],
		  .count = 2 * METHODS },
	};
	repro_draw(repro, suffix, title, charts, 2, 2);
}

static void run(struct repro *repro)
{
	struct results *results = calloc(1, sizeof(*results));

	if (results == NULL)
		repro_die("no memory");
	run_all(repro, results);
	check_means(repro, results);
	for (size_t s = 0; s < SETTINGS; s++) {
		const struct setting *setting = &settings[s];

		check(repro, results, s, RUN_OFTA, &setting->published[OFTA], "OFTA");
		check(repro, results, s, UTA, &setting->uniform, "UTA");
		check(repro, results, s, WIDE_ATA, &setting->published[ATA], "ATA");
		check(repro, results, s, WIDE_EMPIRICAL, &setting->published[EMPIRICAL],
		      "ATA-Empirical");
		check(repro, results, s, NARROW_ATA, &setting->printed[0], "ATA as printed");
		check(repro, results, s, NARROW_EMPIRICAL, &setting->printed[1],
		      "ATA-Empirical as printed");
	}
	if (repro_full(repro)) {
		draw(repro, results, 0, SQRT_SETTINGS, NULL,
		     "ATA, Table 1: B = 23, task times 29 sqrt(i) + Exp(29 sqrt(i))");
		draw(repro, results, SQRT_SETTINGS, SETTINGS - SQRT_SETTINGS, "table-2",
		     "ATA, Table 2: B = 23, task times 29 i + Exp(29 i)");
	}
	free(results);
}

const struct repro_experiment repro_experiment = {
	.name = "ata-tables",
	.about = "ATA (ICML 2025), Tables 1 and 2: total worker time and run time against GTA",
	.run = run,
};
