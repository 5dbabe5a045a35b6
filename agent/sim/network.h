/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_NETWORK_H
#define ISO_SIM_NETWORK_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/sim/graph_names.h"
#include "lib/graph/graph.h"
#include "lib/graph/switching.h"
#include "lib/graph/weights.h"
#include "lib/rng.h"

/* The graphs that the commands of isobar-sim can be asked for, with memory of their own. */
enum network_kind {
	NETWORK_RING,
	NETWORK_GRID,
	NETWORK_RANDOM, /* a ring and as many chords */
	NETWORK_EXPONENTIAL,
	NETWORK_COMPLETE,
	NETWORK_STAR,
	NETWORK_LINE,
	NETWORK_ERDOS_RENYI,
	NETWORK_GEOMETRIC,
	NETWORK_KINDS,
};

extern const char *const network_names[NETWORK_KINDS];

struct network_options {
	enum network_kind kind;
	uint32_t nodes; /* >= 2 */
	/* 0: so that nodes have 2 ln(nodes) neighbours in the mean, and most graphs are connected.
	 */
	double probability; /* erdos-renyi: of an edge, 0 to 1 */
	double radius;	    /* geometric, in the unit square */
	const char *file;   /* NULL, or read it; kind and nodes say nothing then */
};

struct network {
	struct iso_graph graph;
	struct iso_graph_edge *edges; /* owns */
	uint32_t *degrees;	      /* owns; one a node */
	struct graph_names names;     /* owns; of a file */
};

/*
 * -EINVAL: no such graph, too many edges, or it is not connected; -ENOMEM; of a file, -errno.  A
 * graph that is drawn is drawn again up to 100 times until it is connected.
 */
int network_open(const struct network_options *options, struct iso_rng *rng,
		 struct network *ret_network, struct error *reterr);

/* Zeroes it; a zeroed one is fine. */
void network_close(struct network *network);

/* network_option.c: values of options, as in agent/sim/option.h. */
#define NETWORK_NODES_MAX 1000000
bool network_option_kind(const char *option, const char *text, enum network_kind *ret);
bool network_option_weights(const char *text, enum iso_weights_kind *ret);
bool network_option_promise(const char *text, enum iso_switching_promise *ret);
/* One of a list of --nodes, of which there is room for SIZES_MAX. */
#define NETWORK_SIZES_MAX 32
bool network_option_size(const char *part, uint32_t sizes[NETWORK_SIZES_MAX], unsigned *count);

#endif
