/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/gnuplot.h"
#include "agent/base/output.h"
#include "agent/sim/option.h"
#include "agent/sim/sim.h"

enum {
	OPTION_GRAPH = 256,
	OPTION_PROBABILITY,
	OPTION_RADIUS,
	OPTION_FILE,
	OPTION_NODES,
	OPTION_SEED,
	OPTION_SEEDS,
	OPTION_LOAD,
	OPTION_COST,
	OPTION_QUANTISER,
	OPTION_RHO,
	OPTION_GAMMA,
	OPTION_DEAD_BAND,
	OPTION_LOSS,
	OPTION_DELAY,
	OPTION_JITTER,
	OPTION_GAP,
	OPTION_ROUNDS,
	OPTION_CSV,
	OPTION_JSON,
	OPTION_PLOT,
	OPTION_TIMING,
};

static const struct option options[] = {
	{ "graph", required_argument, NULL, OPTION_GRAPH },
	{ "probability", required_argument, NULL, OPTION_PROBABILITY },
	{ "radius", required_argument, NULL, OPTION_RADIUS },
	{ "file", required_argument, NULL, OPTION_FILE },
	{ "nodes", required_argument, NULL, OPTION_NODES },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "seeds", required_argument, NULL, OPTION_SEEDS },
	{ "load", required_argument, NULL, OPTION_LOAD },
	{ "cost", required_argument, NULL, OPTION_COST },
	{ "quantiser", required_argument, NULL, OPTION_QUANTISER },
	{ "rho", required_argument, NULL, OPTION_RHO },
	{ "gamma", required_argument, NULL, OPTION_GAMMA },
	{ "dead-band", required_argument, NULL, OPTION_DEAD_BAND },
	{ "loss", required_argument, NULL, OPTION_LOSS },
	{ "delay", required_argument, NULL, OPTION_DELAY },
	{ "jitter", required_argument, NULL, OPTION_JITTER },
	{ "gap", required_argument, NULL, OPTION_GAP },
	{ "rounds", required_argument, NULL, OPTION_ROUNDS },
	{ "csv", no_argument, NULL, OPTION_CSV },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "plot", required_argument, NULL, OPTION_PLOT },
	{ "timing", no_argument, NULL, OPTION_TIMING },
	{ 0 },
};

void sim_shares_usage(void)
{
	puts("options of shares:\n"
	     "      --graph LIST       of the kinds of graph; ring,grid,random,exponential\n"
	     "      --probability P    of an edge of erdos-renyi; as for graph\n"
	     "      --radius PART      of geometric; as for graph\n"
	     "      --file FILE        a graph as text, also or instead\n"
	     "      --nodes LIST       numbers of nodes; 16,64,256,1024\n"
	     "      --seed N           of all that is random; 1\n"
	     "      --seeds N          so many runs of each, with this seed and the next; 1\n"
	     "      --load KIND        halves (one half is busy) or scattered; halves\n"
	     "      --cost KIND        quadratic, latency or proportional; quadratic\n"
	     "      --quantiser MODE   difference, log, uniform or none; difference\n"
	     "      --rho STEP         of the quantiser; 0.25\n"
	     "      --gamma STEP       of the flow, above 0 to 1; 0.9\n"
	     "      --dead-band PART   gaps below this part of the price are none; 0\n"
	     "      --loss PART        of the messages; 0\n"
	     "      --delay ROUNDS     of a message, mean; 0\n"
	     "      --jitter ROUNDS    so much too early or late is a tick at most; 0.2\n"
	     "      --gap PART         above the least cost is the goal; 0.01\n"
	     "      --rounds MAX       give up then; 10000\n"
	     "      --csv              one line a run, for spreadsheets\n"
	     "      --json             for machines\n"
	     "      --plot FILE.svg    rounds against nodes, drawn by gnuplot\n"
	     "      --timing           CPU time and events a second, too");
}

static bool add_graph(void *context, const char *part)
{
	struct shares_options *into = context;
	enum network_kind kind;

	if (!network_option_kind("graph", part, &kind))
		return false;
	into->graphs[kind] = true;
	return true;
}

static bool add_size(void *context, const char *part)
{
	struct shares_options *into = context;

	return network_option_size(part, into->sizes, &into->size_count);
}

static bool set_load(struct shares_options *into, const char *text)
{
	static const char *const names[] = { "halves", "scattered" };
	int index;

	if (!option_name("load", text, names, 2, &index))
		return false;
	into->load = (enum iso_site_load)(ISO_SITE_HALVES + index);
	return true;
}

static bool set_cost(struct shares_options *into, const char *text)
{
	static const char *const names[] = { "quadratic", "latency", "proportional" };
	int index;

	if (!option_name("cost", text, names, 3, &index))
		return false;
	into->cost = (enum iso_cost_kind)(ISO_COST_QUADRATIC + index);
	return true;
}

static bool set_mode(struct shares_options *into, const char *text)
{
	static const char *const names[] = { "difference", "log", "uniform", "none" };
	int index;

	if (!option_name("quantiser", text, names, 4, &index))
		return false;
	into->mode = (enum iso_share_mode)(ISO_SHARE_DIFFERENCE + index);
	return true;
}

