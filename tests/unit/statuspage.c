/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/page.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/export/chart.h"
#include "agent/export/html.h"
#include "tests/test.h"

#define NOW 100000u

static struct collect agents;
static struct verdicts verdicts;

static char *closed(FILE *out, char **text)
{
	ck_assert_int_eq(fclose(out), 0);
	return *text;
}

static char *drawn(const struct history_series *series, uint64_t slot)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	chart_write(out, series, slot, "a \"label\"");
	return closed(out, &text);
}

static char *escaped(const char *raw)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	html_text(out, raw);
	return closed(out, &text);
}

static unsigned occurrences(const char *text, const char *part)
{
	unsigned count = 0;

	for (const char *p = text; (p = strstr(p, part)) != NULL; p += strlen(part))
		count++;
	return count;
}

static void has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in:\n%s", part, text);
}

static void lacks(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text);
}

static void add_agent(const char *name, json_t *reply)
{
	struct collect_agent *agent = &agents.agents[agents.count++];

	*agent = (struct collect_agent){ .reply = reply };
	snprintf(agent->name, sizeof(agent->name), "%s", name);
	snprintf(agent->path, sizeof(agent->path), "/run/isobar/%s/control", name);
	if (reply == NULL)
		snprintf(agent->why, sizeof(agent->why), "no answer in time");
}

static json_t *neighbour(const char *name, const char *state)
{
	return json_pack("{s:s, s:s, s:f, s:f, s:I, s:I, s:I}", "name", name, "state", state,
			 "age_s", 0.4, "price", -0.1432, "sent_ucpu", (json_int_t)2250000,
			 "received_ucpu", (json_int_t)1500000, "in_flight_ucpu", (json_int_t)4000);
}

static json_t *node(const char *name, const char *state, const char *reason, double share)
{
	return json_pack("{s:b, s:s, s:s, s:s, s:s?, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:f, s:I, "
			 "s:s, s:f, s:I, s:I, s:s, s:{s:I, s:I}, s:{s:s, s:f}, s:[o, o]}", "ok", 1,
			 "cluster", "lab", "node", name, "state", state, "reason", reason,
			 "share_ucpu", (json_int_t)(share * 1e6), "enforced_ucpu",
			 (json_int_t)(share * 1e6), "effective_ucpu", (json_int_t)(share * 1e6),
			 "effective_by", "quota", "on_cpu_ucpu", (json_int_t)(share * 0.97e6),
			 "wait_ucpu", (json_int_t)210000, "demand_ucpu",
			 (json_int_t)(share * 1e6 + 200000), "marginal_cost", -0.15, "debt_ns",
			 (json_int_t)1500000, "meter", "ebpf", "uptime_s", 8000.0,
			 "floor_ucpu", (json_int_t)10000, "ceiling_ucpu", (json_int_t)4000000,
			 "last_decision", "gave 0.0040 CPU to b (3 s ago)", "agent", "cpu_ns",
			 (json_int_t)19000000000, "rss_bytes", (json_int_t)6291456, "guard",
			 "state", "ok", "lease_s", 28.6,
			 "neighbours", neighbour("b", "up"), neighbour("c", "down"));
}

static struct history *hour(void)
{
	struct history *history = history_new();

	ck_assert_ptr_nonnull(history);
	for (unsigned i = 0; i < HISTORY_POINTS; i++) {
		double share = 0.7 + 0.35 * sin(i / 40.0) + (i > 220 ? 0.4 : 0);
		struct history_point point = {
			.share = (float)share,
			.quota = (float)(i > 150 && i < 170 ? 0.3 : share),
			.demand = (float)(share + 0.15 + 0.1 * sin(i / 6.0)),
			.on_cpu = (float)(share * (0.9 + 0.08 * sin(i / 3.0))),
		};

		if (i < 60 || i > 75)
			history_add(history, NOW - HISTORY_POINTS + 1 + i, "lab", "a", &point);
	}
	return history;
}

