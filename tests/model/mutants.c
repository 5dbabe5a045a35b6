/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Each rule is left out once, and the explorer must find what goes wrong; the
 * same search with the rule kept must find nothing.
 *
 * The explorer's clocks stand: it knows what was just now and what was long ago.
 * Two rules that are matters of time are left out in lease.pml instead
 * (spin.sh): a promise no longer than the lease, and echoes of an earlier
 * incarnation.
 */
#include <stdio.h>
#include <string.h>

#include "tests/model/search.h"
#include "tests/test.h"

#define STATES_MAX 4000000u

struct mutant {
	enum model_mutant rule;
	const char *name;
	const char *wrong; /* what is found first, by its beginning */
	const char *sum;   /* when only I1 and delivery are asserted; NULL: not to be seen */
	uint8_t debits, crashes, losses, stuck, failures;
	uint8_t ceiling; /* 0: 4 */
	uint8_t script;	 /* enum model_script */
};

static const struct mutant mutants[] = {
	{ MODEL_SEND_EARLY, "send before fsync", "I3", "I1", 2, 1, 0, 0, 0, 0, 0 },
	{ MODEL_SEND_UNLOWERED, "send before lowering", "I2", "I1", 1, 0, 0, 0, 0, 0, 0 },
	{ MODEL_LOWER_LATE, "lower after the record", "I2", NULL, 1, 0, 0, 0, 0, 0, 0 },
	{ MODEL_RAISE_EARLY, "raise before fsync", "I2", NULL, 1, 0, 0, 0, 0, 0, 0 },
	{ MODEL_IGNORE_STUCK, "ignore a stuck quota", "I2", "I1", 1, 0, 0, 1, 0, 0, 0 },
	{ MODEL_NO_RESYNC, "restart without fsync", "a journal", "L1", 1, 2, 0, 0, 0, 0, 0 },
	{ MODEL_SYNC_AGAIN, "fsync again after an error", "I3", "I1", 1, 1, 0, 0, 1, 0, 0 },
	{ MODEL_FULL_GOES_ON, "go on when the disk is full", "I", "L1", 2, 1, 0, 0, 0, 0, 0 },
	{ MODEL_UNDO_CREDITS, "a full disk keeps credits", "I", NULL, 1, 0, 0, 0, 0, 0, 0 },
	{ MODEL_UNDO_NUMBER, "a full disk keeps the op id", "I", "I1", 0, 0, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS },
	{ MODEL_AMOUNTS, "amounts instead of totals", "I3", "I1", 2, 0, 0, 0, 0, 0, 0 },
	{ MODEL_NO_RETRANSMISSION, "no retransmission", "L1", "L1", 1, 0, 1, 0, 0, 0, 0 },
	{ MODEL_TRUST_CACHE, "restart trusts the page cache", "I3", "I1", 1, 2, 0, 0, 0, 0, 0 },
	{ MODEL_CREDIT_LAST, "credit the last S, not the largest", "L1", NULL, 3, 0, 0, 0, 0, 0,
	  0 },
	{ MODEL_UNMARKED_DEBIT, "a debit makes no record", "I3", "I1", 2, 1, 0, 0, 0, 0, 0 },
	{ MODEL_NEVER_LOWER, "a plan never lowers", "I2", "I1", 1, 0, 0, 0, 0, 0, 0 },
	{ MODEL_ANY_READBACK, "the quota is not read back", "I2", "I1", 1, 0, 0, 1, 0, 0, 0 },
	{ MODEL_ABORT_KEEPS, "abort keeps the debits", "I", "I1", 1, 0, 0, 1, 0, 0, 0 },
	{ MODEL_NO_FLOOR, "a donor gives its floor", "I5", NULL, 1, 0, 0, 0, 0, 0, 0 },
	{ MODEL_NO_CEILING, "the surplus is enforced", "I2", NULL, 1, 0, 0, 0, 0, 2, 0 },
	{ MODEL_OLDER_SLOT, "recover the older slot", "I3", "I1", 2, 1, 0, 0, 0, 0, 0 },
	{ MODEL_PASS_OVER, "pass over any damaged slot", "I3", "I1", 1, 2, 0, 0, 1, 0, 0 },
	{ MODEL_NO_PASS_OVER, "stop at a torn slot", "a journal", "L1", 1, 1, 0, 0, 0, 0, 0 },
	{ MODEL_LIMIT_FILLS, "credit up to the limit", "I3", "I1", 1, 0, 0, 0, 0, 0, 0 },
	{ MODEL_NO_GENERATION, "no generation in messages", "I", "I1", 1, 0, 0, 0, 0, 0,
	  MODEL_DECLARES_REJOINS },
	{ MODEL_EARLY_EAR, "hear before the first record", "an assertion", NULL, 1, 1, 0, 0, 0, 0,
	  0 },
	{ MODEL_ANSWER_EARLY, "answer before fsync", "I", "I1", 0, 1, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS },
	{ MODEL_ANSWER_EARLY, "certificate before fsync", "I", "L1", 2, 1, 0, 0, 0, 0,
	  MODEL_DECLARES_DEAD },
	{ MODEL_OPID_SEPARATE, "op id outside the record", "I4", "I1", 0, 1, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS },
	{ MODEL_OP_AGAIN, "apply whatever the number", "I", "I1", 0, 0, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS },
	{ MODEL_VOID_FORGETS, "VOID takes no number", "I", "I1", 0, 0, 0, 0, 0, 0, MODEL_GIVES_UP },
	{ MODEL_BURN_ALL, "burn below the floor", "I5", NULL, 0, 0, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS_ONE },
	{ MODEL_BURN_LATE, "burn before lowering", "I2", NULL, 0, 1, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS },
	{ MODEL_BURN_KEPT, "abort keeps the burn", "I", NULL, 0, 0, 0, 1, 0, 0, MODEL_MINTS_BURNS },
	{ MODEL_DEBIT_CLOSED, "debit after close", "I", "I1", 1, 0, 0, 0, 0, 0,
	  MODEL_DECLARES_DEAD },
	{ MODEL_CREDIT_CLOSED, "credit after close", "I", "I1", 1, 0, 0, 0, 0, 0,
	  MODEL_DECLARES_DEAD },
	{ MODEL_FOLD_KEEPS, "fold keeps S and R", "an assertion", NULL, 1, 0, 0, 0, 0, 0,
	  MODEL_DECLARES_DEAD },
	{ MODEL_FOLD_FORGETS, "fold forgets", "an assertion", NULL, 1, 0, 0, 0, 0, 0,
	  MODEL_DECLARES_DEAD },
	{ MODEL_NO_TOMBSTONE, "no tombstone", "I", "L2", 1, 1, 0, 0, 0, 0, MODEL_DECLARES_DEAD },
	{ MODEL_CLOSE_EARLY, "close before expiry", "I", "I1", 0, 0, 0, 0, 0, 0, MODEL_BURIES },
	{ MODEL_GRANTER_FORGETS, "granter forgets in a restart", "I", "I1", 0, 2, 0, 0, 0, 0,
	  MODEL_BURIES },
	{ MODEL_WAIT_FROM_HEARD, "wait from what was heard last", "I", "I1", 0, 0, 0, 0, 0, 0,
	  MODEL_LEAVES_BURIES },
	{ MODEL_LEASE_FROM_RECEIPT, "lease counted from receipt", "I", "I1", 0, 0, 0, 0, 0, 0,
	  MODEL_BURIES },
	{ MODEL_ANSWER_CLOSED, "granter answers after closing", "I", "I1", 0, 0, 0, 0, 0, 0,
	  MODEL_BURIES },
	{ MODEL_GUARD_RAISES, "guard raises after the deadline", "I", NULL, 1, 0, 0, 1, 0, 0,
	  MODEL_BURIES },
	{ MODEL_LEAVE_UNFROZEN, "leave without freeze promise", "I", "L", 1, 0, 0, 0, 0, 0,
	  MODEL_LEAVES },
	{ MODEL_LEAVE_UNHEARD, "leave before all arrived", "I", "L", 1, 0, 1, 0, 0, 0,
	  MODEL_LEAVES },
	{ MODEL_PROMISE_LATE, "B up after the mint", "I", "I1", 0, 0, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS },
	{ MODEL_PROMISE_EARLY, "B down before the burn", "I", "I1", 0, 0, 0, 0, 0, 0,
	  MODEL_MINTS_BURNS },
	{ MODEL_ADMIT_SAME_GENERATION, "admit under the old generation", "I", "I1", 1, 0, 0, 0, 0,
	  0, MODEL_DECLARES_REJOINS },
	{ MODEL_GRANT_PARTIAL, "estate without certificates", "I4", "I1", 1, 0, 0, 0, 0, 0,
	  MODEL_DECLARES_DEAD },
};
#define MUTANTS (sizeof(mutants) / sizeof(mutants[0]))

