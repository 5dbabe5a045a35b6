/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_SEARCH_H
#define ISO_MODEL_SEARCH_H

#include "tests/model/cluster.h"

/*
 * Breadth first through every state that can be reached, so that the path to
 * a violation is as short as can be.  States are compared whole: none is
 * passed over by chance.
 */
struct model_result {
	uint32_t states;
	uint64_t transitions;
	uint32_t depth;
	uint32_t rests; /* states from which nothing happens by itself */
	uint32_t nodes; /* see cluster.h */
	uint32_t channels;
	double seconds;	   /* of CPU */
	size_t bytes;	   /* at most, of all that was allocated */
	bool complete;	   /* false: a violation, or states_max was reached */
	const char *wrong; /* NULL: every invariant held in every state */
	char *trace;	   /* how it came about; NULL: nothing wrong */
};

/*
 * Also proves, when complete, that without faults every run comes to rest: the
 * graph of the natural steps has no cycle, and each of its ends is checked.  An
 * assertion that fails in lib/ counts as a violation.  Not reentrant.
 */
void model_search(const struct model_setup *setup, uint32_t states_max,
		  struct model_result *ret_result);
void model_result_done(struct model_result *result);

void model_print_heading(FILE *out);
void model_print_result(FILE *out, const struct model_setup *setup,
			const struct model_result *result);

#endif
