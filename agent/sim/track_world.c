/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sim/track.h"
#include "lib/draw.h"
#include "lib/graph/spectrum.h"
#include "lib/sim/field.h"
#include "lib/track/step.h"

/* Steps of Lanczos that are worth waiting for, and draws of a network that switches. */
#define STEPS_MAX 3000u
#define DRAWS	  20u
#define TOLERANCE 1e-3

/* The weights of one draw and their two eigenvalues. */
static int look_at_draw(struct track_world *world, uint64_t round, void *memory, bool *up,
			struct error *reterr)
{
	const struct track_options *options = world->options;
	const struct iso_graph *graph = &world->network.graph;
	struct iso_spectrum spectrum;
	enum iso_status status;

	if (options->switches) {
		uint32_t *scratch = malloc(graph->nodes * sizeof(*scratch));

		if (scratch == NULL)
			return error_errno(reterr, -ENOMEM, "%u nodes", graph->nodes);
		(void)iso_switching_edges(&options->switching, graph, round, scratch, up);
		iso_switching_weights(graph, up, options->weights, scratch, world->weights);
		free(scratch);
	} else {
		iso_graph_weights(graph, options->weights, world->network.degrees, world->weights);
	}
	status = iso_graph_spectrum(graph, world->weights, TOLERANCE, STEPS_MAX, memory, &spectrum);
	if (status != ISO_OK && status != ISO_E_STEPS)
		return error_set(reterr, -EINVAL, "spectrum: %s", iso_status_text(status));
	world->lambda2_known = world->lambda2_known && status == ISO_OK;
	world->lambda2 = fmin(world->lambda2, spectrum.second);
	world->lambda_max = fmax(world->lambda_max, spectrum.largest);
	return 0;
}

const char *track_graph_name(const struct track_options *options)
{
	return options->network.file != NULL ? options->network.file
					     : network_names[options->network.kind];
}

static bool is_ring(const struct track_options *options)
{
	return options->network.file == NULL && options->network.kind == NETWORK_RING;
}

static int find_spectrum(struct track_world *world, struct error *reterr)
{
	const struct iso_graph *graph = &world->network.graph;
	void *memory = malloc(iso_spectrum_size(graph->nodes, STEPS_MAX));
	bool *up = malloc(graph->edge_count * sizeof(*up));
	unsigned draws = world->options->switches ? DRAWS : 1;
	int r = 0;

	world->weights = malloc(graph->edge_count * sizeof(*world->weights));
	world->lambda2 = INFINITY;
	world->lambda2_known = true;
	if (memory == NULL || up == NULL || world->weights == NULL)
		r = error_errno(reterr, -ENOMEM, "%u edges", graph->edge_count);
	for (unsigned i = 0; i < draws && r == 0; i++)
		r = look_at_draw(world, (uint64_t)i * world->options->switching.dwell, memory, up,
				 reterr);
	free(memory);
	free(up);
	/* A long ring's second eigenvalue is too small to be found, but it is known. */
	if (r == 0 && is_ring(world->options) && !world->options->switches) {
		double half = sin(acos(-1.0) / graph->nodes);

		world->lambda2 = 4 * world->weights[0] * half * half;
		world->lambda2_known = true;
	}
	return r;
}

/*
 * Wishes of 2 to 8 CPUs and kappa 1 to 5, with room in every box: the published dynamics
 * has soft boxes alone.  One half of the nodes wishes more than the other, so that
 * shares must cross the graph.
 */
static int make_sites(struct track_world *world, struct error *reterr)
{
	uint32_t nodes = world->network.graph.nodes;
	struct iso_rng rng = { world->options->seed ^ 0x5348415245u };
	int64_t wishes_ucpu = 0;

	world->sites = malloc(nodes * sizeof(*world->sites));
	if (world->sites == NULL)
		return error_errno(reterr, -ENOMEM, "costs of %u nodes", nodes);
	for (uint32_t i = 0; i < nodes; i++) {
		int64_t least_ucpu = i < nodes / 2 ? 5000000 : 2000000;
		int64_t wish_ucpu = least_ucpu + (int64_t)iso_rng_below(&rng, 3000000);

		world->sites[i] = (struct iso_site){
			.cost = { .kind = ISO_COST_QUADRATIC,
				  .penalty = ISO_PENALTY_NONE,
				  .weight = 1,
				  .kappa = 1 + 4 * iso_rng_unit(&rng),
				  .demand_ucpu = wish_ucpu },
			.box = { 0, 20000000 },
		};
		wishes_ucpu += wish_ucpu;
	}
	world->budget_ucpu = wishes_ucpu / 10 * 9;
	return 0;
}

