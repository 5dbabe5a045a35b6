/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_COMPARE_H
#define ISO_DEMO_COMPARE_H

#include "agent/base/error.h"
#include "tests/demo/demo.h"

/* One demo after the other, each with another method or allocation, side by side at the end. */

#define COMPARE_RUNS_MAX 24

/* "METHOD+ALLOCATION,METHOD,+ALLOCATION": what is left out stays as the options say. */
struct compare {
	unsigned count;
	struct training_options runs[COMPARE_RUNS_MAX];
	char text[1024]; /* what they point into */
};

/* -EINVAL; also if a coordinator would not take one of them, in its words. */
int compare_parse(const char *text, const struct options *options, struct compare *ret_compare,
		  struct error *reterr);

/*
 * Runs each in a process of its own, prints the comparison, writes the reports (json_path)
 * and draws (plot_path).  Returns the exit status: the worst of theirs; a signal ends it.
 */
typedef int compare_fn(const struct options *options);
/* One run in a process of its own; its exit status. */
int compare_one(const struct options *options, compare_fn *fn);
int compare_run(const struct compare *compare, const struct options *options, compare_fn *fn);

/* The table, one line a report; for the tests as well. */
void compare_print(FILE *out, const json_t *reports);

#endif
