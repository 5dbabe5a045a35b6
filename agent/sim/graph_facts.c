/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agent/sim/graph.h"

/* Nodes and edges that searches for the diameter may look at, some seconds long. */
#define LOOKS_MAX 400000000ull

/* What measuring takes, one array each. */
struct desk {
	uint32_t *degrees, *starts, *others, *scratch;
	double *weights;
	bool *up;
	void *spectrum;
};

static void desk_free(struct desk *desk)
{
	free(desk->degrees);
	free(desk->starts);
	free(desk->others);
	free(desk->scratch);
	free(desk->weights);
	free(desk->up);
	free(desk->spectrum);
}

static int desk_open(struct desk *desk, const struct iso_graph *graph, uint32_t steps_max,
		     struct error *reterr)
{
	size_t nodes = graph->nodes, edges = graph->edge_count;

	desk->degrees = calloc(nodes, sizeof(*desk->degrees));
	desk->starts = calloc(nodes + 1, sizeof(*desk->starts));
	desk->others = calloc(2 * edges + 1, sizeof(*desk->others));
	desk->scratch = calloc(4 * nodes, sizeof(*desk->scratch));
	desk->weights = calloc(edges + 1, sizeof(*desk->weights));
	desk->up = calloc(edges + 1, sizeof(*desk->up));
	desk->spectrum = malloc(iso_spectrum_size(graph->nodes, steps_max));
	if (desk->degrees != NULL && desk->starts != NULL && desk->others != NULL &&
	    desk->scratch != NULL && desk->weights != NULL && desk->up != NULL &&
	    desk->spectrum != NULL)
		return 0;
	return error_errno(reterr, -ENOMEM, "%zu nodes and %zu edges", nodes, edges);
}

static void measure_degrees(const struct desk *desk, const struct iso_graph *graph,
			    struct graph_facts *facts)
{
	iso_graph_degrees(graph, desk->degrees);
	facts->degree_least = facts->degree_most = desk->degrees[0];
	for (uint32_t i = 1; i < graph->nodes; i++) {
		uint32_t degree = desk->degrees[i];

		facts->degree_least = degree < facts->degree_least ? degree : facts->degree_least;
		facts->degree_most = degree > facts->degree_most ? degree : facts->degree_most;
	}
}

/* From every node they look the same: one search says all. */
static bool is_same_everywhere(const struct graph_options *options)
{
	return options->file == NULL && (options->network.kind == NETWORK_RING ||
					 options->network.kind == NETWORK_EXPONENTIAL ||
					 options->network.kind == NETWORK_COMPLETE);
}

static void measure_diameter(const struct graph_options *options, const struct desk *desk,
			     const struct iso_graph *graph, struct graph_facts *facts)
{
	struct iso_adjacency adjacency = iso_graph_adjacency(graph, desk->starts, desk->others);
	uint64_t looks = graph->nodes + 2 * (uint64_t)graph->edge_count;
	bool is_same = is_same_everywhere(options);
	uint64_t searches = is_same ? 1 : 2 + LOOKS_MAX / looks;

	facts->diameter = iso_graph_diameter(&adjacency, (uint32_t)searches, desk->scratch);
	if (is_same)
		facts->diameter.high = facts->diameter.low;
}

static bool measure_spectrum(const struct graph_options *options, const struct desk *desk,
			     const struct iso_graph *graph, struct iso_spectrum *ret_spectrum)
{
	return iso_graph_spectrum(graph, desk->weights, options->tolerance, options->steps_max,
				  desk->spectrum, ret_spectrum) == ISO_OK;
}

/* The least and the mean over the draws, each of which lasts for some rounds. */
static int measure_switching(const struct graph_options *options, const struct desk *desk,
			     const struct iso_graph *graph, struct graph_switching *switching,
			     struct error *reterr)
{
	switching->second_least = INFINITY;
	for (uint32_t draw = 0; draw < options->draws; draw++) {
		struct iso_spectrum spectrum;

		switching->edges_mean +=
		    (double)iso_switching_edges(&options->switching, graph, draw, desk->scratch,
						desk->up) /
		    options->draws;
		iso_switching_weights(graph, desk->up, options->weights, desk->degrees,
				      desk->weights);
		if (!measure_spectrum(options, desk, graph, &spectrum))
			return error_set(reterr, -EINVAL,
					 "draw %u: eigenvalues not found within %u steps", draw,
					 options->steps_max);
		switching->connected_draws += spectrum.second > 0;
		switching->second_mean += spectrum.second / options->draws;
		switching->second_least = fmin(switching->second_least, spectrum.second);
		switching->largest_most = fmax(switching->largest_most, spectrum.largest);
	}
	return 0;
}

static void bound_rates(const struct graph_options *options, struct graph_facts *facts)
{
	struct iso_track_facts track = {
		.lambda2 =
		    options->switches ? facts->switching.second_least : facts->spectrum.second,
		.lambda_max =
		    options->switches ? facts->switching.largest_most : facts->spectrum.largest,
		.curvature = options->curvature,
		.rho = options->rho,
	};

	facts->has_rates =
	    (options->switches || facts->has_converged) && iso_track_facts_check(&track) == ISO_OK;
	if (!facts->has_rates)
		return;
	iso_track_rates_safe(&track, &facts->safe);
	facts->alpha_max = iso_track_alpha_max(&track);
	facts->step_max = iso_track_step_max(&track, facts->safe.alpha);
}

int graph_measure(const struct graph_options *options, const struct graph_subject *subject,
		  struct graph_facts *ret_facts, struct error *reterr)
{
	__attribute__((cleanup(desk_free))) struct desk desk = { 0 };
	const struct iso_graph *graph = subject->graph;
	struct graph_facts facts = { 0 };
	int r = desk_open(&desk, graph, options->steps_max, reterr);

	if (r < 0)
		return r;
	measure_degrees(&desk, graph, &facts);
	facts.is_connected = iso_graph_connected(graph, desk.scratch);
	if (facts.is_connected)
		measure_diameter(options, &desk, graph, &facts);
	iso_graph_weights(graph, options->weights, desk.degrees, desk.weights);
	facts.has_converged = measure_spectrum(options, &desk, graph, &facts.spectrum);
	if (options->switches)
		r = measure_switching(options, &desk, graph, &facts.switching, reterr);
	if (r < 0)
		return r;
	bound_rates(options, &facts);
	*ret_facts = facts;
	return 0;
}
