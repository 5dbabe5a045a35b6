/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "agent/sim/track.h"

/* What is not a number is not known: null. */
static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static void print_head_text(FILE *out, const struct track_world *world)
{
	const struct track_options *options = world->options;
	const struct track_problem *problem = &world->problem;

	fprintf(out, "%s of %u parameters, %u samples; %s of %u nodes, %u edges%s\n",
		iso_smooth_kind_text(options->problem.kind), problem->params, problem->samples,
		track_graph_name(options), problem->nodes, world->network.graph.edge_count,
		options->switches ? ", not all up" : "");
	fprintf(out, "L %.4g, lambda2 %s%.4g, largest eigenvalue %.4g\n\n", problem->curvature,
		world->lambda2_known ? "" : "<", world->lambda2, world->lambda_max);
	fprintf(out, "%-13s %9s %12s %10s %10s %6s %10s", "method", "rounds", "bits", "gap",
		"spread", "b/num", "shares");
	if (options->timing)
		fprintf(out, " %9s", "cpu");
	fputc('\n', out);
}

/* Of the problem and the network; not all of it matters to each. */
static json_t *details(const struct track_options *options)
{
	static const char *const weights[] = { "metropolis", "max-degree" };
	static const char *const promises[] = { "free", "connected", "union" };
	const struct track_problem_options *problem = &options->problem;
	const struct network_options *network = &options->network;

	return json_pack("{s:i, s:[i, i], s:s, s:s, s:s?, s:f, s:f, s:I}", "features",
			 (int)problem->features, "classes", (int)problem->zero, (int)problem->one,
			 "weights", weights[options->weights - ISO_WEIGHTS_METROPOLIS], "promise",
			 promises[options->switching.promise - ISO_SWITCHING_FREE], "file",
			 network->file, "probability", network->probability, "radius",
			 network->radius, "every", (json_int_t)options->every);
}

/* What was asked for, so that a result can be made again. */
static json_t *parameters(const struct track_world *world)
{
	static const char *const partitions[] = { "iid", "dirichlet", "overlap" };
	static const char *const alphas[] = { "", "adaptive", "safe" };
	const struct track_options *options = world->options;
	const struct track_problem_options *problem = &options->problem;
	json_t *json = json_pack(
	    "{s:s, s:s?, s:i, s:f, s:s, s:f, s:f, s:s, s:i, s:f, s:I, s:i, s:f, s:i, s:f, s:f, "
	    "s:f, "
	    "s:f, s:I, s:I}",
	    "problem", iso_smooth_kind_text(problem->kind), "data", problem->data, "samples",
	    (int)world->problem.samples, "l2", problem->l2, "partition",
	    partitions[problem->partition - ISO_PARTITION_IID], "dirichlet", problem->dirichlet,
	    "overlap", problem->overlap, "graph", track_graph_name(options), "nodes",
	    (int)world->problem.nodes, "up", options->switching.up, "dwell",
	    (json_int_t)options->switching.dwell, "bits", (int)options->bits, "rho", options->rho,
	    "coarser", (int)options->coarser, "uniform", options->uniform, "step", options->step,
	    "push_step", options->push_step, "goal", options->goal, "rounds_max",
	    (json_int_t)options->rounds, "seed", (json_int_t)options->seed);

	json_object_update_new(json, details(options));
	json_object_set_new(json, "alpha",
			    options->alpha_kind == TRACK_ALPHA_FIXED
				? json_real(options->alpha)
				: json_string(alphas[options->alpha_kind]));
	json_object_set_new(json, "curvature", number(world->problem.curvature));
	json_object_set_new(json, "lambda2",
			    world->lambda2_known ? number(world->lambda2) : json_null());
	return json;
}