/* Every node starts elsewhere, around 0. */
static int make_start(struct track_world *world, struct error *reterr)
{
	size_t count = (size_t)world->problem.nodes * world->problem.params;
	struct iso_rng rng = { world->options->seed };
	double *mean = calloc(world->problem.params, sizeof(*mean));

	world->start = malloc(count * sizeof(*world->start));
	if (world->start == NULL || mean == NULL) {
		free(mean);
		return error_errno(reterr, -ENOMEM, "models of %u nodes", world->problem.nodes);
	}
	for (size_t i = 0; i < count; i++) {
		world->start[i] = iso_draw_normal(&rng);
		mean[i % world->problem.params] += world->start[i] / world->problem.nodes;
	}
	world->start_gap = track_problem_value(&world->problem, mean) - world->problem.least;
	free(mean);
	return 0;
}

int track_world_open(const struct track_options *options, struct track_world *ret_world,
		     struct error *reterr)
{
	struct track_world world = { .options = options };
	struct iso_rng rng = { options->seed };
	int r = network_open(&options->network, &rng, &world.network, reterr);

	if (r < 0 && options->network.file == NULL)
		r = error_wrap(reterr, "%s of %u nodes", track_graph_name(options),
			       options->network.nodes);
	if (r == 0)
		r = find_spectrum(&world, reterr);
	if (r == 0)
		r = make_sites(&world, reterr);
	if (r == 0)
		r = track_problem_open(&options->problem, world.network.graph.nodes, options->seed,
				       &world.problem, reterr);
	if (r == 0)
		r = make_start(&world, reterr);
	if (r < 0) {
		track_world_close(&world);
		return r;
	}
	*ret_world = world;
	return 0;
}

void track_world_close(struct track_world *world)
{
	network_close(&world->network);
	track_problem_close(&world->problem);
	free(world->weights);
	free(world->sites);
	free(world->start);
	memset(world, 0, sizeof(*world));
}

struct iso_field_config track_world_field(struct track_world *world, enum iso_stream_mode mode)
{
	const struct track_options *options = world->options;
	struct iso_stream_config stream = {
		.mode = mode,
		.n = world->problem.params,
		.bits = options->bits,
		.rho = options->rho,
		.step = options->uniform,
		.coarser = options->coarser,
	};
	struct iso_stream_config price = stream;
	bool is_log = mode == ISO_STREAM_LOG || mode == ISO_STREAM_INNOVATION;

	price.n = 1;
	return (struct iso_field_config){
		.graph = &world->network.graph,
		.weights = options->weights,
		.switching = options->switches ? &options->switching : NULL,
		.sites = world->sites,
		.budget_ucpu = world->budget_ucpu,
		/* Eigenvalues of Metropolis' Laplacian, and of those by the largest degree, are
		 * below 2; half of the bound, as every Euler step here. */
		.share_step =
		    0.5 * iso_field_share_step_max(world->sites, world->network.graph.nodes, 2,
						   is_log ? options->rho : 0),
		.price = price,
		.params = world->problem.params,
		.start = world->start,
		.gradient = track_problem_gradient,
		.context = &world->problem,
		.step = options->step,
		.alpha = options->alpha,
		.vector = stream,
	};
}

int track_world_alpha(const struct track_world *world, struct iso_field_config *config,
		      struct iso_track_adapt *ret_adapt, struct error *reterr)
{
	const struct iso_track_facts facts = {
		.lambda2 = world->lambda2,
		.lambda_max = world->lambda_max,
		.curvature = world->problem.curvature,
		.rho = config->vector.mode >= ISO_STREAM_LOG ? world->options->rho : 0,
	};
	const struct iso_track_adapt_config adapt =
	    iso_track_adapt_usual(config->step, world->problem.curvature);
	struct iso_track_rates rates;

	switch (world->options->alpha_kind) {
	case TRACK_ALPHA_UNSAID:
	case TRACK_ALPHA_FIXED: return 0;
	case TRACK_ALPHA_ADAPTIVE:
		config->alpha = adapt.alpha_first;
		if (iso_track_adapt_init(&adapt, ret_adapt) == ISO_OK)
			return 0;
		return error_set(reterr, -EINVAL, "alpha cannot adapt to a curvature of %g",
				 world->problem.curvature);
	case TRACK_ALPHA_SAFE:
		if (!world->lambda2_known || iso_track_facts_check(&facts) != ISO_OK)
			return error_set(reterr, -EINVAL,
					 "no safe alpha: lambda2 is not known or 0; say --alpha");
		iso_track_rates_safe(&facts, &rates);
		config->alpha = rates.alpha;
		config->step = rates.step;
		return 0;
	}
	return 0;
}

void track_world_adapt(const struct track_world *world, struct iso_field *field,
		       struct iso_track_adapt *adapt)
{
	struct iso_track_motion motion = iso_field_motion(field, world->problem.curvature);

	if (world->options->alpha_kind == TRACK_ALPHA_ADAPTIVE)
		iso_field_set_rates(field, motion.step, iso_track_adapt_round(adapt, &motion));
}
