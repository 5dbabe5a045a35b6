/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_REPRO_COOPT_H
#define ISO_REPRO_COOPT_H

#include <stdint.h>

#include "lib/sim/field.h"
#include "lib/track/step.h"
#include "tests/repro/repro.h"

/*
 * What the experiments of the co-optimisation paper (arXiv 2510.25176) have in common: its
 * network and its iteration (lib/sim/field.h), with the sums looked at in every round.
 */

/* Random graphs of 20 nodes, as in section 4.8 of our formulas; the complete graph's edges. */
#define COOPT_NODES 20u
#define COOPT_EDGES (COOPT_NODES * (COOPT_NODES - 1) / 2)

struct coopt_net {
	struct iso_graph_edge edges[COOPT_EDGES];
	struct iso_graph graph;
	struct iso_switching switching;
};

/*
 * Each pair of nodes is linked with probability `up`, drawn anew every `dwell` rounds, and
 * the whole is connected at all times.
 */
void coopt_net_draw(struct coopt_net *net, double up, uint32_t dwell, uint64_t seed);

/* Eigenvalues over 100 draws: the least second one and the greatest. */
void coopt_net_facts(const struct coopt_net *net, struct iso_track_facts *ret_facts);

/* A field and the worst that its sums were in any round so far. */
struct coopt_run {
	struct iso_field *field;
	void *memory;
	double share_error; /* relative to the budget */
	double track_error; /* relative to what rounding may do to that sum */
	bool diverged;
};

/* Ends the program if the configuration is out of range. */
void coopt_open(struct coopt_run *run, const struct iso_field_config *config);

/* Ends early where it diverges. */
void coopt_rounds(struct coopt_run *run, uint32_t rounds);

void coopt_close(struct coopt_run *run);

#endif
