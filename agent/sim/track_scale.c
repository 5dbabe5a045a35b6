/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "agent/base/clock.h"
#include "agent/base/output.h"
#include "agent/sim/progress.h"
#include "agent/sim/track.h"

/*
 * A run that takes so many times the rounds that are allowed is not worth them; it makes a
 * few, which check the sums and show what a round costs.
 */
#define HOPELESS     10
#define ROUNDS_A_FEW 10

/* One graph of one size. */
struct row {
	enum network_kind kind;
	int method;
	uint32_t nodes, edges;
	double lambda2;	       /* 0: not known */
	uint64_t share_rounds; /* until the cost of shares was so close; 0: not reached */
	uint64_t model_rounds; /* until every node's model was */
	uint64_t limit;	       /* rounds at most */
	uint64_t rounds;       /* that were made */
	double share_gap, distance;
	double predicted; /* rounds that both would take; 0: no need or no way */
	size_t bytes;	  /* of the field */
	double seconds;	  /* of CPU */
};

static bool is_reached(const struct row *row)
{
	return row->share_rounds > 0 && row->model_rounds > 0;
}

static uint64_t rounds_of(const struct row *row)
{
	return row->share_rounds > row->model_rounds ? row->share_rounds : row->model_rounds;
}

/* The first round of those that are all within the goal. */
static void note(uint64_t *reached, bool is_within, uint64_t round)
{
	if (!is_within)
		*reached = 0;
	else if (*reached == 0)
		*reached = round;
}

static double norm(const double *vector, uint32_t count)
{
	double square = 0;

	for (uint32_t c = 0; c < count; c++)
		square += vector[c] * vector[c];
	return sqrt(square);
}

static int run_rounds(const struct track_world *world, struct iso_field *field,
		      struct iso_track_adapt *adapt, struct row *row, struct error *reterr)
{
	const struct track_options *options = world->options;
	const struct track_problem *problem = &world->problem;
	const uint64_t lasting = 5;
	double length = norm(problem->optimum, problem->params);

	for (uint64_t round = 1; round <= row->limit; round++) {
		double from_s = clock_cpu_s();
		enum iso_status status = iso_field_round(field);
		const char *violation = iso_field_violation(field);

		row->seconds += clock_cpu_s() - from_s;
		if (violation != NULL)
			return error_set(reterr, -ENOTRECOVERABLE, "round %ju: %s",
					 (uintmax_t)round, violation);
		if (status != ISO_OK)
			return error_set(reterr, -EINVAL, "round %ju: it diverges",
					 (uintmax_t)round);
		track_world_adapt(world, field, adapt);
		row->rounds = round;
		row->share_gap = iso_field_share_gap(field);
		row->distance = iso_field_spread(field, problem->optimum) / length;
		note(&row->share_rounds, fabs(row->share_gap) <= options->goal, round);
		note(&row->model_rounds, row->distance <= options->goal, round);
		progress_show("%s %u: round %ju, shares %.3g, models %.3g",
			      network_names[row->kind], row->nodes, (uintmax_t)row->rounds,
			      row->share_gap, row->distance);
		if (is_reached(row) && round >= rounds_of(row) + lasting - 1)
			break;
	}
	return 0;
}

static int run_field(struct track_world *world, struct row *row, struct error *reterr)
{
	struct iso_field_config config =
	    track_world_field(world, (enum iso_stream_mode)(ISO_STREAM_NONE + row->method));
	struct iso_track_adapt adapt;
	struct iso_field *field;
	int r = track_world_alpha(world, &config, &adapt, reterr);

	if (r < 0)
		return r;
	row->bytes = iso_field_size(&config);
	if (row->bytes == 0)
		return error_set(reterr, -EINVAL, "rho, bits or step are out of range");
	void *memory = malloc(row->bytes);

	if (memory == NULL)
		return error_errno(reterr, -ENOMEM, "%zu bytes", row->bytes);
	r = iso_field_init(memory, row->bytes, &config, &field) == ISO_OK
		? run_rounds(world, field, &adapt, row, reterr)
		: error_set(reterr, -EINVAL, "a gradient is not finite");
	progress_clear();
	free(memory);
	return r;
}

