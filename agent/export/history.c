/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/history.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct history_series {
	char cluster[HISTORY_NAME_BYTES], node[HISTORY_NAME_BYTES];
	uint64_t newest; /* its slot */
	uint64_t oldest; /* before it nothing is known */
	struct history_point points[HISTORY_POINTS];
};

struct history {
	unsigned count;
	struct history_series *series[HISTORY_NODES_MAX];
};

static const struct history_point unknown = { (float)NAN, (float)NAN, (float)NAN, (float)NAN };

struct history *history_new(void)
{
	return calloc(1, sizeof(struct history));
}

struct history *history_free(struct history *history)
{
	if (history == NULL)
		return NULL;
	for (unsigned i = 0; i < history->count; i++)
		free(history->series[i]);
	free(history);
	return NULL;
}

static struct history_series *find(const struct history *history, const char *cluster,
				   const char *node)
{
	for (unsigned i = 0; i < history->count; i++)
		if (strcmp(history->series[i]->node, node) == 0 &&
		    strcmp(history->series[i]->cluster, cluster) == 0)
			return history->series[i];
	return NULL;
}

static void forget_old(struct history *history, uint64_t slot)
{
	for (unsigned i = 0; i < history->count;) {
		if (history->series[i]->newest + HISTORY_POINTS > slot) {
			i++;
			continue;
		}
		free(history->series[i]);
		history->series[i] = history->series[--history->count];
	}
}

static struct history_series *begin(struct history *history, uint64_t slot, const char *cluster,
				    const char *node)
{
	size_t cluster_size = strlen(cluster) + 1, node_size = strlen(node) + 1;

	if (history->count == HISTORY_NODES_MAX || cluster_size > HISTORY_NAME_BYTES ||
	    node_size > HISTORY_NAME_BYTES)
		return NULL;
	struct history_series *series = calloc(1, sizeof(*series));
	if (series == NULL)
		return NULL;
	memcpy(series->cluster, cluster, cluster_size);
	memcpy(series->node, node, node_size);
	series->newest = series->oldest = slot;
	history->series[history->count++] = series;
	return series;
}

void history_add(struct history *history, uint64_t slot, const char *cluster, const char *node,
		 const struct history_point *point)
{
	struct history_series *series;

	forget_old(history, slot);
	series = find(history, cluster, node);
	if (series == NULL)
		series = begin(history, slot, cluster, node);
	if (series == NULL)
		return;
	assert(slot >= series->newest && slot - series->newest < HISTORY_POINTS);
	for (uint64_t i = series->newest + 1; i < slot; i++)
		series->points[i % HISTORY_POINTS] = unknown;
	series->points[slot % HISTORY_POINTS] = *point;
	series->newest = slot;
	if (slot - series->oldest >= HISTORY_POINTS)
		series->oldest = slot - HISTORY_POINTS + 1;
}

const struct history_series *history_find(const struct history *history, const char *cluster,
					  const char *node)
{
	return find(history, cluster, node);
}

struct history_point history_at(const struct history_series *series, uint64_t slot)
{
	if (series == NULL || slot > series->newest || slot < series->oldest)
		return unknown;
	return series->points[slot % HISTORY_POINTS];
}
