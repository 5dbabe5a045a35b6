/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_QUEUE_H
#define ISO_SIM_QUEUE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What is due when, at most one thing for each of n ids: a heap of four
 * children a node, which knows where each id is, so that a time can be set
 * anew in place.  Equal times come by id.  Inline, since a simulation does
 * little else.
 */
struct iso_queue_entry {
	double time;
	uint32_t id;
};

struct iso_queue {
	struct iso_queue_entry *heap; /* room for n */
	uint32_t *place;	      /* n: where in the heap, or ISO_QUEUE_NOWHERE */
	uint32_t count;
};

#define ISO_QUEUE_NOWHERE UINT32_MAX

static inline void iso_queue_init(struct iso_queue *queue, struct iso_queue_entry *heap,
				  uint32_t *place, uint32_t n)
{
	*queue = (struct iso_queue){ .heap = heap, .place = place };
	for (uint32_t i = 0; i < n; i++)
		place[i] = ISO_QUEUE_NOWHERE;
}

static inline bool iso_queue_before(const struct iso_queue_entry *a,
				    const struct iso_queue_entry *b)
{
	return a->time < b->time || (a->time == b->time && a->id < b->id);
}

static inline void iso_queue_put(struct iso_queue *queue, uint32_t at, struct iso_queue_entry entry)
{
	queue->heap[at] = entry;
	queue->place[entry.id] = at;
}

/* Lets entry fall from the free place `at`, or rise if it cannot fall. */
static inline void iso_queue_settle(struct iso_queue *queue, uint32_t at,
				    struct iso_queue_entry entry)
{
	uint32_t from = at;

	for (;;) {
		uint64_t first = 4 * (uint64_t)at + 1;
		uint32_t end = first + 4 < queue->count ? (uint32_t)first + 4 : queue->count;

		if (first >= queue->count)
			break;
		uint32_t least = (uint32_t)first;
		for (uint32_t child = least + 1; child < end; child++)
			if (iso_queue_before(&queue->heap[child], &queue->heap[least]))
				least = child;
		if (!iso_queue_before(&queue->heap[least], &entry))
			break;
		iso_queue_put(queue, at, queue->heap[least]);
		at = least;
	}
	while (at == from && at > 0) {
		uint32_t parent = (at - 1) / 4;

		if (!iso_queue_before(&entry, &queue->heap[parent]))
			break;
		iso_queue_put(queue, at, queue->heap[parent]);
		from = at = parent;
	}
	iso_queue_put(queue, at, entry);
}

/* id is due at this time, whether or not it was in the queue. */
static inline void iso_queue_set(struct iso_queue *queue, uint32_t id, double time)
{
	uint32_t at = queue->place[id];

	if (at == ISO_QUEUE_NOWHERE)
		at = queue->count++;
	iso_queue_settle(queue, at, (struct iso_queue_entry){ time, id });
}

/* The first one; the queue must not be empty. */
static inline const struct iso_queue_entry *iso_queue_first(const struct iso_queue *queue)
{
	assert(queue->count > 0);
	return queue->heap;
}

static inline void iso_queue_remove_first(struct iso_queue *queue)
{
	assert(queue->count > 0);
	queue->place[queue->heap[0].id] = ISO_QUEUE_NOWHERE;
	if (--queue->count > 0)
		iso_queue_settle(queue, 0, queue->heap[queue->count]);
}

#endif
