/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/track.h"

#include <stdlib.h>
#include <string.h>

#include "agent/sim/option.h"
#include "agent/sim/sim.h"

enum {
	OPTION_PROBLEM = 256,
	OPTION_DATA,
	OPTION_SAMPLES,
	OPTION_FEATURES,
	OPTION_CLASSES,
	OPTION_L2,
	OPTION_PARTITION,
	OPTION_DIRICHLET,
	OPTION_OVERLAP,
	OPTION_GRAPH,
	OPTION_NODES,
	OPTION_FILE,
	OPTION_PROBABILITY,
	OPTION_RADIUS,
	OPTION_WEIGHTS,
	OPTION_UP,
	OPTION_DWELL,
	OPTION_PROMISE,
	OPTION_METHOD,
	OPTION_BITS,
	OPTION_RHO,
	OPTION_COARSER,
	OPTION_UNIFORM,
	OPTION_ALPHA,
	OPTION_STEP,
	OPTION_PUSH_STEP,
	OPTION_GOAL,
	OPTION_ROUNDS,
	OPTION_EVERY,
	OPTION_SEED,
	OPTION_SCALE,
	OPTION_CSV,
	OPTION_JSON,
	OPTION_PLOT,
	OPTION_AGAINST,
	OPTION_TIMING,
};

static const struct option options[] = {
	{ "problem", required_argument, NULL, OPTION_PROBLEM },
	{ "data", required_argument, NULL, OPTION_DATA },
	{ "samples", required_argument, NULL, OPTION_SAMPLES },
	{ "features", required_argument, NULL, OPTION_FEATURES },
	{ "classes", required_argument, NULL, OPTION_CLASSES },
	{ "l2", required_argument, NULL, OPTION_L2 },
	{ "partition", required_argument, NULL, OPTION_PARTITION },
	{ "dirichlet", required_argument, NULL, OPTION_DIRICHLET },
	{ "overlap", required_argument, NULL, OPTION_OVERLAP },
	{ "graph", required_argument, NULL, OPTION_GRAPH },
	{ "nodes", required_argument, NULL, OPTION_NODES },
	{ "file", required_argument, NULL, OPTION_FILE },
	{ "probability", required_argument, NULL, OPTION_PROBABILITY },
	{ "radius", required_argument, NULL, OPTION_RADIUS },
	{ "weights", required_argument, NULL, OPTION_WEIGHTS },
	{ "up", required_argument, NULL, OPTION_UP },
	{ "dwell", required_argument, NULL, OPTION_DWELL },
	{ "promise", required_argument, NULL, OPTION_PROMISE },
	{ "method", required_argument, NULL, OPTION_METHOD },
	{ "bits", required_argument, NULL, OPTION_BITS },
	{ "rho", required_argument, NULL, OPTION_RHO },
	{ "coarser", required_argument, NULL, OPTION_COARSER },
	{ "uniform", required_argument, NULL, OPTION_UNIFORM },
	{ "alpha", required_argument, NULL, OPTION_ALPHA },
	{ "step", required_argument, NULL, OPTION_STEP },
	{ "push-step", required_argument, NULL, OPTION_PUSH_STEP },
	{ "goal", required_argument, NULL, OPTION_GOAL },
	{ "rounds", required_argument, NULL, OPTION_ROUNDS },
	{ "every", required_argument, NULL, OPTION_EVERY },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "scale", no_argument, NULL, OPTION_SCALE },
	{ "csv", no_argument, NULL, OPTION_CSV },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "plot", required_argument, NULL, OPTION_PLOT },
	{ "against", required_argument, NULL, OPTION_AGAINST },
	{ "timing", no_argument, NULL, OPTION_TIMING },
	{ 0 },
};

