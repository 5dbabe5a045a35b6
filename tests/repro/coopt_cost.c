/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "lib/rng.h"
#include "lib/sim/split.h"
#include "tests/repro/coopt.h"
#include "tests/repro/fit.h"

/*
 * What the shares cost that the nodes agree on while their sum stays the same, against
 * rules that split the budget at one stroke: load balancing, with which the paper compares
 * (its reference [16]), equal and proportional shares.  The instances of its Table 1 are not
 * known to us, so ours are random: 20 nodes with
 *
 *     f_i(x) = (x - b_i)^2 / (2 kappa_i),   kappa_i in [1, 5],   b_i in [2, 8] CPUs
 *
 * open: the budget is 1.2 times the sum of the b_i, no boxes, nothing occupied;
 * boxed: boxes around them (soft for us, exact for the rules), up to half a CPU of each
 * kappa occupied, and a budget of 0.6 to 1.2 times the sum.
 *
 * "Gap" is the cost above that of the exact optimum, which is no 0: nobody gets b_i.
 */
#define INSTANCES	100u
#define INSTANCES_SHORT 8u
#define ROUNDS_OPEN	1500u
#define ROUNDS_BOXED	10000u
#define RHO		0.125
#define PENALTY		0.05

enum { OURS, QUANTISED, BALANCE, EQUAL, PROPORTIONAL, RULES };
static const char *const names[RULES] = { "ours, unquantised", "ours, log-quantised, rho = 1/8",
					  "load balancing", "equal shares", "proportional shares" };

struct instance {
	uint64_t seed;
	bool boxed;
	uint32_t rounds;
};

struct outcome {
	double best;	    /* cost of the exact optimum */
	double cost[RULES]; /* without penalties */
	double outside;	    /* how far from a box we are, relative to its width */
	double share_error;
	bool diverged;
};

static double between(struct iso_rng *rng, double least, double most)
{
	return least + (most - least) * iso_rng_unit(rng);
}

struct cluster {
	struct iso_site sites[COOPT_NODES];
	double used_cpu[COOPT_NODES];
	int64_t budget_ucpu;
	struct iso_site_optimum best;
};

static int64_t ucpu(double cpu)
{
	return (int64_t)(1e6 * cpu);
}

static void draw(struct cluster *cluster, const struct instance *instance)
{
	struct iso_rng rng = { instance->seed };
	double demands = 0, budget;

	for (uint32_t i = 0; i < COOPT_NODES; i++) {
		struct iso_site *site = &cluster->sites[i];
		double demand = between(&rng, 2, 8), kappa = between(&rng, 1, 5);
		double floor = between(&rng, 0.1, 1), ceiling = demand * between(&rng, 0.9, 1.6);

		site->cost = (struct iso_cost){
			.kind = ISO_COST_QUADRATIC,
			.penalty = ISO_PENALTY_NONE,
			.weight = 1,
			.kappa = kappa,
			.demand_ucpu = ucpu(demand),
		};
		site->box = instance->boxed ? (struct iso_box){ ucpu(floor), ucpu(ceiling) }
					    : (struct iso_box){ 0, ucpu(1000) };
		cluster->used_cpu[i] = instance->boxed ? between(&rng, 0, 0.5) * kappa : 0;
		demands += demand;
	}
	budget = instance->boxed ? between(&rng, 0.6, 0.85) * demands : 1.2 * demands;
	cluster->budget_ucpu = ucpu(budget);
	cluster->best = iso_site_optimum(cluster->sites, COOPT_NODES, cluster->budget_ucpu);
}

/* Outwards, at either end of its box; some, where there is none. */
static double force_of(const struct iso_site *site, double lambda)
{
	double floor = 1e-6 * (double)site->box.floor_ucpu;
	double ceiling = 1e-6 * (double)site->box.ceiling_ucpu;
	double down = iso_cost_slope_real(&site->cost, &site->box, floor).first - lambda;
	double up = lambda - iso_cost_slope_real(&site->cost, &site->box, ceiling).first;

	return fmax(fmax(down, up), 0.1);
}

/* Softplus that is strong enough at the ends, and costs at most PENALTY of the optimum. */
static void add_penalties(const struct cluster *cluster, struct iso_site *ret_sites)
{
	double loss = PENALTY * cluster->best.cost / COOPT_NODES;

	for (uint32_t i = 0; i < COOPT_NODES; i++) {
		struct iso_site *site = &ret_sites[i];
		double force = force_of(site, cluster->best.lambda);

		site->cost.penalty = ISO_PENALTY_SOFTPLUS;
		iso_cost_tune_penalty(&site->cost, &site->box, force, loss);
	}
}

