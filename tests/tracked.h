/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACKED_H
#define ISO_TRACKED_H

#include <stddef.h>
#include <stdint.h>

#include "lib/quant/stream.h"

/*
 * Gradient tracking in lock step on a circulant graph, to see what coding does to
 * it: node i has the neighbours i +- hop for each hop, with equal weights.
 */

/* gradient of g_node at y[m]. */
typedef void tracked_gradient(void *context, uint32_t node, const double *y, double *ret_gradient);

struct tracked {
	uint32_t nodes, m;
	const uint32_t *hops; /* [hop_count], each in 1 .. nodes / 2 */
	uint32_t hop_count;
	tracked_gradient *gradient;
	void *context;
	struct iso_stream_config y_coding, z_coding; /* n is set by tracked_open() */
	double step, alpha;
	uint64_t bits; /* sent by all nodes so far, each vector once */
	uint64_t round;
	/* Owned, each [nodes * m]. */
	double *y, *z, *y_hat, *z_hat, *flow, *pull;
};

/* The caller has filled in what stands before bits; y starts at 0.  Aborts without memory. */
void tracked_open(struct tracked *tracked);
void tracked_close(struct tracked *tracked);

/* Everybody sends y and z, and moves. */
void tracked_step(struct tracked *tracked);

/* The largest distance of a node's y from target[m], against the length of target. */
double tracked_distance(const struct tracked *tracked, const double *target);

#endif
