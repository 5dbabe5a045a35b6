/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/repro/coopt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "lib/graph/spectrum.h"
#include "lib/model/reference.h"
#include "lib/rng.h"

#define DRAWS	  100u
#define STEPS_MAX 100u

void coopt_net_draw(struct coopt_net *net, double up, uint32_t dwell, uint64_t seed)
{
	iso_graph_init(&net->graph, COOPT_NODES, net->edges, COOPT_EDGES);
	if (iso_graph_complete(&net->graph) != ISO_OK)
		repro_die("no graph");
	net->switching = (struct iso_switching){
		.seed = seed,
		.up = up,
		.dwell = dwell,
		.promise = ISO_SWITCHING_CONNECTED,
		.turns = 1,
	};
}

void coopt_net_facts(const struct coopt_net *net, struct iso_track_facts *ret_facts)
{
	void *memory = malloc(iso_spectrum_size(COOPT_NODES, STEPS_MAX));
	uint32_t degrees[COOPT_NODES], scratch[COOPT_NODES];
	double weights[COOPT_EDGES];
	bool up[COOPT_EDGES];

	if (memory == NULL)
		repro_die("no memory");
	ret_facts->lambda2 = HUGE_VAL;
	ret_facts->lambda_max = 0;
	for (uint32_t draw = 0; draw < DRAWS; draw++) {
		uint64_t round = (uint64_t)draw * net->switching.dwell;
		struct iso_spectrum spectrum;

		(void)iso_switching_edges(&net->switching, &net->graph, round, scratch, up);
		iso_switching_weights(&net->graph, up, ISO_WEIGHTS_METROPOLIS, degrees, weights);
		if (iso_graph_spectrum(&net->graph, weights, 1e-6, STEPS_MAX, memory, &spectrum) !=
		    ISO_OK)
			repro_die("no eigenvalues");
		ret_facts->lambda2 = fmin(ret_facts->lambda2, spectrum.second);
		ret_facts->lambda_max = fmax(ret_facts->lambda_max, spectrum.largest);
	}
	free(memory);
}

static void look(struct coopt_run *run)
{
	struct iso_field_sums sums;

	iso_field_sums(run->field, &sums);
	/* A NaN is an error, too. */
	if (!(sums.share_error <= run->share_error))
		run->share_error = sums.share_error;
	if (!(sums.track_error / sums.track_bound <= run->track_error))
		run->track_error = sums.track_error / sums.track_bound;
}

void coopt_open(struct coopt_run *run, const struct iso_field_config *config)
{
	size_t size = iso_field_size(config);

	*run = (struct coopt_run){ .memory = malloc(size) };
	if (size == 0 || run->memory == NULL ||
	    iso_field_init(run->memory, size, config, &run->field) != ISO_OK)
		repro_die("a field of %zu bytes cannot be set up", size);
	look(run);
}

void coopt_rounds(struct coopt_run *run, uint32_t rounds)
{
	for (uint32_t k = 0; k < rounds && !run->diverged; k++) {
		run->diverged = iso_field_round(run->field) != ISO_OK;
		if (!run->diverged)
			look(run);
	}
}

void coopt_close(struct coopt_run *run)
{
	free(run->memory);
	run->memory = NULL;
}

void coopt_share(struct iso_field_config *config, struct iso_site *sites, uint64_t seed)
{
	struct iso_rng rng = { seed };
	int64_t demands_ucpu = 0;

	for (uint32_t i = 0; i < config->graph->nodes; i++) {
		sites[i] = (struct iso_site){
			.cost = {
				.kind = ISO_COST_QUADRATIC,
				.penalty = ISO_PENALTY_NONE,
				.weight = 1,
				.kappa = 1 + 4 * iso_rng_unit(&rng),
				.demand_ucpu = (int64_t)(1e6 * (2 + 6 * iso_rng_unit(&rng))),
			},
			.box = { 0, 1000000000 },
		};
		demands_ucpu += sites[i].cost.demand_ucpu;
	}
	config->sites = sites;
	config->budget_ucpu = demands_ucpu / 5 * 6;
	config->share_step = iso_field_share_step_max(sites, config->graph->nodes, 2, 0.125) / 2;
	config->price =
	    (struct iso_stream_config){ .mode = ISO_STREAM_LOG, .n = 1, .bits = 12, .rho = 0.125 };
}

void coopt_problem_solve(struct coopt_problem *problem)
{
	const struct iso_smooth *smooth = &problem->smooth;

	problem->params = iso_smooth_params(smooth);
	problem->workspace = malloc(
	    sizeof(double) * iso_reference_workspace(smooth, problem->parts, problem->nodes));
	problem->best = calloc(problem->params, sizeof(double));
	if (problem->workspace == NULL || problem->best == NULL)
		repro_die("no memory");
	problem->first_value = iso_reference_mean(smooth, problem->parts, problem->nodes,
						  problem->best, problem->workspace, NULL);
	const struct iso_reference found = iso_reference_solve(
	    smooth, problem->parts, problem->nodes, 1e-10, problem->workspace, problem->best);

	if (!(found.gradient_norm <= 1e-8))
		repro_die("the optimum was not found: its gradient is %g", found.gradient_norm);
	problem->best_value = found.value;
	problem->curvature = 0;
	for (uint32_t i = 0; i < problem->nodes; i++)
		problem->curvature =
		    fmax(problem->curvature,
			 iso_smooth_curvature(smooth, &problem->parts[i], problem->workspace));
}

void coopt_problem_close(struct coopt_problem *problem)
{
	free(problem->x);
	free(problem->targets);
	free(problem->order);
	free(problem->parts);
	free(problem->workspace);
	free(problem->best);
	*problem = (struct coopt_problem){ 0 };
}

double coopt_gradient(void *context, uint32_t node, const double *y, double *ret_gradient)
{
	const struct coopt_problem *problem = context;

	return iso_smooth_gradient(&problem->smooth, y, &problem->parts[node], problem->workspace,
				   ret_gradient);
}

struct iso_field_config coopt_config(const struct coopt_net *net, struct coopt_problem *problem,
				     double alpha, const struct iso_stream_config *stream)
{
	struct iso_field_config config = {
		.graph = &net->graph,
		.weights = ISO_WEIGHTS_METROPOLIS,
		.switching = &net->switching,
		.params = problem->params,
		.gradient = coopt_gradient,
		.context = problem,
		.step = 0.5,
		.alpha = alpha / problem->curvature,
		.vector = *stream,
	};

	config.vector.n = problem->params;
	return config;
}

double coopt_gap(const struct coopt_problem *problem, const double *y)
{
	double value = iso_reference_mean(&problem->smooth, problem->parts, problem->nodes, y,
					  problem->workspace, NULL);

	return (value - problem->best_value) / (problem->first_value - problem->best_value);
}

double coopt_worst_gap(const struct coopt_problem *problem, const struct iso_field *field)
{
	double worst = 0;

	for (uint32_t i = 0; i < problem->nodes; i++)
		worst = fmax(worst, coopt_gap(problem, iso_field_y(field, i)));
	return worst;
}

double coopt_spread(const struct coopt_problem *problem, const struct iso_field *field)
{
	double *mean = malloc(sizeof(double) * problem->params), square = 0, spread;

	if (mean == NULL)
		repro_die("no memory");
	iso_field_mean(field, mean);
	for (uint32_t k = 0; k < problem->params; k++)
		square += mean[k] * mean[k];
	spread = iso_field_spread(field, mean) / sqrt(square);
	free(mean);
	return spread;
}
