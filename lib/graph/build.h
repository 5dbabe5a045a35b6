/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_BUILD_H
#define ISO_GRAPH_BUILD_H

#include "lib/graph/graph.h"

/*
 * For the makers of graphs in this folder: edges are appended in any order, loops
 * left out, and at the end sorted once.
 */
ISO_MUST_USE enum iso_status iso_graph_append(struct iso_graph *graph, uint32_t a, uint32_t b);

/*
 * Ends a maker; returns its status.  The edges before `count` are as they were, so
 * that a maker that found no room leaves the graph unchanged.
 */
ISO_MUST_USE enum iso_status iso_graph_finish(struct iso_graph *graph, uint32_t count,
					      enum iso_status status);

#endif
