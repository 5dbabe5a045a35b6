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

double history_accuracy(const struct history *history)
{
	for (size_t i = history->count; i > 0; i--)
		if (!isnan(history->samples[i - 1].accuracy))
			return history->samples[i - 1].accuracy;
	return (double)NAN;
}
