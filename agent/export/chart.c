/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/chart.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/export/html.h"

#define WIDTH  900.0
#define HEIGHT 200.0
#define LEFT   50.0
#define RIGHT  10.0
#define TOP    10.0
#define BOTTOM 24.0
#define GRID   4

enum field { FIELD_SHARE, FIELD_QUOTA, FIELD_DEMAND, FIELD_ON_CPU };

struct chart {
	FILE *out;
	const struct history_series *series;
	uint64_t now_slot;
	double top; /* of the scale */
};

double chart_top(double value)
{
	static const double steps[] = { 1, 2, 2.5, 5, 10 };
	double power = pow(10, floor(log10(value > 0.01 ? value : 0.01)));

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		/* A hair's breadth, for what is a round number but for its last bit. */
		if (steps[i] * power >= value * (1 - 1e-6))
			return steps[i] * power;
	return 10 * power;
}

static double value_at(const struct chart *chart, enum field field, unsigned back)
{
	struct history_point point = { 0 };

	if (back > chart->now_slot)
		return (double)NAN;
	point = history_at(chart->series, chart->now_slot - back);
	switch (field) {
	case FIELD_SHARE: return (double)point.share;
	case FIELD_QUOTA: return (double)point.quota;
	case FIELD_DEMAND: return (double)point.demand;
	case FIELD_ON_CPU: return (double)point.on_cpu;
	}
	return (double)NAN;
}

static double x_of(unsigned back)
{
	return WIDTH - RIGHT - back * (WIDTH - LEFT - RIGHT) / (HISTORY_POINTS - 1);
}

/* Tenths of a unit, as they are written: what looks the same is the same. */
static long y_of(const struct chart *chart, double value)
{
	double part = fmin(fmax(value / chart->top, 0), 1);

	return lround((HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)) * 10);
}

/* 0: nothing is known. */
static double find_top(const struct chart *chart)
{
	double most = 0;
	bool is_known = false;

	for (unsigned back = 0; back < HISTORY_POINTS; back++)
		for (int field = FIELD_SHARE; field <= FIELD_ON_CPU; field++) {
			double value = value_at(chart, (enum field)field, back);

			is_known |= isfinite(value);
			if (isfinite(value) && value > most)
				most = value;
		}
	return is_known ? chart_top(most) : 0;
}

/* A run of known values, from one slot to a later one. */
static void write_run(const struct chart *chart, enum field field, unsigned from, unsigned to,
		      bool is_area)
{
	long before = -1;

	if (is_area)
		fprintf(chart->out, "M%.1f %.1f", x_of(from), HEIGHT - BOTTOM);
	for (unsigned back = from + 1; back-- > to;) {
		long y = y_of(chart, value_at(chart, field, back));
		bool is_end = back == from || back == to;

		/* On a level stretch its two ends are enough. */
		if (!is_end && y == before && y == y_of(chart, value_at(chart, field, back - 1)))
			continue;
		fprintf(chart->out, "%c%.1f %.1f", back == from && !is_area ? 'M' : 'L',
			x_of(back), (double)y / 10);
		before = y;
	}
	/* One value alone is no line: a dot, by the line's round ends. */
	if (!is_area && from == to)
		fputs("h0", chart->out);
	if (is_area)
		fprintf(chart->out, "L%.1f %.1fZ", x_of(to), HEIGHT - BOTTOM);
}

static void write_field(const struct chart *chart, enum field field, const char *class)
{
	unsigned back = HISTORY_POINTS;

	fprintf(chart->out, "<path class=\"%s\" d=\"", class);
	while (back > 0) {
		unsigned from, to;

		back--;
		if (!isfinite(value_at(chart, field, back)))
			continue;
		from = to = back;
		while (to > 0 && isfinite(value_at(chart, field, to - 1)))
			to--;
		write_run(chart, field, from, to, field == FIELD_ON_CPU);
		back = to;
	}
	fputs("\"/>", chart->out);
}

static void write_grid(const struct chart *chart)
{
	static const struct {
		unsigned back;
		const char *text, *anchor;
	} times[] = {
		{ HISTORY_POINTS - 1, "60 min ago", "start" },
		{ 270, "45", "middle" },
		{ 180, "30", "middle" },
		{ 90, "15", "middle" },
		{ 0, "now", "end" },
	};

	for (int i = 0; i <= GRID; i++) {
		double value = chart->top * i / GRID;
		double y = (double)y_of(chart, value) / 10;

		fprintf(chart->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, y,
			WIDTH - RIGHT);
		fprintf(chart->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>",
			LEFT - 8, y + 4, value);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		fprintf(chart->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>",
			x_of(times[i].back), HEIGHT - 6, times[i].anchor, times[i].text);
}

void chart_write(FILE *out, const struct history_series *series, uint64_t now_slot,
		 const char *label)
{
	struct chart chart = { .out = out, .series = series, .now_slot = now_slot };

	chart.top = find_top(&chart);
	if (chart.top == 0) {
		fputs("<p class=\"soft\">nothing is known of the last hour yet</p>\n", out);
		return;
	}
	fprintf(out, "<svg class=\"chart\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", WIDTH,
		HEIGHT);
	html_text(out, label);
	fputs("\">", out);
	write_grid(&chart);
	/* The quota is a broad band, and mostly lies below the line of the share. */
	write_field(&chart, FIELD_ON_CPU, "on-cpu");
	write_field(&chart, FIELD_QUOTA, "quota");
	write_field(&chart, FIELD_DEMAND, "demand");
	write_field(&chart, FIELD_SHARE, "share");
	fputs("</svg>\n", out);
}
