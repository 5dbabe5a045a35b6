/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/sim/progress.h"
#include "agent/sim/track.h"
#include "lib/checksum.h"
#include "lib/graph/arcs.h"

/* So many times the gap at the start: there is no way back. */
#define GAP_MAX 1e9

/* What one run needs; freed together. */
struct set {
	struct track_world *world;
	struct track_run *run;
	void *memory;
	struct iso_arc *arcs;
	double *mean;
};

static void set_free(struct set *set)
{
	free(set->memory);
	free(set->arcs);
	free(set->mean);
}

const char *track_method_name(int method)
{
	static const char *const streams[TRACK_STREAMS] = { "none", "single", "uniform", "log",
							    "innovation" };

	if (method < TRACK_STREAMS)
		return streams[method];
	return iso_push_name((enum iso_push_method)(ISO_PUSH_GP + method - TRACK_STREAMS));
}

/* The next point of the curve; set->mean is the mean of all models. */
static void add_point(struct set *set, uint64_t round, double distance, double bits)
{
	struct track_problem *problem = &set->world->problem;
	struct track_run *run = set->run;
	double norm = 0;
	struct track_point point = {
		.round = round,
		.gap = (track_problem_value(problem, set->mean) - problem->least) /
		       set->world->start_gap,
		.bits = bits,
	};

	for (uint32_t c = 0; c < problem->params; c++)
		norm += set->mean[c] * set->mean[c];
	point.spread = norm > 0 ? distance / sqrt(norm) : distance;
	/* The gap must last: it may swing through the goal on its way. */
	if (!(point.gap <= set->world->options->goal)) {
		run->reached = false;
	} else if (!run->reached) {
		run->reached = true;
		run->goal = point;
	}
	run->diverged = run->diverged || !(point.gap < GAP_MAX);
	run->points[run->point_count++] = point;
	run->end = point;
	progress_show("%s: round %ju, gap %.3g", track_method_name(run->method),
		      (uintmax_t)run->end.round, run->end.gap);
}

static int make_curve(struct set *set, struct error *reterr)
{
	const struct track_options *options = set->world->options;
	size_t most = (size_t)(options->rounds / options->every) + 2;

	set->mean = calloc(set->world->problem.params, sizeof(*set->mean));
	set->run->points = calloc(most, sizeof(*set->run->points));
	if (set->mean == NULL || set->run->points == NULL)
		return error_errno(reterr, -ENOMEM, "a curve of %zu points", most);
	return 0;
}

static bool is_due(const struct track_options *options, uint64_t round)
{
	return round % options->every == 0 || round == options->rounds;
}

static void look(struct set *set, const struct iso_field *field, uint64_t round)
{
	struct iso_field_counts counts;

	iso_field_counts(field, &counts);
	iso_field_mean(field, set->mean);
	add_point(set, round, iso_field_spread(field, set->mean),
		  (double)counts.bits / set->world->problem.nodes);
}

static int run_field(struct set *set, struct iso_field *field, struct iso_track_adapt *adapt,
		     struct error *reterr)
{
	const struct track_options *options = set->world->options;

	look(set, field, 0);
	for (uint64_t round = 1; round <= options->rounds && !set->run->diverged; round++) {
		const char *violation;

		bool went_on = iso_field_round(field) == ISO_OK;

		violation = iso_field_violation(field);
		if (violation != NULL)
			return error_set(reterr, -ENOTRECOVERABLE, "round %ju: %s",
					 (uintmax_t)round, violation);
		set->run->diverged = !went_on;
		if (went_on)
			track_world_adapt(set->world, field, adapt);
		if (is_due(options, round) || !went_on)
			look(set, field, round);
	}
	return 0;
}

static int track(struct set *set, enum iso_stream_mode mode, struct error *reterr)
{
	struct iso_field_config config = track_world_field(set->world, mode);
	struct iso_track_adapt adapt;
	struct iso_field_counts counts;
	struct iso_field *field;
	int r = track_world_alpha(set->world, &config, &adapt, reterr);

	if (r < 0)
		return r;
	size_t size = iso_field_size(&config);

	if (size == 0)
		return error_set(reterr, -EINVAL, "rho, bits or step are out of range");
	set->memory = malloc(size);
	if (set->memory == NULL)
		return error_errno(reterr, -ENOMEM, "%zu bytes", size);
	if (iso_field_init(set->memory, size, &config, &field) != ISO_OK)
		return error_set(reterr, -EINVAL, "a gradient is not finite");
	r = run_field(set, field, &adapt, reterr);
	if (r < 0)
		return r;
	iso_field_counts(field, &counts);
	set->run->share_gap = iso_field_share_gap(field);
	set->run->digest = iso_field_digest(field);
	if (counts.messages > 0)
		set->run->bits_per_number =
		    (double)counts.bits / (double)counts.messages / (2.0 * config.params + 1);
	return 0;
}

