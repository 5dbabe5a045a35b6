/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* Every state of three nodes under few faults: the real lib/ledger keeps I1-I5 in each. */
#include <stdio.h>

#include "tests/model/search.h"
#include "tests/test.h"

#define CLUSTER .share = 2, .floor = 1, .ceiling = 4, .dark = 1, .debit_max = 2, .torn = true

/* Memory ends the search of a state space that has grown by a mistake. */
#define STATES_MAX 4000000u

/* states_min: below it, a way to go wrong is not being explored any more. */
static void must_hold(struct model_setup setup, uint32_t states_min)
{
	struct model_result result;

	model_search(&setup, STATES_MAX, &result);
	model_print_heading(stdout);
	model_print_result(stdout, &setup, &result);
	fflush(stdout);
	ck_assert_msg(result.wrong == NULL, "%s: %s\n%s", setup.name, result.wrong,
		      result.trace != NULL ? result.trace : "");
	ck_assert_msg(result.complete, "%s: more states than expected", setup.name);
	ck_assert_uint_ge(result.states, states_min);
	ck_assert_uint_gt(result.rests, 0);
	model_result_done(&result);
}

START_TEST(conserves_two_transfers_through_a_crash)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T2 C1 L1", .debits = 2, .crashes = 1,
					.losses = 1 },
		  150000);
}
END_TEST

START_TEST(conserves_three_transfers_through_a_crash)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T3 C1", .debits = 3, .crashes = 1 },
		  700000);
}
END_TEST

START_TEST(conserves_a_transfer_through_two_crashes)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T1 C2 L1", .debits = 1, .crashes = 2,
					.losses = 1 },
		  65000);
}
END_TEST

START_TEST(keeps_a_surplus_in_reserve)
{
	struct model_setup setup = { CLUSTER, .name = "T3 L1, ceiling 2", .debits = 3,
				     .losses = 1 };

	setup.ceiling = 2;
	must_hold(setup, 90000);
}
END_TEST

START_TEST(gives_nothing_when_the_quota_is_stuck)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T2 L1, 2 stuck quotas", .debits = 2,
					.losses = 1, .stuck = 2 },
		  5000);
}
END_TEST

START_TEST(survives_a_failed_fdatasync)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T1 C1 L1, 1 failed fdatasync",
					.debits = 1, .crashes = 1, .losses = 1, .failures = 1 },
		  40000);
}
END_TEST

START_TEST(drops_messages_of_an_earlier_life)
{
	must_hold(
	    (struct model_setup){ CLUSTER, .name = "T2, 1 rejoins", .debits = 2, .rejoins = 1 },
	    100000);
}
END_TEST

START_TEST(halts_for_no_message_that_can_arrive)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T1, nothing folded", .debits = 1,
					.exact = true },
		  800000);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("model");
	TCase *tcase = tcase_create("every-state");

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, conserves_two_transfers_through_a_crash);
	tcase_add_test(tcase, conserves_three_transfers_through_a_crash);
	tcase_add_test(tcase, conserves_a_transfer_through_two_crashes);
	tcase_add_test(tcase, keeps_a_surplus_in_reserve);
	tcase_add_test(tcase, gives_nothing_when_the_quota_is_stuck);
	tcase_add_test(tcase, survives_a_failed_fdatasync);
	tcase_add_test(tcase, drops_messages_of_an_earlier_life);
	tcase_add_test(tcase, halts_for_no_message_that_can_arrive);
	suite_add_tcase(suite, tcase);
	return suite;
}
