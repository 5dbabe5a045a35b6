/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "agent/export/chart.h"
#include "agent/export/html.h"
#include "agent/export/page.h"

static const json_t *get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

static void fact(FILE *out, const char *name, const json_t *object, const char *key, double per,
		 int decimals, const char *unit)
{
	fprintf(out, "<div><dt>%s</dt><dd>", name);
	page_number(out, object, key, per, decimals, unit);
	fputs("</dd></div>\n", out);
}

/* Who limits stands below how much. */
static void write_effective(FILE *out, const json_t *status)
{
	fputs("<div><dt>effective</dt><dd>", out);
	page_number(out, status, "effective_ucpu", 1e6, 3, "");
	if (json_is_string(get(status, "effective_by"))) {
		fputs("<small>by ", out);
		page_text(out, status, "effective_by");
		fputs("</small>", out);
	}
	fputs("</dd></div>\n", out);
}

static void write_lease(FILE *out, const json_t *status)
{
	const json_t *guard = get(status, "guard");
	const char *state = json_string_value(get(guard, "state"));

	fputs("<div><dt>lease</dt><dd>", out);
	if (state != NULL && strcmp(state, "off") == 0) {
		fputs("off</dd></div>\n", out);
		return;
	}
	page_number(out, guard, "lease_s", 1, 0, " s");
	fputs("<small>guard ", out);
	page_text(out, guard, "state");
	fputs("</small></dd></div>\n", out);
}

static void write_facts(FILE *out, const json_t *status)
{
	const json_t *agent = get(status, "agent");
	double uptime_s = json_number_value(get(status, "uptime_s"));

	fputs("<dl>\n", out);
	fact(out, "share", status, "share_ucpu", 1e6, 3, "");
	fact(out, "enforced", status, "enforced_ucpu", 1e6, 3, "");
	write_effective(out, status);
	fact(out, "on CPU", status, "on_cpu_ucpu", 1e6, 3, "");
	fact(out, "waiting", status, "wait_ucpu", 1e6, 3, "");
	fact(out, "demand", status, "demand_ucpu", 1e6, 3, "");
	fact(out, "marginal cost", status, "marginal_cost", 1, 4, "");
	fact(out, "to pay back", status, "debt_ns", 1e6, 1, " ms");
	write_lease(out, status);
	fputs("<div><dt>meter</dt><dd>", out);
	page_text(out, status, "meter");
	fputs("</dd></div>\n", out);
	if (json_is_object(get(status, "worker"))) {
		fputs("<div><dt>worker</dt><dd>", out);
		page_text(out, get(status, "worker"), "state");
		fputs("</dd></div>\n", out);
	}
	fputs("<div><dt>agent itself</dt><dd>", out);
	if (uptime_s > 0)
		fprintf(out, "%.2f&#8239;%%",
			json_number_value(get(agent, "cpu_ns")) / 1e7 / uptime_s);
	fputs("<small>", out);
	page_number(out, agent, "rss_bytes", 1048576, 1, " MiB");
	fputs("</small></dd></div>\n</dl>\n", out);
}

/* What is limited: a unit where it was named so, else its group. */
static void write_job(FILE *out, const json_t *status)
{
	const char *key = json_is_string(get(status, "unit")) ? "unit" : "cgroup";

	if (!json_is_string(get(status, key)))
		return;
	fputs("<p class=\"soft\">limits ", out);
	page_text(out, status, key);
	fputs("</p>\n", out);
}

static void write_chart(FILE *out, const struct page *page, const json_t *status)
{
	static const struct {
		const char *class, *name, *drawing;
	} legend[] = {
		{ "share", "share", "M1 5H25" },
		{ "quota", "quota enforced", "M1 5H25" },
		{ "demand", "demand", "M1 5H25" },
		{ "on-cpu", "on CPU", "M0 0H26V10H0Z" },
	};
	const char *cluster = json_string_value(get(status, "cluster"));
	const char *node = json_string_value(get(status, "node"));

	fputs("<ul class=\"legend\">", out);
	for (size_t i = 0; i < sizeof(legend) / sizeof(legend[0]); i++)
		fprintf(out,
			"<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\">"
			"<path class=\"%s\" d=\"%s\"/></svg>%s</li>", legend[i].class,
			legend[i].drawing, legend[i].name);
	fputs("</ul>\n<div class=\"scroll\">", out);
	chart_write(out, history_find(page->history, cluster != NULL ? cluster : "", node),
		    page->slot, "share, quota, demand and CPU use over the last hour");
	fputs("</div>\n", out);
}

