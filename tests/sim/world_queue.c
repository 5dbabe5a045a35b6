/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <math.h>
#include <stdlib.h>

double world_unit(struct world *world)
{
	return iso_rng_unit(&world->rng);
}

double world_exponential(struct world *world, double mean)
{
	return -mean * log(1 - world_unit(world));
}

bool world_chance(struct world *world, double probability)
{
	return probability > 0 && world_unit(world) < probability;
}

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

void world_push(struct world *world, struct event event, double delay_s)
{
	uint32_t i = world->heap_count++;

	if (i == world->heap_max) {
		world->heap_max = world->heap_max != 0 ? 2 * world->heap_max : 1024;
		world->heap = realloc(world->heap, world->heap_max * sizeof(*world->heap));
	}
	event.at_ns = world->now_ns + (uint64_t)(delay_s * SECOND_NS);
	event.order = world->order++;
	for (; i > 0 && earlier(&event, &world->heap[(i - 1) / 2]); i = (i - 1) / 2)
		world->heap[i] = world->heap[(i - 1) / 2];
	world->heap[i] = event;
}

struct event world_pop(struct world *world)
{
	struct event first = world->heap[0], last = world->heap[--world->heap_count];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= world->heap_count)
			break;
		if (child + 1 < world->heap_count &&
		    earlier(&world->heap[child + 1], &world->heap[child]))
			child++;
		if (earlier(&last, &world->heap[child]))
			break;
		world->heap[i] = world->heap[child];
		i = child;
	}
	world->heap[i] = last;
	return first;
}

uint32_t world_message_new(struct world *world)
{
	if (world->spare_count == 0) {
		uint32_t old = world->message_max;

		world->message_max = old != 0 ? 2 * old : 256;
		world->messages =
		    realloc(world->messages, world->message_max * sizeof(*world->messages));
		world->spare = realloc(world->spare, world->message_max * sizeof(*world->spare));
		for (uint32_t k = old; k < world->message_max; k++)
			world->spare[world->spare_count++] = k;
	}
	return world->spare[--world->spare_count];
}

void world_message_free(struct world *world, uint32_t message)
{
	world->spare[world->spare_count++] = message;
}
