/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_TEXT_H
#define ISO_GRAPH_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/graph/graph.h"
#include "lib/status.h"

/*
 * A graph as text: each line has the names of two nodes that are neighbours, or one
 * name of a node that may have none.  Names are of printable ASCII without blanks,
 * and are parted by blanks; from '#' to the end of the line is comment.  Nodes are
 * numbered in the order in which they first appear.  An edge may be given twice, in
 * any direction.
 */

#define ISO_GRAPH_NAME_MAX 63u

#define ISO_GRAPH_TEXT_MAP(X)                                                                      \
	X(ISO_GRAPH_TEXT_CHARACTER, "a name has only printable ASCII")                             \
	X(ISO_GRAPH_TEXT_LONG, "name is longer than 63 characters")                                \
	X(ISO_GRAPH_TEXT_WORDS, "more than two names")                                             \
	X(ISO_GRAPH_TEXT_LOOP, "a node is no neighbour of itself")                                 \
	X(ISO_GRAPH_TEXT_EMPTY, "no node at all")                                                  \
	X(ISO_GRAPH_TEXT_FULL, "more nodes or edges than there is room for")

enum iso_graph_text_reason {
	ISO_GRAPH_TEXT_FINE,
#define X(name, text) name,
	ISO_GRAPH_TEXT_MAP(X)
#undef X
};

/* A phrase without full stop; static, never NULL. */
const char *iso_graph_text_reason_text(enum iso_graph_text_reason reason);

/* The line is counted from 1; 0: it is no line's fault. */
struct iso_graph_text_error {
	uint64_t line;
	enum iso_graph_text_reason reason;
};

/* Not terminated: a piece of the text that was read, which must live as long. */
struct iso_graph_name {
	const char *text;
	uint32_t length;
};

/* Names and their nodes.  Both arrays are the caller's. */
struct iso_graph_names {
	struct iso_graph_name *names;
	uint32_t names_max;
	uint32_t count;
	uint32_t *slots; /* a hash table */
	uint32_t slot_count;
};

/* How many slots so many names need. */
uint32_t iso_graph_names_slots(uint32_t names_max);

/* names: names_max >= 1 of them.  slots: iso_graph_names_slots(names_max) of them. */
void iso_graph_names_init(struct iso_graph_names *names, uint32_t names_max,
			  struct iso_graph_name *memory, uint32_t *slots);

/* ISO_E_UNKNOWN: no node has this name. */
ISO_MUST_USE enum iso_status iso_graph_names_find(const struct iso_graph_names *names,
						  const char *text, size_t length,
						  uint32_t *ret_node);

/*
 * names: empty.  There are at most as many edges as lines, and twice as many names;
 * edges is borrowed by *ret_graph.  ISO_E_MALFORMED: *ret_error says where and why;
 * what the names are then is not defined.  *ret_graph is untouched unless ISO_OK.
 */
ISO_MUST_USE enum iso_status iso_graph_read(const char *text, size_t size,
					    struct iso_graph_names *names,
					    struct iso_graph_edge *edges, uint32_t edges_max,
					    struct iso_graph *ret_graph,
					    struct iso_graph_text_error *ret_error);

#endif
