/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/quantity.h"

#define BLOCK_EVERY_S 5

/* Unknown is a dash, never a zero. */
static void print_number(FILE *out, int width, int digits, double value)
{
	if (isnan(value))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, digits, value);
}

static void print_quota(FILE *out, const struct node_sample *node)
{
	char text[32] = "-";

	if (node->quota_us > 0)
		snprintf(text, sizeof(text), "%jd/%jd", (intmax_t)node->quota_us,
			 (intmax_t)node->period_us);
	else if (node->quota_us < 0)
		snprintf(text, sizeof(text), "unlimited");
	fprintf(out, " %14s", text);
}

static void print_node(FILE *out, const char *name, const struct node_sample *node)
{
	fprintf(out, "%-7s", name);
	print_number(out, 8, 4, node->share);
	print_quota(out, node);
	print_number(out, 8, 3, node->on_cpu);
	print_number(out, 8, 3, node->demand);
	print_number(out, 10, 4, node->marginal_cost);
	if (node->tasks < 0)
		fprintf(out, " %8s", "-");
	else
		fprintf(out, " %8jd", (intmax_t)node->tasks);
	fprintf(out, "  %s\n", node->state);
}

static void print_head(FILE *out, const struct demo *demo, const struct sample *sample)
{
	const struct phase *during = &demo->history.phases[1];
	bool visited =
	    !demo->options.dry_run && sample->at_s >= during->from_s && sample->at_s < during->to_s;

	fprintf(out, "%s%3.0f s of %ju  %-22s", demo->options.dry_run ? "DRY-RUN " : "",
		sample->at_s, (uintmax_t)demo->options.seconds,
		visited ? "co-tenant on node2" : "no co-tenant");
	if (sample->round >= 0)
		fprintf(out, "step %jd", (intmax_t)sample->round);
	if (!isnan(sample->accuracy))
		fprintf(out, "  test accuracy %.3f", sample->accuracy);
	fprintf(out, "\n%-7s %8s %14s %8s %8s %10s %8s  %s\n", "node", "share", "quota/us",
		"on-CPU", "demand", "marginal", "tasks", "state");
}

static double cpu_of(uint64_t ucpu)
{
	return (double)ucpu / ISO_UCPU_PER_CPU;
}

static void print_ledger(FILE *out, const struct demo *demo, const struct sample *sample)
{
	fputs("sum of shares + in flight = budget: ", out);
	if (sample->ledger_known)
		fprintf(out, "%.6f + %.6f = %.6f CPU\n", cpu_of(sample->shares_ucpu),
			cpu_of(sample->in_flight_ucpu), cpu_of(demo->options.budget_ucpu));
	else
		fprintf(out, "%s\n",
			demo->ledger.failures > 0 ? demo->ledger.first_failure : "no answer");
}

static void print_observer(FILE *out, const struct demo *demo)
{
	const json_t *observed = demo->observed;

	fputs("quotas in the kernel: ", out);
	if (observed == NULL)
		fputs("not observed\n", out);
	else
		fprintf(out, "at most %.6f CPU, %jd snapshots (%.0f/s), %jd violations\n",
			json_number_value(json_object_get(observed, "sum_ucpu_max")) /
			    ISO_UCPU_PER_CPU,
			(intmax_t)json_integer_value(json_object_get(observed, "kept")),
			json_number_value(json_object_get(observed, "kept_per_s")),
			(intmax_t)json_integer_value(json_object_get(observed, "violations")));
}

static void print_table(FILE *out, const struct demo *demo, const struct sample *sample)
{
	print_head(out, demo, sample);
	for (unsigned i = 0; i < demo->options.nodes; i++)
		print_node(out, demo->nodes[i].name, &sample->nodes[i]);
	print_ledger(out, demo, sample);
	print_observer(out, demo);
}

static int columns(FILE *out)
{
	struct winsize size;

	return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/*
 * Each line is cleared to its end, since the one before may have been longer,
 * and cut to the width: a wrapped line would be two of them.
 */
static void redraw(FILE *out, const struct demo *demo, const struct sample *sample, bool again)
{
	char *text = NULL;
	size_t size;
	int width = columns(out);
	FILE *memory = open_memstream(&text, &size);

	if (memory == NULL)
		return;
	print_table(memory, demo, sample);
	fclose(memory);
	if (again)
		fprintf(out, "\033[%uA", demo->options.nodes + 4);
	for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
		fprintf(out, "%.*s\033[K\n", end - line < width ? (int)(end - line) : width, line);
	free(text);
}

void table_show(FILE *out, const struct demo *demo, const struct sample *sample)
{
	static double next_s;
	static bool again;
	bool terminal = isatty(fileno(out)) == 1;

	if (sample->at_s < next_s)
		return;
	next_s = sample->at_s + (terminal ? 0.9 : BLOCK_EVERY_S - 0.1);
	if (terminal) {
		redraw(out, demo, sample, again);
		again = true;
	} else {
		print_table(out, demo, sample);
		fputc('\n', out);
	}
	fflush(out);
}
