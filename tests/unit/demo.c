/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/demo.h"
#include "tests/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/demo/checks.h"
#include "tests/demo/gain.h"
#include "tests/demo/ledger.h"
#include "tests/demo/report.h"
#include "tests/demo/table.h"

/*
 * Three nodes in a ring with 0.9 CPU; node 1 has sent 50 mCPU to node 2, who
 * has credited 20 of it.
 */
/* clang-format off */
static const char *const LEDGERS[3] = {
	"{'node': 'node1', 'budget_ucpu': 900000, 'endowment_ucpu': 300000,"
	" 'share_ucpu': 250000, 'enforced_ucpu': 250000, 'edges': ["
	"  {'peer': 'node2', 'sent_ucpu': 50000, 'received_ucpu': 0},"
	"  {'peer': 'node3', 'sent_ucpu': 0, 'received_ucpu': 0}]}",
	"{'node': 'node2', 'budget_ucpu': 900000, 'endowment_ucpu': 300000,"
	" 'share_ucpu': 320000, 'enforced_ucpu': 320000, 'edges': ["
	"  {'peer': 'node1', 'sent_ucpu': 0, 'received_ucpu': 20000},"
	"  {'peer': 'node3', 'sent_ucpu': 0, 'received_ucpu': 0}]}",
	"{'node': 'node3', 'budget_ucpu': 900000, 'endowment_ucpu': 300000,"
	" 'share_ucpu': 300000, 'enforced_ucpu': 290000, 'edges': ["
	"  {'peer': 'node1', 'sent_ucpu': 0, 'received_ucpu': 0},"
	"  {'peer': 'node2', 'sent_ucpu': 0, 'received_ucpu': 0}]}",
};
/* clang-format on */

struct cluster {
	json_t *ledgers[3];
	json_t *newer; /* what node 1 answers from the second time on; NULL: the same */
	unsigned calls[3];
	int silent; /* a node that does not answer; -1: all do */
};

static struct cluster cluster;
static struct ledger_sum sum;
static struct error error;

static json_t *parse(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; (p = strchr(p, '\'')) != NULL;)
		*p = '"';
	json_t *value = json_loads(copy, 0, NULL);
	free(copy);
	ck_assert_ptr_nonnull(value);
	return value;
}

static void setup(void)
{
	cluster = (struct cluster){ .silent = -1 };
	for (unsigned i = 0; i < 3; i++)
		cluster.ledgers[i] = parse(LEDGERS[i]);
	sum = (struct ledger_sum){ .shares_ucpu = 77 };
	error = (struct error){ 0 };
}

static void teardown(void)
{
	for (unsigned i = 0; i < 3; i++)
		json_decref(cluster.ledgers[i]);
	json_decref(cluster.newer);
}

static int fetch(void *context, unsigned node, json_t **ret_ledger)
{
	struct cluster *from = context;
	json_t *reply = from->ledgers[node];

	if ((int)node == from->silent)
		return -ECONNREFUSED;
	if (from->calls[node]++ > 0 && node == 0 && from->newer != NULL)
		reply = from->newer;
	*ret_ledger = json_incref(reply);
	return 0;
}

static int audit(void)
{
	return ledger_audit(3, 900000, fetch, &cluster, &sum, &error);
}

static void set(unsigned node, const char *key, json_int_t value)
{
	json_object_set_new(cluster.ledgers[node], key, json_integer(value));
}

static void set_edge(json_t *ledger, unsigned edge, const char *key, json_int_t value)
{
	json_object_set_new(json_array_get(json_object_get(ledger, "edges"), edge), key,
			    json_integer(value));
}

START_TEST(counts_what_is_in_flight)
{
	ck_assert_int_eq(audit(), 0);
	ck_assert_uint_eq(sum.shares_ucpu, 870000);
	ck_assert_uint_eq(sum.in_flight_ucpu, 30000);
	ck_assert_uint_eq(sum.rereads, 0);
}
END_TEST

