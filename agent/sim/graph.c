/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/graph.h"

#include <errno.h>
#include <string.h>

#include "agent/sim/option.h"
#include "agent/sim/sim.h"

enum {
	OPTION_KIND = 256,
	OPTION_NODES,
	OPTION_NAMES,
	OPTION_FILE,
	OPTION_PROBABILITY,
	OPTION_RADIUS,
	OPTION_SEED,
	OPTION_WEIGHTS,
	OPTION_TOLERANCE,
	OPTION_STEPS,
	OPTION_CURVATURE,
	OPTION_RHO,
	OPTION_UP,
	OPTION_PROMISE,
	OPTION_TURNS,
	OPTION_DRAWS,
	OPTION_EDGES,
	OPTION_NEIGHBOURS,
	OPTION_JSON,
};

static const struct option options[] = {
	{ "kind", required_argument, NULL, OPTION_KIND },
	{ "nodes", required_argument, NULL, OPTION_NODES },
	{ "names", required_argument, NULL, OPTION_NAMES },
	{ "file", required_argument, NULL, OPTION_FILE },
	{ "probability", required_argument, NULL, OPTION_PROBABILITY },
	{ "radius", required_argument, NULL, OPTION_RADIUS },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "weights", required_argument, NULL, OPTION_WEIGHTS },
	{ "tolerance", required_argument, NULL, OPTION_TOLERANCE },
	{ "steps", required_argument, NULL, OPTION_STEPS },
	{ "curvature", required_argument, NULL, OPTION_CURVATURE },
	{ "rho", required_argument, NULL, OPTION_RHO },
	{ "up", required_argument, NULL, OPTION_UP },
	{ "promise", required_argument, NULL, OPTION_PROMISE },
	{ "turns", required_argument, NULL, OPTION_TURNS },
	{ "draws", required_argument, NULL, OPTION_DRAWS },
	{ "edges", no_argument, NULL, OPTION_EDGES },
	{ "neighbours", required_argument, NULL, OPTION_NEIGHBOURS },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ 0 },
};

void sim_graph_usage(void)
{
	puts("options of graph:\n"
	     "      --kind KIND        ring, grid, random, exponential, complete, star, line,\n"
	     "                         erdos-renyi or geometric\n"
	     "      --nodes N          number of nodes; 16\n"
	     "      --names LIST       their names, instead of node0, node1 and so on\n"
	     "      --file FILE        a graph as text, instead of one of a kind\n"
	     "      --probability P    of an edge of erdos-renyi; 2 ln(N) / (N - 1)\n"
	     "      --radius PART      of geometric, in a square of width 1;\n"
	     "                         sqrt(2 ln(N) / (3.14 N))\n"
	     "      --seed N           of all that is random; 1\n"
	     "      --weights KIND     metropolis or max-degree; metropolis\n"
	     "      --tolerance PART   of the eigenvalues; 1e-6\n"
	     "      --steps MAX        to find them in; 20000\n"
	     "      --curvature L      of what is tracked over the graph; 1\n"
	     "      --rho STEP         of a log quantiser, 0 without one; 0\n"
	     "      --up PART          edges come and go, each is up so often\n"
	     "      --promise KIND     of such a graph: free, connected or union; free\n"
	     "      --turns N          of union: draws in which each edge is up once; 4\n"
	     "      --draws N          how many of its states are looked at; 100\n"
	     "      --edges            print the edges, as --file reads them\n"
	     "      --neighbours NAME  print that node's neighbours, for isobard.conf\n"
	     "      --json             for machines");
}

static bool set_output(struct graph_options *into, enum graph_output output)
{
	if (into->output != GRAPH_TEXT && into->output != output) {
		fputs("isobar-sim: --edges, --neighbours and --json exclude each other\n", stderr);
		return false;
	}
	into->output = output;
	return true;
}

