/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/quantity.h"
#include "tests/demo/account.h"
#include "tests/demo/together.h"

#define SPENT_WINDOW_S 10

static double cpu_percent(const struct demo *demo, const struct child *child)
{
	double used_s = (double)(child->cpu_ns - child->cpu_before_ns) / ISO_NS_PER_S;

	return demo->measured_s > 0 ? 100 * used_s / demo->measured_s : (double)NAN;
}

static void print_pair(FILE *out, double share, double demand)
{
	if (isnan(demand))
		fprintf(out, "    %6.3f /     -", share);
	else
		fprintf(out, "    %6.3f /%6.3f", share, demand);
}

static void print_phases(FILE *out, const struct demo *demo)
{
	const struct history *history = &demo->history;

	fputs("Share and demand in CPUs, means over the last half of each phase:\n", out);
	fprintf(out, "  %-7s %17s %17s %17s\n", "", "before", "with co-tenant", "after");
	for (unsigned i = 0; i < history->nodes; i++) {
		fprintf(out, "  %-7s", demo->nodes[i].name);
		for (unsigned k = 0; k < 3; k++) {
			const struct phase *phase = &history->phases[k];

			print_pair(out, history_settled(history, phase, i, SERIES_SHARE),
				   history_settled(history, phase, i, SERIES_DEMAND));
		}
		fputc('\n', out);
	}
}

/* Eight points of the curve, the last one among them. */
static void print_accuracy(FILE *out, const struct history *history)
{
	size_t step = history->count / 8 + 1;

	fputs("Test accuracy:", out);
	for (size_t left = history->count; left > 0; left--) {
		const struct sample *sample = &history->samples[history->count - left];

		if ((left - 1) % step == 0 && !isnan(sample->accuracy))
			fprintf(out, "  %.0f s %.3f", sample->at_s, sample->accuracy);
	}
	fputc('\n', out);
}

static void print_spent(FILE *out, const struct demo *demo)
{
	const struct history *history = &demo->history;
	unsigned node = 0;
	double worst = history_worst_window(history, SPENT_WINDOW_S, &node);

	if (demo->options.dry_run || history->count == 0)
		return;
	struct spent spent = history_spent(history, 0, history->count - 1, history->nodes);
	fprintf(out,
		"Used by the jobs: %.1f s of CPU of %.1f s that their shares allowed (%.1f %%)",
		spent.used_s, spent.allowed_s, 100 * spent.used_s / spent.allowed_s);
	if (!isnan(worst))
		fprintf(out, "; most in %d s: %.1f %% on %s", SPENT_WINDOW_S, 100 * worst,
			demo->nodes[node].name);
	fputs(".\n", out);
}

static void print_overhead(FILE *out, const struct demo *demo, const struct child *child)
{
	fprintf(out, "  %-12s %5.2f %% of a CPU  %6.1f MiB\n", child->name,
		cpu_percent(demo, child), (double)child->rss_bytes / (1 << 20));
}

void report_print(FILE *out, const struct demo *demo, const struct check *checks, unsigned count)
{
	const struct options *options = &demo->options;

	fprintf(out, "\n%sReport: %u nodes, %.6f CPU, %ju s\n",
		options->dry_run ? "DRY-RUN: nothing was written to the kernel.\n" : "",
		options->nodes, (double)options->budget_ucpu / ISO_UCPU_PER_CPU,
		(uintmax_t)options->seconds);
	print_phases(out, demo);
	print_accuracy(out, &demo->history);
	if (options->training.is_decentralised)
		together_print(out, demo);
	else
		account_print(out, demo);
	print_spent(out, demo);
	fputs("Overhead:\n", out);
	for (unsigned i = 0; i < options->nodes; i++)
		print_overhead(out, demo, &demo->nodes[i].isobard);
	if (demo->coordinator.name != NULL)
		print_overhead(out, demo, &demo->coordinator);
	if (!options->dry_run)
		print_overhead(out, demo, &demo->observer);
	fputs("Checks:\n", out);
	for (unsigned i = 0; i < count; i++)
		fprintf(out, "  %-10s  %s: %s\n", check_state_text(checks[i].state), checks[i].name,
			checks[i].detail);
	if (options->keep)
		fprintf(out, "Logs and configurations are kept in %s\n", demo->directory);
	fputs(checks_held(checks, count) ? "All that was judged held.\n" : "Something FAILED.\n",
	      out);
}

/* Unknown is null. */
static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *integer(int64_t value)
{
	return value >= 0 ? json_integer(value) : json_null();
}

static json_t *describe_sample(const struct demo *demo, const struct sample *sample)
{
	json_t *nodes = json_array();

	for (unsigned i = 0; i < demo->options.nodes; i++) {
		const struct node_sample *node = &sample->nodes[i];

		json_array_append_new(
		    nodes, json_pack("{s:s, s:f, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:s}", "name",
				     demo->nodes[i].name, "used_cpu_s", node->used_s, "share_cpu",
				     real(node->share), "quota_us", (json_int_t)node->quota_us,
				     "period_us", (json_int_t)node->period_us, "on_cpu",
				     real(node->on_cpu), "demand_cpu", real(node->demand),
				     "marginal_cost", real(node->marginal_cost), "tasks",
				     integer(node->tasks), "state", node->state));
	}
	return json_pack(
	    "{s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "at_s", sample->at_s, "shares_ucpu",
	    integer(sample->ledger_known ? (int64_t)sample->shares_ucpu : -1), "in_flight_ucpu",
	    integer(sample->ledger_known ? (int64_t)sample->in_flight_ucpu : -1), "round",
	    integer(sample->round), "test_accuracy", real(sample->accuracy), "worker_cpu_s",
	    real(sample->worker_cpu_s), "greedy_worker_cpu_s", real(sample->greedy_cpu_s), "nodes",
	    nodes);
}

