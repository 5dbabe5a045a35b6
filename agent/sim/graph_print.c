/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>

#include "agent/conf/confvalue.h"
#include "agent/sim/graph.h"

static const char *weights_name(enum iso_weights_kind kind)
{
	return kind == ISO_WEIGHTS_METROPOLIS ? "metropolis" : "max-degree";
}

static void print_range(FILE *out, const char *what, uint32_t low, uint32_t high)
{
	if (low == high)
		fprintf(out, "%-14s%u\n", what, low);
	else
		fprintf(out, "%-14s%u to %u\n", what, low, high);
}

static void print_spectrum(FILE *out, const struct graph_options *options,
			   const struct graph_facts *facts)
{
	const struct iso_spectrum *spectrum = &facts->spectrum;

	fprintf(out, "%-14s%s\n", "weights", weights_name(options->weights));
	if (facts->has_converged) {
		fprintf(out, "%-14s%.6g\n", "lambda2", spectrum->second);
		fprintf(out, "%-14s%.6g\n", "lambda max", spectrum->largest);
		return;
	}
	fprintf(out, "%-14s%.6g at most, not found within %u steps\n", "lambda2", spectrum->second,
		spectrum->steps);
	fprintf(out, "%-14s%.6g at least\n", "lambda max", spectrum->largest);
}

static void print_switching(FILE *out, const struct graph_options *options,
			    const struct graph_facts *facts)
{
	const struct graph_switching *switching = &facts->switching;

	fprintf(out, "%-14s%u, %u of them connected\n", "draws", options->draws,
		switching->connected_draws);
	fprintf(out, "%-14s%.1f in the mean\n", "edges up", switching->edges_mean);
	fprintf(out, "%-14s%.6g, %.6g in the mean\n", "least lambda2", switching->second_least,
		switching->second_mean);
	fprintf(out, "%-14s%.6g\n", "most lambda", switching->largest_most);
}

void graph_print(FILE *out, const struct graph_options *options,
		 const struct graph_subject *subject, const struct graph_facts *facts)
{
	fprintf(out, "%-14s%s\n", "graph", subject->kind);
	fprintf(out, "%-14s%u\n", "nodes", subject->graph->nodes);
	fprintf(out, "%-14s%u\n", "edges", subject->graph->edge_count);
	print_range(out, "degree", facts->degree_least, facts->degree_most);
	fprintf(out, "%-14s%s\n", "connected", facts->is_connected ? "yes" : "no");
	if (facts->is_connected)
		print_range(out, "diameter", facts->diameter.low, facts->diameter.high);
	print_spectrum(out, options, facts);
	if (options->switches)
		print_switching(out, options, facts);
	if (!facts->has_rates)
		return;
	fprintf(out, "%-14sbelow %.4g\n", "alpha", facts->alpha_max);
	fprintf(out, "%-14s%.4g\n", "safe alpha", facts->safe.alpha);
	fprintf(out, "%-14s%.4g, below %.4g\n", "safe step", facts->safe.step, facts->step_max);
}

static void put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static json_t *json_switching(const struct graph_options *options, const struct graph_facts *facts)
{
	const struct graph_switching *switching = &facts->switching;

	return json_pack(
	    "{s:f, s:I, s:I, s:f, s:f, s:f, s:f}", "up", options->switching.up, "draws",
	    (json_int_t)options->draws, "connected_draws", (json_int_t)switching->connected_draws,
	    "edges_mean", switching->edges_mean, "lambda2_least", switching->second_least,
	    "lambda2_mean", switching->second_mean, "lambda_max_most", switching->largest_most);
}

static json_t *json_rates(const struct graph_options *options, const struct graph_facts *facts)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "curvature", options->curvature, "rho",
			 options->rho, "alpha_max", facts->alpha_max, "safe_alpha",
			 facts->safe.alpha, "safe_step", facts->safe.step, "step_max",
			 facts->step_max);
}

void graph_print_json(FILE *out, const struct graph_options *options,
		      const struct graph_subject *subject, const struct graph_facts *facts)
{
	const struct iso_spectrum *spectrum = &facts->spectrum;
	json_t *json = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:b}", "command", "graph", "graph",
				 subject->kind, "nodes", (json_int_t)subject->graph->nodes, "edges",
				 (json_int_t)subject->graph->edge_count, "degree_least",
				 (json_int_t)facts->degree_least, "degree_most",
				 (json_int_t)facts->degree_most, "connected", facts->is_connected);

	if (facts->is_connected) {
		put(json, "diameter_least", json_integer(facts->diameter.low));
		put(json, "diameter_most", json_integer(facts->diameter.high));
	}
	put(json, "weights", json_string(weights_name(options->weights)));
	put(json, "lambda2", json_real(spectrum->second));
	put(json, "lambda2_error", json_real(spectrum->second_error));
	put(json, "lambda_max", json_real(spectrum->largest));
	put(json, "lambda_max_error", json_real(spectrum->largest_error));
	put(json, "converged", json_boolean(facts->has_converged));
	if (options->switches)
		put(json, "switching", json_switching(options, facts));
	if (facts->has_rates)
		put(json, "rates", json_rates(options, facts));
	json_dumpf(json, out, JSON_REAL_PRECISION(12) | JSON_SORT_KEYS);
	fputc('\n', out);
	json_decref(json);
}

void graph_print_edges(FILE *out, const struct graph_subject *subject)
{
	const struct iso_graph *graph = subject->graph;
	char low[GRAPH_NAME_BYTES], high[GRAPH_NAME_BYTES];

	/* All nodes in their order first, so that they keep their numbers. */
	for (uint32_t i = 0; i < graph->nodes; i++)
		fprintf(out, "%s\n", graph_name(&subject->names, i, low));
	for (uint32_t k = 0; k < graph->edge_count; k++)
		fprintf(out, "%s %s\n", graph_name(&subject->names, graph->edges[k].low, low),
			graph_name(&subject->names, graph->edges[k].high, high));
}

static unsigned degree_of(const struct iso_graph *graph, uint32_t node)
{
	unsigned degree = 0;

	for (uint32_t k = 0; k < graph->edge_count; k++)
		degree += graph->edges[k].low == node || graph->edges[k].high == node;
	return degree;
}

int graph_print_neighbours(FILE *out, const struct graph_subject *subject, uint32_t node,
			   struct error *reterr)
{
	const struct iso_graph *graph = subject->graph;
	char name[GRAPH_NAME_BYTES];

	for (uint32_t k = 0; k < graph->edge_count; k++) {
		struct iso_graph_edge edge = graph->edges[k];

		if (edge.low != node && edge.high != node)
			continue;
		uint32_t other = edge.low == node ? edge.high : edge.low;

		graph_name(&subject->names, other, name);
		if (confvalue_check_name(name, sizeof(name), reterr) < 0)
			return error_wrap(reterr, "isobard.conf takes no such node");
		fprintf(out, "neighbour %s {\n\taddress = tcp://IP-OF-%s:PORT\n", name, name);
		fprintf(out, "\tpublic-key = /etc/isobar/%s.pub\n", name);
		/* In equal parts, no lie of it lets the others use more than the budget. */
		fprintf(out, "\tlimit = SPARE-OF-%s/%u\n}\n", name, degree_of(graph, other));
	}
	return 0;
}
