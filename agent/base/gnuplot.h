/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GNUPLOT_H
#define ISO_GNUPLOT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "agent/base/error.h"

/*
 * Drawings, made by gnuplot in a child process.  Either a chart of curves in
 * one call, or gnuplot's own language written to `out` between start and finish.
 */

struct gnuplot {
	FILE *out;
	const char *path;
	struct sigaction before; /* SIGPIPE: a gnuplot that is missing must not end us */
};

/* Whether a file of this name is one that we draw: it ends in .svg or .png. */
bool gnuplot_is_drawing(const char *path);

/*
 * Whether the file can be written, to be known before long work; leaves it as it is.
 * -errno: "PATH cannot be drawn: why".
 */
int gnuplot_try(const char *path, struct error *reterr);

/* path: borrowed; PNG if it ends in .png, else SVG; `set output` is done already. */
int gnuplot_start(struct gnuplot *plot, const char *path, unsigned width, unsigned height,
		  struct error *reterr);

/*
 * -ENOENT: no gnuplot; -EIO: it failed.  The text says that path is not drawn.
 * Ends the child in any case.
 */
int gnuplot_finish(struct gnuplot *plot, struct error *reterr);

/* text as one quoted word of gnuplot's language. */
void gnuplot_quote(FILE *out, const char *text);

enum chart_style {
	CHART_LINES = 0,
	CHART_LINES_POINTS,
	CHART_POINTS,
	CHART_STEPS,
	CHART_DASHED,
};

/* Points with a NaN are left out, and on logarithmic axes those that are not positive. */
struct chart_curve {
	const char *title; /* NULL: not in the key */
	const double *x, *y;
	size_t count;
	enum chart_style style;
};

struct chart {
	const char *title, *x_label, *y_label;
	bool x_log, y_log;
	const struct chart_curve *curves;
	size_t count;
};

/*
 * `count` charts under one title, `columns` side by side, 450 by 375 pixels each
 * (one alone: 800 by 600).  Everything is borrowed for the call.  -ENODATA: a chart
 * has no point to draw.
 */
int chart_draw(const char *path, const char *title, const struct chart *charts, size_t count,
	       size_t columns, struct error *reterr);

#endif
