/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "agent/base/gnuplot.h"
#include "agent/sim/track.h"

/* A logarithmic axis has no place for a gap that rounding made 0 or less. */
static bool put_data(FILE *out, const struct track_run *run, size_t index, bool bits)
{
	bool any = false;

	fprintf(out, "$run%zu << END\n", index);
	for (size_t i = 0; i < run->point_count; i++) {
		const struct track_point *point = &run->points[i];

		if (!(point->gap > 0) || !isfinite(point->gap) || (bits && !(point->bits > 0)))
			continue;
		fprintf(out, "%.9g %.9g\n", bits ? point->bits : (double)point->round, point->gap);
		any = true;
	}
	fputs("END\n", out);
	return any;
}

int track_plot(const struct track_options *options, const struct track_run *runs, size_t count,
	       struct error *reterr)
{
	struct gnuplot plot;
	bool drawn[TRACK_METHODS], any = false;
	int rc = gnuplot_start(&plot, options->plot, 800, 600, reterr);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		drawn[i] = put_data(plot.out, &runs[i], i, options->plot_bits);
	fprintf(plot.out,
		"set title 'gap to the optimum, as a part of that at the start'\n"
		"set xlabel '%s'\nset ylabel 'gap'\nset logscale y\nset format y '10^{%%L}'\n"
		"set grid\nset key right top\n%s",
		options->plot_bits ? "bits sent by a node" : "rounds",
		options->plot_bits ? "set logscale x\n" : "");
	for (size_t i = 0; i < count; i++) {
		if (!drawn[i])
			continue;
		fprintf(plot.out, "%s $run%zu with lines lw 2 title '%s'", any ? "," : "plot", i,
			track_method_name(runs[i].method));
		any = true;
	}
	fputc('\n', plot.out);
	rc = gnuplot_finish(&plot, reterr);
	if (!any && rc != -ENOENT)
		return error_set(reterr, -ENODATA, "%s not drawn: there is no curve",
				 options->plot);
	return rc;
}