/* Rounds of one of the halves: not reached where it is 0. */
typedef uint64_t rounds_fn(const struct row *row);

static uint64_t share_rounds(const struct row *row)
{
	return row->share_rounds;
}

static uint64_t model_rounds(const struct row *row)
{
	return row->model_rounds;
}

/*
 * Told from the largest smaller size that reached it: rounds go with 1 / lambda2, once the
 * slowest mode is what they wait for.  0: it tells nothing, or less than what was tried.
 */
static double predict_half(const struct row *rows, size_t index, rounds_fn *rounds)
{
	const struct row *row = &rows[index], *last = NULL;
	double predicted;

	if (rounds(row) > 0)
		return (double)rounds(row);
	for (size_t i = 0; i < index; i++)
		if (rows[i].kind == row->kind && rows[i].method == row->method &&
		    rounds(&rows[i]) > 0 && rows[i].lambda2 > 0)
			last = &rows[i];
	if (last == NULL || !(row->lambda2 > 0))
		return 0;
	predicted = (double)rounds(last) * last->lambda2 / row->lambda2;
	return predicted > (double)row->limit ? predicted : 0;
}

static void predict(struct row *rows, size_t index)
{
	double shares = predict_half(rows, index, share_rounds);
	double models = predict_half(rows, index, model_rounds);

	if (!is_reached(&rows[index]) && shares > 0 && models > 0)
		rows[index].predicted = fmax(shares, models);
}

static void set_limit(struct row *rows, size_t index, uint64_t rounds)
{
	struct row *row = &rows[index];

	row->limit = rounds;
	predict(rows, index);
	if (row->predicted > HOPELESS * (double)rounds && rounds > ROUNDS_A_FEW)
		row->limit = ROUNDS_A_FEW;
	row->predicted = 0;
}

static void print_head(FILE *out, const struct track_options *options)
{
	switch (options->format) {
	case TRACK_TEXT:
		fprintf(out, "%-11s %-10s %7s %9s %10s %8s %8s %10s %12s", "graph", "method",
			"nodes", "edges", "lambda2", "shares", "models", "predicted", "memory");
		fputs(options->timing ? "       cpu\n" : "\n", out);
		break;
	case TRACK_CSV:
		fputs("graph,method,nodes,edges,lambda2,share_rounds,model_rounds,rounds,share_gap,"
		      "distance,predicted_rounds,memory_bytes",
		      out);
		fputs(options->timing ? ",cpu_s\n" : "\n", out);
		break;
	case TRACK_JSON: fputs("{\"command\": \"track\", \"runs\": [\n", out); break;
	}
}

static void print_text(FILE *out, const struct row *row, bool timing)
{
	char shares[24], models[24], predicted[24] = "-", memory[24], lambda2[24] = "?";

	snprintf(shares, sizeof(shares), "%s%" PRIu64, row->share_rounds > 0 ? "" : ">",
		 row->share_rounds > 0 ? row->share_rounds : row->rounds);
	snprintf(models, sizeof(models), "%s%" PRIu64, row->model_rounds > 0 ? "" : ">",
		 row->model_rounds > 0 ? row->model_rounds : row->rounds);
	if (row->predicted > 0)
		snprintf(predicted, sizeof(predicted), "~%.2g", row->predicted);
	if (row->lambda2 > 0)
		snprintf(lambda2, sizeof(lambda2), "%.3e", row->lambda2);
	snprintf(memory, sizeof(memory), "%.2f MiB", (double)row->bytes / 1048576);
	fprintf(out, "%-11s %-10s %7u %9u %10s %8s %8s %10s %12s", network_names[row->kind],
		track_method_name(row->method), row->nodes, row->edges, lambda2, shares, models,
		predicted, memory);
	if (timing)
		fprintf(out, " %7.2f s", row->seconds);
	fputc('\n', out);
}

static void print_csv(FILE *out, const struct row *row, bool timing)
{
	fprintf(out, "%s,%s,%u,%u,%.9g,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6e,%.6e,%.4g,%zu",
		network_names[row->kind], track_method_name(row->method), row->nodes, row->edges,
		row->lambda2, row->share_rounds, row->model_rounds, row->rounds, row->share_gap,
		row->distance, row->predicted, row->bytes);
	if (timing)
		fprintf(out, ",%.3f", row->seconds);
	fputc('\n', out);
}