static double outside(const struct iso_site *site, double share_cpu)
{
	double floor = 1e-6 * (double)site->box.floor_ucpu;
	double ceiling = 1e-6 * (double)site->box.ceiling_ucpu;

	return fmax(fmax(floor - share_cpu, share_cpu - ceiling), 0) / (ceiling - floor);
}

static double split(const struct cluster *cluster, const struct instance *instance,
		    enum iso_split_rule rule, double *ret_shares)
{
	const struct iso_split how = {
		.rule = rule,
		.sites = cluster->sites,
		.count = COOPT_NODES,
		.budget_ucpu = cluster->budget_ucpu,
		.used_cpu = cluster->used_cpu,
		.within_box = instance->boxed,
	};

	if (iso_split(&how, ret_shares) != ISO_OK)
		repro_die("the budget cannot be split");
	return iso_split_cost(cluster->sites, COOPT_NODES, ret_shares);
}

static double agree(const struct cluster *cluster, const struct instance *instance, double rho,
		    struct outcome *outcome)
{
	struct iso_site sites[COOPT_NODES];
	struct coopt_net net;
	struct coopt_run run;
	double cost, equal[COOPT_NODES];

	(void)split(cluster, instance, ISO_SPLIT_EQUAL, equal);
	for (uint32_t i = 0; i < COOPT_NODES; i++)
		sites[i] = cluster->sites[i];
	if (instance->boxed)
		add_penalties(cluster, sites);
	coopt_net_draw(&net, 0.2, 1, instance->seed);
	const struct iso_field_config config = {
		.graph = &net.graph,
		.weights = ISO_WEIGHTS_METROPOLIS,
		.switching = &net.switching,
		.sites = sites,
		.shares_cpu = equal,
		.budget_ucpu = cluster->budget_ucpu,
		.share_step = iso_field_share_step_max(sites, COOPT_NODES, 2, rho) / 2,
		.price = { .mode = rho > 0 ? ISO_STREAM_LOG : ISO_STREAM_NONE,
			   .n = 1,
			   .bits = 12,
			   .rho = rho },
	};

	coopt_open(&run, &config);
	coopt_rounds(&run, instance->rounds);
	cost = iso_field_share_cost(run.field);
	for (uint32_t i = 0; i < COOPT_NODES; i++)
		outcome->outside =
		    fmax(outcome->outside, outside(&sites[i], iso_field_share(run.field, i)));
	outcome->share_error = fmax(outcome->share_error, run.share_error);
	outcome->diverged = outcome->diverged || run.diverged;
	coopt_close(&run);
	return cost;
}

static void work(const void *part, void *result)
{
	const struct instance *instance = part;
	struct outcome *outcome = result;
	struct cluster cluster;
	double shares[COOPT_NODES];

	draw(&cluster, instance);
	outcome->best = cluster.best.cost;
	outcome->cost[OURS] = agree(&cluster, instance, 0, outcome);
	outcome->cost[QUANTISED] = agree(&cluster, instance, RHO, outcome);
	outcome->cost[BALANCE] = split(&cluster, instance, ISO_SPLIT_BALANCE, shares);
	outcome->cost[EQUAL] = split(&cluster, instance, ISO_SPLIT_EQUAL, shares);
	outcome->cost[PROPORTIONAL] = split(&cluster, instance, ISO_SPLIT_PROPORTIONAL, shares);
}

/* Share of the instances in which the quantised agreement is better by more than half. */
static double better_by_half(const struct outcome *outcomes, uint32_t count, int rule, bool is_gap)
{
	uint32_t better = 0;

	for (uint32_t k = 0; k < count; k++) {
		double less = is_gap ? outcomes[k].best : 0;

		better +=
		    outcomes[k].cost[QUANTISED] - less < 0.5 * (outcomes[k].cost[rule] - less);
	}
	return (double)better / count;
}

static double quantile(const struct outcome *outcomes, uint32_t count, int rule, int than,
		       double share)
{
	double ratios[INSTANCES];

	for (uint32_t k = 0; k < count; k++)
		ratios[k] =
		    outcomes[k].cost[rule] / (than < 0 ? outcomes[k].best : outcomes[k].cost[than]);
	return fit_quantile(ratios, count, share);
}

