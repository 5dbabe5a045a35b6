/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/plot.h"

#include <math.h>
#include <stdio.h>

#include "agent/base/gnuplot.h"
#include "lib/quantity.h"

static void put_value(FILE *out, double value)
{
	if (isnan(value))
		fputs(" NaN", out);
	else
		fprintf(out, " %.6f", value);
}

/* Columns: time, accuracy, then share and demand of each node. */
static void put_data(FILE *out, const struct history *history)
{
	fputs("$data << END\n", out);
	for (size_t i = 0; i < history->count; i++) {
		const struct sample *sample = &history->samples[i];

		fprintf(out, "%.3f", sample->at_s);
		put_value(out, sample->accuracy);
		for (unsigned k = 0; k < history->nodes; k++) {
			put_value(out, sample->nodes[k].share);
			put_value(out, sample->nodes[k].demand);
		}
		fputc('\n', out);
	}
	fputs("END\n", out);
}

static void put_nodes(FILE *out, const struct demo *demo, unsigned first_column, const char *title,
		      const char *label)
{
	fprintf(out, "set title '%s'\nset ylabel '%s'\nset yrange [0:*]\nplot", title, label);
	for (unsigned i = 0; i < demo->options.nodes; i++)
		fprintf(out, "%s $data using 1:%u with steps lw 2 title '%s'", i > 0 ? "," : "",
			first_column + 2 * i, demo->nodes[i].name);
	fputc('\n', out);
}

static void put_script(FILE *out, const struct demo *demo)
{
	const struct phase *during = &demo->history.phases[1];

	put_data(out, &demo->history);
	fprintf(out,
		"set multiplot layout 3,1 title 'isobar: %u nodes share %.6g CPU%s'\n"
		"set xrange [0:%ju]\nset offsets 0, 0, graph 0.12, 0\nset grid\n"
		"set key outside right\nset lmargin 9\nset rmargin 14\n"
		"set object 1 rectangle from %.3f, graph 0 to %.3f, graph 1 behind "
		"fillcolor rgb '#f0e0c0' fillstyle solid noborder\n"
		"set label 1 ' co-tenant on node2' at %.3f, graph 0.93 left\n",
		demo->options.nodes, (double)demo->options.budget_ucpu / ISO_UCPU_PER_CPU,
		demo->options.dry_run ? " (DRY-RUN)" : "", (uintmax_t)demo->options.seconds,
		during->from_s, during->to_s, during->from_s);
	put_nodes(out, demo, 3, "share", "CPU");
	fputs("unset label 1\n", out);
	put_nodes(out, demo, 4, "demand", "CPU");
	fputs("set title 'test accuracy'\nset ylabel ''\nset xlabel 's'\nset yrange [0:1]\n"
	      "plot $data using 1:2 with lines lw 2 notitle\n"
	      "unset multiplot\n",
	      out);
}

int plot_write(const char *path, const struct demo *demo, struct error *reterr)
{
	struct gnuplot plot;
	int rc = gnuplot_start(&plot, path, 900, 900, reterr);

	if (rc < 0)
		return rc;
	put_script(plot.out, demo);
	return gnuplot_finish(&plot, reterr);
}
