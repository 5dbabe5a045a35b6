/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

double node_sample_value(const struct node_sample *sample, enum series series)
{
	switch (series) {
	case SERIES_SHARE: return sample->share;
	case SERIES_QUOTA: return sample->quota;
	case SERIES_ON_CPU: return sample->on_cpu;
	case SERIES_DEMAND: return sample->demand;
	}
	return (double)NAN;
}

int history_add(struct history *history, const struct sample *sample)
{
	if (history->count == history->room) {
		size_t room = history->room == 0 ? 64 : 2 * history->room;
		struct sample *samples =
		    reallocarray(history->samples, room, sizeof(*history->samples));

		if (samples == NULL)
			return -ENOMEM;
		history->samples = samples;
		history->room = room;
	}
	history->samples[history->count++] = *sample;
	return 0;
}

void history_free(struct history *history)
{
	free(history->samples);
	history->samples = NULL;
	history->count = history->room = 0;
}

double history_settled(const struct history *history, const struct phase *phase, unsigned node,
		       enum series series)
{
	double middle_s = (phase->from_s + phase->to_s) / 2, sum = 0;
	unsigned known = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct sample *sample = &history->samples[i];
		double value = node_sample_value(&sample->nodes[node], series);

		if (sample->at_s < middle_s || sample->at_s >= phase->to_s || isnan(value))
			continue;
		sum += value;
		known++;
	}
	return known > 0 ? sum / known : (double)NAN;
}

/* Of what is known at one end or at both; NAN if at none. */
static double mean(double first, double second)
{
	if (isnan(first))
		return second;
	return isnan(second) ? first : (first + second) / 2;
}

/*
 * A share moves in steps, and when between two samples it did is not known: on
 * average in the middle.  To take the first sample's would count what a
 * receiver may use later as if it used too much now.
 */
static double allowed_s(const struct sample *first, const struct sample *second, unsigned node)
{
	const struct node_sample *a = &first->nodes[node], *b = &second->nodes[node];
	double wall_s = second->at_s - first->at_s, quota_s = b->quota_s - a->quota_s;
	double held_back = mean(a->share - a->quota, b->share - b->quota);
	double share = mean(a->share, b->share);

	if (!isnan(quota_s) && !isnan(held_back))
		return quota_s + held_back * wall_s;
	return isnan(share) ? 0 : share * wall_s;
}

static struct spent spent_by(const struct history *history, size_t from, size_t to, unsigned node)
{
	const struct sample *samples = history->samples;
	struct spent spent = { samples[to].nodes[node].used_s - samples[from].nodes[node].used_s,
			       0 };

	for (size_t i = from; i < to; i++)
		spent.allowed_s += allowed_s(&samples[i], &samples[i + 1], node);
	return spent;
}

struct spent history_spent(const struct history *history, size_t from, size_t to, unsigned node)
{
	struct spent sum = { 0, 0 };

	if (node < history->nodes)
		return spent_by(history, from, to, node);
	for (unsigned i = 0; i < history->nodes; i++) {
		struct spent spent = spent_by(history, from, to, i);

		sum.used_s += spent.used_s;
		sum.allowed_s += spent.allowed_s;
	}
	return sum;
}

double history_worst_window(const struct history *history, double window_s, unsigned *ret_node)
{
	double worst = (double)NAN;

	for (size_t from = 0, to = 0; from < history->count; from++) {
		while (to < history->count &&
		       history->samples[to].at_s - history->samples[from].at_s < window_s)
			to++;
		if (to == history->count)
			break;
		for (unsigned i = 0; i < history->nodes; i++) {
			struct spent spent = spent_by(history, from, to, i);
			double ratio = spent.used_s / spent.allowed_s;

			if (spent.allowed_s > 0 && !(ratio <= worst)) {
				worst = ratio;
				*ret_node = i;
			}
		}
	}
	return worst;
}

double history_accuracy(const struct history *history)
{
	for (size_t i = history->count; i > 0; i--)
		if (!isnan(history->samples[i - 1].accuracy))
			return history->samples[i - 1].accuracy;
	return (double)NAN;
}
