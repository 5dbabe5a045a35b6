/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/theory.h"
#include "tests/test.h"

#include <math.h>
#include <signal.h>
#include <string.h>

/* L = 2, sigma^2 = 0.5, eps = 0.2, Delta = 3: sigma^2/eps = 2.5, L Delta/eps = 30. */
static const struct iso_theory_problem problem = { 2, 0.5, 0.2, 3 };

static struct iso_theory_choice choose_given(enum iso_method_kind kind, uint32_t batch,
					     uint64_t delay_max)
{
	struct iso_theory_setting setting = {
		.kind = kind,
		.workers = 5,
		.delay_max = delay_max,
		.batch = batch,
		.harmonic_batch = 1.5,
	};
	struct iso_theory_choice choice;

	ck_assert_ok(iso_theory_choose(&problem, &setting, &choice));
	return choice;
}

static struct iso_theory_choice choose(enum iso_method_kind kind)
{
	bool has_batch = kind == ISO_METHOD_MINIBATCH || kind == ISO_METHOD_SGD_ATA;

	return choose_given(kind, has_batch ? 10 : 0, 0);
}

#define EQUAL(a, b) ck_assert_double_eq_tol((a), (b), 1e-12)

START_TEST(ringmaster_is_as_in_its_theorem)
{
	/* R = 3; 1/(2*3*2) = 0.08333 against 0.2/(4*2*0.5) = 0.05; 8*3*30 + 16*0.5*30/0.2. */
	struct iso_theory_choice choice = choose(ISO_METHOD_RINGMASTER);

	ck_assert_uint_eq(choice.delay_max, 3);
	EQUAL(choice.step, 0.05);
	EQUAL(choice.updates, 1920);
	ck_assert_uint_eq(choose(ISO_METHOD_RINGMASTER_STOPS).delay_max, 3);
	EQUAL(choose(ISO_METHOD_RINGMASTER_STOPS).step, 0.05);
}
END_TEST

START_TEST(rounds_are_as_in_their_theorems)
{
	/* rennala: S = 3, min{0.5, 0.2*3/(2*2*0.5)} = 0.3; malenia: S = n = 5, 0.5; 24*30. */
	struct iso_theory_choice choice = choose(ISO_METHOD_RENNALA);

	ck_assert_uint_eq(choice.batch, 3);
	EQUAL(choice.step, 0.3);
	EQUAL(choice.updates, 720);
	choice = choose(ISO_METHOD_MALENIA);
	ck_assert_uint_eq(choice.batch, 5);
	EQUAL(choice.step, 0.5);
	EQUAL(choice.updates, 720);
	/* minibatch: 10 gradients, the noise allows 1, L allows 0.5; 4*3/(0.5*0.2). */
	choice = choose(ISO_METHOD_MINIBATCH);
	ck_assert_uint_eq(choice.batch, 10);
	EQUAL(choice.step, 0.5);
	EQUAL(choice.updates, 120);
	/* sgd-ata: at least one gradient of each of 5 workers; 0.2*5/2 = 0.5. */
	choice = choose(ISO_METHOD_SGD_ATA);
	EQUAL(choice.step, 0.5);
	ck_assert_uint_eq(choice.batch, 10);
}
END_TEST

/* Where R or S is set by hand the steps are those that go with it. */
START_TEST(steps_fit_what_is_given)
{
	/* R = 10: 1/(2*10*2) against 0.05; 8*10*30 + 2400 * 0.5. */
	struct iso_theory_choice choice = choose_given(ISO_METHOD_RINGMASTER, 0, 10);

	ck_assert_uint_eq(choice.delay_max, 10);
	EQUAL(choice.step, 0.025);
	EQUAL(choice.updates, 2400 + 1200);
	/* S = 1: 0.2/2; 4*3/(0.1*0.2). */
	choice = choose_given(ISO_METHOD_RENNALA, 1, 0);
	ck_assert_uint_eq(choice.batch, 1);
	EQUAL(choice.step, 0.1);
	EQUAL(choice.updates, 600);
	/* malenia waits for all 5: 0.2*5/2; with S = 2 as with 5. */
	choice = choose_given(ISO_METHOD_MALENIA, 2, 0);
	ck_assert_uint_eq(choice.batch, 2);
	EQUAL(choice.step, 0.5);
	EQUAL(choose_given(ISO_METHOD_MALENIA, 100, 0).step, 0.5);
}
END_TEST

START_TEST(ringleader_is_as_in_its_theorem)
{
	/* min{1/(8*5*2), 0.2*1.5/(10*2*0.5)} = min{0.0125, 0.03}; 32*5*30 + 40*30*0.5/(1.5*0.2). */
	struct iso_theory_choice choice = choose(ISO_METHOD_RINGLEADER);

	EQUAL(choice.step, 0.0125);
	EQUAL(choice.updates, 6800);
	ck_assert_uint_eq(choice.delay_max, 0);
	struct iso_theory_problem noisy = problem;
	struct iso_theory_setting setting = { .kind = ISO_METHOD_RINGLEADER, .workers = 5,
					      .harmonic_batch = 1 };
	noisy.variance = 50;
	ck_assert_ok(iso_theory_choose(&noisy, &setting, &choice));
	EQUAL(choice.step, 0.2 / (10 * 2 * 50));
}
END_TEST