/* Node 1 was asked before it sent, node 2 after it received. */
START_TEST(asks_a_stale_donor_again)
{
	cluster.newer = cluster.ledgers[0];
	cluster.ledgers[0] = json_deep_copy(cluster.newer);
	set(0, "share_ucpu", 300000);
	set(0, "enforced_ucpu", 300000);
	set_edge(cluster.ledgers[0], 0, "sent_ucpu", 0);
	ck_assert_int_eq(audit(), 0);
	ck_assert_uint_eq(sum.rereads, 1);
	ck_assert_uint_eq(sum.shares_ucpu, 870000);
	ck_assert_uint_eq(cluster.calls[0], 2);
}
END_TEST

START_TEST(a_receiver_that_made_it_up_is_found)
{
	set_edge(cluster.ledgers[1], 0, "received_ucpu", 60000);
	set(1, "share_ucpu", 360000);
	ck_assert_int_eq(audit(), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(error.text, "node2 received more than node1 ever sent"));
	ck_assert_uint_eq(sum.shares_ucpu, 77);
}
END_TEST

START_TEST(a_share_beside_its_counters_is_found)
{
	set(2, "share_ucpu", 300001);
	ck_assert_int_eq(audit(), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(error.text, "node3"));
}
END_TEST

START_TEST(enforcing_more_than_owned_is_found)
{
	set(2, "enforced_ucpu", 300001);
	ck_assert_int_eq(audit(), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(error.text, "node3: enforces 300001, owns 300000"));
}
END_TEST

START_TEST(endowments_beside_the_budget_are_found)
{
	set(2, "endowment_ucpu", 310000);
	set(2, "share_ucpu", 310000);
	ck_assert_int_eq(audit(), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(error.text, "are not the budget"));
}
END_TEST

START_TEST(who_does_not_answer_proves_nothing)
{
	cluster.silent = 1;
	ck_assert_int_eq(audit(), -EAGAIN);
	ck_assert_uint_eq(sum.shares_ucpu, 77);
}
END_TEST

START_TEST(what_is_no_ledger_is_refused)
{
	json_object_del(cluster.ledgers[1], "share_ucpu");
	ck_assert_int_eq(audit(), -EBADMSG);
	set(1, "share_ucpu", -1);
	ck_assert_int_eq(audit(), -EBADMSG);
	set(1, "share_ucpu", 320000);
	json_object_set_new(cluster.ledgers[1], "node", json_string("stranger"));
	ck_assert_int_eq(audit(), -EBADMSG);
}
END_TEST

/* A run of which the means are known: node 2's share steps, the others' stay. */
static struct demo demo;

static void record(double before, double during, double after)
{
	memset(&demo, 0, sizeof(demo));
	demo.options = (struct options){ .seconds = 30, .nodes = 3, .budget_ucpu = 900000 };
	demo.history.nodes = 3;
	for (unsigned k = 0; k < 3; k++)
		demo.history.phases[k] = (struct phase){ "", 10 * k, 10 * k + 10 };
	for (unsigned i = 0; i <= 60; i++) {
		struct sample sample = { .at_s = i / 2.0, .accuracy = i < 10 ? (double)NAN : 0.75 };
		double share = i < 20 ? before : i < 40 ? during : after;
		/* The first half of a phase, when it still moves, must not count. */
		bool moving = i % 20 < 10;

		for (unsigned k = 0; k < 3; k++)
			sample.nodes[k] = (struct node_sample){
				.share = k == DEMO_VISITED ? (moving ? 0.05 : share) : 0.3,
				.quota = (double)NAN,
				.quota_s = (double)NAN,
			};
		ck_assert_int_eq(history_add(&demo.history, &sample), 0);
	}
}

static enum check_state state_of(const char *part)
{
	struct check checks[CHECKS_MAX];
	unsigned count = checks_judge(&demo, checks);

	for (unsigned i = 0; i < count; i++)
		if (strstr(checks[i].name, part) != NULL)
			return checks[i].state;
	ck_abort_msg("no check '%s'", part);
	return CHECK_FAILED;
}

START_TEST(judges_rise_and_fall_by_settled_means)
{
	record(0.3, 0.5, 0.32);
	ck_assert_double_eq_tol(
	    history_settled(&demo.history, &demo.history.phases[1], DEMO_VISITED, SERIES_SHARE),
	    0.5, 1e-9);
	ck_assert_int_eq(state_of("rises"), CHECK_HELD);
	ck_assert_int_eq(state_of("falls"), CHECK_HELD);
	history_free(&demo.history);
	record(0.3, 0.31, 0.3);
	ck_assert_int_eq(state_of("rises"), CHECK_FAILED);
	history_free(&demo.history);
	record(0.3, 0.5, 0.45);
	ck_assert_int_eq(state_of("rises"), CHECK_HELD);
	ck_assert_int_eq(state_of("falls"), CHECK_FAILED);
	history_free(&demo.history);
}
END_TEST