static bool set_option(void *context, int option, const char *text)
{
	struct shares_options *into = context;

	switch (option) {
	case OPTION_GRAPH: return option_parts("graph", text, add_graph, into);
	case OPTION_PROBABILITY: return option_real("probability", text, 0, 1, &into->probability);
	case OPTION_RADIUS: return option_real("radius", text, 0, 2, &into->radius);
	case OPTION_FILE:
		into->file = text;
		into->graphs[SHARES_FILE] = true;
		return true;
	case OPTION_NODES: return option_parts("nodes", text, add_size, into);
	case OPTION_SEED: return option_number("seed", text, 0, INT64_MAX, &into->seed);
	case OPTION_SEEDS: return option_number("seeds", text, 1, 1000, &into->seed_count);
	case OPTION_LOAD: return set_load(into, text);
	case OPTION_COST: return set_cost(into, text);
	case OPTION_QUANTISER: return set_mode(into, text);
	case OPTION_RHO: return option_real("rho", text, 0.03125, 2, &into->rho);
	case OPTION_GAMMA: return option_real("gamma", text, 1e-6, 1, &into->gamma);
	case OPTION_DEAD_BAND: return option_real("dead-band", text, 0, 1, &into->dead_band);
	case OPTION_LOSS: return option_real("loss", text, 0, 0.99, &into->loss);
	case OPTION_DELAY: return option_real("delay", text, 0, 100, &into->delay);
	case OPTION_JITTER: return option_real("jitter", text, 0, 0.9, &into->jitter);
	case OPTION_GAP: return option_real("gap", text, 1e-9, 1e9, &into->gap);
	case OPTION_ROUNDS: return option_number("rounds", text, 1, UINT32_MAX, &into->rounds_max);
	case OPTION_CSV: into->format = SHARES_CSV; return true;
	case OPTION_JSON: into->format = SHARES_JSON; return true;
	case OPTION_PLOT: return option_plot(text, &into->plot);
	case OPTION_TIMING: into->timing = true; return true;
	default: return false;
	}
}

/* Without a word about graphs: those that show how sharing scales. */
static void choose_graphs(struct shares_options *into)
{
	static const enum network_kind usual[] = { NETWORK_RING, NETWORK_GRID, NETWORK_RANDOM,
						   NETWORK_EXPONENTIAL };
	bool any = false;

	for (unsigned graph = 0; graph < SHARES_GRAPHS; graph++)
		any = any || into->graphs[graph];
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && !any; i++)
		into->graphs[usual[i]] = true;
}

static bool read_options(int argc, char **argv, struct shares_options *ret)
{
	static const uint32_t sizes[] = { 16, 64, 256, 1024 };

	*ret = (struct shares_options){
		.seed = 1,
		.seed_count = 1,
		.load = ISO_SITE_HALVES,
		.cost = ISO_COST_QUADRATIC,
		.mode = ISO_SHARE_DIFFERENCE,
		.rho = 0.25,
		.gamma = 0.9,
		.jitter = 0.2,
		.gap = 0.01,
		.rounds_max = 10000,
	};
	if (!option_read_all(argc, argv, options, set_option, ret))
		return false;
	choose_graphs(ret);
	if (ret->size_count == 0) {
		memcpy(ret->sizes, sizes, sizeof(sizes));
		ret->size_count = sizeof(sizes) / sizeof(sizes[0]);
	}
	return true;
}

static int run_one(const struct shares_options *opts, unsigned graph, unsigned n, uint64_t seed,
		   struct shares_run *ret_run, struct error *reterr)
{
	int r = shares_run(opts, graph, opts->sizes[n], seed, ret_run, reterr);

	if (r < 0 && graph == SHARES_FILE)
		return error_wrap(reterr, "seed %ju", (uintmax_t)seed);
	if (r < 0)
		return error_wrap(reterr, "%s of %u nodes, seed %ju", shares_graph_name(graph),
				  opts->sizes[n], (uintmax_t)seed);
	return 0;
}

/* All runs; those that ended well are in *ret_runs, which the caller frees. */
static int run_all(const struct shares_options *opts, struct shares_run **ret_runs,
		   size_t *ret_count, struct error *reterr)
{
	size_t count = 0, most = SHARES_GRAPHS * opts->size_count * opts->seed_count;
	struct shares_run *runs = calloc(most, sizeof(*runs));

	*ret_runs = runs;
	*ret_count = 0;
	if (runs == NULL)
		return error_errno(reterr, -ENOMEM, "%zu runs", most);
	for (unsigned graph = 0; graph < SHARES_GRAPHS; graph++)
		/* A file has the size that it has. */
		for (unsigned n = 0; n < (graph == SHARES_FILE ? 1 : opts->size_count); n++)
			for (uint64_t seed = 0; opts->graphs[graph] && seed < opts->seed_count;
			     seed++) {
				int r = run_one(opts, graph, n, opts->seed + seed, &runs[count],
						reterr);

				if (r < 0)
					return r;
				shares_print_run(stdout, opts, &runs[count], count == 0);
				*ret_count = ++count;
				r = output_flush(reterr);
				if (r < 0)
					return r;
			}
	return 0;
}

int sim_shares(int argc, char **argv)
{
	struct shares_options opts;
	struct shares_run *runs;
	struct error error = { 0 };
	size_t count;
	int r;

	if (!read_options(argc, argv, &opts))
		return SIM_USAGE;
	if (opts.plot != NULL && gnuplot_try(opts.plot, &error) < 0) {
		fprintf(stderr, "isobar-sim: %s\n", error.text);
		return SIM_FAILED;
	}
	shares_print_head(stdout, &opts);
	r = run_all(&opts, &runs, &count, &error);
	shares_print_end(stdout, &opts);
	if (r == 0 && opts.plot != NULL)
		r = shares_plot(&opts, runs, count, &error);
	free(runs);
	if (r == 0)
		return SIM_DONE;
	fprintf(stderr, "isobar-sim: %s\n", error.text);
	return SIM_FAILED;
}