static void write_neighbours(FILE *out, const json_t *status)
{
	const json_t *neighbours = get(status, "neighbours");

	if (json_array_size(neighbours) == 0) {
		fputs("<p class=\"soft\">no neighbours: nothing is traded</p>\n", out);
		return;
	}
	fputs("<div class=\"scroll\"><table><thead><tr><th>neighbour</th><th>state</th>"
	      "<th>heard</th><th>price</th><th>sent</th><th>received</th><th>in flight</th></tr>"
	      "</thead><tbody>\n", out);
	for (size_t i = 0; i < json_array_size(neighbours); i++) {
		const json_t *neighbour = json_array_get(neighbours, i);
		const char *state = json_string_value(get(neighbour, "state"));
		bool is_up = state != NULL && strcmp(state, "up") == 0;

		fputs("<tr><td>", out);
		page_text(out, neighbour, "name");
		fprintf(out, "</td><td><span class=\"badge %s\">", is_up ? "good" : "bad");
		page_text(out, neighbour, "state");
		fputs("</span></td><td>", out);
		page_number(out, neighbour, "age_s", 1, 1, " s");
		fputs("</td><td>", out);
		page_number(out, neighbour, "price", 1, 4, "");
		fputs("</td><td>", out);
		page_number(out, neighbour, "sent_ucpu", 1e6, 3, "");
		fputs("</td><td>", out);
		page_number(out, neighbour, "received_ucpu", 1e6, 3, "");
		fputs("</td><td>", out);
		page_number(out, neighbour, "in_flight_ucpu", 1e6, 6, "");
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

/* Why it is as it is, and what else there is to know. */
static void write_why(FILE *out, const json_t *status, const char *class)
{
	const json_t *notes = get(status, "notes");

	if (json_is_string(get(status, "reason"))) {
		fprintf(out, "<div class=\"why %s\"><p>", class);
		page_text(out, status, "reason");
		fputs("</p></div>\n", out);
	}
	for (size_t i = 0; i < json_array_size(notes); i++) {
		const char *note = json_string_value(json_array_get(notes, i));

		fputs("<div class=\"why note\"><p>", out);
		html_text(out, note != NULL ? note : "");
		fputs("</p></div>\n", out);
	}
}

static void write_head(FILE *out, unsigned index, const char *name, const char *cluster,
		       const char *state, const char *class)
{
	fprintf(out, "<section class=\"card\" id=\"agent-%u\">\n<div class=\"head\"><h2>", index);
	html_text(out, name);
	if (cluster != NULL) {
		fputs("<small>of cluster ", out);
		html_text(out, cluster);
		fputs("</small>", out);
	}
	fprintf(out, "</h2><span class=\"badge %s\">", class);
	html_text(out, state);
	fputs("</span></div>\n", out);
}

void page_write_agent(FILE *out, const struct page *page, unsigned index)
{
	const struct collect_agent *agent = &page->agents->agents[index];
	const json_t *status = agent->reply;
	const char *node = json_string_value(get(status, "node"));
	const char *state = json_string_value(get(status, "state"));

	if (status == NULL) {
		write_head(out, index, agent->name, NULL, "does not answer", "bad");
		fputs("<div class=\"why bad\"><p>", out);
		html_text(out, agent->path);
		fputs(": ", out);
		html_text(out, agent->why);
		fputs("</p></div>\n</section>\n", out);
		return;
	}
	if (node == NULL) {
		write_head(out, index, agent->name, NULL, "no node", "note");
		fputs("</section>\n", out);
		return;
	}
	state = state != NULL ? state : "unknown";
	write_head(out, index, node, json_string_value(get(status, "cluster")), state,
		   page_state_class(state));
	write_why(out, status, page_state_class(state));
	write_job(out, status);
	write_facts(out, status);
	write_chart(out, page, status);
	write_neighbours(out, status);
	if (json_is_string(get(status, "last_decision"))) {
		fputs("<p class=\"soft\">last decision: ", out);
		page_text(out, status, "last_decision");
		fputs("</p>\n", out);
	}
	fputs("</section>\n", out);
}
