/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/pool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/checksum.h"

#define SLOTS_FIRST 1024u

void *pool_resize(void *memory, size_t count, size_t size)
{
	void *larger = reallocarray(memory, count, size);

	if (larger != NULL)
		return larger;
	fprintf(stderr, "out of memory: %zu items of %zu bytes\n", count, size);
	exit(EXIT_FAILURE);
}

void pool_init(struct pool *pool, size_t size)
{
	*pool = (struct pool){ .size = size, .slots = SLOTS_FIRST };
	pool->table = pool_resize(NULL, pool->slots, sizeof(*pool->table));
	memset(pool->table, 0, pool->slots * sizeof(*pool->table));
}

void pool_done(struct pool *pool)
{
	free(pool->items);
	free(pool->table);
	*pool = (struct pool){ 0 };
}

/* The slot that holds the item, or the free one where it belongs. */
static uint32_t find_slot(const struct pool *pool, const void *item)
{
	uint32_t at = (uint32_t)iso_checksum(item, pool->size) & (pool->slots - 1);

	while (pool->table[at] != 0 &&
	       memcmp(pool_get(pool, pool->table[at] - 1), item, pool->size) != 0)
		at = (at + 1) & (pool->slots - 1);
	return at;
}

static void grow_table(struct pool *pool)
{
	assert(pool->slots <= UINT32_MAX / 2);
	pool->slots *= 2;
	free(pool->table);
	pool->table = pool_resize(NULL, pool->slots, sizeof(*pool->table));
	memset(pool->table, 0, pool->slots * sizeof(*pool->table));
	for (uint32_t number = 0; number < pool->count; number++)
		pool->table[find_slot(pool, pool_get(pool, number))] = number + 1;
}

uint32_t pool_add(struct pool *pool, const void *item, bool *ret_added)
{
	uint32_t at = find_slot(pool, item);

	*ret_added = pool->table[at] == 0;
	if (!*ret_added)
		return pool->table[at] - 1;
	if (pool->count == pool->capacity) {
		pool->capacity += pool->capacity / 2 + SLOTS_FIRST;
		pool->items = pool_resize(pool->items, pool->capacity, pool->size);
	}
	memcpy(pool->items + (size_t)pool->count * pool->size, item, pool->size);
	pool->table[at] = ++pool->count;
	if (pool->count > pool->slots / 2)
		grow_table(pool);
	return pool->count - 1;
}

uint32_t pool_find(const struct pool *pool, const void *item)
{
	return pool->table[find_slot(pool, item)] - 1; /* free: POOL_NONE */
}

size_t pool_bytes(const struct pool *pool)
{
	return pool->capacity * pool->size + pool->slots * sizeof(*pool->table);
}
