/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_GRAPH_NAMES_H
#define ISO_SIM_GRAPH_NAMES_H

#include <stdbool.h>

#include "agent/base/error.h"
#include "lib/graph/graph.h"
#include "lib/graph/text.h"

/* A graph that was read, and what its nodes are called (lib/graph/text.h). */
struct graph_names {
	char *text; /* owns, as all the others */
	struct iso_graph_name *memory;
	uint32_t *slots;
	struct iso_graph_edge *edges;
	struct iso_graph_names names; /* count 0: they have none */
	struct iso_graph graph;
};

/* A file; reading stops with "FILE: line N: why" where it is wrong.  -EINVAL, -ENOMEM or -errno. */
int graph_names_read(const char *path, struct graph_names *ret, struct error *reterr);

/* Names with commas between them, and no edge. */
int graph_names_list(const char *list, struct graph_names *ret, struct error *reterr);

/* Zeroes it; a zeroed one is fine. */
void graph_names_close(struct graph_names *names);

/* Node i is "nodeI" where there are no names. */
#define GRAPH_NAME_BYTES (ISO_GRAPH_NAME_MAX + 1)
const char *graph_name(const struct graph_names *names, uint32_t node,
		       char buffer[GRAPH_NAME_BYTES]);

/* The node of that name, also "nodeI" of so many nodes.  false: there is none. */
bool graph_node(const struct graph_names *names, const char *name, uint32_t nodes,
		uint32_t *ret_node);

#endif
