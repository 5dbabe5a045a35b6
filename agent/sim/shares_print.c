/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "agent/sim/shares.h"

static double events_per_s(const struct shares_run *run)
{
	return run->seconds > 0 ? (double)run->events / run->seconds : 0;
}

/* What was asked for, so that a result can be made again. */
static void print_parameters(FILE *out, const struct shares_options *options)
{
	static const char *const loads[] = { "halves", "scattered" };
	static const char *const costs[] = { "quadratic", "latency", "proportional" };
	static const char *const modes[] = { "difference", "log", "uniform", "none" };
	json_t *json =
	    json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:s?, s:f, s:f}",
		      "load", loads[options->load - ISO_SITE_HALVES], "cost",
		      costs[options->cost - ISO_COST_QUADRATIC], "quantiser",
		      modes[options->mode - ISO_SHARE_DIFFERENCE], "rho", options->rho, "gamma",
		      options->gamma, "dead_band", options->dead_band, "loss", options->loss,
		      "delay", options->delay, "jitter", options->jitter, "gap", options->gap,
		      "rounds_max", (json_int_t)options->rounds_max, "file", options->file,
		      "probability", options->probability, "radius", options->radius);

	json_dumpf(json, out, JSON_REAL_PRECISION(7) | JSON_SORT_KEYS);
	json_decref(json);
}

void shares_print_head(FILE *out, const struct shares_options *options)
{
	switch (options->format) {
	case SHARES_TEXT:
		fprintf(out, "%-11s %7s %6s %6s %8s %9s %12s %10s", "graph", "nodes", "degree",
			"seed", "rounds", "gap", "memory", "per node");
		if (options->timing)
			fprintf(out, " %9s %10s", "cpu", "events/s");
		break;
	case SHARES_CSV:
		fputs("graph,nodes,edges,degree,seed,reached,rounds,gap,memory_bytes,"
		      "graph_bytes,messages,digest",
		      out);
		if (options->timing)
			fputs(",cpu_s,events_per_s", out);
		break;
	case SHARES_JSON:
		fputs("{\"command\": \"shares\", \"parameters\": ", out);
		print_parameters(out, options);
		fputs(",\n\"runs\": [", out);
		break;
	}
	fputc('\n', out);
}

static void print_text(FILE *out, const struct shares_run *run, bool timing)
{
	char rounds[24], memory[24];

	snprintf(rounds, sizeof(rounds), "%s%" PRIu64, run->reached ? "" : ">", run->rounds);
	snprintf(memory, sizeof(memory), "%.2f MiB", (double)run->bytes / 1048576);
	fprintf(out, "%-11s %7u %6u %6" PRIu64 " %8s %9.2e %12s %8zu B",
		shares_graph_name(run->graph), run->nodes, run->degree, run->seed, rounds, run->gap,
		memory, run->bytes / run->nodes);
	if (timing)
		fprintf(out, " %7.2f s %10.3g", run->seconds, events_per_s(run));
	fputc('\n', out);
}

static void print_csv(FILE *out, const struct shares_run *run, bool timing)
{
	fprintf(out,
		"%s,%u,%u,%u,%" PRIu64 ",%d,%" PRIu64 ",%.6e,%zu,%zu,%" PRIu64 ",0x%016" PRIx64,
		shares_graph_name(run->graph), run->nodes, run->edges, run->degree, run->seed,
		run->reached, run->rounds, run->gap, run->bytes, run->graph_bytes, run->messages,
		run->digest);
	if (timing)
		fprintf(out, ",%.3f,%.6g", run->seconds, events_per_s(run));
	fputc('\n', out);
}

static void print_json(FILE *out, const struct shares_run *run, bool timing)
{
	char digest[24];
	json_t *json;

	snprintf(digest, sizeof(digest), "0x%016" PRIx64, run->digest);
	json = json_pack("{s:s, s:I, s:I, s:I, s:I, s:b, s:I, s:f, s:I, s:I, s:I, s:s}", "graph",
			 shares_graph_name(run->graph), "nodes", (json_int_t)run->nodes, "edges",
			 (json_int_t)run->edges, "degree", (json_int_t)run->degree, "seed",
			 (json_int_t)run->seed, "reached", run->reached, "rounds",
			 (json_int_t)run->rounds, "gap", run->gap, "memory_bytes",
			 (json_int_t)run->bytes, "graph_bytes", (json_int_t)run->graph_bytes,
			 "messages", (json_int_t)run->messages, "digest", digest);
	if (timing) {
		json_object_set_new(json, "cpu_s", json_real(run->seconds));
		json_object_set_new(json, "events_per_s", json_real(events_per_s(run)));
	}
	json_dumpf(json, out, JSON_REAL_PRECISION(7) | JSON_SORT_KEYS);
	json_decref(json);
}

void shares_print_run(FILE *out, const struct shares_options *options, const struct shares_run *run,
		      bool is_first)
{
	switch (options->format) {
	case SHARES_TEXT: print_text(out, run, options->timing); break;
	case SHARES_CSV: print_csv(out, run, options->timing); break;
	case SHARES_JSON:
		fputs(is_first ? " " : ",\n ", out);
		print_json(out, run, options->timing);
		break;
	}
}

void shares_print_end(FILE *out, const struct shares_options *options)
{
	struct rusage usage;

	if (options->format == SHARES_JSON)
		fputs("\n]}\n", out);
	if (options->format == SHARES_TEXT && options->timing &&
	    getrusage(RUSAGE_SELF, &usage) == 0)
		fprintf(out, "largest resident set: %.1f MiB\n", (double)usage.ru_maxrss / 1024);
}
