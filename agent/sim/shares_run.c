/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/sim/network.h"
#include "agent/sim/progress.h"
#include "agent/sim/shares.h"
#include "lib/graph/graph.h"
#include "lib/quant/quant.h"
#include "lib/sim/swarm.h"

#define SHARE_UCPU 500000

/* What a run is made of; freed together. */
struct swarm_set {
	struct network network;
	struct iso_site *sites;
	void *memory;
	struct iso_swarm *swarm;
	struct iso_quant quant;
};

static void set_free(struct swarm_set *set)
{
	network_close(&set->network);
	free(set->sites);
	free(set->memory);
}

const char *shares_graph_name(unsigned graph)
{
	return graph == SHARES_FILE ? "file" : network_names[graph];
}

static int make_graph(struct swarm_set *set, const struct shares_options *options, unsigned graph,
		      uint32_t nodes, struct iso_rng *rng, struct error *reterr)
{
	const struct network_options network = {
		.kind = (enum network_kind)graph,
		.nodes = nodes,
		.probability = options->probability,
		.radius = options->radius,
		.file = graph == SHARES_FILE ? options->file : NULL,
	};

	return network_open(&network, rng, &set->network, reterr);
}

static int make_sites(struct swarm_set *set, const struct shares_options *options,
		      struct iso_rng *rng, struct error *reterr)
{
	uint32_t nodes = set->network.graph.nodes;

	set->sites = malloc(nodes * sizeof(*set->sites));
	if (set->sites == NULL)
		return error_errno(reterr, -ENOMEM, "costs of %u nodes", nodes);
	for (uint32_t i = 0; i < nodes; i++)
		set->sites[i] = iso_site_draw(options->load, options->cost, i, nodes, rng);
	return 0;
}

static int make_swarm(struct swarm_set *set, const struct shares_options *options,
		      struct iso_rng *rng, size_t *ret_bytes, struct error *reterr)
{
	struct iso_swarm_config config = {
		.seed = iso_rng_next(rng),
		.share = { .mode = options->mode,
			   .quant = &set->quant,
			   .uniform_step_q32 = iso_price_of_real(options->rho),
			   .gamma = options->gamma,
			   .dead_band = options->dead_band,
			   .relay_allow = 0.01,
			   .stop_and_wait = true,
			   .base_age_ns = 32ull * ISO_SWARM_ROUND_NS,
			   .fresh_age_ns = 50ull * ISO_SWARM_ROUND_NS },
		.graph = &set->network.graph,
		.sites = set->sites,
		.share_ucpu = SHARE_UCPU,
		.loss = options->loss,
		.delay = options->delay,
		.jitter = options->jitter,
	};
	size_t bytes = iso_swarm_size(&config, set->network.degrees);
	enum iso_status status;

	if (bytes == 0)
		return error_set(reterr, -EINVAL,
				 "out of range, or a node with too many neighbours");
	set->memory = malloc(bytes);
	if (set->memory == NULL)
		return error_errno(reterr, -ENOMEM, "%zu bytes for %u nodes", bytes,
				   set->network.graph.nodes);
	status = iso_swarm_init(set->memory, bytes, &config, set->network.degrees, &set->swarm);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "%s", iso_status_text(status));
	*ret_bytes = bytes;
	return 0;
}

/* The gap must last: on its way down it may swing through the goal. */
static int run_rounds(const struct shares_options *options, struct swarm_set *set,
		      struct shares_run *run, struct error *reterr)
{
	int64_t budget_ucpu = (int64_t)SHARE_UCPU * run->nodes;
	struct iso_site_optimum best = iso_site_optimum(set->sites, run->nodes, budget_ucpu);
	const unsigned lasting = 5;
	unsigned good = 0;

	for (run->rounds = 0; run->rounds < options->rounds_max && good < lasting; run->rounds++) {
		double from_s = clock_cpu_s();
		const char *violation;

		iso_swarm_round(set->swarm);
		run->seconds += clock_cpu_s() - from_s;
		violation = iso_swarm_violation(set->swarm);
		if (violation != NULL)
			return error_set(reterr, -ENOTRECOVERABLE, "round %ju: %s",
					 (uintmax_t)run->rounds + 1, violation);
		run->gap = (iso_swarm_cost(set->swarm) - best.cost) / fabs(best.cost);
		/* Below the optimum, too, as long as units are under way. */
		good = fabs(run->gap) <= options->gap ? good + 1 : 0;
		progress_show("%s %u: round %ju, gap %.3g", shares_graph_name(run->graph),
			      run->nodes, (uintmax_t)run->rounds, run->gap);
	}
	progress_clear();
	run->reached = good == lasting;
	run->rounds -= run->reached ? lasting - 1 : 0;
	return 0;
}

int shares_run(const struct shares_options *options, unsigned graph, uint32_t nodes, uint64_t seed,
	       struct shares_run *ret_run, struct error *reterr)
{
	__attribute__((cleanup(set_free))) struct swarm_set set = { 0 };
	struct iso_rng rng = { seed };
	struct shares_run run = { .graph = graph, .nodes = nodes, .seed = seed };
	struct iso_swarm_counts counts;
	int r;

	if (iso_quant_init((uint32_t)(options->rho * 65536 + 0.5), &set.quant) != ISO_OK)
		return error_set(reterr, -EINVAL, "rho %g is not within 1/32 and 2", options->rho);
	r = make_graph(&set, options, graph, nodes, &rng, reterr);
	nodes = run.nodes = r == 0 ? set.network.graph.nodes : nodes;
	if (r == 0)
		r = make_sites(&set, options, &rng, reterr);
	if (r == 0)
		r = make_swarm(&set, options, &rng, &run.bytes, reterr);
	if (r == 0)
		r = run_rounds(options, &set, &run, reterr);
	if (r < 0)
		return r;
	iso_swarm_counts(set.swarm, &counts);
	run.edges = set.network.graph.edge_count;
	for (uint32_t i = 0; i < nodes; i++)
		run.degree =
		    set.network.degrees[i] > run.degree ? set.network.degrees[i] : run.degree;
	run.graph_bytes = run.edges * sizeof(*set.network.graph.edges) +
			  nodes * (sizeof(*set.network.degrees) + sizeof(*set.sites));
	run.messages = counts.sent;
	run.events = counts.ticks + counts.received;
	run.digest = iso_swarm_digest(set.swarm);
	*ret_run = run;
	return 0;
}
