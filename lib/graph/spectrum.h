/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_SPECTRUM_H
#define ISO_GRAPH_SPECTRUM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/status.h"

/*
 * The two eigenvalues of the weighted Laplacian on which steps and rates depend
 * (co-optimisation, section 4.6): the second smallest, which is the algebraic
 * connectivity, and the largest.  By the method of Lanczos on the vectors without a
 * mean, where the second smallest is the smallest one.
 */
struct iso_spectrum {
	double second;	     /* 0: not connected; also of a single node */
	double second_error; /* some eigenvalue is within so much of it */
	double largest;
	double largest_error;
	uint32_t steps; /* products with the Laplacian */
};

/* Memory for it, aligned for uint64_t; steps_max >= 1. */
size_t iso_spectrum_size(uint32_t nodes, uint32_t steps_max);

/*
 * weights: one an edge, >= 0; an edge of weight 0 is none.  tolerance: of the errors,
 * as a part of the eigenvalue, > 0.  Errors of the values themselves are far smaller
 * as a rule: about their square.  A graph that is an expander takes some dozen steps
 * at any size, a ring about as many as it has nodes.
 *
 * ISO_E_STEPS: steps_max were not enough, or the second eigenvalue is so small that
 * doubles do not show it to this tolerance.  *ret_spectrum is set then, too: `second` is
 * no smaller than the true one, `largest` no larger, and the errors tell which of
 * them is not good.
 */
ISO_MUST_USE enum iso_status iso_graph_spectrum(const struct iso_graph *graph,
						const double *weights, double tolerance,
						uint32_t steps_max, void *memory,
						struct iso_spectrum *ret_spectrum);

#endif
