/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/gnuplot.h"
#include "lib/ata/ras.h"
#include "lib/quantity.h"
#include "tests/system/crew.h"
#include "tests/test.h"

/*
 * What a strategy loses while shares move, on real workers in control groups.
 * The shares 4 : 2 : 1 change hands every few seconds, or stay.  One form learns on-CPU
 * times and divides by the share it knows, the other learns wall times, as published.
 *
 * The regret of a round is l(a, mu) - l(a*, mu), with the allocation a that the
 * coordinator gave, a* the optimum, l(a, mu) = max_i a_i mu_i and mu_i the true mean
 * wall time of a task: its mean on-CPU time, measured in a run apart, over the share of
 * the moment.  The round that a move meets is lost to everybody: it was allotted before.
 * Runs of all variants take turns, so that what else happens on this machine
 * meets all of them; ISO_RUNS=n takes n longer turns (make regret).
 */

#define BATCH	     16
#define PERIOD_US    20000u
#define ROUNDS_SHORT 45u /* two moves or so */
#define ROUNDS_MAX   150u
#define MOVE_NS	     3000000000u
#define PAIRS_MAX    16
#define WITHOUT_HEAD 0.4 /* of a run: until then everybody learns */

static const uint64_t SHARES_UCPU[CLUSTER_WORKERS] = { 240000, 120000, 60000 };

#define EMPIRICAL "strategy = ata-empirical eta = 0.3 "

static const struct variant {
	const char *name, *allocation;
	bool moving;
} VARIANTS[] = {
	{ "share-normalised, shares fixed", EMPIRICAL "share-normalised = yes", false },
	{ "share-normalised, shares move", EMPIRICAL "share-normalised = yes", true },
	{ "wall time, shares fixed", EMPIRICAL "share-normalised = no", false },
	{ "wall time, shares move", EMPIRICAL "share-normalised = no", true },
	/* The best that the plain form can do about it: forget all but the last ten rounds. */
	{ "wall time, forgetting, move",
	  "strategy = ata-pooled share-normalised = no discount = 0.9", true },
};
enum {
	NORMALISED_FIXED,
	NORMALISED_MOVING,
	WALL_FIXED,
	WALL_MOVING,
	WALL_FORGETTING,
	VARIANTS_COUNT
};
_Static_assert(sizeof(VARIANTS) / sizeof(VARIANTS[0]) == VARIANTS_COUNT, "each has a name");

/* One run: what each round lost, in multiples of the optimum, and when it was seen first. */
struct trace {
	unsigned count;
	double round[ROUNDS_MAX], loss[ROUNDS_MAX], sum[ROUNDS_MAX], at_s[ROUNDS_MAX];
};

static struct crew crew;
static double on_cpu_s[CLUSTER_WORKERS];

static void open_crew(void)
{
	crew_open(&crew);
	crew.period_us = PERIOD_US;
	crew_outweigh();
}

static void close_crew(void)
{
	crew_close(&crew);
}

static void start(const char *allocation)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "training { tasks-per-round = %d samples-per-task = 2048 }\n"
		 "allocation { %s }\n",
		 BATCH, allocation);
	cluster_configure(&crew.cluster, text);
	cluster_start_coordinator(&crew.cluster, "--restart");
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		crew_start(&crew, i, SHARES_UCPU[i]);
}

static void stop(void)
{
	cluster_kill(&crew.cluster.coordinator, SIGTERM);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		crew_end(&crew, i, SIGKILL);
}

/* The true mean on-CPU time of a task of each worker. */
static void measure_tasks(void)
{
	start("strategy = uta");
	cluster_wait_round(&crew.cluster, 25);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		on_cpu_s[i] =
		    cluster_worker_number(&crew.cluster, i, "mean_on_cpu_ns") / ISO_NS_PER_S;
	stop();
}

static void deal(unsigned turn, uint64_t ret_ucpu[CLUSTER_WORKERS])
{
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		ret_ucpu[i] = SHARES_UCPU[(i + turn) % CLUSTER_WORKERS];
		crew_set_share(&crew, i, ret_ucpu[i]);
	}
}

/* l(a, mu) / l(a*, mu) - 1 */
static double excess(const uint64_t share_ucpu[CLUSTER_WORKERS], const uint32_t *tasks)
{
	double mu_s[CLUSTER_WORKERS], workspace[64];
	uint32_t best[CLUSTER_WORKERS];

	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		mu_s[i] = on_cpu_s[i] * ISO_UCPU_PER_CPU / (double)share_ucpu[i];
	ck_assert_uint_le(iso_ras_workspace_bytes(CLUSTER_WORKERS), sizeof(workspace));
	iso_ras(mu_s, CLUSTER_WORKERS, BATCH, workspace, best);
	return iso_ras_loss(mu_s, tasks, CLUSTER_WORKERS) /
		   iso_ras_loss(mu_s, best, CLUSTER_WORKERS) -
	       1;
}

