/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/page.h"

#include <stdbool.h>
#include <string.h>

#include "agent/export/html.h"

static const char none[] = "\xe2\x80\x93"; /* an en dash */

void page_text(FILE *out, const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	html_text(out, value != NULL ? value : none);
}

void page_number(FILE *out, const json_t *object, const char *key, double per, int decimals,
		 const char *unit)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_number(value))
		fprintf(out, "%.*f%s", decimals, json_number_value(value) / per, unit);
	else
		fputs(none, out);
}

const char *page_state_class(const char *state)
{
	static const char *const notes[] = { "dry-run", "frozen", "draining", "leaving", "left",
					     "waiting for admission" };

	if (strcmp(state, "ok") == 0)
		return "good";
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (strcmp(state, notes[i]) == 0)
			return "note";
	return "bad";
}

static bool is_of(const json_t *status, const char *cluster)
{
	const char *its = json_string_value(json_object_get(status, "cluster"));

	return its != NULL && strcmp(its, cluster) == 0 &&
	       json_is_string(json_object_get(status, "node"));
}

static double part(const json_t *status, const char *key, double budget_ucpu)
{
	double value = json_number_value(json_object_get(status, key));

	return value > 0 ? value / budget_ucpu * 1000 : 0;
}

/* Where there is room for it; its bytes are not less than its letters. */
static void write_name(FILE *out, const json_t *status, double x, double width)
{
	const char *name = json_string_value(json_object_get(status, "node"));

	if ((double)strlen(name) * 9 + 14 > width)
		return;
	fprintf(out, "<text x=\"%.2f\" y=\"18\">", x + 8);
	html_text(out, name);
	fputs("</text>", out);
}

/* The budget as a bar: each node's share, what is in flight, and what is not seen here. */
static void write_bar(FILE *out, const struct page *page, const struct verdict *verdict)
{
	double x = 0, budget = (double)verdict->budget_ucpu;

	if (verdict->budget_ucpu <= 0)
		return;
	fputs("<svg class=\"bar\" viewBox=\"0 0 1000 26\" role=\"img\" "
	      "aria-label=\"shares of the budget\"><rect class=\"free\" width=\"1000\" "
	      "height=\"26\"/>", out);
	for (unsigned i = 0; i < page->agents->count && x < 1000; i++) {
		const json_t *status = page->agents->agents[i].reply;
		double width = part(status, "share_ucpu", budget);

		if (!is_of(status, verdict->cluster) || width == 0)
			continue;
		if (x + width > 1000)
			width = 1000 - x;
		fprintf(out,
			"<rect class=\"part\" x=\"%.2f\" width=\"%.2f\" height=\"26\"><title>",
			x, width);
		page_text(out, status, "node");
		fputs(": ", out);
		page_number(out, status, "share_ucpu", 1e6, 3, " CPU");
		fputs("</title></rect>", out);
		write_name(out, status, x, width);
		x += width;
	}
	if (verdict->in_flight_ucpu > 0 && verdict->result != VERDICT_PARTIAL)
		fprintf(out,
			"<rect class=\"flight\" x=\"%.2f\" width=\"%.2f\" height=\"26\">"
			"<title>in flight: %.6f CPU</title></rect>", x,
			(double)verdict->in_flight_ucpu / budget * 1000,
			(double)verdict->in_flight_ucpu / 1e6);
	fputs("</svg>\n", out);
}

static void write_row(FILE *out, const json_t *status, unsigned index)
{
	static const char *const keys[] = { "share_ucpu",  "enforced_ucpu", "on_cpu_ucpu",
					    "demand_ucpu", "floor_ucpu",    "ceiling_ucpu" };
	const char *state = json_string_value(json_object_get(status, "state"));

	fprintf(out, "<tr><td><a href=\"#agent-%u\">", index);
	page_text(out, status, "node");
	fprintf(out, "</a></td><td><span class=\"badge %s\">",
		page_state_class(state != NULL ? state : ""));
	page_text(out, status, "state");
	fputs("</span></td>", out);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		fputs("<td>", out);
		page_number(out, status, keys[i], 1e6, 3, "");
		fputs("</td>", out);
	}
	fputs("</tr>\n", out);
}