void sim_track_usage(void)
{
	puts("options of track:\n"
	     "      --problem KIND     regression, logistic, softmax, svm or waves; regression\n"
	     "      --data SPEC        see isobar-data(5); data made from the seed\n"
	     "      --samples N        of all nodes; all that are read, or 40 a node\n"
	     "      --features N       of regression data that are made; 4\n"
	     "      --classes A,B      of images, for logistic and svm; 2,6\n"
	     "      --l2 WEIGHT        of the penalty; 0.01\n"
	     "      --partition KIND   iid, dirichlet or overlap; iid\n"
	     "      --dirichlet ALPHA  small is one-sided; 1\n"
	     "      --overlap PART     of all samples that a node has; 0.75\n"
	     "      --graph KIND       ring, grid, random, exponential, complete, star, line,\n"
	     "                         erdos-renyi or geometric; exponential\n"
	     "      --nodes N          16\n"
	     "      --file FILE        a graph as text, instead\n"
	     "      --probability P    of an edge of erdos-renyi; 2 ln(N) / (N - 1)\n"
	     "      --radius PART      of geometric, in a square of width 1\n"
	     "      --weights KIND     metropolis or max-degree; metropolis\n"
	     "      --up PART          of the edges, drawn anew; 1\n"
	     "      --dwell ROUNDS     that such a draw lasts; 1\n"
	     "      --promise KIND     free, connected or union; connected\n"
	     "      --method LIST      of none, single, uniform, log, innovation, gp, sgp,\n"
	     "                         addopt, s-addopt, push-saga, push-saga-cta; all but the "
	     "last\n"
	     "      --bits N           of a number sent, 2 to 16; 8\n"
	     "      --rho STEP         of log and innovation; 0.125\n"
	     "      --coarser N        how often rho may double at first; 0\n"
	     "      --uniform STEP     of uniform; 0.015625\n"
	     "      --alpha A          gradient weight, or adaptive, or safe; adaptive, with\n"
	     "                         --scale safe\n"
	     "      --step T           of a round; 0.5\n"
	     "      --push-step A      of the others, in units of 1/L; 0.25\n"
	     "      --goal PART        of the gap at the start; 0.001, with --scale 0.01\n"
	     "      --rounds N         1000\n"
	     "      --every N          rounds between two points of a curve; 1\n"
	     "      --seed N           of all that is random; 1\n"
	     "      --scale            rounds to the goal for lists of graphs and of nodes\n"
	     "      --csv              curves, or with --scale one line a run\n"
	     "      --json             for machines\n"
	     "      --plot FILE.svg    curves, drawn by gnuplot\n"
	     "      --against AXIS     rounds or bits; rounds\n"
	     "      --timing           CPU time, too");
}

static bool set_problem(struct track_options *into, const char *text)
{
	static const enum iso_smooth_kind kinds[] = { ISO_SMOOTH_REGRESSION, ISO_SMOOTH_LOGISTIC,
						      ISO_SMOOTH_SOFTMAX, ISO_SMOOTH_SVM,
						      ISO_SMOOTH_WAVES };
	const char *names[5];
	int index;

	for (int i = 0; i < 5; i++)
		names[i] = iso_smooth_kind_text(kinds[i]);
	if (!option_name("problem", text, names, 5, &index))
		return false;
	into->problem.kind = kinds[index];
	return true;
}

static bool set_classes(struct track_options *into, const char *text)
{
	unsigned zero, one;
	int end = 0;

	if (sscanf(text, "%3u,%3u%n", &zero, &one, &end) < 2 || text[end] != '\0' || zero > 255 ||
	    one > 255 || zero == one)
		return option_refuse("classes", text, "pair of different classes");
	into->problem.zero = (uint8_t)zero;
	into->problem.one = (uint8_t)one;
	return true;
}

static bool set_partition(struct track_options *into, const char *text)
{
	static const char *const names[] = { "iid", "dirichlet", "overlap" };
	int index;

	if (!option_name("partition", text, names, 3, &index))
		return false;
	into->problem.partition = (enum iso_partition_kind)(ISO_PARTITION_IID + index);
	return true;
}

static bool add_graph(void *context, const char *part)
{
	struct track_options *into = context;

	if (!network_option_kind("graph", part, &into->network.kind))
		return false;
	into->graphs[into->network.kind] = true;
	return true;
}

static bool add_size(void *context, const char *part)
{
	struct track_options *into = context;

	return network_option_size(part, into->sizes, &into->size_count);
}

