/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/metrics.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "tests/test.h"

/* The metrics of these replies; NULL stands for an agent that does not answer. */
static char *written(const char *const *replies, unsigned count)
{
	static const char *const agents[] = { "one", "two", "th\"r\\e\ne" };
	struct metrics_source sources[3] = { 0 };
	json_t *parsed[3] = { NULL };
	char *text = NULL;
	size_t size = 0;

	for (unsigned i = 0; i < count; i++) {
		parsed[i] = replies[i] != NULL ? json_loads(replies[i], 0, NULL) : NULL;
		ck_assert(replies[i] == NULL || parsed[i] != NULL);
		sources[i] = (struct metrics_source){ .agent = agents[i], .status = parsed[i] };
	}
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	metrics_write(out, sources, count);
	ck_assert_int_eq(fclose(out), 0);
	for (unsigned i = 0; i < count; i++)
		json_decref(parsed[i]);
	return text;
}

static void has(const char *text, const char *line)
{
	const char *found = strstr(text, line);
	size_t n = strlen(line);

	ck_assert_msg(found != NULL && (found == text || found[-1] == '\n') && found[n] == '\n',
		      "no line '%s' in:\n%s", line, text);
	ck_assert_msg(strstr(found + n, line) == NULL, "twice: '%s'", line);
}

static void lacks(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text);
}

START_TEST(numbers_are_in_base_units)
{
	static const char *const replies[] = {
		"{\"ok\":true,\"cluster\":\"lab\",\"node\":\"a\",\"share_ucpu\":512345,"
		"\"quota_us\":51234,\"period_us\":100000,\"debt_ns\":1500000,"
		"\"throttled_ns\":12500000000,\"lease\":{\"valid\":false,\"remaining_s\":2.5},"
		"\"frozen\":true,\"meter\":\"cpu.stat\",\"marginal_cost\":-0.1875,"
		"\"ratios\":{\"use\":0.98,\"meter\":null,\"stolen\":0}}"
	};
	char *text = written(replies, 1);

	has(text, "isobar_share_cpus{cluster=\"lab\",node=\"a\"} 0.512345");
	has(text, "isobar_quota_cpus{cluster=\"lab\",node=\"a\"} 0.51234");
	has(text, "isobar_quota_period_seconds{cluster=\"lab\",node=\"a\"} 0.1");
	has(text, "isobar_debt_seconds{cluster=\"lab\",node=\"a\"} 0.0015");
	has(text, "isobar_throttled_seconds_total{cluster=\"lab\",node=\"a\"} 12.5");
	has(text, "isobar_lease_valid{cluster=\"lab\",node=\"a\"} 0");
	has(text, "isobar_lease_remaining_seconds{cluster=\"lab\",node=\"a\"} 2.5");
	has(text, "isobar_frozen{cluster=\"lab\",node=\"a\"} 1");
	has(text, "isobar_meter_ebpf{cluster=\"lab\",node=\"a\"} 0");
	has(text, "isobar_marginal_cost{cluster=\"lab\",node=\"a\"} -0.1875");
	has(text, "isobar_use_ratio{cluster=\"lab\",node=\"a\"} 0.98");
	has(text, "isobar_host_stolen_ratio{cluster=\"lab\",node=\"a\"} 0");
	lacks(text, "isobar_meter_ratio{");
	has(text, "# TYPE isobar_share_cpus gauge");
	has(text, "# TYPE isobar_throttled_seconds_total counter");
	free(text);
}
END_TEST

START_TEST(what_is_unknown_has_no_sample)
{
	static const char *const replies[] = {
		"{\"ok\":true,\"cluster\":\"lab\",\"node\":\"a\",\"share_ucpu\":null,"
		"\"quota_us\":5,\"period_us\":0,\"lease\":null,\"meter\":null,\"state\":null,"
		"\"demand_ucpu\":\"many\",\"neighbours\":null,\"messages\":7}"
	};
	char *text = written(replies, 1);

	has(text, "isobar_info{cluster=\"lab\",node=\"a\",agent=\"one\",cgroup=\"\",unit=\"\","
		  "version=\"\"} 1");
	lacks(text, "isobar_share_cpus{");
	lacks(text, "isobar_quota_cpus{");
	lacks(text, "isobar_lease_valid{");
	lacks(text, "isobar_meter_ebpf{");
	lacks(text, "isobar_state{");
	lacks(text, "isobar_demand_cpus{");
	lacks(text, "isobar_neighbour_up{");
	lacks(text, "isobar_messages_dropped_total{");
	free(text);
}
END_TEST

START_TEST(a_state_is_one_of_those_there_are)
{
	static const char *const replies[] = {
		"{\"ok\":true,\"cluster\":\"lab\",\"node\":\"a\",\"state\":\"conflict\"}",
		"{\"ok\":true,\"cluster\":\"lab\",\"node\":\"b\",\"state\":\"brand new\"}",
	};
	char *text = written(replies, 2);

	has(text, "isobar_state{cluster=\"lab\",node=\"a\",state=\"conflict\"} 1");
	has(text, "isobar_state{cluster=\"lab\",node=\"a\",state=\"ok\"} 0");
	has(text, "isobar_state{cluster=\"lab\",node=\"a\",state=\"other\"} 0");
	has(text, "isobar_state{cluster=\"lab\",node=\"b\",state=\"conflict\"} 0");
	has(text, "isobar_state{cluster=\"lab\",node=\"b\",state=\"other\"} 1");
	free(text);
}
END_TEST