static void write_verdict(FILE *out, const struct verdict *verdict)
{
	static const char *const classes[] = { "good", "note", "note", "bad" };
	static const char *const words[] = { "audit: proven", "audit: partial",
					     "audit: budget change under way",
					     "audit: not proven" };

	fputs("<div class=\"head\"><h2>cluster ", out);
	html_text(out, verdict->cluster);
	fprintf(out,
		"<small>budget %.3f CPU</small></h2><span class=\"badge %s\">%s</span></div>\n",
		(double)verdict->budget_ucpu / 1e6, classes[verdict->result],
		words[verdict->result]);
	if (verdict->result == VERDICT_PARTIAL)
		fprintf(out,
			"<p class=\"soft\">%u of its nodes run here and own %.6f CPU; what they "
			"say agrees.  The sum over all nodes is for isobarctl audit -c.</p>\n",
			verdict->nodes, (double)verdict->shares_ucpu / 1e6);
	else
		fprintf(out,
			"<p class=\"soft\">shares %.6f + in flight %.6f = %.6f of %.6f CPU; "
			"enforced %.6f; %u nodes</p>\n", (double)verdict->shares_ucpu / 1e6,
			(double)verdict->in_flight_ucpu / 1e6,
			(double)(verdict->shares_ucpu + verdict->in_flight_ucpu) / 1e6,
			(double)verdict->budget_ucpu / 1e6, (double)verdict->enforced_ucpu / 1e6,
			verdict->nodes);
	if (verdict->why_count == 0)
		return;
	fprintf(out, "<div class=\"why %s\">", classes[verdict->result]);
	for (unsigned i = 0; i < verdict->why_count; i++) {
		fputs("<p>", out);
		html_text(out, verdict->why[i]);
		fputs("</p>", out);
	}
	fputs("</div>\n", out);
}

static void write_cluster(FILE *out, const struct page *page, const struct verdict *verdict)
{
	fputs("<section class=\"card\">\n", out);
	write_verdict(out, verdict);
	write_bar(out, page, verdict);
	fputs("<div class=\"scroll\"><table><thead><tr><th>node</th><th>state</th><th>share</th>"
	      "<th>enforced</th><th>on CPU</th><th>demand</th><th>floor</th><th>ceiling</th></tr>"
	      "</thead><tbody>\n", out);
	for (unsigned i = 0; i < page->agents->count; i++)
		if (is_of(page->agents->agents[i].reply, verdict->cluster))
			write_row(out, page->agents->agents[i].reply, i);
	fputs("</tbody></table></div>\n</section>\n", out);
}

static void write_start(FILE *out, const struct page *page)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	      "<meta http-equiv=\"refresh\" content=\"10\">\n"
	      "<link rel=\"stylesheet\" href=\"/style.css\">\n<title>isobar on ", out);
	html_text(out, page->host);
	fputs("</title></head>\n<body><header><h1>isobar <span>on ", out);
	html_text(out, page->host);
	fputs("</span></h1><p class=\"when\">", out);
	html_text(out, page->when);
	fputs(", anew every 10 s</p></header>\n<main>\n", out);
}

void page_write(FILE *out, const struct page *page)
{
	write_start(out, page);
	if (page->agents->count == 0) {
		fputs("<section class=\"card\"><h2>no agent</h2><p class=\"soft\">Nothing has a "
		      "control socket below ", out);
		html_text(out, page->directory);
		fputs(".</p></section>\n", out);
	}
	for (unsigned i = 0; i < page->verdicts->count; i++)
		write_cluster(out, page, &page->verdicts->clusters[i]);
	for (unsigned i = 0; i < page->agents->count; i++)
		page_write_agent(out, page, i);
	fputs("</main>\n<footer>isobar-exporter " PACKAGE_VERSION
	      "; the same for Prometheus is at <a href=\"/metrics\">/metrics</a>. Amounts are in "
	      "CPUs.</footer>\n</body></html>\n", out);
}
