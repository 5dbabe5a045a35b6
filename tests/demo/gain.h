/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_GAIN_H
#define ISO_DEMO_GAIN_H

#include "tests/demo/compare.h"
#include "tests/demo/demo.h"

/*
 * What trading is worth to those who learn together: the same decentralised training,
 * with parts of the data of different sizes and a co-tenant, once with the shares frozen
 * equal and once with shares that are traded, in pairs, one run after the other.
 * Compared is the time to a given accuracy.
 */
#define GAIN_PAIRS_MAX 32u
#define GAIN_ACCURACY  0.79
/*
 * What counts for them is how long a round takes, and a job that is held up looks
 * hungry: the cost is that of finishing time, and shares move gently.
 */
#define GAIN_TRADING   "\tgamma = 0.2\n}\ncost {\n\tkind = latency\n"

/* Prints each pair and the medians; the reports go to json_path.  Returns the exit status. */
int gain_run(unsigned pairs, const struct options *options, compare_fn *fn);

/* Seconds until the accuracy of all nodes was reached, between two samples in proportion; NAN. */
double gain_time(const json_t *report, double accuracy);

#endif