START_TEST(without_noise_only_smoothness_counts)
{
	struct iso_theory_problem quiet = problem;
	struct iso_theory_setting setting = { .kind = ISO_METHOD_RINGMASTER, .workers = 5,
					      .batch = 1, .harmonic_batch = 1 };
	struct iso_theory_choice choice;

	quiet.variance = 0;
	ck_assert_ok(iso_theory_choose(&quiet, &setting, &choice));
	ck_assert_uint_eq(choice.delay_max, 1);
	EQUAL(choice.step, 0.25);
	EQUAL(choice.updates, 240);
	setting.kind = ISO_METHOD_RENNALA;
	ck_assert_ok(iso_theory_choose(&quiet, &setting, &choice));
	ck_assert_uint_eq(choice.batch, 1);
	EQUAL(choice.step, 0.5);
}
END_TEST

START_TEST(refuses_what_makes_no_sense)
{
	struct iso_theory_setting setting = { .kind = ISO_METHOD_RENNALA, .workers = 5 };
	struct iso_theory_choice choice, untouched;
	struct iso_theory_problem bad;

	memset(&choice, 0x5a, sizeof(choice));
	untouched = choice;
#define REFUSES(status, change)                                                           \
	do {                                                                              \
		bad = problem;                                                            \
		change;                                                                   \
		ck_assert_int_eq(iso_theory_choose(&bad, &setting, &choice), status);     \
		ck_assert_mem_eq(&choice, &untouched, sizeof(choice));                    \
	} while (0)
	REFUSES(ISO_E_RANGE, bad.smoothness = 0);
	REFUSES(ISO_E_RANGE, bad.smoothness = HUGE_VAL);
	REFUSES(ISO_E_RANGE, bad.variance = -1);
	REFUSES(ISO_E_RANGE, bad.variance = (double)NAN);
	REFUSES(ISO_E_RANGE, bad.variance = 1e300);
	REFUSES(ISO_E_RANGE, bad.target = 0);
	REFUSES(ISO_E_RANGE, bad.target = 1e-300);
	REFUSES(ISO_E_RANGE, bad.gap = -1);
	REFUSES(ISO_E_UNKNOWN, setting.kind = ISO_METHOD_ASGD);
	REFUSES(ISO_E_UNKNOWN, setting.kind = ISO_METHOD_DELAY_ADAPTIVE);
	REFUSES(ISO_E_UNKNOWN, setting.kind = ISO_METHOD_NAIVE_OPTIMAL);
	REFUSES(ISO_E_UNKNOWN, setting.kind = ISO_METHOD_IA2SGD);
	REFUSES(ISO_E_RANGE, setting.kind = ISO_METHOD_MINIBATCH);
	REFUSES(ISO_E_RANGE, setting.kind = ISO_METHOD_RINGLEADER);
	REFUSES(ISO_E_RANGE, setting.workers = 0);
#undef REFUSES
}
END_TEST

START_TEST(times_equal_hand_computed_values)
{
	/* 1/1, 1/2, 1/10: m = 1: 1(1+R); m = 2: (2/1.5)(1+R/2); m = 3: (3/1.6)(1+R/3). */
	static const double tau_s[] = { 1, 2, 10 };

	/* R = 0.. : 1, and R = 4: 5, 4, 4.375; R = 100: 101, 68, 64.375. */
	EQUAL(iso_theory_updates_time_s(tau_s, 3, 4), 8);
	EQUAL(iso_theory_updates_time_s(tau_s, 3, 100), 128.75);
	EQUAL(iso_theory_updates_time_s(tau_s, 1, 4), 10);
	ck_assert_uint_eq(iso_theory_fastest(tau_s, 3, 0, 1), 1);
	ck_assert_uint_eq(iso_theory_fastest(tau_s, 3, 4, 1), 2);
	ck_assert_uint_eq(iso_theory_fastest(tau_s, 3, 100, 1), 3);
	/* sigma^2/eps = 1: 2, 2, 2.5: the smaller m. */
	ck_assert_uint_eq(iso_theory_fastest(tau_s, 3, 1, 1), 1);
	EQUAL(iso_theory_harmonic_batch(tau_s, 3), 10.0 / (2 * 13.0 / 3));
	EQUAL(iso_theory_harmonic_batch(tau_s, 2), 1); /* 2/3 */
	/* 30 times min of (1 + 2.5/m): 3.5, (2/1.5)2.25 = 3, (3/1.6)(1 + 2.5/3) = 3.4375. */
	EQUAL(iso_theory_time_s(&problem, tau_s, 3), 90);
	/* 30 (10 + (13/3) 2.5/3) */
	EQUAL(iso_theory_own_data_time_s(&problem, tau_s, 3), 30 * (10 + 13.0 / 3 * 2.5 / 3));
}
END_TEST

START_TEST(dies_when_times_are_not_in_order)
{
	static const double tau_s[] = { 2, 1 };

	(void)iso_theory_fastest(tau_s, 2, 1, 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("theory");
	TCase *tc = tcase_create("theory");

	tcase_add_test(tc, ringmaster_is_as_in_its_theorem);
	tcase_add_test(tc, rounds_are_as_in_their_theorems);
	tcase_add_test(tc, steps_fit_what_is_given);
	tcase_add_test(tc, ringleader_is_as_in_its_theorem);
	tcase_add_test(tc, without_noise_only_smoothness_counts);
	tcase_add_test(tc, refuses_what_makes_no_sense);
	tcase_add_test(tc, times_equal_hand_computed_values);
	tcase_add_test_raise_signal(tc, dies_when_times_are_not_in_order, SIGABRT);
	suite_add_tcase(suite, tc);
	return suite;
}