START_TEST(finds_the_worst_window)
{
	unsigned node = 99;

	record(0.3, 0.5, 0.3);
	for (unsigned i = 0; i < demo.history.count; i++)
		for (unsigned k = 0; k < 3; k++) {
			struct node_sample *sample = &demo.history.samples[i].nodes[k];

			sample->share = 0.5;
			/* Node 3 takes 0.6 CPU for five seconds, else 0.5. */
			double extra_s = i < 30 ? 0 : i < 40 ? 0.05 * (i - 30) : 0.5;
			sample->used_s = 0.25 * i + (k == 2 ? extra_s : 0);
		}
	struct spent spent = history_spent(&demo.history, 0, 60, 3);
	ck_assert_double_eq_tol(spent.allowed_s, 45, 1e-9);
	ck_assert_double_eq_tol(spent.used_s, 45.5, 1e-9);
	ck_assert_double_eq_tol(history_worst_window(&demo.history, 10, &node), 1.1, 1e-9);
	ck_assert_uint_eq(node, 2);
	ck_assert(isnan(history_worst_window(&demo.history, 31, &node)));
	history_free(&demo.history);
}
END_TEST

/* A node that uses exactly what it owns, while its share grows and shrinks. */
START_TEST(a_moving_share_is_no_excess)
{
	unsigned node = 99;

	record(0.3, 0.5, 0.3);
	for (unsigned i = 0; i < demo.history.count; i++)
		for (unsigned k = 0; k < 3; k++) {
			struct node_sample *sample = &demo.history.samples[i].nodes[k];
			double t = i / 2.0;

			sample->share = k == 0 ? 0.1 + t / 50 : 0.7 - t / 50;
			sample->used_s = k == 0 ? 0.1 * t + t * t / 100 : 0.7 * t - t * t / 100;
		}
	ck_assert_double_eq_tol(history_worst_window(&demo.history, 10, &node), 1, 1e-9);
	/* One sample without an answer: the other end stands for both. */
	demo.history.samples[60].nodes[0].share = (double)NAN;
	demo.history.samples[0].nodes[0].share = (double)NAN;
	struct spent spent = history_spent(&demo.history, 0, 60, 0);
	ck_assert_double_eq_tol(spent.allowed_s, 12, 1e-2);
	history_free(&demo.history);
}
END_TEST

/*
 * Between two samples a share of 0.1 is 0.9 for 0.2 s, which the observer saw;
 * and for 5 s the quota is half of the share, to pay back.
 */
START_TEST(what_happens_between_samples_is_no_excess)
{
	record(0.3, 0.5, 0.3);
	for (unsigned i = 0; i < demo.history.count; i++)
		for (unsigned k = 0; k < 3; k++) {
			struct node_sample *sample = &demo.history.samples[i].nodes[k];
			double t = i / 2.0, held_back_s = t < 20 ? 0 : t < 25 ? t - 20 : 5;

			sample->share = 0.1;
			sample->quota = t >= 20 && t < 25 ? 0.05 : 0.1;
			sample->used_s = 0.1 * t + (i > 30 ? 0.8 * 0.2 : 0);
			sample->quota_s = sample->used_s - 0.05 * held_back_s;
		}
	struct spent spent = history_spent(&demo.history, 0, 60, 1);
	ck_assert_double_eq_tol(spent.used_s, 3.16, 1e-9);
	ck_assert_double_eq_tol(spent.allowed_s, 3.16, 1e-9);
	/* Without the observer it seems to have used more than it might. */
	for (unsigned i = 0; i < demo.history.count; i++)
		demo.history.samples[i].nodes[1].quota_s = (double)NAN;
	ck_assert_double_eq_tol(history_spent(&demo.history, 0, 60, 1).allowed_s, 3, 1e-9);
	history_free(&demo.history);
}
END_TEST

static const char *shown(void (*show)(FILE *out))
{
	static char *text;
	size_t size;

	free(text);
	FILE *out = open_memstream(&text, &size);
	show(out);
	fclose(out);
	return text;
}

