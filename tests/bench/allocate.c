/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * A whole allocation, from statistics to tasks, against RAS alone on the
 * scores that come of them: what the bounds cost.  459 workers and 23 tasks are
 * the paper's largest experiment, which has 3 10^6 rounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ata/ras.h"
#include "lib/ata/strategy.h"
#include "lib/rng.h"
#include "tests/bench/bench.h"

#define PAIRS 11

struct subject {
	struct iso_strategy *strategy;
	void *memory, *workspace;
	uint32_t workers, batch, repeats;
	uint64_t round;
	uint32_t *tasks;
	double *scores;
};

/* Allocations, each followed by the times of its tasks; a round's time. */
static double ours_ns(struct subject *subject)
{
	uint64_t from_ns = bench_cpu_ns();

	for (uint32_t k = 0; k < subject->repeats; k++) {
		if (iso_strategy_allocate(subject->strategy, ++subject->round, subject->tasks) !=
		    ISO_OK)
			abort();
		for (uint32_t i = 0; i < subject->workers; i++)
			for (uint32_t u = 0; u < subject->tasks[i]; u++)
				iso_strategy_observe(
				    subject->strategy, i,
				    &(struct iso_ata_task){ 58 * sqrt(i + 1.0), 1, 0 });
	}
	return (double)(bench_cpu_ns() - from_ns) / subject->repeats;
}

static double ras_ns(struct subject *subject)
{
	memcpy(subject->scores, iso_strategy_scores(subject->strategy),
	       subject->workers * sizeof(*subject->scores));
	uint64_t from_ns = bench_cpu_ns();

	for (uint32_t k = 0; k < subject->repeats; k++)
		iso_ras(subject->scores, subject->workers, subject->batch, subject->workspace,
			subject->tasks);
	return (double)(bench_cpu_ns() - from_ns) / subject->repeats;
}

static void measure(const char *name, enum iso_strategy_kind kind, uint32_t workers, uint32_t batch,
		    uint32_t repeats)
{
	const struct iso_strategy_config config = {
		.kind = kind,
		.workers = workers,
		.batch = batch,
		.width = { ISO_ATA_WIDTH_FINAL, 1, 1 },
	};
	struct subject subject = { .workers = workers, .batch = batch, .repeats = repeats };
	struct bench_pairs pairs = { 0 };
	size_t size = iso_strategy_size(&config);
	struct iso_rng rng = { 1 };

	subject.memory = malloc(size);
	subject.workspace = malloc(iso_ras_workspace_bytes(workers));
	subject.tasks = malloc(workers * sizeof(*subject.tasks));
	subject.scores = malloc(workers * sizeof(*subject.scores));
	if (subject.memory == NULL || subject.workspace == NULL || subject.tasks == NULL ||
	    subject.scores == NULL ||
	    iso_strategy_init(subject.memory, size, &config, &subject.strategy) != ISO_OK)
		abort();
	/* Known from thousands of tasks each, as after the exploration. */
	for (uint32_t i = 0; i < workers; i++) {
		double count = 2000 + (double)iso_rng_below(&rng, 4000), mean = 58 * sqrt(i + 1.0);

		iso_strategy_set_present(subject.strategy, i, true);
		if (iso_strategy_import(
			subject.strategy, i,
			(struct iso_ata_samples){ count, count * mean, count * mean * mean / 4 },
			1e9) != ISO_OK)
			abort();
	}
	for (int i = 0; i < PAIRS; i++) {
		double our_ns = ours_ns(&subject);

		bench_add(&pairs, our_ns, ras_ns(&subject));
	}
	bench_print(name, "ns", &pairs, -1);
	free(subject.memory);
	free(subject.workspace);
	free(subject.tasks);
	free(subject.scores);
}

int main(void)
{
	measure("a round of ata-empirical, n=459 B=23 / RAS alone", ISO_STRATEGY_ATA_EMPIRICAL, 459,
		23, 2000);
	measure("a round of ata-pooled, n=459 B=23 / RAS alone", ISO_STRATEGY_ATA_POOLED, 459, 23,
		2000);
	measure("a round of ata-empirical, n=10^6 B=10^5 / RAS alone", ISO_STRATEGY_ATA_EMPIRICAL,
		1000000, 100000, 1);
	measure("a round of ata-pooled, n=10^6 B=10^5 / RAS alone", ISO_STRATEGY_ATA_POOLED,
		1000000, 100000, 1);
	return 0;
}