static void compare(struct repro *repro, const struct outcome *outcomes, uint32_t count,
		    const char *set)
{
	for (int rule = BALANCE; rule < RULES; rule++) {
		repro_at_least(repro, 1, better_by_half(outcomes, count, rule, true),
			       "%s: instances with under half the gap of %s (at least)", set,
			       names[rule]);
		repro_at_least(repro, 1, quantile(outcomes, count, rule, QUANTISED, 0),
			       "%s: least cost of %s, ours is 1 (at least)", set, names[rule]);
		repro_note(repro, "%s: cost of %s, ours is 1: quartiles %.3g %.3g %.3g, most %.3g",
			   set, names[rule], quantile(outcomes, count, rule, QUANTISED, 0.25),
			   quantile(outcomes, count, rule, QUANTISED, 0.5),
			   quantile(outcomes, count, rule, QUANTISED, 0.75),
			   quantile(outcomes, count, rule, QUANTISED, 1));
	}
	repro_at_least(repro, 2, quantile(outcomes, count, BALANCE, QUANTISED, 0.5),
		       "%s: median cost of %s, ours is 1 (at least)", set, names[BALANCE]);
	repro_note(repro, "%s: %.0f of %u instances cost less than half of what %s costs", set,
		   count * better_by_half(outcomes, count, BALANCE, false), count, names[BALANCE]);
	for (int rule = OURS; rule <= QUANTISED; rule++)
		repro_at_most(repro, 1.01, quantile(outcomes, count, rule, -1, 1),
			      "%s: most cost of %s, optimum is 1 (at most)", set, names[rule]);
}

static void check(struct repro *repro, const struct outcome *outcomes, uint32_t count,
		  const char *set)
{
	double share_error = 0, farthest = 0;
	bool diverged = false;

	for (uint32_t k = 0; k < count; k++) {
		share_error = fmax(share_error, outcomes[k].share_error);
		farthest = fmax(farthest, outcomes[k].outside);
		diverged = diverged || outcomes[k].diverged;
	}
	if (diverged)
		repro_die("shares have diverged");
	compare(repro, outcomes, count, set);
	repro_at_most(repro, 1e-9, share_error,
		      "%s: |sum of x - b| / b, any round of any run (at most)", set);
	repro_note(repro, "%s: at the end no share is outside of its box by more than %.2g of it",
		   set, farthest);
}

static void draw_figure(struct repro *repro, const struct outcome *outcomes, uint32_t count)
{
	static double x[2][RULES][INSTANCES], y[INSTANCES];
	struct chart_curve curves[2][RULES];

	for (uint32_t k = 0; k < count; k++)
		y[k] = (k + 0.5) / count;
	for (int set = 0; set < 2; set++)
		for (int rule = 0; rule < RULES; rule++) {
			for (uint32_t k = 0; k < count; k++) {
				const struct outcome *outcome =
				    &outcomes[set * (int)count + (int)k];

				x[set][rule][k] = outcome->cost[rule] / outcome->best;
			}
			(void)fit_quantile(x[set][rule], count, 0);
			curves[set][rule] = (struct chart_curve){ names[rule], x[set][rule], y,
								  count, CHART_STEPS };
		}
	const struct chart charts[] = {
		{ .title = "open", .curves = curves[0] },
		{ .title = "boxed, partly occupied", .curves = curves[1] },
	};
	struct chart drawn[2];

	for (int set = 0; set < 2; set++) {
		drawn[set] = charts[set];
		drawn[set].x_label = "cost, of the optimum's";
		drawn[set].y_label = "share of the instances";
		drawn[set].x_log = true;
		drawn[set].count = RULES;
	}
	repro_draw(repro, NULL, "what a split of the budget costs, 100 random clusters", drawn, 2,
		   2);
}

static void run(struct repro *repro)
{
	static struct instance instances[2 * INSTANCES];
	static struct outcome outcomes[2 * INSTANCES];
	uint32_t count = repro_full(repro) ? INSTANCES : INSTANCES_SHORT;

	for (uint32_t k = 0; k < 2 * count; k++)
		instances[k] = (struct instance){
			.seed = repro_seed(repro) * 1000 + k,
			.boxed = k >= count,
			.rounds = k >= count ? ROUNDS_BOXED : ROUNDS_OPEN,
		};
	repro_each(repro, work, instances, sizeof(instances[0]), 2 * count, outcomes,
		   sizeof(outcomes[0]));
	check(repro, outcomes, count, "open");
	check(repro, outcomes + count, count, "boxed");
	if (repro_full(repro))
		draw_figure(repro, outcomes, count);
}

const struct repro_experiment repro_experiment = {
	.name = "coopt_cost",
	.about = "co-optimisation, Table 1: shares by agreement against load balancing",
	.run = run,
};