START_TEST(names_from_elsewhere_are_escaped)
{
	static const char *const replies[] = {
		NULL,
		NULL,
		"{\"ok\":true,\"cluster\":\"l\\\"ab\",\"node\":\"a\\\\\",\"neighbours\":"
		"[{\"name\":\"x\\n} 1\",\"state\":\"up\"}]}",
	};
	char *text = written(replies, 3);

	has(text, "isobar_up{agent=\"one\"} 0");
	has(text, "isobar_up{agent=\"th\\\"r\\\\e\\ne\"} 1");
	has(text, "isobar_neighbour_up{cluster=\"l\\\"ab\",node=\"a\\\\\","
		  "neighbour=\"x\\n} 1\"} 1");
	free(text);
}
END_TEST

START_TEST(no_series_comes_twice)
{
	static const char *const replies[] = {
		"{\"ok\":true,\"cluster\":\"lab\",\"node\":\"a\",\"share_ucpu\":1000000,"
		"\"neighbours\":[{\"name\":\"b\",\"state\":\"folded\",\"generation\":1},"
		"{\"name\":\"b\",\"state\":\"up\",\"generation\":2},"
		"{\"name\":\"b\",\"state\":\"folded\",\"generation\":1},"
		"{\"name\":\"?\",\"state\":\"up\",\"generation\":1},"
		"{\"name\":\"?\",\"state\":\"down\",\"generation\":1}]}",
		"{\"ok\":true,\"cluster\":\"lab\",\"node\":\"a\",\"share_ucpu\":2000000}",
		"{\"ok\":true,\"cluster\":\"yard\",\"node\":\"a\",\"share_ucpu\":3000000}",
	};
	char *text = written(replies, 3);

	has(text, "isobar_share_cpus{cluster=\"lab\",node=\"a\"} 1");
	has(text, "isobar_share_cpus{cluster=\"yard\",node=\"a\"} 3");
	lacks(text, "node=\"a\"} 2\n");
	has(text, "isobar_neighbour_up{cluster=\"lab\",node=\"a\",neighbour=\"b\"} 1");
	has(text, "isobar_neighbour_up{cluster=\"lab\",node=\"a\",neighbour=\"?\"} 1");
	lacks(text, "isobar_neighbour_up{cluster=\"lab\",node=\"a\",neighbour=\"b\"} 0");
	lacks(text, "isobar_neighbour_up{cluster=\"lab\",node=\"a\",neighbour=\"?\"} 0");
	free(text);
}
END_TEST

/* An edge is compared with those of its name alone: twice as many take twice as long. */
START_TEST(many_edges_take_time_in_proportion)
{
	double seconds[2];

	for (int k = 0; k < 2; k++) {
		json_t *edges = json_array();
		char name[16];

		for (int i = 0; i < 1000 << k; i++) {
			snprintf(name, sizeof(name), "n%d", i);
			json_array_append_new(edges,
					      json_pack("{s:s, s:s}", "name", name, "state", "up"));
		}
		json_t *status = json_pack("{s:s, s:s, s:o}", "cluster", "lab", "node", "a",
					   "neighbours", edges);
		char *reply = json_dumps(status, 0);
		double before = clock_cpu_s();
		char *text = written((const char *const[]){ reply }, 1);
		seconds[k] = clock_cpu_s() - before;
		snprintf(name, sizeof(name), "n%d", (1000 << k) - 1);
		ck_assert_ptr_nonnull(strstr(text, name));
		free(text);
		free(reply);
		json_decref(status);
	}
	ck_assert_double_lt(seconds[1], 3 * seconds[0] + 0.05);
}
END_TEST

START_TEST(reasons_are_not_let_through_without_end)
{
	json_t *dropped = json_object(), *status;
	char name[24];
	unsigned count = 0;

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "reason%d", i);
		json_object_set_new(dropped, name, json_integer(i));
	}
	status = json_pack("{s:s, s:s, s:{s:o}}", "cluster", "lab", "node", "a", "messages",
			   "dropped", dropped);
	char *reply = json_dumps(status, 0);
	char *text = written((const char *const[]){ reply }, 1);
	for (const char *p = text; (p = strstr(p, "node=\"a\",reason=")) != NULL; p++)
		count++;
	ck_assert_uint_eq(count, 64);
	free(text);
	free(reply);
	json_decref(status);
}
END_TEST

/* Of a coordinator, say. */
START_TEST(what_is_no_node_has_no_samples)
{
	static const char *const replies[] = {
		"{\"ok\":true,\"run\":\"fashion\",\"share_ucpu\":1}"
	};
	char *text = written(replies, 1);

	has(text, "isobar_up{agent=\"one\"} 1");
	lacks(text, "isobar_share_cpus{");
	lacks(text, "isobar_info{");
	free(text);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tcase = tcase_create("text");

	tcase_add_test(tcase, numbers_are_in_base_units);
	tcase_add_test(tcase, what_is_unknown_has_no_sample);
	tcase_add_test(tcase, a_state_is_one_of_those_there_are);
	tcase_add_test(tcase, names_from_elsewhere_are_escaped);
	tcase_add_test(tcase, no_series_comes_twice);
	tcase_add_test(tcase, many_edges_take_time_in_proportion);
	tcase_add_test(tcase, reasons_are_not_let_through_without_end);
	tcase_add_test(tcase, what_is_no_node_has_no_samples);
	suite_add_tcase(suite, tcase);
	return suite;
}