static json_t *known(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *known_rounds(uint64_t rounds)
{
	return rounds > 0 ? json_integer((json_int_t)rounds) : json_null();
}

static void print_json(FILE *out, const struct row *row, bool timing)
{
	json_t *json = json_pack("{s:s, s:s, s:i, s:i, s:I, s:f, s:f, s:I}", "graph",
				 network_names[row->kind], "method", track_method_name(row->method),
				 "nodes", (int)row->nodes, "edges", (int)row->edges, "rounds",
				 (json_int_t)row->rounds, "share_gap", row->share_gap, "distance",
				 row->distance, "memory_bytes", (json_int_t)row->bytes);

	json_object_set_new(json, "lambda2", known(row->lambda2));
	json_object_set_new(json, "predicted_rounds", known(row->predicted));
	json_object_set_new(json, "share_rounds", known_rounds(row->share_rounds));
	json_object_set_new(json, "model_rounds", known_rounds(row->model_rounds));
	if (timing)
		json_object_set_new(json, "cpu_s", json_real(row->seconds));
	json_dumpf(json, out, JSON_REAL_PRECISION(7) | JSON_SORT_KEYS);
	json_decref(json);
}

static void print_row(FILE *out, const struct track_options *options, const struct row *row,
		      bool is_first)
{
	switch (options->format) {
	case TRACK_TEXT: print_text(out, row, options->timing); break;
	case TRACK_CSV: print_csv(out, row, options->timing); break;
	case TRACK_JSON:
		fputs(is_first ? " " : ",\n ", out);
		print_json(out, row, options->timing);
		break;
	}
}

static void print_end(FILE *out, const struct track_options *options)
{
	struct rusage usage;

	if (options->format == TRACK_JSON)
		fputs("\n]}\n", out);
	if (options->format == TRACK_TEXT && options->timing && getrusage(RUSAGE_SELF, &usage) == 0)
		fprintf(out, "largest resident set: %.1f MiB\n", (double)usage.ru_maxrss / 1024);
}

/* All methods at one size: the rows from *count on. */
static int run_size(const struct track_options *options, FILE *out, struct row *rows, size_t *count,
		    struct error *reterr)
{
	struct track_world world;
	int r = track_world_open(options, &world, reterr);

	if (r < 0)
		return r;
	for (int method = 0; method < TRACK_STREAMS && r == 0; method++) {
		struct row *row = &rows[*count];

		if (!options->methods[method])
			continue;
		*row = (struct row){ .kind = options->network.kind,
				     .method = method,
				     .nodes = options->network.nodes,
				     .edges = world.network.graph.edge_count,
				     .lambda2 = world.lambda2_known ? world.lambda2 : 0 };
		set_limit(rows, *count, options->rounds);
		r = run_field(&world, row, reterr);
		if (r < 0) {
			(void)error_wrap(reterr, "%s of %u nodes",
					 network_names[options->network.kind],
					 options->network.nodes);
			break;
		}
		predict(rows, *count);
		print_row(out, options, row, *count == 0);
		(*count)++;
		r = output_flush(reterr);
	}
	track_world_close(&world);
	return r;
}

int track_scale(const struct track_options *options, FILE *out, struct error *reterr)
{
	size_t most = (size_t)NETWORK_KINDS * options->size_count * TRACK_STREAMS, count = 0;
	struct row *rows = calloc(most, sizeof(*rows));
	int r = 0;

	if (rows == NULL)
		return error_errno(reterr, -ENOMEM, "%zu runs", most);
	print_head(out, options);
	for (int kind = 0; kind < NETWORK_KINDS; kind++)
		for (unsigned n = 0; n < options->size_count && options->graphs[kind] && r == 0;
		     n++) {
			struct track_options one = *options;

			one.network.kind = (enum network_kind)kind;
			one.network.nodes = options->sizes[n];
			r = run_size(&one, out, rows, &count, reterr);
		}
	print_end(out, options);
	free(rows);
	return r;
}
