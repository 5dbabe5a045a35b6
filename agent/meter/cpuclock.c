/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/cpuclock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

struct cpuclock_map {
	const volatile struct meter_clock *clocks;
};

#define MAP_BYTES (METER_CLOCKS_MAX * sizeof(struct meter_clock))

int cpuclock_map_open(int fd, struct cpuclock_map **ret_map, struct error *reterr)
{
	struct cpuclock_map *map = calloc(1, sizeof(*map));
	void *place;

	if (map == NULL)
		return error_errno(reterr, -ENOMEM, "on-CPU clocks");
	place = mmap(NULL, MAP_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (place == MAP_FAILED) {
		int r = error_errno(reterr, -errno, "map the on-CPU clocks");

		free(map);
		return r;
	}
	map->clocks = place;
	*ret_map = map;
	return 0;
}

struct cpuclock_map *cpuclock_map_close(struct cpuclock_map *map)
{
	if (map == NULL)
		return NULL;
	munmap((void *)(uintptr_t)map->clocks, MAP_BYTES);
	free(map);
	return NULL;
}

int cpuclock_init(struct cpuclock *clock, const struct cpuclock_map *map, uint32_t slot)
{
	clock->shared = NULL;
	clock->last_ns = 0;
	if (map == NULL)
		return 0;
	if (slot >= METER_CLOCKS_MAX)
		return -EINVAL;
	clock->shared = &map->clocks[slot];
	return 0;
}
