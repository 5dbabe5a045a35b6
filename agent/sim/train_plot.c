/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/gnuplot.h"
#include "agent/sim/train.h"

static double x_of(const struct scenario *scenario, const struct train_sample *sample)
{
	const struct iso_training_totals *totals = &sample->totals;

	switch (scenario->plot.x) {
	case 0: return totals->time_s;
	case 1: return totals->worker_s;
	case 2: return (double)totals->rounds;
	case 3: return (double)totals->updates;
	default: return (double)totals->computed;
	}
}

/* What is to be seen on the vertical axis: without a problem nothing is measured. */
static int y_axis(const struct scenario *scenario)
{
	bool none = scenario->plot.y == 0 && scenario->problem.kind == SCENARIO_NO_PROBLEM;

	return none ? 2 : scenario->plot.y;
}

static double y_of(const struct scenario *scenario, const struct train_sample *sample)
{
	const struct iso_training_totals *totals = &sample->totals;

	switch (y_axis(scenario)) {
	case 0: return sample->measure;
	case 1: return totals->regret_s;
	case 2: return totals->worker_s;
	case 3: return totals->discarded_s;
	default: return (double)totals->rounds;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Place `at` of a curve: over all seeds that came so far, the median of what fn says;
 * NaN, which is not drawn, where it says nothing.
 */
static double median(const struct scenario *scenario, const struct train_result *results,
		     size_t count, const struct scenario_curve *curve, size_t at,
		     double (*fn)(const struct scenario *scenario,
				  const struct train_sample *sample),
		     double *values)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (results[i].curve != curve || at >= results[i].count)
			continue;
		values[found] = fn(scenario, &results[i].samples[at]);
		if (!isnan(values[found]))
			found++;
	}
	if (found == 0)
		return NAN;
	qsort(values, found, sizeof(*values), by_value);
	return (values[(found - 1) / 2] + values[found / 2]) / 2;
}

/* All curves into x and y, of room for `longest` each. */
static void fill(const struct scenario *scenario, const struct train_result *results, size_t count,
		 size_t longest, double *x, double *y, double *values, struct chart_curve *curves)
{
	for (unsigned c = 0; c < scenario->curve_count; c++) {
		struct chart_curve *curve = &curves[c];

		*curve = (struct chart_curve){ .title = scenario->curves[c].name,
					       .x = x + c * longest,
					       .y = y + c * longest };
		/* As far as every seed came. */
		curve->count = longest;
		for (size_t i = 0; i < count; i++)
			if (results[i].curve == &scenario->curves[c] &&
			    results[i].count < curve->count)
				curve->count = results[i].count;
		for (size_t at = 0; at < curve->count; at++) {
			x[c * longest + at] = median(scenario, results, count, &scenario->curves[c],
						     at, x_of, values);
			y[c * longest + at] = median(scenario, results, count, &scenario->curves[c],
						     at, y_of, values);
		}
	}
}

int train_plot(const char *path, const struct scenario *scenario,
	       const struct train_result *results, size_t count, struct error *reterr)
{
	static const char *const x_labels[] = { "simulated time, s", "total worker time, s",
						"rounds", "updates", "computed gradients" };
	static const char *const y_labels[] = { NULL, "regret, s", "total worker time, s",
						"discarded worker time, s", "rounds" };
	static const char *const measures[] = { "squared norm of the gradient",
						"distance from the minimum", "loss", "accuracy" };
	size_t longest = (size_t)scenario->samples + 2, room = scenario->curve_count * longest;
	double *x = calloc(2 * room + count, sizeof(*x));
	struct chart_curve *curves = calloc(scenario->curve_count, sizeof(*curves));
	const struct chart chart = {
		.title = "",
		.x_label = x_labels[scenario->plot.x],
		.y_label = y_axis(scenario) > 0 ? y_labels[y_axis(scenario)]
						: measures[scenario->problem.measure],
		.x_log = scenario->plot.x_log,
		.y_log = scenario->plot.y_log,
		.curves = curves,
		.count = scenario->curve_count,
	};
	int r;

	if (x == NULL || curves == NULL) {
		r = error_errno(reterr, -ENOMEM, "%s not drawn", path);
	} else {
		fill(scenario, results, count, longest, x, x + room, x + 2 * room, curves);
		r = chart_draw(path, scenario->title, &chart, 1, 1, reterr);
	}
	free(x);
	free(curves);
	return r;
}
