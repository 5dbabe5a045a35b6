/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/detour.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/net/detour.h"
#include "lib/rng.h"

static struct iso_rng rng;

/* Shared with the file, so that what is in it survives kill -9. */
static struct detour_file *open_file(void)
{
	const char *path = getenv("ISO_DETOUR");
	void *at = MAP_FAILED;

	if (path == NULL)
		return NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, sizeof(struct detour_file)) == 0)
		at = mmap(NULL, sizeof(struct detour_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  0);
	if (at == MAP_FAILED)
		abort();
	close(fd);
	rng = (struct iso_rng){ clock_now_ns() ^ (uint64_t)getpid() << 32 };
	return at;
}

static void keep(struct detour_file *file, uint32_t neighbour, const uint8_t *bytes, size_t size)
{
	struct detour_slot *slot = &file->slots[iso_rng_below(&rng, DETOUR_SLOTS)];

	slot->size = 0; /* until all of it is there: we may be killed in between */
	memcpy(slot->bytes, bytes, size);
	slot->neighbour = neighbour;
	slot->pid = (uint32_t)getpid();
	slot->size = (uint32_t)size;
}

/* What comes of it counts for nobody: the neighbour may have gone long since. */
static void repeat(struct detour_file *file, link_fn *fn, void *context)
{
	const struct detour_slot *slot = &file->slots[iso_rng_below(&rng, DETOUR_SLOTS)];

	if (slot->size == 0)
		return;
	file->repeated++;
	file->bequeathed += slot->pid != (uint32_t)getpid();
	(void)fn(context, slot->neighbour, slot->bytes, slot->size);
}

bool detour(link_fn *fn, void *context, uint32_t neighbour, const uint8_t *bytes, size_t size)
{
	static struct detour_file *file;
	static bool was_opened;
	bool good = false;

	if (!was_opened)
		file = open_file();
	was_opened = true;
	if (file == NULL)
		return fn(context, neighbour, bytes, size);
	file->received++;
	keep(file, neighbour, bytes, size);
	/* One of four does not come now; old ones come before it and after it. */
	uint64_t way = iso_rng_below(&rng, 4);
	if (way == 1)
		repeat(file, fn, context);
	if (way == 0)
		file->held++;
	else
		good = fn(context, neighbour, bytes, size);
	if (iso_rng_below(&rng, 2) == 0)
		repeat(file, fn, context);
	return good;
}