static bool set_option(void *context, int option, const char *text)
{
	struct graph_options *into = context;

	switch (option) {
	case OPTION_KIND:
		into->has_kind = true;
		return network_option_kind("kind", text, &into->network.kind);
	case OPTION_NODES:
		into->has_nodes = true;
		return option_small("nodes", text, 2, NETWORK_NODES_MAX, &into->network.nodes);
	case OPTION_NAMES: into->names = text; return true;
	case OPTION_FILE: into->file = text; return true;
	case OPTION_PROBABILITY:
		return option_real("probability", text, 0, 1, &into->network.probability);
	case OPTION_RADIUS: return option_real("radius", text, 0, 2, &into->network.radius);
	case OPTION_SEED: return option_number("seed", text, 0, INT64_MAX, &into->seed);
	case OPTION_WEIGHTS: return network_option_weights(text, &into->weights);
	case OPTION_TOLERANCE: return option_real("tolerance", text, 1e-14, 0.1, &into->tolerance);
	case OPTION_STEPS: return option_small("steps", text, 1, 10000000, &into->steps_max);
	case OPTION_CURVATURE: return option_real("curvature", text, 1e-12, 1e12, &into->curvature);
	case OPTION_RHO: return option_real("rho", text, 0, 2, &into->rho);
	case OPTION_UP:
		into->switches = true;
		return option_real("up", text, 0, 1, &into->switching.up);
	case OPTION_PROMISE: return network_option_promise(text, &into->switching.promise);
	case OPTION_TURNS: return option_small("turns", text, 1, 1000, &into->switching.turns);
	case OPTION_DRAWS: return option_small("draws", text, 1, 1000000, &into->draws);
	case OPTION_EDGES: return set_output(into, GRAPH_EDGES);
	case OPTION_NEIGHBOURS:
		into->neighbours_of = text;
		return set_output(into, GRAPH_NEIGHBOURS);
	case OPTION_JSON: return set_output(into, GRAPH_JSON);
	default: return false;
	}
}

static bool check_options(const struct graph_options *opts)
{
	const char *wrong = NULL;

	if (opts->file == NULL && !opts->has_kind)
		wrong = "which graph? --kind or --file says it";
	else if (opts->file != NULL && (opts->has_kind || opts->has_nodes || opts->names != NULL))
		wrong = "--file says all: no --kind, --nodes or --names beside it";
	else if (opts->has_nodes && opts->names != NULL)
		wrong = "--names says how many nodes there are: no --nodes beside it";
	if (wrong != NULL)
		fprintf(stderr, "isobar-sim: %s\n", wrong);
	return wrong == NULL;
}

static bool read_options(int argc, char **argv, struct graph_options *ret)
{
	*ret = (struct graph_options){
		.network = { .nodes = 16 },
		.seed = 1,
		.weights = ISO_WEIGHTS_METROPOLIS,
		.tolerance = 1e-6,
		.steps_max = 20000,
		.curvature = 1,
		.switching = { .dwell = 1, .promise = ISO_SWITCHING_FREE, .turns = 4 },
		.draws = 100,
	};
	if (!option_read_all(argc, argv, options, set_option, ret))
		return false;
	ret->switching.seed = ret->seed;
	return check_options(ret);
}

static void subject_close(struct graph_subject *subject)
{
	network_close(&subject->network);
	graph_names_close(&subject->names);
}

static int subject_open(const struct graph_options *opts, struct graph_subject *subject,
			struct error *reterr)
{
	struct network_options network = opts->network;
	struct iso_rng rng = { opts->seed };
	int r = 0;

	if (opts->file != NULL) {
		subject->kind = "file";
		subject->graph = &subject->names.graph;
		return graph_names_read(opts->file, &subject->names, reterr);
	}
	if (opts->names != NULL)
		r = graph_names_list(opts->names, &subject->names, reterr);
	if (r < 0)
		return r;
	if (opts->names != NULL)
		network.nodes = subject->names.graph.nodes;
	if (network.nodes < 2)
		return error_set(reterr, -EINVAL, "names: two nodes are the fewest");
	subject->kind = network_names[network.kind];
	subject->graph = &subject->network.graph;
	return network_open(&network, &rng, &subject->network, reterr);
}

static int print_neighbours(const struct graph_options *opts, const struct graph_subject *subject,
			    struct error *reterr)
{
	uint32_t node;

	if (!graph_node(&subject->names, opts->neighbours_of, subject->graph->nodes, &node))
		return error_set(reterr, -ENOENT, "no node '%s'", opts->neighbours_of);
	return graph_print_neighbours(stdout, subject, node, reterr);
}

static int answer(const struct graph_options *opts, struct graph_subject *subject,
		  struct error *reterr)
{
	struct graph_facts facts;
	int r = subject_open(opts, subject, reterr);

	if (r < 0)
		return r;
	if (opts->output == GRAPH_NEIGHBOURS)
		return print_neighbours(opts, subject, reterr);
	if (opts->output == GRAPH_EDGES) {
		graph_print_edges(stdout, subject);
		return 0;
	}
	r = graph_measure(opts, subject, &facts, reterr);
	if (r < 0)
		return r;
	if (opts->output == GRAPH_JSON)
		graph_print_json(stdout, opts, subject, &facts);
	else
		graph_print(stdout, opts, subject, &facts);
	return 0;
}

int sim_graph(int argc, char **argv)
{
	__attribute__((cleanup(subject_close))) struct graph_subject subject = { 0 };
	struct graph_options opts;
	struct error error = { 0 };

	if (!read_options(argc, argv, &opts))
		return SIM_USAGE;
	if (answer(&opts, &subject, &error) == 0)
		return SIM_DONE;
	fprintf(stderr, "isobar-sim: %s\n", error.text);
	return SIM_FAILED;
}