static struct model_setup setup_of(const struct mutant *mutant)
{
	return (struct model_setup){
		.name = mutant->name,
		.debits = mutant->debits,
		.crashes = mutant->crashes,
		.losses = mutant->losses,
		.stuck = mutant->stuck,
		.failures = mutant->failures,
		.full = mutant->rule == MODEL_FULL_GOES_ON || mutant->rule == MODEL_UNDO_CREDITS ||
			mutant->rule == MODEL_UNDO_NUMBER,
		.script = mutant->script,
		.late = mutant->script != MODEL_BURIES || mutant->rule == MODEL_LEASE_FROM_RECEIPT,
		.debit_max = 2,
		.share = 2,
		.floor = 1,
		.ceiling = mutant->ceiling != 0 ? mutant->ceiling : 4,
		/* A new machine's group is empty and has no quota to speak of. */
		.dark = mutant->script != MODEL_DECLARES_REJOINS &&
			mutant->script != MODEL_LEAVES && mutant->script != MODEL_LEAVES_BURIES,
		.delays = mutant->rule == MODEL_WAIT_FROM_HEARD,
		.torn = true,
		/* More than is given, or there is nothing to fill. */
		.limit = mutant->rule == MODEL_LIMIT_FILLS ? 2 : 0,
		.mutant = mutant->rule,
	};
}