static bool add_method(void *context, const char *part)
{
	struct track_options *into = context;
	const char *names[TRACK_METHODS];
	int index;

	for (int i = 0; i < (int)TRACK_METHODS; i++)
		names[i] = track_method_name(i);
	if (!option_name("method", part, names, TRACK_METHODS, &index))
		return false;
	into->methods[index] = true;
	return true;
}

static bool set_alpha(struct track_options *into, const char *text)
{
	into->alpha_kind = TRACK_ALPHA_ADAPTIVE;
	if (strcmp(text, "adaptive") == 0)
		return true;
	into->alpha_kind = TRACK_ALPHA_SAFE;
	if (strcmp(text, "safe") == 0)
		return true;
	into->alpha_kind = TRACK_ALPHA_FIXED;
	return option_real("alpha", text, 1e-12, 1e12, &into->alpha);
}

static bool set_against(struct track_options *into, const char *text)
{
	static const char *const names[] = { "rounds", "bits" };
	int index;

	if (!option_name("against", text, names, 2, &index))
		return false;
	into->plot_bits = index == 1;
	return true;
}

/* Of the problem and its network. */
static bool set_setting(struct track_options *into, int option, const char *text)
{
	struct track_problem_options *problem = &into->problem;

	switch (option) {
	case OPTION_PROBLEM: return set_problem(into, text);
	case OPTION_DATA: problem->data = text; return true;
	case OPTION_SAMPLES: return option_small("samples", text, 1, 100000000, &problem->samples);
	case OPTION_FEATURES: return option_small("features", text, 1, 10000, &problem->features);
	case OPTION_CLASSES: return set_classes(into, text);
	case OPTION_L2: return option_real("l2", text, 0, 1e6, &problem->l2);
	case OPTION_PARTITION: return set_partition(into, text);
	case OPTION_DIRICHLET:
		return option_real("dirichlet", text, 1e-3, 1e6, &problem->dirichlet);
	case OPTION_OVERLAP: return option_real("overlap", text, 1e-6, 1, &problem->overlap);
	case OPTION_GRAPH: return option_parts("graph", text, add_graph, into);
	case OPTION_NODES: return option_parts("nodes", text, add_size, into);
	case OPTION_FILE: into->network.file = text; return true;
	case OPTION_PROBABILITY:
		return option_real("probability", text, 1e-9, 1, &into->network.probability);
	case OPTION_RADIUS: return option_real("radius", text, 1e-9, 2, &into->network.radius);
	case OPTION_WEIGHTS: return network_option_weights(text, &into->weights);
	case OPTION_UP: return option_real("up", text, 0.001, 1, &into->switching.up);
	case OPTION_DWELL: return option_small("dwell", text, 1, 1000000, &into->switching.dwell);
	case OPTION_PROMISE: return network_option_promise(text, &into->switching.promise);
	default: return false;
	}
}

/* Of the methods and what is printed of them. */
static bool set_option(void *context, int option, const char *text)
{
	struct track_options *into = context;

	switch (option) {
	case OPTION_METHOD: return option_parts("method", text, add_method, into);
	case OPTION_BITS: return option_small("bits", text, 2, 16, &into->bits);
	case OPTION_RHO: return option_real("rho", text, 0x1p-10, 4, &into->rho);
	case OPTION_COARSER: return option_small("coarser", text, 0, 12, &into->coarser);
	case OPTION_UNIFORM: return option_real("uniform", text, 1e-12, 1e12, &into->uniform);
	case OPTION_ALPHA: return set_alpha(into, text);
	case OPTION_STEP: return option_real("step", text, 1e-9, 2, &into->step);
	case OPTION_PUSH_STEP: return option_real("push-step", text, 1e-9, 1e3, &into->push_step);
	case OPTION_GOAL: return option_real("goal", text, 1e-15, 1, &into->goal);
	case OPTION_ROUNDS: return option_number("rounds", text, 1, 100000000, &into->rounds);
	case OPTION_EVERY: return option_number("every", text, 1, 100000000, &into->every);
	case OPTION_SEED: return option_number("seed", text, 0, INT64_MAX, &into->seed);
	case OPTION_SCALE: into->scale = true; return true;
	case OPTION_CSV: into->format = TRACK_CSV; return true;
	case OPTION_JSON: into->format = TRACK_JSON; return true;
	case OPTION_PLOT: return option_plot(text, &into->plot);
	case OPTION_AGAINST: return set_against(into, text);
	case OPTION_TIMING: into->timing = true; return true;
	default: return set_setting(into, option, text);
	}
}

