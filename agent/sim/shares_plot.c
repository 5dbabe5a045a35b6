/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "agent/base/gnuplot.h"
#include "agent/sim/shares.h"

/* The runs of one graph that came to their goal; false if there is none. */
static bool put_data(FILE *out, unsigned graph, const struct shares_run *runs, size_t count)
{
	bool any = false;

	/* A name of ours may be none of gnuplot's. */
	fprintf(out, "$graph%u << END\n", graph);
	for (size_t i = 0; i < count; i++) {
		if (runs[i].graph != graph || !runs[i].reached)
			continue;
		fprintf(out, "%u %" PRIu64 "\n", runs[i].nodes, runs[i].rounds);
		any = true;
	}
	fputs("END\n", out);
	return any;
}

static bool put_script(FILE *out, const struct shares_options *options,
		       const struct shares_run *runs, size_t count)
{
	bool drawn[SHARES_GRAPHS], any = false;

	for (unsigned graph = 0; graph < SHARES_GRAPHS; graph++)
		drawn[graph] = put_data(out, graph, runs, count);
	fprintf(out,
		"set title 'rounds until the cost is within %.3g %% of the optimum'\n"
		"set xlabel 'nodes'\nset ylabel 'rounds'\nset logscale xy\nset grid\n"
		"set key left top\n",
		100 * options->gap);
	for (unsigned graph = 0; graph < SHARES_GRAPHS; graph++) {
		if (!drawn[graph])
			continue;
		/* Several seeds of one size: their mean. */
		fprintf(out, "%s $graph%u using 1:2 smooth unique with linespoints lw 2 title '%s'",
			any ? "," : "plot", graph, shares_graph_name(graph));
		any = true;
	}
	fputc('\n', out);
	return any;
}

int shares_plot(const struct shares_options *options, const struct shares_run *runs, size_t count,
		struct error *reterr)
{
	struct gnuplot plot;
	int rc = gnuplot_start(&plot, options->plot, 800, 600, reterr);

	if (rc < 0)
		return rc;
	bool any = put_script(plot.out, options, runs, count);
	rc = gnuplot_finish(&plot, reterr);
	if (!any && rc != -ENOENT)
		return error_set(reterr, -ENODATA, "%s not drawn: no run has come to its goal",
				 options->plot);
	return rc;
}
