/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/fence.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATTERN 0xa5

static size_t padded(size_t bytes)
{
	return (bytes + FENCE_ALIGNMENT - 1) / FENCE_ALIGNMENT * FENCE_ALIGNMENT;
}

int fence_open(size_t bytes, struct fence *ret_fence)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), inner;
	struct fence fence = { .bytes = bytes };
	uint8_t *map;

	if (bytes == 0) {
		*ret_fence = fence;
		return 0;
	}
	if (bytes > SIZE_MAX / 4)
		return -ENOMEM;
	inner = (FENCE_ALIGNMENT + padded(bytes) + page - 1) / page * page;
	fence.map_bytes = inner + page;
	map =
	    mmap(NULL, fence.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	if (mprotect(map + inner, page, PROT_NONE) < 0) {
		(void)munmap(map, fence.map_bytes);
		return -ENOMEM;
	}
	uint8_t *data = map + inner - padded(bytes);
	memset(data - FENCE_ALIGNMENT, PATTERN, FENCE_ALIGNMENT);
	memset(data + bytes, PATTERN, padded(bytes) - bytes);
	fence.map = map;
	fence.data = data;
	*ret_fence = fence;
	return 0;
}

static bool is_pattern(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != PATTERN)
			return false;
	return true;
}

bool fence_intact(const struct fence *fence)
{
	const uint8_t *data = fence->data;

	return data == NULL ||
	       (is_pattern(data - FENCE_ALIGNMENT, FENCE_ALIGNMENT) &&
		is_pattern(data + fence->bytes, padded(fence->bytes) - fence->bytes));
}

void fence_close(struct fence *fence)
{
	if (fence->map != NULL)
		(void)munmap(fence->map, fence->map_bytes);
	*fence = (struct fence){ 0 };
}
