/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* Allocating 10^5 tasks to 10^6 workers, against one pass over their scores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/ata/ras.h"
#include "lib/rng.h"
#include "tests/bench/bench.h"

#define WORKERS 1000000u
#define TASKS   100000u
#define PAIRS   11

static double *scores;
static uint32_t *tasks;
static void *workspace;
static volatile double sink;

static double ours_ns(void)
{
	uint64_t from_ns = bench_cpu_ns();

	iso_ras(scores, WORKERS, TASKS, workspace, tasks);
	return (double)(bench_cpu_ns() - from_ns);
}

/* The least any method must do: look at each score once. */
static double pass_ns(void)
{
	uint64_t from_ns = bench_cpu_ns();
	double sum = 0;

	for (uint32_t i = 0; i < WORKERS; i++)
		sum += scores[i];
	sink = sum;
	return (double)(bench_cpu_ns() - from_ns);
}

static void measure(const char *name)
{
	struct bench_pairs pairs = { 0 };

	for (int i = 0; i < PAIRS; i++) {
		double our_ns = ours_ns();

		bench_add(&pairs, our_ns, pass_ns());
	}
	bench_print(name, "ns", &pairs, -1);
}

int main(void)
{
	struct iso_rng rng = { 1 };

	scores = malloc(WORKERS * sizeof(*scores));
	tasks = malloc(WORKERS * sizeof(*tasks));
	workspace = malloc(iso_ras_workspace_bytes(WORKERS));
	if (scores == NULL || tasks == NULL || workspace == NULL)
		abort();
	/* Two decades of speed, which the best hundred thousand share unevenly. */
	for (uint32_t i = 0; i < WORKERS; i++)
		scores[i] = exp(4.6 * iso_rng_unit(&rng));
	measure("RAS n=10^6 B=10^5, random / one pass");
	/* The paper's times, in the order of the workers. */
	for (uint32_t i = 0; i < WORKERS; i++)
		scores[i] = 58 * sqrt(i + 1.0);
	measure("RAS n=10^6 B=10^5, sqrt(i) / one pass");
	free(scores);
	free(tasks);
	free(workspace);
	return 0;
}
