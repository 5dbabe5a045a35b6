/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GRAPH_PARTS_H
#define ISO_GRAPH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Which nodes hang together: a forest of parents, one a node, with path halving. */
static inline void iso_parts_start(uint32_t *parent, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++)
		parent[i] = i;
}

static inline uint32_t iso_parts_root(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

/* false: they were in one part already. */
static inline bool iso_parts_join(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = iso_parts_root(parent, a);
	b = iso_parts_root(parent, b);
	parent[a] = b;
	return a != b;
}

#endif
