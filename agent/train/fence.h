/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_FENCE_H
#define ISO_FENCE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory for code that is not ours: a page that cannot be touched behind it, and
 * a pattern in the bytes around it, so that writing beyond it is noticed.
 */
struct fence {
	void *data; /* aligned to FENCE_ALIGNMENT; NULL: no bytes */
	size_t bytes;
	void *map;
	size_t map_bytes;
};

#define FENCE_ALIGNMENT 64u

/* Zeroed memory; of 0 bytes there is none.  0 or -ENOMEM. */
int fence_open(size_t bytes, struct fence *ret_fence);

/* Whether the pattern is still there. */
bool fence_intact(const struct fence *fence);

/* A zeroed fence may be closed. */
void fence_close(struct fence *fence);

#endif
