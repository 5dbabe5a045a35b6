/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/sim/shares.h"

/* In gnuplot a quote inside a quoted string is written twice. */
static void put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

/* The runs of one graph that came to their goal; false if there is none. */
static bool put_data(FILE *out, enum shares_graph graph, const struct shares_run *runs,
		     size_t count)
{
	bool any = false;

	fprintf(out, "$%s << END\n", shares_graph_name(graph));
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

	for (int graph = 0; graph < SHARES_GRAPHS; graph++)
		drawn[graph] = put_data(out, (enum shares_graph)graph, runs, count);
	fputs("set terminal svg size 800,600 font 'sans,12' background 'white'\nset output ", out);
	put_quoted(out, options->plot);
	fprintf(out,
		"\nset title 'rounds until the cost is within %.3g %% of the optimum'\n"
		"set xlabel 'nodes'\nset ylabel 'rounds'\nset logscale xy\nset grid\n"
		"set key left top\n",
		100 * options->gap);
	for (int graph = 0; graph < SHARES_GRAPHS; graph++) {
		const char *name = shares_graph_name((enum shares_graph)graph);

		if (!drawn[graph])
			continue;
		/* Several seeds of one size: their mean. */
		fprintf(out, "%s $%s using 1:2 smooth unique with linespoints lw 2 title '%s'",
			any ? "," : "plot", name, name);
		any = true;
	}
	fputc('\n', out);
	return any;
}

int shares_plot(const struct shares_options *options, const struct shares_run *runs, size_t count,
		struct error *reterr)
{
	FILE *out = popen("gnuplot", "we");
	bool any;

	if (out == NULL)
		return error_errno(reterr, -errno, "start gnuplot");
	any = put_script(out, options, runs, count);
	int status = pclose(out);
	if (status == -1)
		return error_errno(reterr, -errno, "gnuplot");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return error_set(reterr, -ENOENT, "%s not drawn: install gnuplot-nox",
				 options->plot);
	if (!any)
		return error_set(reterr, -ENODATA, "%s not drawn: no run has come to its goal",
				 options->plot);
	if (status != 0 || access(options->plot, R_OK) != 0)
		return error_set(reterr, -EIO, "gnuplot failed; %s not drawn", options->plot);
	return 0;
}
