/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Simulated events (ticks, and messages taken in) a second of CPU: an
 * exponential graph whose nodes are in the cache, against one whose nodes are
 * not.  What a large simulation costs more per event is the memory's doing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/sim/swarm.h"
#include "tests/bench/bench.h"

#define SMALL 256u
#define LARGE 8192u
#define PAIRS 3

static struct iso_quant quant;

static void must(enum iso_status status)
{
	if (status != ISO_OK)
		abort();
}

static void *room(size_t bytes)
{
	void *memory = malloc(bytes);

	if (memory == NULL)
		abort();
	return memory;
}

struct bed {
	struct iso_graph graph;
	struct iso_site *sites;
	struct iso_swarm *swarm;
};

static void make(uint32_t nodes, struct bed *bed)
{
	struct iso_graph_edge *edges = room(nodes * 16 * sizeof(*edges));
	uint32_t *degrees = room(nodes * sizeof(*degrees));
	struct iso_rng rng = { 1 };

	iso_graph_init(&bed->graph, nodes, edges, nodes * 16);
	must(iso_graph_exponential(&bed->graph));
	iso_graph_degrees(&bed->graph, degrees);
	bed->sites = room(nodes * sizeof(*bed->sites));
	for (uint32_t i = 0; i < nodes; i++)
		bed->sites[i] = iso_site_draw(ISO_SITE_HALVES, ISO_COST_QUADRATIC, i, nodes, &rng);

	struct iso_swarm_config config = {
		.seed = 1,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .relay_allow = 0.01,
			   .stop_and_wait = true,
			   .base_age_ns = 32ull * ISO_SWARM_ROUND_NS,
			   .fresh_age_ns = 50ull * ISO_SWARM_ROUND_NS },
		.graph = &bed->graph,
		.sites = bed->sites,
		.share_ucpu = 500000,
		.jitter = 0.2,
	};
	size_t bytes = iso_swarm_size(&config, degrees);

	must(iso_swarm_init(room(bytes), bytes, &config, degrees, &bed->swarm));
}

/* Millions of events a second, over so many rounds. */
static double rate(struct bed *bed, uint32_t rounds)
{
	struct iso_swarm_counts before, after;
	uint64_t from_ns = bench_cpu_ns(), took_ns;

	iso_swarm_counts(bed->swarm, &before);
	for (uint32_t n = 0; n < rounds; n++)
		iso_swarm_round(bed->swarm);
	took_ns = bench_cpu_ns() - from_ns;
	iso_swarm_counts(bed->swarm, &after);
	return (double)(after.ticks + after.received - before.ticks - before.received) * 1000 /
	       (double)took_ns;
}

int main(void)
{
	struct bench_pairs pairs = { 0 };
	static struct bed small, large;

	must(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	make(SMALL, &small);
	make(LARGE, &large);
	for (int i = 0; i < PAIRS; i++) {
		/* As many events on either side. */
		double small_rate = rate(&small, 2 * LARGE / SMALL);

		bench_add(&pairs, small_rate, rate(&large, 1));
	}
	bench_print("simulated events a second, 256 nodes / 8192 nodes", "M/s", &pairs, -1);
	return 0;
}
