/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/times.h"
#include "tests/test.h"
#include "tests/unit/whole_run.h"

#include <math.h>
#include <stdlib.h>

/* What holds of any run: of every method, wherever it is interrupted, however large. */

static struct iso_method_config method_of(uint32_t number, struct iso_rng *rng)
{
	return (struct iso_method_config){
		.kind = (enum iso_method_kind)(1 + number % ISO_METHOD_KINDS),
		.batch = 1 + (uint32_t)iso_rng_below(rng, 30),
		.delay_max = 1 + iso_rng_below(rng, 12),
		.step = 0.01,
	};
}

/* A random cluster, a random method, workers that come, go, hurry and idle. */
static void any_run(uint32_t number, uint64_t seed, struct iso_training_totals *ret_totals,
		    double *ret_busy_most_s)
{
	static uint32_t params = 2;
	struct iso_rng rng = { seed };
	struct run run = { .config = { .workers =
					   1 + (uint32_t)iso_rng_below(&rng, RUN_WORKERS_MAX),
				       .seed = seed,
				       .observe_wall = iso_rng_below(&rng, 2) != 0 } };
	uint32_t n = run.config.workers;
	struct iso_speed_change changes[6];
	struct iso_method_config method = method_of(number, &rng);
	struct iso_method_traits traits = iso_method_traits(method.kind);
	struct iso_times_rule rule = { .growth = ISO_TIMES_POWER,
				       .scale = 2,
				       .power = iso_rng_unit(&rng),
				       .kind = (enum iso_law_kind)(1 + iso_rng_below(&rng, 6)),
				       .shift = iso_rng_unit(&rng) };
	double at_s = 0;

	for (unsigned i = 0; i < 6; i++) {
		at_s += 20 * iso_rng_unit(&rng);
		changes[i] = (struct iso_speed_change){
			.kind = (enum iso_speed_change_kind)(1 + iso_rng_below(&rng, 4)),
			.at_s = at_s,
			.first = 0,
			.last = (uint32_t)iso_rng_below(&rng, n),
			.value = 0.1 + 2 * iso_rng_unit(&rng),
		};
	}
	ck_assert_ok(iso_times_fill(&rule, n, NULL, run.laws));
	if (iso_rng_below(&rng, 2) != 0)
		run.config.problem = (struct iso_problem){ params, &params, run_identity };
	run_speeds(&run, &(struct iso_speeds_config){ .workers = n,
						      .share = 1,
						      .changes = changes,
						      .change_count = 6,
						      .every_s = 3,
						      .share_least = 0.25,
						      .share_most = 4,
						      .seed = seed });
	method.capped = traits.can_cap && iso_rng_below(&rng, 2) != 0;
	if (traits.wants_allocation || method.capped)
		run_strategy(&run,
			     iso_rng_below(&rng, 2) != 0 ? ISO_STRATEGY_ATA_EMPIRICAL
							 : ISO_STRATEGY_UTA,
			     method.batch);
	run.means = run_room(n * sizeof(*run.means));
	for (uint32_t w = 0; w < n; w++)
		run.means[w] = iso_law_mean(&run.laws[w]);
	run.config.means_s = run.strategy != NULL ? run.means : NULL;
	run_start(&run, method, run.config.problem.params > 0 ? (const float[]){ 1, 1 } : NULL);
	const struct iso_training_until until = { 300, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	enum iso_training_stop stop = iso_training_run(run.training, &until);
	ck_assert(stop == ISO_TRAINING_TIME || stop == ISO_TRAINING_STUCK);
	iso_training_totals(run.training, ret_totals);
	*ret_busy_most_s = n * ret_totals->time_s;
	run_finish(&run);
}

/* What is begun comes to exactly one end; nobody computes more than all the time. */
START_TEST(computations_and_their_time_add_up_for_every_method)
{
	for (int i = 0; i < test_runs(1100); i++) {
		uint64_t seed = test_seed_base() + (uint64_t)i;
		struct iso_training_totals totals, again;
		double busy_most_s;

		any_run((uint32_t)i, seed, &totals, &busy_most_s);
		ck_assert_uint_eq(totals.started,
				  totals.computed + totals.stopped + totals.lost + totals.running);
		ck_assert_uint_eq(totals.computed, totals.used + totals.buffered + totals.ignored);
		ck_assert_double_le(totals.worker_s, busy_most_s * (1 + 1e-9));
		ck_assert_double_ge(totals.worker_s, totals.discarded_s * (1 - 1e-9));
		ck_assert_double_le(totals.cpu_s, 4 * totals.worker_s * (1 + 1e-9));
		ck_assert(isnan(totals.regret_s) || totals.regret_s >= -1e-9 * totals.time_s);
		any_run((uint32_t)i, seed, &again, &busy_most_s);
		ck_assert_mem_eq(&again, &totals, sizeof(totals));
	}
}
END_TEST

START_TEST(a_run_may_be_interrupted_anywhere)
{
	struct iso_training_totals whole, pieces;
	struct run run[2];

	for (int k = 0; k < 2; k++) {
		run[k] = run_with_constants(3, (const double[]){ 1, 1.25, 3 });
		run_start(&run[k],
			  (struct iso_method_config){ .kind = ISO_METHOD_RINGMASTER_STOPS,
						      .delay_max = 3 },
			  NULL);
	}
	whole = run_at_time(&run[0], 50);
	for (uint64_t events = 1;; events++) {
		const struct iso_training_until until = { 50, UINT64_MAX, UINT64_MAX, events };

		if (iso_training_run(run[1].training, &until) == ISO_TRAINING_TIME)
			break;
		iso_training_totals(run[1].training, &pieces);
		ck_assert_uint_eq(pieces.events, events);
	}
	iso_training_totals(run[1].training, &pieces);
	ck_assert_uint_eq(pieces.digest, whole.digest);
	ck_assert_mem_eq(&pieces, &whole, sizeof(whole));
	ck_assert_uint_gt(whole.stopped, 0);
	run_finish(&run[0]);
	run_finish(&run[1]);
}
END_TEST

START_TEST(a_million_workers_are_no_trouble)
{
	const uint32_t n = 1000000;
	struct iso_law *laws = run_room(n * sizeof(*laws));
	struct iso_times_rule rule = {
		.growth = ISO_TIMES_POWER, .scale = 1, .power = 0.5, .kind = ISO_LAW_EXPONENTIAL
	};
	struct run run = { .config = { .workers = n } };
	struct iso_method_config method = {
		.kind = ISO_METHOD_RENNALA, .workers = n, .depth_max = 1, .batch = 1000
	};
	size_t bytes = iso_method_size(&method);
	struct iso_training_totals totals;

	ck_assert_ok(iso_times_fill(&rule, n, NULL, laws));
	ck_assert_ok(iso_method_init(run_room(bytes), bytes, &method, &run.method));
	run.config.laws = laws;
	run.config.method = run.method;
	run.config.kind = method.kind;
	bytes = iso_training_size(&run.config);
	ck_assert_ok(iso_training_init(run_room(bytes), bytes, &run.config, &run.training));
	totals = run_after_rounds(&run, 3);
	ck_assert_uint_eq(totals.computed, 3000);
	ck_assert_double_eq_tol(totals.worker_s, n * totals.time_s, 1e-9 * totals.worker_s);
	run_finish(&run);
	free(laws);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("training_any");
	TCase *tcase = tcase_create("any");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, computations_and_their_time_add_up_for_every_method);
	tcase_add_test(tcase, a_run_may_be_interrupted_anywhere);
	tcase_add_test(tcase, a_million_workers_are_no_trouble);
	suite_add_tcase(suite, tcase);
	return suite;
}