static void show_table(FILE *out)
{
	struct sample sample = { .at_s = 15,
				 .round = 7,
				 .accuracy = 0.5,
				 .ledger_known = true,
				 .shares_ucpu = 870000,
				 .in_flight_ucpu = 30000 };

	for (unsigned i = 0; i < 3; i++) {
		snprintf(demo.nodes[i].name, sizeof(demo.nodes[i].name), "node%u", i + 1);
		sample.nodes[i] = (struct node_sample){ .share = 0.29,
							.quota_us = 29000,
							.period_us = 100000,
							.on_cpu = 0.25,
							.demand = (double)NAN,
							.marginal_cost = -1,
							.tasks = 12,
							.state = "ok" };
	}
	sample.nodes[2].tasks = -1;
	table_show(out, &demo, &sample);
}

START_TEST(the_table_shows_what_was_seen)
{
	record(0.3, 0.5, 0.3);
	ck_assert_str_eq(
	    shown(show_table),
	    " 15 s of 30  co-tenant on node2    step 7  test accuracy 0.500\n"
	    "node       share       quota/us   on-CPU   demand   marginal    tasks  state\n"
	    "node1     0.2900   29000/100000    0.250        -    -1.0000       12  ok\n"
	    "node2     0.2900   29000/100000    0.250        -    -1.0000       12  ok\n"
	    "node3     0.2900   29000/100000    0.250        -    -1.0000        -  ok\n"
	    "sum of shares + in flight = budget: 0.870000 + 0.030000 = 0.900000 CPU\n"
	    "quotas in the kernel: not observed\n\n");
	history_free(&demo.history);
}
END_TEST

static void show_report(FILE *out)
{
	struct check checks[CHECKS_MAX];

	report_print(out, &demo, checks, checks_judge(&demo, checks));
}

START_TEST(the_report_says_what_was_seen)
{
	record(0.3, 0.5, 0.32);
	snprintf(demo.nodes[0].name, sizeof(demo.nodes[0].name), "node1");
	snprintf(demo.nodes[DEMO_VISITED].name, sizeof(demo.nodes[0].name), "node2");
	for (unsigned i = 0; i < demo.history.count; i++)
		for (unsigned k = 0; k < 3; k++) {
			demo.history.samples[i].nodes[k].demand = 0.25;
			demo.history.samples[i].nodes[k].used_s = k == 0 ? 0.12 * i : 0;
		}
	demo.measured_s = 30;
	demo.coordinator = (struct child){ .name = "coordinator",
					   .cpu_ns = 4000000000,
					   .cpu_before_ns = 1000000000,
					   .rss_bytes = 3 << 20 };
	const char *text = shown(show_report);
	ck_assert_ptr_nonnull(
	    strstr(text, "  node2       0.300 / 0.250     0.500 / 0.250     0.320 / 0.250\n"));
	ck_assert_ptr_nonnull(strstr(text, "  26 s 0.750  30 s 0.750\n"));
	/* Nodes 1 and 3 may use 9 s each, and node 2 some 6. */
	ck_assert_ptr_nonnull(strstr(text, "Used by the jobs: 7.2 s of CPU of 24."));
	ck_assert_ptr_nonnull(strstr(text, "; most in 10 s: 80.0 % on node1.\n"));
	ck_assert_ptr_nonnull(strstr(text, "  coordinator  10.00 % of a CPU     3.0 MiB\n"));
	ck_assert_ptr_nonnull(strstr(text, "  FAILED      quotas in the kernel"));
	ck_assert_ptr_nonnull(strstr(text, "Something FAILED.\n"));
	history_free(&demo.history);
}
END_TEST

START_TEST(a_run_without_samples_holds_nothing)
{
	memset(&demo, 0, sizeof(demo));
	demo.options = (struct options){ .seconds = 70, .nodes = 3, .budget_ucpu = 900000 };
	ck_assert_int_eq(state_of("quotas"), CHECK_FAILED);
	ck_assert_int_eq(state_of("observer"), CHECK_FAILED);
	ck_assert_int_eq(state_of("in flight"), CHECK_FAILED);
	ck_assert_int_eq(state_of("rises"), CHECK_FAILED);
	ck_assert_int_eq(state_of("falls"), CHECK_FAILED);
	ck_assert_int_eq(state_of("accuracy"), CHECK_FAILED);
	ck_assert_int_eq(state_of("left behind"), CHECK_FAILED);
}
END_TEST

