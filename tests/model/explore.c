/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* Every state of three nodes under few faults: the real lib/ledger keeps I1-I5 in each. */
#include <stdio.h>

#include "tests/model/search.h"
#include "tests/test.h"

#define CLUSTER .share = 2, .floor = 1, .ceiling = 4, .dark = 1, .debit_max = 2, .torn = true

/* Memory ends the search of a state space that has grown by a mistake. */
#define STATES_MAX 6000000u

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

START_TEST(keeps_to_the_limits_of_its_edges)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T3 C1, limit 1", .debits = 3,
					.crashes = 1, .limit = 1 },
		  100000);
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

START_TEST(undoes_what_a_full_disk_did_not_take)
{
	struct model_setup setup = { CLUSTER, .name = "T1 C1 L1, full disk twice", .debits = 1,
				     .crashes = 1, .losses = 1, .full = 2 };

	must_hold(setup, 10000);
	/* Had it taken all and only said otherwise, the sum would still be right. */
	setup.name = "T1 C1, full disk twice, sum";
	setup.losses = 0;
	setup.only_sum = true;
	must_hold(setup, 10000);
}
END_TEST

START_TEST(halts_for_no_message_that_can_arrive)
{
	must_hold((struct model_setup){ CLUSTER, .name = "T1, nothing folded", .debits = 1,
					.exact = true },
		  800000);
}
END_TEST

/*
 * The administrator's procedures.  Answers may be lost, and every request it has
 * ever made may come late, and again.
 */
#define ADMIN CLUSTER, .late = 1
/* Where a node has no share at all, its group is empty and a cut leaves it no quota. */
#define ADMIN_EMPTY .share = 2, .floor = 1, .ceiling = 4, .debit_max = 1, .torn = true
/* Of requests that come late, and transfers of more than one unit, the other setups see enough. */
#define ADMIN_LEASE .share = 2, .floor = 1, .ceiling = 4, .dark = 1, .debit_max = 1, .torn = true

static const struct {
	struct model_setup setup;
	uint32_t states_min;
} procedures[] = {
	{ { ADMIN, .name = "mint and burn, T1 C1", .script = MODEL_MINTS_BURNS, .debits = 1,
	    .crashes = 1 },
	  50000 },
	{ { ADMIN, .name = "mint and burn, C2 L1, 1 stuck quota", .script = MODEL_MINTS_BURNS,
	    .crashes = 2, .losses = 1, .stuck = 1 },
	  80000 },
	{ { ADMIN, .name = "mint and burn at one node, T1 C1", .script = MODEL_MINTS_BURNS_ONE,
	    .debits = 1, .crashes = 1 },
	  15000 },
	{ { ADMIN, .name = "budget told to all, T1 C1", .script = MODEL_TELLS_BUDGET, .debits = 1,
	    .crashes = 1 },
	  190000 },
	{ { ADMIN, .name = "given up and voided, T1", .script = MODEL_GIVES_UP, .debits = 1 },
	  25000 },
	{ { ADMIN, .name = "given up and voided, C1", .script = MODEL_GIVES_UP, .crashes = 1 },
	  20000 },
	{ { ADMIN, .name = "drain and undo, T1 C1", .script = MODEL_DRAINS, .debits = 1,
	    .crashes = 1 },
	  35000 },
	{ { ADMIN_EMPTY, .name = "leave, T1 C1", .script = MODEL_LEAVES, .debits = 1, .crashes = 1,
	    .late = 1 },
	  850000 },
	{ { ADMIN_EMPTY, .name = "leave, C1 L1", .script = MODEL_LEAVES, .crashes = 1, .losses = 1,
	    .late = 1 },
	  100000 },
	{ { ADMIN_EMPTY, .name = "leave and rejoin, T1", .script = MODEL_LEAVES_REJOINS,
	    .debits = 1 },
	  1000000 },
	{ { ADMIN_LEASE, .name = "burial by leases, T1", .script = MODEL_BURIES, .debits = 1 },
	  190000 },
	{ { ADMIN_LEASE, .name = "burial by leases, C1", .script = MODEL_BURIES, .crashes = 1 },
	  140000 },
	{ { ADMIN_LEASE, .name = "burial by leases, 1 delay, late", .script = MODEL_BURIES,
	    .delays = 1, .late = 1 },
	  10000 },
	{ { ADMIN_LEASE, .name = "burial and rejoin, 1 delay", .script = MODEL_BURIES_REJOINS,
	    .delays = 1 },
	  600000 },
	{ { ADMIN_EMPTY, .name = "one leaves, the other is buried", .script = MODEL_LEAVES_BURIES },
	  280000 },
	{ { ADMIN, .name = "mint and burn, C1, full disk", .script = MODEL_MINTS_BURNS,
	    .crashes = 1, .full = 1 },
	  6000 },
	{ { ADMIN, .name = "declared burial, T1, full disk", .script = MODEL_DECLARES_DEAD,
	    .debits = 1, .full = 1 },
	  10000 },
	{ { ADMIN_EMPTY, .name = "leave, full disk twice", .script = MODEL_LEAVES, .full = 2,
	    .late = 1 },
	  3000 },
	{ { ADMIN_LEASE, .name = "burial by leases, full disk", .script = MODEL_BURIES, .full = 1 },
	  60000 },
	{ { ADMIN, .name = "declared burial, T1 C1", .script = MODEL_DECLARES_DEAD, .debits = 1,
	    .crashes = 1 },
	  45000 },
	{ { ADMIN_EMPTY, .name = "declared, a new machine, T1", .script = MODEL_DECLARES_REJOINS,
	    .debits = 1, .late = 1 },
	  30000 },
	{ { ADMIN, .name = "two declared one by one, T1 C1", .script = MODEL_DECLARES_TWO,
	    .debits = 1, .crashes = 1 },
	  80000 },
	{ { ADMIN, .name = "two declared together, T2 C1", .script = MODEL_DECLARES_BOTH,
	    .debits = 2, .crashes = 1 },
	  130000 },
};
#define PROCEDURES (sizeof(procedures) / sizeof(procedures[0]))

START_TEST(conserves_while_the_administrator_works)
{
	must_hold(procedures[_i].setup, procedures[_i].states_min);
}
END_TEST

START_TEST(explores_every_procedure)
{
	bool explored[MODEL_SCRIPTS] = { [MODEL_NO_SCRIPT] = true };

	for (size_t k = 0; k < PROCEDURES; k++)
		explored[procedures[k].setup.script] = true;
	for (int script = 0; script < MODEL_SCRIPTS; script++)
		ck_assert_msg(explored[script], "procedure %d is in no test", script);
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
	tcase_add_test(tcase, keeps_to_the_limits_of_its_edges);
	tcase_add_test(tcase, gives_nothing_when_the_quota_is_stuck);
	tcase_add_test(tcase, survives_a_failed_fdatasync);
	tcase_add_test(tcase, undoes_what_a_full_disk_did_not_take);
	tcase_add_test(tcase, halts_for_no_message_that_can_arrive);
	tcase_add_loop_test(tcase, conserves_while_the_administrator_works, 0, PROCEDURES);
	tcase_add_test(tcase, explores_every_procedure);
	suite_add_tcase(suite, tcase);
	return suite;
}
