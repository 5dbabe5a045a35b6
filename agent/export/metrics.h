/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_METRICS_H
#define ISO_METRICS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Prometheus' text format (version 0.0.4) of what agents say about themselves.
 * Base units; the labels of each family are fixed.  What is unknown (null, or
 * not there) has no sample: it is not zero.  isobar-exporter(8) lists them all.
 */

#define METRICS_SOURCES_MAX 256

struct metrics_source {
	const char *agent;    /* its directory or socket */
	const json_t *status; /* the reply to "status"; NULL: none */
};

/*
 * Writes all families; the text is a function of its input alone.  A second agent
 * that says it is the same node as one before it is left out, since a series
 * twice would cost the whole scrape; and of two edges to one neighbour, which are
 * of different generations, the older one is.
 */
void metrics_write(FILE *out, const struct metrics_source *sources, unsigned count);

/* One HELP and one TYPE line; type: "gauge" or "counter". */
void metrics_head(FILE *out, const char *name, const char *type, const char *help);

/* A label's value, quoted, with the three escapes that the format has. */
void metrics_label(FILE *out, const char *value);

#endif
