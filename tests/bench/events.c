/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Simulated computations a second of CPU, without a model: drawing times, the method, the
 * counting.  Against what the same number of events costs if there is nothing but
 * them: the first of n times is taken from the same heap, an exponential one is added and
 * it is put back.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/ata/strategy.h"
#include "lib/draw.h"
#include "lib/sim/queue.h"
#include "lib/sim/training.h"
#include "tests/bench/bench.h"

#define PAIRS  7
#define EVENTS 1000000u

static volatile double sink;

static void *room(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (memory == NULL)
		abort();
	return memory;
}

static void must(enum iso_status status)
{
	if (status != ISO_OK)
		abort();
}

struct bed {
	uint32_t n;
	struct iso_law *laws;
	struct iso_method *method;
	struct iso_strategy *strategy;
	struct iso_training *training;
	struct iso_queue queue;
	struct iso_rng rng;
	uint64_t events;
};

/* batch 0: asynchronous SGD; else rounds that are allocated to the fastest. */
static void make(struct bed *bed, uint32_t n, uint32_t batch)
{
	const struct iso_times_rule rule = {
		.growth = ISO_TIMES_POWER, .scale = 1, .power = 0.5, .kind = ISO_LAW_EXPONENTIAL
	};
	struct iso_method_config method = { .kind =
						batch > 0 ? ISO_METHOD_MINIBATCH : ISO_METHOD_ASGD,
					    .workers = n,
					    .depth_max = 1,
					    .batch = batch };
	struct iso_strategy_config strategy = { .kind = ISO_STRATEGY_ATA_EMPIRICAL,
						.workers = n,
						.batch = batch > 0 ? batch : 1,
						.width = { ISO_ATA_WIDTH_FINAL, 1, 1 },
						.seed = 1 };
	size_t bytes;

	*bed = (struct bed){ .n = n, .rng = { 1 } };
	bed->laws = room(n * sizeof(*bed->laws));
	must(iso_times_fill(&rule, n, NULL, bed->laws));
	bytes = iso_method_size(&method);
	must(iso_method_init(room(bytes), bytes, &method, &bed->method));
	bytes = iso_strategy_size(&strategy);
	must(iso_strategy_init(room(bytes), bytes, &strategy, &bed->strategy));
	struct iso_training_config config = { .workers = n,
					      .laws = bed->laws,
					      .seed = 1,
					      .method = bed->method,
					      .kind = method.kind,
					      .strategy = batch > 0 ? bed->strategy : NULL };
	bytes = iso_training_size(&config);
	must(iso_training_init(room(bytes), bytes, &config, &bed->training));
	iso_queue_init(&bed->queue, room(n * sizeof(struct iso_queue_entry)),
		       room(n * sizeof(uint32_t)), n);
	for (uint32_t i = 0; i < n; i++)
		iso_queue_set(&bed->queue, i, iso_draw_exponential(&bed->rng));
}

static double simulated(struct bed *bed)
{
	double from_s = clock_cpu_s();
	struct iso_training_until until = { HUGE_VAL, UINT64_MAX, UINT64_MAX, 0 };

	until.events = bed->events += EVENTS;
	if (iso_training_run(bed->training, &until) != ISO_TRAINING_EVENTS)
		abort();
	return EVENTS * 1e-6 / (clock_cpu_s() - from_s);
}

static double bare(struct bed *bed)
{
	double from_s = clock_cpu_s();

	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct iso_queue_entry first = *iso_queue_first(&bed->queue);

		iso_queue_set(&bed->queue, first.id,
			      first.time + sqrt(first.id + 1.0) * iso_draw_exponential(&bed->rng));
	}
	sink = iso_queue_first(&bed->queue)->time;
	return EVENTS * 1e-6 / (clock_cpu_s() - from_s);
}

static void measure(const char *name, uint32_t n, uint32_t batch)
{
	struct bench_pairs pairs = { 0 };
	struct bed bed;

	make(&bed, n, batch);
	for (int i = 0; i < PAIRS; i++) {
		double ours = simulated(&bed);

		bench_add(&pairs, ours, bare(&bed));
	}
	bench_print(name, "M/s", &pairs, -1);
}

int main(void)
{
	measure("simulated events a second, 17 workers, ata B=23 / heap", 17, 23);
	measure("simulated events a second, 459 workers, asgd / heap", 459, 0);
	measure("simulated events a second, 10^6 workers, asgd / heap", 1000000, 0);
	return 0;
}
