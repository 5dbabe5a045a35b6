/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>

#include "lib/ata/ras.h"
#include "tests/repro/simulate.h"

/*
 * Appendix A.2 of ATA (ICML 2025): the five workers of a group have five kinds of
 * distribution with the same mean.  The paper has figures only, of which these
 * are the statements:
 *
 *   - each method that allocates needs less total worker time than GTA, and more run time;
 *   - the oracle's total worker time is the better the more workers there are.
 *
 * How near ATA comes to the oracle is shown, not judged: means that grow linearly, and an alpha of
 * twice the largest, make exploring expensive.  And what follows from the definitions: OFTA's
 * worker time a round is sum a_i mu_i, and its run time at least that of its proxy loss.
 */
#define BATCH  23
#define ROUNDS 3000000u

enum method { GTA, OFTA, ATA, EMPIRICAL, METHODS };
static const char *const names[METHODS] = { "GTA", "OFTA", "ATA", "ATA-Empirical" };
static const char *const curves[METHODS] = { "gta", "ofta", "ata", "ata-empirical" };

enum { SIZES = 3 };
static const uint32_t sizes[SIZES] = { 15, 45, 150 };

struct results {
	struct simulated of[SIZES][METHODS];
};

/* Of the oracle: sum a_i mu_i, and max a_i mu_i. */
static void optimum(uint32_t n, double *ret_worker_time, double *ret_loss)
{
	double means[150];
	uint32_t tasks[150];
	uint64_t workspace[150 * 4];

	if (iso_ras_workspace_bytes(n) > sizeof(workspace))
		repro_die("the workspace is too small");
	for (uint32_t i = 0; i < n; i++)
		means[i] = 2 * 29.0 * (5 * (i / 5) + 1);
	iso_ras(means, n, BATCH, workspace, tasks);
	*ret_worker_time = 0;
	for (uint32_t i = 0; i < n; i++)
		*ret_worker_time += tasks[i] * means[i];
	*ret_loss = iso_ras_loss(means, tasks, n);
}

static double worker_ratio(const struct results *results, int s, enum method method)
{
	return simulated_worker_time(&results->of[s][GTA]) /
	       simulated_worker_time(&results->of[s][method]);
}

static double run_ratio(const struct results *results, int s, enum method method)
{
	return simulated_round_time(&results->of[s][method]) /
	       simulated_round_time(&results->of[s][GTA]);
}

static void check_size(struct repro *repro, const struct results *results, int s)
{
	double worker_time, loss;
	uint32_t n = sizes[s];

	optimum(n, &worker_time, &loss);
	repro_row(repro, worker_time, simulated_worker_time(&results->of[s][OFTA]), 0.005,
		  "n = %u: worker time of an OFTA round, sum a_i mu_i", n);
	repro_at_least(repro, loss, simulated_round_time(&results->of[s][OFTA]),
		       "n = %u: time of an OFTA round, not below max a_i mu_i (at least)", n);
	for (enum method m = OFTA; m < METHODS; m++) {
		double worker = worker_ratio(results, s, m), run = run_ratio(results, s, m);

		if (!repro_full(repro) && m > OFTA)
			continue;
		repro_at_least(repro, 1, worker, "n = %u, %s: total worker time (at least)", n,
			       names[m]);
		repro_at_least(repro, 1, run, "n = %u, %s: run time (at least)", n, names[m]);
		if (s > 0 && m == OFTA)
			repro_at_least(
			    repro, worker_ratio(results, s - 1, m), worker,
			    "n = %u, %s: total worker time, with fewer workers (at least)", n,
			    names[m]);
	}
}

static void show_near(struct repro *repro, const struct results *results)
{
	for (int s = 0; s < SIZES; s++)
		for (enum method m = ATA; m < METHODS; m++)
			repro_note(repro, "n = %u, %s: total worker time %.2f, OFTA's %.2f",
				   sizes[s], names[m], worker_ratio(results, s, m),
				   worker_ratio(results, s, OFTA));
}

static void draw(struct repro *repro, const struct results *results)
{
	double n[SIZES], values[2][METHODS][SIZES];
	struct chart_curve lines[2][METHODS - 1];

	for (int s = 0; s < SIZES; s++) {
		n[s] = sizes[s];
		for (enum method m = OFTA; m < METHODS; m++) {
			values[0][m][s] = worker_ratio(results, s, m);
			values[1][m][s] = run_ratio(results, s, m);
		}
	}
	for (int axis = 0; axis < 2; axis++)
		for (int m = OFTA; m < METHODS; m++)
			lines[axis][m - OFTA] = (struct chart_curve){ names[m], n, values[axis][m],
								      SIZES, CHART_LINES_POINTS };
	const struct chart charts[] = {
		{ .title = "total worker time, GTA / method",
		  .x_label = "workers",
		  .y_label = "",
		  .x_log = true,
		  .curves = lines[0],
		  .count = METHODS - 1 },
		{ .title = "run time, method / GTA",
		  .x_label = "workers",
		  .y_label = "",
		  .x_log = true,
		  .curves = lines[1],
		  .count = METHODS - 1 },
	};
	repro_draw(repro, NULL, "ATA, A.2: five kinds of distribution, B = 23", charts, 2, 2);
}

/* The longest first.  In the short form those that do not learn, with fewer rounds. */
static size_t list(const struct repro *repro, struct simulation *parts)
{
	bool full = repro_full(repro);
	size_t count = 0;

	for (int s = SIZES - 1; s >= 0; s--)
		for (int m = METHODS - 1; m >= 0; m--) {
			struct simulation *part = &parts[count];

			if (m > OFTA && !full)
				continue;
			*part = (struct simulation){ .scenario = "ata-laws",
						     .curve = curves[m],
						     .seed = repro_seed(repro),
						     .place = (uint32_t)(s * METHODS + m) };
			simulation_set(part, "workers=%u", sizes[s]);
			simulation_set(part, "rounds=%u",
				       m > OFTA ? ROUNDS
				       : full	? 200000
						: 30000);
			simulation_set(part, "samples=1");
			count++;
		}
	return count;
}

static void run(struct repro *repro)
{
	struct simulation parts[SIZES * METHODS];
	size_t count = list(repro, parts);
	struct simulated *done = calloc(count, sizeof(*done));
	struct results *results = calloc(1, sizeof(*results));

	if (results == NULL || done == NULL)
		repro_die("no memory");
	simulate(repro, parts, count, done);
	for (size_t i = 0; i < count; i++)
		results->of[parts[i].place / METHODS][parts[i].place % METHODS] = done[i];
	for (int s = 0; s < SIZES; s++)
		check_size(repro, results, s);
	if (repro_full(repro)) {
		show_near(repro, results);
		draw(repro, results);
	}
	free(results);
	free(done);
}

const struct repro_experiment repro_experiment = {
	.name = "ata-laws",
	.about = "ATA (ICML 2025), A.2: workers with different kinds of distribution",
	.run = run,
};