static void must_find(const struct model_setup *setup, const char *wrong)
{
	struct model_result result;

	model_search(setup, STATES_MAX, &result);
	model_print_result(stdout, setup, &result);
	if (result.wrong != NULL)
		printf("#    %s\n", result.wrong);
	fflush(stdout);
	ck_assert_msg(result.wrong != NULL, "%s: not noticed in %u states", setup->name,
		      result.states);
	ck_assert_msg(strncmp(result.wrong, wrong, strlen(wrong)) == 0,
		      "%s: expected %s, found %s\n%s", setup->name, wrong, result.wrong,
		      result.trace != NULL ? result.trace : "");
	model_result_done(&result);
}

START_TEST(every_rule_is_needed)
{
	const struct mutant *mutant = &mutants[_i];
	struct model_setup setup = setup_of(mutant);

	must_find(&setup, mutant->wrong);
}
END_TEST

START_TEST(and_its_loss_shows_in_the_sum)
{
	const struct mutant *mutant = &mutants[_i];
	struct model_setup setup = setup_of(mutant);

	setup.only_sum = true;
	if (mutant->sum != NULL)
		must_find(&setup, mutant->sum);
}
END_TEST

/* The copies of lib/ that the mutants are made of, with every rule kept. */
START_TEST(nothing_is_wrong_with_the_rules_kept)
{
	struct model_setup setup = setup_of(&mutants[_i]);
	struct model_result result;

	/* The largest state spaces are explored once, in explore.c. */
	if (setup.crashes + setup.failures > 2)
		setup.crashes = 1;
	if (setup.script == MODEL_BURIES)
		setup.crashes = setup.debits = 0;
	setup.delays = 0;
	setup.mutant = MODEL_FAITHFUL;
	model_search(&setup, STATES_MAX, &result);
	ck_assert_msg(result.wrong == NULL, "%s: %s\n%s", setup.name, result.wrong,
		      result.trace != NULL ? result.trace : "");
	ck_assert(result.complete);
	model_result_done(&result);
}
END_TEST

START_TEST(no_rule_is_forgotten)
{
	bool listed[MODEL_MUTANTS] = { [MODEL_FAITHFUL] = true };

	for (size_t k = 0; k < MUTANTS; k++)
		listed[mutants[k].rule] = true;
	for (int rule = 0; rule < MODEL_MUTANTS; rule++)
		ck_assert_msg(listed[rule], "mutant %d is in no test", rule);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("model-mutants");
	TCase *tcase = tcase_create("rules");

	tcase_set_timeout(tcase, 0);
	tcase_add_loop_test(tcase, every_rule_is_needed, 0, MUTANTS);
	tcase_add_loop_test(tcase, and_its_loss_shows_in_the_sum, 0, MUTANTS);
	tcase_add_loop_test(tcase, nothing_is_wrong_with_the_rules_kept, 0, MUTANTS);
	tcase_add_test(tcase, no_rule_is_forgotten);
	suite_add_tcase(suite, tcase);
	return suite;
}
