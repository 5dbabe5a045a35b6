/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>
#include <math.h>

/*
 * Means on a line: in their order, each worker joins the cluster of those
 * before it if it could be one of them, and begins a new one if not.
 */

/* New clusters when an eighth more is known. */
#define MORE 8u
/* So many standard errors of the difference are chance. */
#define ERRORS 2.0

static void sift_down(uint32_t *list, uint32_t count, uint32_t hole, const double *keys)
{
	uint32_t moving = list[hole];

	for (;;) {
		uint32_t child = 2 * hole + 1;

		if (child >= count)
			break;
		if (child + 1 < count && keys[list[child + 1]] > keys[list[child]])
			child++;
		if (keys[list[child]] <= keys[moving])
			break;
		list[hole] = list[child];
		hole = child;
	}
	list[hole] = moving;
}

/* By key, smallest first. */
static void sort(uint32_t *list, uint32_t count, const double *keys)
{
	for (uint32_t i = count / 2; i-- > 0;)
		sift_down(list, count, i, keys);
	for (uint32_t left = count; left > 1; left--) {
		uint32_t last = list[left - 1];

		list[left - 1] = list[0];
		list[0] = last;
		sift_down(list, left - 1, 0, keys);
	}
}

static bool alike(const struct iso_ata_samples *a, const struct iso_ata_samples *b, double variance,
		  double tolerance)
{
	double a_s = iso_ata_mean_s(a), b_s = iso_ata_mean_s(b);
	double error_s = sqrt(variance * (a_s * a_s / a->count + b_s * b_s / b->count));

	assert(a->count > 0);
	assert(b->count > 0);
	return fabs(a_s - b_s) <= tolerance * fmin(a_s, b_s) + ERRORS * error_s;
}

static void join(struct iso_ata_samples *together, const struct iso_ata_samples *one)
{
	double difference_s = iso_ata_mean_s(together) - iso_ata_mean_s(one);
	double count = together->count + one->count;

	together->squares_s2 +=
	    one->squares_s2 + difference_s * difference_s * together->count * one->count / count;
	together->sum_s += one->sum_s;
	together->count = count;
}

void iso_strategy_make_clusters(struct iso_strategy *strategy, uint32_t count, double variance)
{
	double tolerance = strategy->config.options.cluster;
	double *keys = strategy->some_scores;
	uint32_t *list = strategy->unseen, known = 0, number = 0;

	uint64_t due = strategy->clustered + strategy->clustered / MORE;

	if (!strategy->is_stale && strategy->seen < due)
		return;
	strategy->clustered = strategy->seen;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = strategy->present[i];

		strategy->places[index].number = 0;
		if (!(strategy->workers[index].samples.count > 0))
			continue;
		keys[index] = iso_ata_mean_s(&strategy->workers[index].samples);
		list[known++] = index;
	}
	sort(list, known, keys);
	for (uint32_t from = 0, to; from < known; from = to) {
		struct iso_ata_samples together = strategy->workers[list[from]].samples;

		for (to = from + 1; to < known; to++) {
			const struct iso_ata_samples *next = &strategy->workers[list[to]].samples;

			if (!alike(&together, next, variance, tolerance))
				break;
			join(&together, next);
		}
		number++;
		for (uint32_t i = from; i < to; i++)
			strategy->places[list[i]] = (struct iso_strategy_place){ together, number };
	}
}

uint32_t iso_strategy_cluster(const struct iso_strategy *strategy, uint32_t worker)
{
	assert(worker < strategy->config.workers);
	return strategy->places != NULL ? strategy->places[worker].number : 0;
}
