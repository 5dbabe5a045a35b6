/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_points.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int points_add(struct points *points, uint64_t version, float *values)
{
	struct point *point = malloc(sizeof(*point));

	if (point == NULL) {
		free(values);
		return -ENOMEM;
	}
	points_forget(points);
	/* At the front: found before an older one of the same version. */
	*point = (struct point){
		.version = version,
		.refs = 1,
		.values = values,
		.next = points->first,
	};
	points->first = points->last = point;
	return 0;
}

struct point *points_take(struct points *points, uint64_t version)
{
	struct point *point = points->first;

	while (point != NULL && point->version != version)
		point = point->next;
	if (point != NULL)
		point->refs++;
	return point;
}

void points_release(struct points *points, struct point *point)
{
	struct point **link = &points->first;

	if (point == NULL)
		return;
	assert(point->refs >= 1);
	if (--point->refs > 0)
		return;
	while (*link != point)
		link = &(*link)->next;
	*link = point->next;
	free(point->values);
	free(point);
}

void points_forget(struct points *points)
{
	points_release(points, points->last);
	points->last = NULL;
}

uint32_t points_count(const struct points *points)
{
	uint32_t count = 0;

	for (const struct point *point = points->first; point != NULL; point = point->next)
		count++;
	return count;
}