START_TEST(what_is_not_judged_is_listed_as_such)
{
	record(0.3, 0.5, 0.3);
	demo.options.seconds = 40;
	ck_assert_int_eq(state_of("accuracy"), CHECK_HELD); /* 36 s of CPU: 0.70 is enough */
	demo.options.seconds = 70;
	ck_assert_int_eq(state_of("accuracy"), CHECK_FAILED);
	demo.options.seconds = 13;
	ck_assert_int_eq(state_of("accuracy"), CHECK_NOT_JUDGED);
	ck_assert_int_eq(state_of("rises"), CHECK_NOT_JUDGED);
	demo.options.seconds = 24;
	demo.options.nodes = 5;
	ck_assert_int_eq(state_of("rises"), CHECK_NOT_JUDGED);
	ck_assert_int_eq(state_of("falls"), CHECK_NOT_JUDGED);
	demo.options.seconds = 25;
	ck_assert_int_ne(state_of("falls"), CHECK_NOT_JUDGED);
	demo.options.nodes = 3;
	demo.options.seconds = 70;
	demo.options.dry_run = true;
	ck_assert_int_eq(state_of("quotas"), CHECK_NOT_JUDGED);
	ck_assert_int_eq(state_of("rises"), CHECK_NOT_JUDGED);
	ck_assert_int_eq(state_of("accuracy"), CHECK_FAILED);
	history_free(&demo.history);
}
END_TEST

/* Accuracies stay between evaluations; the line goes from one evaluation to the next. */
START_TEST(the_time_to_an_accuracy_is_between_two_evaluations)
{
	json_t *report = json_loads(
	    "{\"samples\": [{\"at_s\": 1, \"test_accuracy\": null},"
	    "{\"at_s\": 2, \"test_accuracy\": 0.5}, {\"at_s\": 3, \"test_accuracy\": 0.5},"
	    "{\"at_s\": 4, \"test_accuracy\": 0.7}, {\"at_s\": 5, \"test_accuracy\": 0.8}]}",
	    0, NULL);

	ck_assert_double_eq_tol(gain_time(report, 0.25), 1, 1e-9);
	ck_assert_double_eq_tol(gain_time(report, 0.6), 3, 1e-9);
	ck_assert_double_eq_tol(gain_time(report, 0.7), 4, 1e-9);
	ck_assert_double_eq_tol(gain_time(report, 0.8), 5, 1e-9);
	ck_assert(isnan(gain_time(report, 0.81)));
	json_decref(report);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("demo");
	TCase *ledger = tcase_create("ledger"), *checks = tcase_create("checks");

	tcase_add_checked_fixture(ledger, setup, teardown);
	tcase_add_test(ledger, counts_what_is_in_flight);
	tcase_add_test(ledger, asks_a_stale_donor_again);
	tcase_add_test(ledger, a_receiver_that_made_it_up_is_found);
	tcase_add_test(ledger, a_share_beside_its_counters_is_found);
	tcase_add_test(ledger, enforcing_more_than_owned_is_found);
	tcase_add_test(ledger, endowments_beside_the_budget_are_found);
	tcase_add_test(ledger, who_does_not_answer_proves_nothing);
	tcase_add_test(ledger, what_is_no_ledger_is_refused);
	suite_add_tcase(suite, ledger);
	tcase_add_test(checks, judges_rise_and_fall_by_settled_means);
	tcase_add_test(checks, finds_the_worst_window);
	tcase_add_test(checks, a_moving_share_is_no_excess);
	tcase_add_test(checks, what_happens_between_samples_is_no_excess);
	tcase_add_test(checks, the_table_shows_what_was_seen);
	tcase_add_test(checks, the_report_says_what_was_seen);
	tcase_add_test(checks, a_run_without_samples_holds_nothing);
	tcase_add_test(checks, what_is_not_judged_is_listed_as_such);
	tcase_add_test(checks, the_time_to_an_accuracy_is_between_two_evaluations);
	suite_add_tcase(suite, checks);
	return suite;
}