void track_print_head(FILE *out, const struct track_world *world)
{
	switch (world->options->format) {
	case TRACK_TEXT: print_head_text(out, world); break;
	case TRACK_CSV: fputs("method,round,gap,spread,bits_per_node\n", out); break;
	case TRACK_JSON: {
		json_t *json = parameters(world);

		fputs("{\"command\": \"track\", \"parameters\": ", out);
		json_dumpf(json, out, JSON_REAL_PRECISION(7) | JSON_SORT_KEYS);
		fputs(",\n\"runs\": [\n", out);
		json_decref(json);
		break;
	}
	}
}

/* In scientific notation, or a dash. */
static const char *part(double value, char text[static 24])
{
	snprintf(text, 24, isfinite(value) ? "%.2e" : "-", value);
	return text;
}

static void print_text(FILE *out, const struct track_run *run, const struct track_options *options)
{
	char rounds[24], bits[24] = "-", gap[24], spread[24], shares[24];

	snprintf(rounds, sizeof(rounds), "%s%" PRIu64, run->reached ? "" : ">",
		 run->reached ? run->goal.round : run->end.round);
	if (run->diverged)
		snprintf(rounds, sizeof(rounds), "diverged");
	if (run->reached)
		snprintf(bits, sizeof(bits), "%.4g", run->goal.bits);
	fprintf(out, "%-13s %9s %12s %10s %10s %6.2f %10s", track_method_name(run->method), rounds,
		bits, part(run->end.gap, gap), part(run->end.spread, spread), run->bits_per_number,
		part(run->share_gap, shares));
	if (options->timing)
		fprintf(out, " %7.2f s", run->seconds);
	fputc('\n', out);
}

static void print_csv(FILE *out, const struct track_run *run)
{
	for (size_t i = 0; i < run->point_count; i++)
		fprintf(out, "%s,%" PRIu64 ",%.9e,%.9e,%.9g\n", track_method_name(run->method),
			run->points[i].round, run->points[i].gap, run->points[i].spread,
			run->points[i].bits);
}

static json_t *point_json(const struct track_point *point)
{
	json_t *json = json_object();

	json_object_set_new(json, "round", json_integer((json_int_t)point->round));
	json_object_set_new(json, "gap", number(point->gap));
	json_object_set_new(json, "spread", number(point->spread));
	json_object_set_new(json, "bits_per_node", number(point->bits));
	return json;
}

static void print_json(FILE *out, const struct track_run *run, const struct track_options *options)
{
	char digest[24];
	json_t *json = json_object(), *curve = json_array();

	snprintf(digest, sizeof(digest), "0x%016" PRIx64, run->digest);
	for (size_t i = 0; i < run->point_count; i++)
		json_array_append_new(curve, point_json(&run->points[i]));
	json_object_set_new(json, "method", json_string(track_method_name(run->method)));
	json_object_set_new(json, "reached", json_boolean(run->reached));
	json_object_set_new(json, "diverged", json_boolean(run->diverged));
	json_object_set_new(json, "goal", run->reached ? point_json(&run->goal) : json_null());
	json_object_set_new(json, "end", point_json(&run->end));
	json_object_set_new(json, "bits_per_number", number(run->bits_per_number));
	json_object_set_new(json, "share_gap", number(run->share_gap));
	json_object_set_new(json, "digest", json_string(digest));
	json_object_set_new(json, "curve", curve);
	if (options->timing)
		json_object_set_new(json, "cpu_s", number(run->seconds));
	json_dumpf(json, out, JSON_REAL_PRECISION(9) | JSON_SORT_KEYS);
	json_decref(json);
}

void track_print_run(FILE *out, const struct track_world *world, const struct track_run *run,
		     bool is_first)
{
	switch (world->options->format) {
	case TRACK_TEXT: print_text(out, run, world->options); break;
	case TRACK_CSV: print_csv(out, run); break;
	case TRACK_JSON:
		fputs(is_first ? " " : ",\n ", out);
		print_json(out, run, world->options);
		break;
	}
}

void track_print_end(FILE *out, const struct track_options *options)
{
	if (options->format == TRACK_JSON)
		fputs("\n]}\n", out);
}
