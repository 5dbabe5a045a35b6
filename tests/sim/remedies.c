/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/remedy.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Each practice option cures its symptom: without it the symptom is above the
 * first bound, with it below the second, whatever the luck.
 */
static void check(remedy_fn *remedy, double sick, double well)
{
	for (int run = 0; run < test_runs(5); run++) {
		uint64_t seed = test_seed_base() + (uint64_t)run;
		double without = remedy(false, seed, NULL), with = remedy(true, seed, NULL);

		if (getenv("ISO_SHOW") != NULL)
			printf(
			    "# seed %llu: %.3f (above %.3f), with the remedy %.3f (below %.3f)\n",
			    (unsigned long long)seed, without, sick, with, well);
		ck_assert_double_gt(without, sick);
		ck_assert_double_lt(with, well);
	}
}

#define REMEDY(test, remedy, sick, well)                                                           \
	START_TEST(test)                                                                           \
	{                                                                                          \
		check(remedy, sick, well);                                                         \
	}                                                                                          \
	END_TEST

REMEDY(clusters_cure_slow_convergence_of_many_workers, remedy_many_workers, 3, 1.1)
REMEDY(a_profile_cures_slow_convergence_too, remedy_warm_start, 3, 1.05)
REMEDY(drift_detection_cures_a_sudden_slow_down, remedy_slow_down, 4, 1.5)
REMEDY(drift_detection_and_probes_notice_who_became_fast, remedy_speed_up, 1.5, 1.05)
REMEDY(discounting_follows_speeds_that_wander, remedy_wandering, 2.5, 1.4)
REMEDY(smoothing_cures_oscillation, remedy_oscillation, 20, 0.5)
REMEDY(allocating_every_50_rounds_cures_chatter, remedy_chatty, 0.3, 0.1)
REMEDY(costs_cure_uneven_tasks, remedy_uneven, 1.02, 1.01)
REMEDY(forced_exploration_cures_an_unlucky_first_time, remedy_unlucky, 1.5, 1.1)
REMEDY(calibration_cures_an_alpha_nobody_knew, remedy_alpha, 1.9, 1.8)
REMEDY(asynchronous_statistics_know_who_is_always_late, remedy_late, 10, 0.1)

Suite *test_suite(void)
{
	Suite *suite = suite_create("remedies");
	TCase *tcase = tcase_create("symptoms");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, clusters_cure_slow_convergence_of_many_workers);
	tcase_add_test(tcase, a_profile_cures_slow_convergence_too);
	tcase_add_test(tcase, drift_detection_cures_a_sudden_slow_down);
	tcase_add_test(tcase, drift_detection_and_probes_notice_who_became_fast);
	tcase_add_test(tcase, discounting_follows_speeds_that_wander);
	tcase_add_test(tcase, smoothing_cures_oscillation);
	tcase_add_test(tcase, allocating_every_50_rounds_cures_chatter);
	tcase_add_test(tcase, costs_cure_uneven_tasks);
	tcase_add_test(tcase, forced_exploration_cures_an_unlucky_first_time);
	tcase_add_test(tcase, calibration_cures_an_alpha_nobody_knew);
	tcase_add_test(tcase, asynchronous_statistics_know_who_is_always_late);
	suite_add_tcase(suite, tcase);
	return suite;
}