static const struct track_options defaults = {
	.problem = { .kind = ISO_SMOOTH_REGRESSION,
		     .features = 4,
		     .zero = 2,
		     .one = 6,
		     .l2 = 0.01,
		     .mu = 3,
		     .c = 1,
		     .noise = 0.1,
		     .partition = ISO_PARTITION_IID,
		     .dirichlet = 1,
		     .overlap = 0.75 },
	.network = { .kind = NETWORK_EXPONENTIAL },
	.weights = ISO_WEIGHTS_METROPOLIS,
	.switching = { .up = 1, .dwell = 1, .promise = ISO_SWITCHING_CONNECTED, .turns = 4 },
	.bits = 8,
	.rho = 0.125,
	.uniform = 0x1p-6,
	.alpha = 1,
	.step = 0.5,
	.push_step = 0.25,
	.every = 1,
	.seed = 1,
};

static bool any_of(const bool *flags, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (flags[i])
			return true;
	return false;
}

/* What is left out; with --scale it is something else. */
static void fill_in(struct track_options *into)
{
	static const uint32_t sizes[] = { 16, 64, 256, 1024 };
	static const enum network_kind kinds[] = { NETWORK_RING, NETWORK_GRID,
						   NETWORK_EXPONENTIAL };

	if (into->size_count == 0 && into->scale) {
		memcpy(into->sizes, sizes, sizeof(sizes));
		into->size_count = sizeof(sizes) / sizeof(sizes[0]);
	} else if (into->size_count == 0) {
		into->sizes[into->size_count++] = 16;
	}
	for (size_t i = 0; i < 3 && into->scale && !any_of(into->graphs, NETWORK_KINDS); i++)
		for (size_t k = i; k < 3; k++)
			into->graphs[kinds[k]] = true;
	if (!any_of(into->methods, TRACK_METHODS))
		for (int i = into->scale ? TRACK_STREAMS - 1 : 0;
		     i < (int)(into->scale ? TRACK_STREAMS : TRACK_METHODS - 1); i++)
			into->methods[i] = true;
	if (into->alpha_kind == TRACK_ALPHA_UNSAID)
		into->alpha_kind = into->scale ? TRACK_ALPHA_SAFE : TRACK_ALPHA_ADAPTIVE;
	if (into->goal <= 0)
		into->goal = into->scale ? 0.01 : 0.001;
	if (into->rounds == 0)
		into->rounds = into->scale ? 10000 : 1000;
	into->network.nodes = into->sizes[into->size_count - 1];
	into->switches = into->switching.up < 1;
	into->switching.seed = into->seed;
}

static bool fits(const struct track_options *opts)
{
	unsigned graphs = 0;

	for (int i = 0; i < NETWORK_KINDS; i++)
		graphs += opts->graphs[i];
	if (opts->network.file != NULL && (graphs > 0 || opts->scale)) {
		fputs("isobar-sim: --file says all: no --graph or --scale beside it\n", stderr);
		return false;
	}
	if (!opts->scale && (graphs > 1 || opts->size_count > 1)) {
		fputs("isobar-sim: lists of graphs or nodes are for --scale\n", stderr);
		return false;
	}
	for (int i = 0; i < (int)TRACK_METHODS && opts->scale; i++)
		if (opts->methods[i] && i >= TRACK_STREAMS)
			return option_refuse("method", track_method_name(i),
					     "method that --scale has");
	if (opts->coarser + 2 > opts->bits) {
		fprintf(stderr, "isobar-sim: --coarser: %u bits allow at most %u\n", opts->bits,
			opts->bits - 2);
		return false;
	}
	if (opts->scale && opts->plot != NULL) {
		fputs("isobar-sim: --scale draws nothing\n", stderr);
		return false;
	}
	return true;
}

bool track_options_read(int argc, char **argv, struct track_options *ret)
{
	*ret = defaults;
	if (!option_read_all(argc, argv, options, set_option, ret))
		return false;
	fill_in(ret);
	return fits(ret);
}