/* The exponential graph is directed, as in these methods' experiments. */
static int make_arcs(struct set *set, struct iso_arcs *ret_arcs, struct error *reterr)
{
	const struct track_options *options = set->world->options;
	const struct network *network = &set->world->network;
	uint32_t nodes = network->graph.nodes;
	bool directed =
	    options->network.file == NULL && options->network.kind == NETWORK_EXPONENTIAL;
	uint64_t count = directed ? iso_arcs_exponential_count(nodes)
				  : 2 * (uint64_t)network->graph.edge_count + nodes;
	uint32_t *scratch = malloc(nodes * sizeof(*scratch));
	enum iso_status status = ISO_E_FULL;

	set->arcs = malloc(count * sizeof(*set->arcs));
	if (set->arcs != NULL && scratch != NULL) {
		iso_arcs_init(ret_arcs, nodes, set->arcs, (uint32_t)count);
		status = directed ? iso_arcs_exponential(ret_arcs)
				  : iso_arcs_of_graph(ret_arcs, &network->graph, scratch);
	}
	free(scratch);
	return status == ISO_OK ? 0 : error_errno(reterr, -ENOMEM, "%ju arcs", (uintmax_t)count);
}

static double push_spread(const struct set *set, const struct iso_push *push)
{
	double most = 0;

	for (uint32_t i = 0; i < set->world->problem.nodes; i++) {
		const double *z = iso_push_estimate(push, i);
		double square = 0;

		for (uint32_t c = 0; c < set->world->problem.params; c++)
			square += (z[c] - set->mean[c]) * (z[c] - set->mean[c]);
		most = fmax(most, square);
	}
	return sqrt(most);
}

/* A method that takes a sample at a time makes as many steps in a round as a node has samples. */
static void run_push(struct set *set, struct iso_push *push, const struct iso_push_config *config)
{
	const struct track_options *options = set->world->options;
	const struct track_problem *problem = &set->world->problem;
	double a = options->push_step / problem->curvature, bits = 0;
	bool whole = config->method == ISO_PUSH_GP || config->method == ISO_PUSH_ADDOPT;
	uint32_t steps = whole ? 1 : problem->samples / problem->nodes;
	uint64_t digest[2] = { 0, 0 };

	if (steps == 0)
		steps = 1;
	for (uint64_t round = 0; round <= options->rounds && !set->run->diverged; round++) {
		for (uint32_t i = 0; i < steps && round > 0; i++) {
			iso_push_step(push, a);
			bits += 64 * (double)iso_push_numbers(config) / problem->nodes;
		}
		if (!is_due(options, round))
			continue;
		iso_push_mean(push, set->mean);
		add_point(set, round, push_spread(set, push), bits);
	}
	for (uint32_t i = 0; i < problem->nodes; i++) {
		digest[1] =
		    iso_checksum(iso_push_estimate(push, i), problem->params * sizeof(double));
		digest[0] = iso_checksum(digest, sizeof(digest));
	}
	set->run->digest = digest[0];
	set->run->bits_per_number = 64;
}

static int push(struct set *set, enum iso_push_method method, struct error *reterr)
{
	struct track_problem *problem = &set->world->problem;
	struct iso_arcs arcs = { 0 };
	struct iso_push_config config = {
		.method = method,
		.m = problem->params,
		.arcs = &arcs,
		.gradient = track_problem_push_gradient,
		.sample_gradient = track_problem_sample_gradient,
		.context = problem,
		.samples = problem->counts,
		.seed = set->world->options->seed,
	};
	struct iso_push *ready;
	int r = make_arcs(set, &arcs, reterr);

	if (r < 0)
		return r;
	size_t size = iso_push_size(&config);

	set->memory = malloc(size);
	if (set->memory == NULL)
		return error_errno(reterr, -ENOMEM, "%zu bytes", size);
	if (iso_push_init(set->memory, size, &config, set->world->start, &ready) != ISO_OK)
		return error_set(reterr, -EINVAL, "it cannot be set up");
	run_push(set, ready, &config);
	return 0;
}

int track_run(struct track_world *world, int method, struct track_run *ret_run,
	      struct error *reterr)
{
	struct track_run run = { .method = method, .share_gap = NAN };
	__attribute__((cleanup(set_free))) struct set set = { .world = world, .run = &run };
	double from_s = clock_cpu_s();
	int r = make_curve(&set, reterr);

	if (r == 0)
		r = method < TRACK_STREAMS
			? track(&set, (enum iso_stream_mode)(ISO_STREAM_NONE + method), reterr)
			: push(&set, (enum iso_push_method)(ISO_PUSH_GP + method - TRACK_STREAMS),
			       reterr);
	progress_clear();
	if (r < 0) {
		free(run.points);
		return r;
	}
	run.seconds = clock_cpu_s() - from_s;
	*ret_run = run;
	return 0;
}