static json_t *describe_phases(const struct demo *demo)
{
	const struct history *history = &demo->history;
	json_t *phases = json_array();

	for (unsigned k = 0; k < 3; k++) {
		const struct phase *phase = &history->phases[k];
		json_t *nodes = json_object();

		for (unsigned i = 0; i < history->nodes; i++)
			json_object_set_new(
			    nodes, demo->nodes[i].name,
			    json_pack("{s:o, s:o}", "share_cpu",
				      real(history_settled(history, phase, i, SERIES_SHARE)),
				      "demand_cpu",
				      real(history_settled(history, phase, i, SERIES_DEMAND))));
		json_array_append_new(phases, json_pack("{s:s, s:f, s:f, s:o}", "name", phase->name,
							"from_s", phase->from_s, "to_s",
							phase->to_s, "nodes", nodes));
	}
	return phases;
}

static json_t *describe_spent(const struct demo *demo)
{
	const struct history *history = &demo->history;
	unsigned node = 0;
	double worst = history_worst_window(history, SPENT_WINDOW_S, &node);

	if (demo->options.dry_run || history->count == 0)
		return json_null();
	struct spent spent = history_spent(history, 0, history->count - 1, history->nodes);
	return json_pack("{s:f, s:f, s:i, s:o, s:s}", "used_s", spent.used_s, "allowed_s",
			 spent.allowed_s, "window_s", SPENT_WINDOW_S, "worst_window", real(worst),
			 "worst_node", demo->nodes[node].name);
}

static void add_overhead(json_t *overhead, const struct demo *demo, const struct child *child)
{
	if (child->name != NULL)
		json_array_append_new(overhead,
				      json_pack("{s:s, s:o, s:I}", "name", child->name,
						"cpu_percent", real(cpu_percent(demo, child)),
						"rss_bytes", (json_int_t)child->rss_bytes));
}

static json_t *describe_overhead(const struct demo *demo)
{
	json_t *overhead = json_array();

	for (unsigned i = 0; i < demo->options.nodes; i++)
		add_overhead(overhead, demo, &demo->nodes[i].isobard);
	add_overhead(overhead, demo, &demo->coordinator);
	add_overhead(overhead, demo, &demo->observer);
	return overhead;
}

static json_t *describe_checks(const struct check *checks, unsigned count)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++) {
		json_t *held = checks[i].state == CHECK_NOT_JUDGED
				   ? json_null()
				   : json_boolean(checks[i].state == CHECK_HELD);

		json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "name", checks[i].name,
						      "held", held, "detail", checks[i].detail));
	}
	return list;
}

static json_t *describe(const struct demo *demo, const struct check *checks, unsigned count)
{
	const struct options *options = &demo->options;
	json_t *samples = json_array();

	for (size_t i = 0; i < demo->history.count; i++)
		json_array_append_new(samples, describe_sample(demo, &demo->history.samples[i]));
	return json_pack(
	    "{s:b, s:b, s:I, s:i, s:I, s:o, s:f, s:o, s:O?, s:{s:I, s:I, s:I, s:I}, "
	    "s:o, s:O?, s:O?, s:o, s:o, s:o}",
	    "held", checks_held(checks, count), "dry_run", options->dry_run, "seconds",
	    (json_int_t)options->seconds, "nodes", (int)options->nodes, "budget_ucpu",
	    (json_int_t)options->budget_ucpu, "account", account_describe(demo), "ready_s",
	    demo->ready_s, "checks", describe_checks(checks, count), "observer", demo->observed,
	    "ledger", "audits", (json_int_t)demo->ledger.audits, "unanswered",
	    (json_int_t)demo->ledger.unanswered, "rereads", (json_int_t)demo->ledger.rereads,
	    "failures", (json_int_t)demo->ledger.failures, "phases", describe_phases(demo),
	    "training", demo->training, "agreement", demo->agreement, "spent",
	    describe_spent(demo), "overhead", describe_overhead(demo), "samples", samples);
}

int report_write_json(const char *path, const struct demo *demo, const struct check *checks,
		      unsigned count, struct error *reterr)
{
	json_t *report = describe(demo, checks, count);
	FILE *out = fopen(path, "we");
	int r = 0;

	if (out == NULL) {
		r = error_errno(reterr, -errno, "open %s", path);
	} else {
		if (report == NULL || json_dumpf(report, out, JSON_INDENT(1)) != 0 ||
		    fputc('\n', out) == EOF)
			r = error_set(reterr, -EIO, "write %s failed", path);
		if (fclose(out) != 0 && r == 0)
			r = error_errno(reterr, -errno, "write %s", path);
	}
	json_decref(report);
	return r;
}
