/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/hostfacts.h"

#include <string.h>
#include <unistd.h>

#include "agent/ctl/preflighthost.h"
#include "agent/ctl/preflightmeter.h"
#include "agent/node/job_facts.h"
#include "tests/fs/tree.h"
#include "tests/test.h"

#define STATE  "/sys/kernel/sched_ext/state"
#define OPS    "/sys/kernel/sched_ext/root/ops"
#define SWITCH "/sys/kernel/sched_ext/switch_all"

static const char *root;

static void setup(void)
{
	root = tree_start();
}

START_TEST(times_are_added_up)
{
	struct hostfacts facts;
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);

	tree_file("/proc/stat", "cpu  1 2 4 8 16 32 64 128 1000 1000\ncpu0 0 0 0 0 0 0 0 0 0 0\n");
	hostfacts_read(root, &facts);
	ck_assert(facts.has_times);
	ck_assert_uint_eq(facts.total_ns, 255 * tick_ns);
	ck_assert_uint_eq(facts.stolen_ns, 128 * tick_ns);
	ck_assert_uint_eq(facts.interrupts_ns, 96 * tick_ns);
	ck_assert_str_eq(facts.sched_ext, "");
}
END_TEST

START_TEST(what_cannot_be_read_is_not_there)
{
	static const char *const texts[] = { "", "cpu 1 2 3\n", "intr 5\n", "cpu a b c d e f g h" };
	struct hostfacts facts;

	hostfacts_read(root, &facts);
	ck_assert(!facts.has_times);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		tree_file("/proc/stat", texts[i]);
		hostfacts_read(root, &facts);
		ck_assert(!facts.has_times);
	}
	/* This host has one. */
	hostfacts_read("", &facts);
	ck_assert(facts.has_times);
	ck_assert_uint_gt(facts.total_ns, 0);
}
END_TEST

START_TEST(a_loaded_scheduler_is_named)
{
	struct hostfacts facts;

	tree_file(STATE, "disabled\n");
	tree_file(OPS, "old\n");
	hostfacts_read(root, &facts);
	ck_assert_str_eq(facts.sched_ext, "");

	tree_file(STATE, "enabled\n");
	tree_file(OPS, "simple\033[2J\n");
	hostfacts_read(root, &facts);
	ck_assert_str_eq(facts.sched_ext, "simple?[2J");
	ck_assert(facts.sched_ext_all);

	tree_file(SWITCH, "0\n");
	tree_file(OPS, "");
	hostfacts_read(root, &facts);
	ck_assert_str_eq(facts.sched_ext, "unknown");
	ck_assert(!facts.sched_ext_all);
	tree_file(SWITCH, "1\n");
	hostfacts_read(root, &facts);
	ck_assert(facts.sched_ext_all);
}
END_TEST

static const char *unbound(const struct job_facts *facts)
{
	static char text[400];

	memset(text, 'x', sizeof(text));
	job_facts_unbound(facts, text, sizeof(text));
	return text;
}

START_TEST(what_no_quota_holds_is_put_in_words)
{
	struct job_facts facts = { .has_tasks = true, .tasks = { .threads = 5 } };

	ck_assert_str_eq(unbound(&facts), "");
	facts.tasks.realtime = 2;
	ck_assert_str_eq(unbound(&facts), "not bound by the quota: 2 real-time threads");
	facts.tasks.is_partial = true;
	facts.realtime_ucpu = 40000;
	ck_assert_str_eq(unbound(&facts), "not bound by the quota: at least 2 real-time threads "
					  "with 0.0400 CPU");
	facts.tasks.realtime = 0;
	ck_assert_str_eq(unbound(&facts), "not bound by the quota: real-time threads with "
					  "0.0400 CPU");

	/* A scheduler that has some tasks only matters where those are. */
	facts.realtime_ucpu = 0;
	strcpy(facts.host.sched_ext, "simple");
	ck_assert_str_eq(unbound(&facts), "");
	facts.tasks.extensible = 1;
	ck_assert_str_eq(unbound(&facts), "not bound by the quota: the sched_ext scheduler "
					  "'simple' may not know of it");
	facts.tasks.extensible = 0;
	facts.host.sched_ext_all = true;
	facts.tasks.realtime = 1;
	facts.is_overused = true;
	ck_assert_str_eq(unbound(&facts),
			 "not bound by the quota: at least 1 real-time threads; "
			 "the sched_ext scheduler 'simple' may not know of it; "
			 "the job uses more than it may, so nothing is given away");
	facts = (struct job_facts){ .is_overused = true };
	ck_assert_str_eq(unbound(&facts), "not bound by the quota: the job uses more than it "
					  "may, so nothing is given away");
}
END_TEST

START_TEST(check_warns_of_a_loaded_scheduler)
{
	struct preflight preflight = { 0 };

	preflighthost_scheduler(&preflight, root);
	ck_assert_int_eq(preflight.rows[0].state, PREFLIGHT_OK);
	tree_file(STATE, "enabled\n");
	tree_file(OPS, "simple\n");
	preflighthost_scheduler(&preflight, root);
	ck_assert_uint_eq(preflight.count, 2);
	ck_assert_int_eq(preflight.rows[1].state, PREFLIGHT_WARNING);
	ck_assert_str_eq(preflight.rows[1].detail, "the sched_ext scheduler 'simple' has all "
						   "ordinary threads: no quota may hold them");
	ck_assert_str_ne(preflight.rows[1].remedy, "");
}
END_TEST

START_TEST(check_says_what_the_meters_of_a_machine_cost)
{
	struct preflight preflight = { 0 };

	preflightmeter_say_cost(&preflight, 3, 5000);
	preflightmeter_say_cost(&preflight, 256, 0);
	preflightmeter_say_cost(&preflight, 2000, 100000);
	ck_assert_int_eq(preflight.rows[0].state, PREFLIGHT_OK);
	ck_assert_str_eq(preflight.rows[0].remedy, "");
	ck_assert_ptr_nonnull(strstr(preflight.rows[0].detail, "3 by eBPF"));
	ck_assert_ptr_nonnull(strstr(preflight.rows[0].detail, "with 5000 switches a second"));
	ck_assert_int_eq(preflight.rows[1].state, PREFLIGHT_WARNING);
	ck_assert_ptr_nonnull(strstr(preflight.rows[1].remedy, "meter = kernel"));
	ck_assert_ptr_null(strstr(preflight.rows[1].detail, "second"));
	ck_assert_ptr_null(strstr(preflight.rows[2].detail, "e+"));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("hostfacts");
	TCase *tcase = tcase_create("tree");

	tcase_add_checked_fixture(tcase, setup, tree_end);
	tcase_add_test(tcase, times_are_added_up);
	tcase_add_test(tcase, what_cannot_be_read_is_not_there);
	tcase_add_test(tcase, a_loaded_scheduler_is_named);
	tcase_add_test(tcase, what_no_quota_holds_is_put_in_words);
	tcase_add_test(tcase, check_warns_of_a_loaded_scheduler);
	tcase_add_test(tcase, check_says_what_the_meters_of_a_machine_cost);
	suite_add_tcase(suite, tcase);
	return suite;
}