/* Takes the round that is open, if it is another than the last one seen. */
static void take_round(struct trace *trace, const uint64_t share_ucpu[CLUSTER_WORKERS])
{
	json_t *status = cluster_status(&crew.cluster);
	const json_t *workers = json_object_get(status, "workers");
	double round = json_number_value(json_object_get(status, "round"));
	uint32_t tasks[CLUSTER_WORKERS], sum = 0;

	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		tasks[i] = (uint32_t)json_integer_value(
		    json_object_get(json_array_get(workers, i), "allocation"));
		sum += tasks[i];
	}
	bool started = json_is_true(json_object_get(status, "started"));
	json_decref(status);
	if (!started || trace->count == ROUNDS_MAX ||
	    (trace->count > 0 && round <= trace->round[trace->count - 1]))
		return;
	ck_assert_uint_eq(sum, BATCH);
	unsigned i = trace->count++;
	trace->round[i] = round;
	trace->loss[i] = excess(share_ucpu, tasks);
	trace->at_s[i] = (double)clock_now_ns() / ISO_NS_PER_S;
	trace->sum[i] = trace->loss[i] + (i > 0 ? trace->sum[i - 1] : 0);
}

static void record(const struct variant *variant, unsigned rounds, struct trace *trace)
{
	uint64_t share_ucpu[CLUSTER_WORKERS], next_ns;
	unsigned turn = 0;

	trace->count = 0;
	start(variant->allocation);
	deal(0, share_ucpu);
	next_ns = clock_now_ns() + MOVE_NS;
	while (trace->count < rounds) {
		usleep(20000);
		crew_listen(&crew);
		take_round(trace, share_ucpu);
		if (clock_now_ns() >= next_ns) {
			next_ns += MOVE_NS;
			turn += variant->moving;
			deal(turn, share_ucpu);
		}
	}
	stop();
}

/* Over the rounds after the head. */
static double mean_loss(const struct trace *trace)
{
	unsigned from = (unsigned)(WITHOUT_HEAD * trace->count);

	return (trace->sum[trace->count - 1] - trace->sum[from - 1]) / (trace->count - from);
}

/* How long they really took. */
static double mean_round_s(const struct trace *trace)
{
	unsigned from = (unsigned)(WITHOUT_HEAD * trace->count), last = trace->count - 1;

	return (trace->at_s[last] - trace->at_s[from]) / (trace->round[last] - trace->round[from]);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values, unsigned count)
{
	double sorted[PAIRS_MAX];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare);
	return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* Environment ISO_FIGURE: a drawing of the last run of each. */
static void draw(const struct trace *traces)
{
	struct chart_curve curves[VARIANTS_COUNT];
	const struct chart chart = { .title = "ATA-Empirical, three workers with 0.24, 0.12 and "
					      "0.06 CPU, handed on every 3 s",
				     .x_label = "round",
				     .y_label = "regret so far, in rounds of the optimum",
				     .curves = curves,
				     .count = VARIANTS_COUNT };
	const char *path = getenv("ISO_FIGURE");
	struct error error;

	for (unsigned k = 0; k < VARIANTS_COUNT; k++)
		curves[k] = (struct chart_curve){ .title = VARIANTS[k].name,
						  .x = traces[k].round,
						  .y = traces[k].sum,
						  .count = traces[k].count };
	if (path != NULL &&
	    chart_draw(path, "Real workers in control groups", &chart, 1, 1, &error) != 0)
		printf("# %s\n", error.text);
}

/* Percent above the optimum, and milliseconds, a round. */
static void print_line(const char *what, unsigned variant, double loss, double round_s)
{
	printf("# %-7s %-31s %5.1f %%  %4.0f ms\n", what, VARIANTS[variant].name, 100 * loss,
	       1e3 * round_s);
	fflush(stdout);
}

START_TEST(what_is_learnt_survives_shares_that_move)
{
	static struct trace traces[VARIANTS_COUNT];
	double losses[VARIANTS_COUNT][PAIRS_MAX], times_s[VARIANTS_COUNT][PAIRS_MAX];
	double loss[VARIANTS_COUNT];
	unsigned pairs = (unsigned)test_runs(1);
	char what[16];

	pairs = pairs < PAIRS_MAX ? pairs : PAIRS_MAX;
	measure_tasks();
	for (unsigned pair = 0; pair < pairs; pair++)
		for (unsigned k = 0; k < VARIANTS_COUNT; k++) {
			record(&VARIANTS[k], pairs > 1 ? ROUNDS_MAX : ROUNDS_SHORT, &traces[k]);
			losses[k][pair] = mean_loss(&traces[k]);
			times_s[k][pair] = mean_round_s(&traces[k]);
			snprintf(what, sizeof(what), "run %u", pair + 1);
			print_line(what, k, losses[k][pair], times_s[k][pair]);
		}
	for (unsigned k = 0; k < VARIANTS_COUNT; k++) {
		loss[k] = median(losses[k], pairs);
		print_line("median", k, loss[k], median(times_s[k], pairs));
	}
	draw(traces);
	/* Tasks are whole and means are measured: some per cent are noise. */
	ck_assert_double_lt(loss[NORMALISED_MOVING], loss[NORMALISED_FIXED] + 0.1);
	ck_assert_double_lt(loss[WALL_FIXED], 0.3);
	ck_assert_double_gt(loss[WALL_MOVING], 0.4);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("regret");
	TCase *tcase = tcase_create("shares");

	crew_prepare();
	tcase_add_unchecked_fixture(tcase, NULL, crew_finish);
	tcase_add_checked_fixture(tcase, open_crew, close_crew);
	tcase_set_timeout(tcase, 3600);
	tcase_add_test(tcase, what_is_learnt_survives_shares_that_move);
	suite_add_tcase(suite, tcase);
	return suite;
}
