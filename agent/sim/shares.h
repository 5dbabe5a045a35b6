/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_SHARES_H
#define ISO_SIM_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/base/error.h"
#include "agent/sim/network.h"
#include "lib/trade/share.h"
#include "lib/sim/site.h"

/* A kind of network.h, or the last one: a file. */
enum { SHARES_FILE = NETWORK_KINDS, SHARES_GRAPHS };

enum shares_format { SHARES_TEXT, SHARES_CSV, SHARES_JSON };

struct shares_options {
	bool graphs[SHARES_GRAPHS];
	double probability, radius; /* of those that are drawn, see network.h */
	const char *file;       /* of SHARES_FILE */
	uint32_t sizes[NETWORK_SIZES_MAX];
	unsigned size_count;
	uint64_t seed;          /* the first one */
	uint64_t seed_count;
	enum iso_site_load load;
	enum iso_cost_kind cost;
	enum iso_share_mode mode;
	double rho, gamma, dead_band;
	double loss, delay, jitter;
	double gap;             /* what to reach */
	uint64_t rounds_max;
	enum shares_format format;
	const char *plot;       /* NULL: none */
	bool timing;
};

/* One run: one graph of one size, from one seed. */
struct shares_run {
	unsigned graph;
	uint32_t nodes;
	uint32_t edges;
	uint32_t degree;        /* largest */
	uint64_t seed;
	bool reached;
	uint64_t rounds;        /* until the gap was reached, or rounds_max */
	double gap;             /* at the end */
	size_t bytes;           /* of all nodes, their messages and the clock */
	size_t graph_bytes;     /* and of the sites; not needed by the nodes */
	uint64_t messages;      /* sent */
	uint64_t events;        /* ticks, and messages taken in */
	uint64_t digest;        /* of all shares at the end */
	double seconds;         /* of CPU, in the rounds; checks are not counted */
};

const char *shares_graph_name(unsigned graph);

/*
 * Runs until the gap has been reached or rounds_max is over; checks the sum
 * after every round.  -EINVAL: no such graph; -ENOMEM; -ENOTRECOVERABLE: the
 * sum was broken, which is a bug.  nodes: unless the graph is a file.
 */
int shares_run(const struct shares_options *options, unsigned graph, uint32_t nodes, uint64_t seed,
	       struct shares_run *ret_run, struct error *reterr);

/* Prints the head, one run as it ends, and the end. */
void shares_print_head(FILE *out, const struct shares_options *options);
void shares_print_run(FILE *out, const struct shares_options *options,
		      const struct shares_run *run, bool is_first);
void shares_print_end(FILE *out, const struct shares_options *options);

/* Rounds against nodes, as an SVG drawn by gnuplot. */
int shares_plot(const struct shares_options *options, const struct shares_run *runs, size_t count,
		struct error *reterr);

#endif