static char *written(const struct history *history)
{
	const struct page page = {
		.host = "srv<1>",
		.when = "2026-11-30 12:00:00 UTC",
		.directory = "/run/isobar",
		.agents = &agents,
		.history = history,
		.slot = NOW,
		.verdicts = &verdicts,
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	page_write(out, &page);
	return closed(out, &text);
}

static void reset(void)
{
	collect_drop(&agents);
	agents.count = 0;
	verdicts.count = 0;
}

/* For people to look at: the page and its style, where ISO_FIGURE says. */
static void keep(const char *text)
{
	const char *directory = getenv("ISO_FIGURE");
	const char *const contents[] = { text, page_style };
	const char *const names[] = { "index.html", "style.css" };
	char path[512];

	for (int i = 0; i < 2 && directory != NULL; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		FILE *out = fopen(path, "we");
		ck_assert_ptr_nonnull(out);
		fputs(contents[i], out);
		fclose(out);
	}
}

START_TEST(a_page_shows_what_the_agents_say)
{
	struct history *history = hour();

	reset();
	add_agent("a", node("a", "ok", NULL, 1.05));
	json_object_set_new(agents.agents[0].reply, "cgroup", json_string("/batch"));
	json_object_set_new(agents.agents[0].reply, "unit", json_string("batch.slice"));
	add_agent("b", node("b", "degraded", "no eBPF: the kernel has no BTF", 0.3));
	add_agent("d", NULL);
	verdicts.count = 1;
	verdicts.clusters[0] = (struct verdict){ .cluster = "lab", .nodes = 2,
		.shares_ucpu = 1350000, .in_flight_ucpu = 8000, .enforced_ucpu = 1350000,
		.budget_ucpu = 1500000, .result = VERDICT_PROVEN };
	char *text = written(history);
	has(text, "srv&lt;1&gt;");
	has(text, "audit: proven");
	has(text, "shares 1.350000 + in flight 0.008000 = 1.358000 of 1.500000 CPU");
	has(text, "<dt>share</dt><dd>1.050</dd>");
	has(text, "<dt>demand</dt><dd>1.250</dd>");
	has(text, "limits batch.slice<");
	has(text, "no eBPF: the kernel has no BTF");
	has(text, "<span class=\"badge bad\">degraded</span>");
	has(text, "/run/isobar/d/control: no answer in time");
	has(text, "2.250");
	ck_assert_uint_eq(occurrences(text, "<svg class=\"chart\""), 1);
	ck_assert_uint_eq(occurrences(text, "<section"), occurrences(text, "</section>"));
	ck_assert_uint_eq(occurrences(text, "<div"), occurrences(text, "</div>"));
	ck_assert_uint_eq(occurrences(text, "<td"), occurrences(text, "</td>"));
	lacks(text, "<script");
	lacks(text, "style=");
	keep(text);
	free(text);
	history_free(history);
	reset();
}
END_TEST

START_TEST(nothing_from_an_agent_gets_through_raw)
{
	static const char bad[] = "<script>alert('x')</script>\"&\x01";
	struct history *history = history_new();
	json_t *status = node("a", bad, bad, 1), *edge = neighbour(bad, bad);

	reset();
	json_object_set_new(status, "effective_by", json_string(bad));
	json_object_set_new(status, "last_decision", json_string(bad));
	json_object_set_new(status, "meter", json_string(bad));
	json_object_set_new(status, "cluster", json_string(bad));
	json_object_set_new(status, "cgroup", json_string(bad));
	json_object_set_new(status, "notes", json_pack("[s, i]", bad, 7));
	json_object_set_new(status, "worker", json_pack("{s:s}", "state", bad));
	json_array_append_new(json_object_get(status, "neighbours"), edge);
	json_object_set_new(json_object_get(status, "guard"), "state", json_string(bad));
	add_agent(bad, status);
	add_agent(bad, NULL);
	add_agent("x", json_pack("{s:b}", "ok", 1));
	snprintf(agents.agents[1].why, sizeof(agents.agents[1].why), "%s", bad);
	verdicts.count = 1;
	verdicts.clusters[0] = (struct verdict){ .result = VERDICT_BROKEN, .why_count = 1 };
	snprintf(verdicts.clusters[0].cluster, VERDICT_NAME_BYTES, "%s", bad);
	snprintf(verdicts.clusters[0].why[0], VERDICT_WHY_BYTES, "%s", bad);
	char *text = written(history);
	lacks(text, "<script");
	lacks(text, "alert('x')");
	lacks(text, "\x01");
	ck_assert_uint_gt(occurrences(text, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), 10);
	free(text);
	history_free(history);
	reset();
}
END_TEST

START_TEST(what_is_unknown_is_a_dash)
{
	struct history *history = history_new();

	reset();
	add_agent("a", json_pack("{s:b, s:s, s:n, s:s}", "ok", 1, "node", "a", "share_ucpu",
				 "demand_ucpu", "lots"));
	char *text = written(history);
	has(text, "<dt>share</dt><dd>\xe2\x80\x93</dd>");
	has(text, "<dt>demand</dt><dd>\xe2\x80\x93</dd>");
	has(text, "no neighbours");
	free(text);
	history_free(history);
	reset();
}
END_TEST

START_TEST(without_agents_it_says_where_it_looks)
{
	reset();
	char *text = written(NULL);
	has(text, "control socket below /run/isobar.");
	free(text);
}
END_TEST

START_TEST(escapes_are_complete)
{
	char *text = escaped("a<b>&\"'\n\x7f\xc3\xa4");

	ck_assert_str_eq(text, "a&lt;b&gt;&amp;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4");
	free(text);
}
END_TEST

START_TEST(an_hour_is_kept_and_no_more)
{
	struct history *history = history_new();
	struct history_point point = { 1, 2, 3, 4 };

	for (unsigned slot = 10; slot < 10 + 2 * HISTORY_POINTS; slot++) {
		point.share = (float)slot;
		if (slot != 500)
			history_add(history, slot, "lab", "a", &point);
	}
	const struct history_series *series = history_find(history, "lab", "a");
	unsigned last = 10 + 2 * HISTORY_POINTS - 1;
	ck_assert_double_eq((double)history_at(series, last).share, last);
	ck_assert_double_eq((double)history_at(series, last - HISTORY_POINTS + 1).share,
			    last - HISTORY_POINTS + 1);
	ck_assert(isnan(history_at(series, last - HISTORY_POINTS).share));
	ck_assert(isnan(history_at(series, last + 1).share));
	ck_assert(isnan(history_at(series, 500).share));
	ck_assert_double_eq((double)history_at(series, 501).share, 501);
	ck_assert_ptr_null(history_find(history, "yard", "a"));
	ck_assert(isnan(history_at(NULL, 500).quota));

	/* Another one is seen, and the first no more: for an hour it is kept. */
	history_add(history, last + HISTORY_POINTS - 1, "lab", "b", &point);
	ck_assert_ptr_nonnull(history_find(history, "lab", "a"));
	history_add(history, last + HISTORY_POINTS, "lab", "b", &point);
	ck_assert_ptr_null(history_find(history, "lab", "a"));
	history_free(history);
}
END_TEST

START_TEST(more_nodes_than_fit_are_left_out)
{
	struct history *history = history_new();
	const struct history_point point = { 1, 1, 1, 1 };
	char name[HISTORY_NAME_BYTES + 8];

	for (unsigned i = 0; i <= HISTORY_NODES_MAX; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		history_add(history, 7, "lab", name, &point);
	}
	ck_assert_ptr_nonnull(history_find(history, "lab", "n255"));
	ck_assert_ptr_null(history_find(history, "lab", "n256"));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	history_add(history, 500, "lab", name, &point);
	ck_assert_ptr_null(history_find(history, "lab", name));
	history_free(history);
}
END_TEST

START_TEST(a_scale_ends_at_a_round_number)
{
	ck_assert_double_eq_tol(chart_top(0), 0.01, 1e-12);
	ck_assert_double_eq_tol(chart_top(0.011), 0.02, 1e-12);
	ck_assert_double_eq_tol(chart_top(0.3), 0.5, 1e-12);
	ck_assert_double_eq_tol(chart_top(0.2), 0.2, 1e-12);
	ck_assert_double_eq_tol(chart_top((double)0.2f), 0.2, 1e-12);
	ck_assert_double_eq_tol(chart_top(1.01), 2, 1e-12);
	ck_assert_double_eq_tol(chart_top(2.2), 2.5, 1e-12);
	ck_assert_double_eq_tol(chart_top(64), 100, 1e-12);
}
END_TEST

/* A gap ends a line and an area; one value alone is a dot; level stretches are short. */
START_TEST(a_chart_has_gaps_where_nothing_is_known)
{
	struct history *history = history_new();
	struct history_point point = { 1, (float)NAN, 0.5f, 0.25f };

	char *text = drawn(NULL, NOW);
	has(text, "nothing is known of the last hour yet");
	lacks(text, "<svg");
	free(text);
	for (unsigned slot = NOW - 40; slot <= NOW; slot++)
		if (slot != NOW - 10 && slot != NOW - 12)
			history_add(history, slot, "lab", "a", &point);
	text = drawn(history_find(history, "lab", "a"), NOW);
	has(text, "aria-label=\"a &quot;label&quot;\"");
	const char *share = strstr(text, "<path class=\"share\" d=\"");
	ck_assert_ptr_nonnull(share);
	char *line = strndup(share, strcspn(share, ">"));
	ck_assert_uint_eq(occurrences(line, "M"), 3);
	ck_assert_uint_eq(occurrences(line, "h0"), 1);
	ck_assert_uint_eq(occurrences(line, "L"), 2);
	lacks(text, "nan");
	has(text, "<path class=\"quota\" d=\"\"/>");
	ck_assert_uint_eq(occurrences(text, "Z"), 3);
	free(line);
	free(text);
	/* At the start of the machine's clock there is no hour before. */
	text = drawn(history_find(history, "lab", "a"), 3);
	lacks(text, "nan");
	free(text);
	history_free(history);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("statuspage");
	TCase *tcase = tcase_create("page");

	tcase_add_test(tcase, a_page_shows_what_the_agents_say);
	tcase_add_test(tcase, nothing_from_an_agent_gets_through_raw);
	tcase_add_test(tcase, what_is_unknown_is_a_dash);
	tcase_add_test(tcase, without_agents_it_says_where_it_looks);
	tcase_add_test(tcase, escapes_are_complete);
	tcase_add_test(tcase, an_hour_is_kept_and_no_more);
	tcase_add_test(tcase, more_nodes_than_fit_are_left_out);
	tcase_add_test(tcase, a_scale_ends_at_a_round_number);
	tcase_add_test(tcase, a_chart_has_gaps_where_nothing_is_known);
	suite_add_tcase(suite, tcase);
	return suite;
}
