/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_GRAPH_H
#define ISO_SIM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/base/error.h"
#include "agent/sim/graph_names.h"
#include "agent/sim/network.h"
#include "lib/graph/distance.h"
#include "lib/graph/spectrum.h"
#include "lib/graph/switching.h"
#include "lib/graph/weights.h"
#include "lib/track/step.h"

enum graph_output { GRAPH_TEXT, GRAPH_JSON, GRAPH_EDGES, GRAPH_NEIGHBOURS };

struct graph_options {
	const char *file;  /* NULL: of a kind */
	const char *names; /* NULL: node0, node1 and so on */
	bool has_kind, has_nodes;
	struct network_options network;
	uint64_t seed;
	enum iso_weights_kind weights;
	double tolerance;
	uint32_t steps_max;
	double curvature, rho; /* of what is tracked */
	bool switches;
	struct iso_switching switching;
	uint32_t draws;
	enum graph_output output;
	const char *neighbours_of;
};

/* The graph that was asked for; freed together. */
struct graph_subject {
	struct network network; /* unless it was read */
	struct graph_names names;
	const struct iso_graph *graph;
	const char *kind;
};

/* What an edge that comes and goes does to the eigenvalues. */
struct graph_switching {
	uint32_t connected_draws;
	double edges_mean;
	double second_least, second_mean, largest_most;
};

struct graph_facts {
	uint32_t degree_least, degree_most;
	bool is_connected;
	struct iso_diameter diameter; /* of a connected graph */
	bool has_converged;
	struct iso_spectrum spectrum;
	struct graph_switching switching; /* if it switches */
	bool has_rates;
	double alpha_max, step_max; /* the latter with the safe alpha */
	struct iso_track_rates safe;
};

/* -ENOMEM, or an eigenvalue of a graph that switches was not found. */
int graph_measure(const struct graph_options *options, const struct graph_subject *subject,
		  struct graph_facts *ret_facts, struct error *reterr);

void graph_print(FILE *out, const struct graph_options *options,
		 const struct graph_subject *subject, const struct graph_facts *facts);
void graph_print_json(FILE *out, const struct graph_options *options,
		      const struct graph_subject *subject, const struct graph_facts *facts);

/* As --file reads them: nodes without a neighbour have a line of their own. */
void graph_print_edges(FILE *out, const struct graph_subject *subject);

/*
 * The neighbour sections of isobard.conf(5), for the node of this number.  -EINVAL: one has
 * a name that is none there.
 */
int graph_print_neighbours(FILE *out, const struct graph_subject *subject, uint32_t node,
			   struct error *reterr);

#endif
