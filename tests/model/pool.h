/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_POOL_H
#define ISO_MODEL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of byte strings of one size, numbered in the order in which they
 * came.  Whole strings are kept and compared, so equal means equal; the hash only
 * says where to look.
 */
struct pool {
	size_t size; /* bytes of an item */
	uint32_t count;
	uint32_t capacity;
	uint32_t slots; /* of the table: a power of two, at most half full */
	uint8_t *items;
	uint32_t *table; /* number + 1; 0: free */
};

void pool_init(struct pool *pool, size_t size);
void pool_done(struct pool *pool);

/* The number of an item, which is added if it is not there yet. */
uint32_t pool_add(struct pool *pool, const void *item, bool *ret_added);

/* POOL_NONE: it is not there. */
#define POOL_NONE UINT32_MAX
uint32_t pool_find(const struct pool *pool, const void *item);

static inline const void *pool_get(const struct pool *pool, uint32_t number)
{
	return pool->items + (size_t)number * pool->size;
}

/* What it takes in memory now. */
size_t pool_bytes(const struct pool *pool);

/* realloc() that ends the program instead of failing. */
void *pool_resize(void *memory, size_t count, size_t size);

#endif
