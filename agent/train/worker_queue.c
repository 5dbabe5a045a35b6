/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_queue.h"

#include <assert.h>
#include <stdlib.h>

void queue_init(struct queue *ret_queue)
{
	*ret_queue = (struct queue){ .end = &ret_queue->first };
}

void queue_push(struct queue *queue, struct entry *entry)
{
	entry->next = NULL;
	*queue->end = entry;
	queue->end = &entry->next;
	queue->count++;
}

void queue_push_first(struct queue *queue, struct entry *entry)
{
	entry->next = queue->first;
	queue->first = entry;
	if (entry->next == NULL)
		queue->end = &entry->next;
	queue->count++;
}

struct entry *queue_pop(struct queue *queue)
{
	struct entry *entry = queue->first;

	if (entry == NULL)
		return NULL;
	queue->first = entry->next;
	if (queue->first == NULL)
		queue->end = &queue->first;
	assert(queue->count > 0);
	queue->count--;
	return entry;
}

void entry_free(struct entry *entry, struct points *points)
{
	points_release(points, entry->point);
	free(entry->result.gradient);
	free(entry);
}

void queue_forget(struct queue *queue, queue_match_fn *match, const struct task *wanted,
		  struct points *points)
{
	struct entry **link = &queue->first, *entry;

	while ((entry = *link) != NULL) {
		if (match != NULL && !match(&entry->task, wanted)) {
			link = &entry->next;
			continue;
		}
		*link = entry->next;
		queue->count--;
		entry_free(entry, points);
	}
	queue->end = link;
}
