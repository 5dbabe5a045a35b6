/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/gnuplot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In gnuplot a quote inside a quoted string is written twice. */
void gnuplot_quote(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

bool gnuplot_is_drawing(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0);
}

int gnuplot_try(const char *path, struct error *reterr)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC, 0666);
	bool is_new = fd >= 0;

	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return error_errno(reterr, -errno, "%s cannot be drawn", path);
	close(fd);
	if (is_new)
		unlink(path);
	return 0;
}

int gnuplot_start(struct gnuplot *plot, const char *path, unsigned width, unsigned height,
		  struct error *reterr)
{
	const char *dot = strrchr(path, '.');
	bool png = dot != NULL && strcmp(dot, ".png") == 0;
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	*plot = (struct gnuplot){ .path = path };
	/* A drawing that cannot go into its file would come out there, among our own lines. */
	plot->out = popen("gnuplot >/dev/null", "we");
	if (plot->out == NULL)
		return error_errno(reterr, -errno, "start gnuplot");
	/* After the start: the child must not inherit it. */
	sigaction(SIGPIPE, &ignore, &plot->before);
	fprintf(plot->out,
		"set encoding utf8\nset terminal %s size %u,%u font 'sans,12' "
		"background 'white'\nset output ",
		png ? "pngcairo" : "svg", width, height);
	gnuplot_quote(plot->out, path);
	fputc('\n', plot->out);
	return 0;
}

int gnuplot_finish(struct gnuplot *plot, struct error *reterr)
{
	int status = pclose(plot->out);

	plot->out = NULL;
	sigaction(SIGPIPE, &plot->before, NULL);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return error_set(reterr, -ENOENT, "%s not drawn: install gnuplot-nox", plot->path);
	if (status != 0 || access(plot->path, R_OK) != 0)
		return error_set(reterr, -EIO, "gnuplot failed; %s not drawn", plot->path);
	return 0;
}

static bool drawn(const struct chart *chart, const struct chart_curve *curve, size_t i)
{
	return isfinite(curve->x[i]) && isfinite(curve->y[i]) &&
	       (!chart->x_log || curve->x[i] > 0) && (!chart->y_log || curve->y[i] > 0);
}

static size_t points(const struct chart *chart, const struct chart_curve *curve)
{
	size_t count = 0;

	for (size_t i = 0; i < curve->count; i++)
		count += drawn(chart, curve, i);
	return count;
}

static const char *style_text(enum chart_style style)
{
	switch (style) {
	case CHART_LINES: return "lines lw 2";
	case CHART_LINES_POINTS: return "linespoints lw 2";
	case CHART_POINTS: return "points lw 2";
	case CHART_STEPS: return "steps lw 2";
	case CHART_DASHED: return "lines lw 1.5 dashtype 2";
	}
	assert(!"a style");
	return "";
}

/* What people call things: an underscore in it lowers nothing.  Labels may, as "x^2". */
static void put_title(FILE *out, const char *title)
{
	gnuplot_quote(out, title);
	fputs(" noenhanced", out);
}

static bool put_chart(FILE *out, const struct chart *chart)
{
	bool any = false;

	fputs("set title ", out);
	put_title(out, chart->title);
	fputs("\nset xlabel ", out);
	gnuplot_quote(out, chart->x_label);
	fputs("\nset ylabel ", out);
	gnuplot_quote(out, chart->y_label);
	fprintf(out, "\nunset logscale\n%s%s", chart->x_log ? "set logscale x\n" : "",
		chart->y_log ? "set logscale y\n" : "");
	for (size_t c = 0; c < chart->count; c++) {
		const struct chart_curve *curve = &chart->curves[c];

		fprintf(out, "$curve%zu << END\n", c);
		for (size_t i = 0; i < curve->count; i++)
			if (drawn(chart, curve, i))
				fprintf(out, "%.9g %.9g\n", curve->x[i], curve->y[i]);
		fputs("END\n", out);
	}
	for (size_t c = 0; c < chart->count; c++) {
		const struct chart_curve *curve = &chart->curves[c];

		/* gnuplot takes a plot without points for an error. */
		if (points(chart, curve) == 0)
			continue;
		fprintf(out, "%s $curve%zu using 1:2 with %s linecolor %zu ", any ? "," : "plot", c,
			style_text(curve->style), c + 1);
		if (curve->title == NULL) {
			fputs("notitle", out);
		} else {
			fputs("title ", out);
			put_title(out, curve->title);
		}
		any = true;
	}
	fputc('\n', out);
	return any;
}

/* The lines of the largest key below a chart of so many pixels; characters are 8 wide. */
static size_t key_rows(const struct chart *charts, size_t count, unsigned width)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++) {
		size_t longest = 0, titles = 0;

		for (size_t c = 0; c < charts[i].count; c++) {
			const char *text = charts[i].curves[c].title;

			titles += text != NULL;
			if (text != NULL && strlen(text) > longest)
				longest = strlen(text);
		}
		size_t columns = (width - 100) / (8 * longest + 70);
		size_t rows = columns > 1 ? (titles + columns - 1) / columns : titles;

		if (rows > most)
			most = rows;
	}
	return most;
}

int chart_draw(const char *path, const char *title, const struct chart *charts, size_t count,
	       size_t columns, struct error *reterr)
{
	struct gnuplot plot;
	bool all = true;

	assert(count > 0 && columns > 0);
	size_t rows = (count + columns - 1) / columns;
	unsigned width = count == 1 ? 800 : 450;
	size_t key = key_rows(charts, count, width);
	unsigned more = key > 3 ? 18 * (unsigned)(key - 3) : 0;
	unsigned height = count == 1 ? 600 + more : (unsigned)((375 + more) * rows + 40);
	int rc = gnuplot_start(&plot, path, count == 1 ? width : width * (unsigned)columns, height,
			       reterr);

	if (rc < 0)
		return rc;
	fprintf(plot.out,
		"set grid\nset key outside below\nset bmargin %zu\nset format xy '%%.4g'\n",
		4 + key);
	fprintf(plot.out, "set multiplot layout %zu,%zu title ", rows, columns);
	put_title(plot.out, title);
	fputc('\n', plot.out);
	for (size_t i = 0; i < count; i++)
		all &= put_chart(plot.out, &charts[i]);
	fputs("unset multiplot\n", plot.out);
	rc = gnuplot_finish(&plot, reterr);
	if (rc == 0 && !all)
		unlink(path); /* axes with nothing in them */
	if (!all)
		return error_set(reterr, -ENODATA, "%s not drawn: there is nothing to draw", path);
	return rc;
}
