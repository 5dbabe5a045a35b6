/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_METRICS_FAMILY_H
#define ISO_METRICS_FAMILY_H

#include <stdbool.h>

/* What metrics.c writes, as a table: metrics_family.c. */

enum metrics_scope {
	METRICS_NODE, /* labels cluster and node */
	METRICS_EDGE, /* and neighbour */
};

struct metrics_family {
	const char *name;
	enum metrics_scope scope;
	const char *help;
	/* Where the value is: "share_ucpu", or "lease.remaining_s". */
	const char *path;
	double per;	       /* the value is divided by this; 0: by 1 */
	const char *per_path;  /* and by the number that is there; NULL: by 1 */
	/*
	 * A text becomes one sample for each of these, 1 for what it is and 0 for the
	 * others, in the label that is named.  What is none of them is the last one.
	 * NULL: a number, or true and false as 1 and 0.
	 */
	const char *label;
	const char *const *values;
	/* A text: 1 where it is this one, 0 where it is another. */
	const char *is;
	bool is_text;  /* 1 for a text, 0 for null */
	bool is_count; /* a list: how many are in it */
};

/* Ends with one that has no name.  Counters are those that end in _total. */
extern const struct metrics_family metrics_families[];

#endif
