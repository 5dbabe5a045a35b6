/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ata/strategy.h"
#include "lib/sim/queue.h"
#include "lib/sim/speeds.h"
#include "tests/test.h"

#define WORKERS_MAX 40

/* A whole simulated run; all parts are freed with it. */
struct run {
	struct iso_law laws[WORKERS_MAX];
	struct iso_method *method;
	struct iso_strategy *strategy;
	struct iso_speeds *speeds;
	struct iso_training *training;
	struct iso_training_config config;
	double *means;
};

static void *room(size_t bytes)
{
	void *memory = malloc(bytes);

	ck_assert_uint_gt(bytes, 0);
	ck_assert_ptr_nonnull(memory);
	memset(memory, 0xa5, bytes);
	return memory;
}

static void add_strategy(struct run *run, enum iso_strategy_kind kind, uint32_t batch)
{
	struct iso_strategy_config config = { .kind = kind,
					      .workers = run->config.workers,
					      .batch = batch,
					      .width = { 2, 10, 1 },
					      .by_rate = true,
					      .seed = 3 };
	size_t bytes = iso_strategy_size(&config);

	ck_assert_ok(iso_strategy_init(room(bytes), bytes, &config, &run->strategy));
	run->config.strategy = run->strategy;
	run->config.batch = batch;
}

static void add_speeds(struct run *run, const struct iso_speeds_config *config)
{
	size_t bytes = iso_speeds_size(config);

	ck_assert_ok(iso_speeds_init(room(bytes), bytes, config, &run->speeds));
	run->config.speeds = run->speeds;
}

/* Of workers that own one CPU each at first. */
static void add_changes(struct run *run, const struct iso_speed_change *changes, uint32_t count)
{
	add_speeds(run, &(struct iso_speeds_config){ .workers = run->config.workers,
						     .share = 1,
						     .changes = changes,
						     .change_count = count });
}

static void start(struct run *run, struct iso_method_config config, const float *x)
{
	config.workers = run->config.workers;
	config.depth_max = 1;
	config.params = run->config.problem.params;
	size_t bytes = iso_method_size(&config);

	ck_assert_ok(iso_method_init(room(bytes), bytes, &config, &run->method));
	if (x != NULL)
		iso_method_set_point(run->method, x);
	run->config.method = run->method;
	run->config.kind = config.kind;
	run->config.capped = config.capped;
	run->config.laws = run->laws;
	bytes = iso_training_size(&run->config);
	ck_assert_ok(iso_training_init(room(bytes), bytes, &run->config, &run->training));
}

static void finish(struct run *run)
{
	free(run->training);
	free(run->method);
	free(run->strategy);
	free(run->speeds);
	free(run->means);
}

static struct run with_constants(uint32_t n, const double *times)
{
	struct run run = { .config = { .workers = n } };

	for (uint32_t w = 0; w < n; w++)
		run.laws[w] = (struct iso_law){ .kind = ISO_LAW_CONSTANT, .scale = times[w] };
	return run;
}

static struct iso_training_totals run_until(struct run *run, double time_s, uint64_t rounds,
					    enum iso_training_stop stop)
{
	const struct iso_training_until until = { time_s, rounds, UINT64_MAX, UINT64_MAX };
	struct iso_training_totals totals;

	ck_assert_int_eq(iso_training_run(run->training, &until), stop);
	iso_training_totals(run->training, &totals);
	ck_assert_uint_eq(totals.started,
			  totals.computed + totals.stopped + totals.lost + totals.running);
	ck_assert_uint_eq(totals.computed, totals.used + totals.buffered + totals.ignored);
	return totals;
}

static struct iso_training_totals after_rounds(struct run *run, uint64_t rounds)
{
	return run_until(run, HUGE_VAL, rounds, ISO_TRAINING_ROUNDS);
}

static struct iso_training_totals at_time(struct run *run, double time_s)
{
	return run_until(run, time_s, UINT64_MAX, ISO_TRAINING_TIME);
}

/*
 * Workers that need 1, 2 and 4 s, until four gradients are in: the first gives
 * three and the second one, at 1, 2, 2 and 3 s.  Then the second has computed
 * for one and the third for three seconds in vain.
 */
START_TEST(a_greedy_round_costs_n_times_its_time)
{
	struct run run = with_constants(3, (const double[]){ 1, 2, 4 });
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_RENNALA, .batch = 4 }, NULL);
	for (uint64_t round = 1; round <= 5; round++) {
		struct iso_training_totals totals = after_rounds(&run, round);

		ck_assert_double_eq(totals.time_s, 3.0 * (double)round);
		ck_assert_double_eq(totals.worker_s, 9.0 * (double)round);
		ck_assert_double_eq(totals.cpu_s, 9.0 * (double)round);
		ck_assert_double_eq(totals.discarded_s, 4.0 * (double)round);
		ck_assert_uint_eq(totals.started, 6 * round);
		ck_assert_uint_eq(totals.computed, 4 * round);
		ck_assert_uint_eq(totals.stopped, 2 * round);
		ck_assert_uint_eq(totals.updates, round);
	}
	finish(&run);
}
END_TEST

/* Everybody goes on by himself: 12 + 6 + 3 ends until 12 s. */
START_TEST(asynchronous_workers_never_wait)
{
	struct run run = with_constants(3, (const double[]){ 1, 2, 4 });
	struct iso_training_totals totals;

	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = at_time(&run, 12);
	ck_assert_double_eq(totals.time_s, 12);
	ck_assert_uint_eq(totals.computed, 21);
	ck_assert_uint_eq(totals.updates, 21);
	ck_assert_uint_eq(totals.running, 3);
	ck_assert_double_eq(totals.worker_s, 36);
	/* Between two events time passes as well. */
	totals = at_time(&run, 12.5);
	ck_assert_uint_eq(totals.computed, 21);
	ck_assert_double_eq(totals.worker_s, 37.5);
	ck_assert_double_eq(totals.discarded_s, 0);
	finish(&run);
}
END_TEST

/* OFTA for means 1, 2, 4 and 7 tasks: 4, 2 and 1 of them, 4 s, no work in vain. */
START_TEST(an_allocated_round_ends_with_its_last_task)
{
	struct run run = with_constants(3, (const double[]){ 1, 2, 4 });
	struct iso_training_totals totals;

	add_strategy(&run, ISO_STRATEGY_OFTA, 7);
	for (uint32_t w = 0; w < 3; w++)
		iso_strategy_set_mean(run.strategy, w, iso_law_mean(&run.laws[w]));
	run.config.means_s = (const double[]){ 1, 2, 4 };
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 7 }, NULL);
	totals = after_rounds(&run, 3);
	ck_assert_double_eq(totals.time_s, 12);
	ck_assert_double_eq(totals.worker_s, 36);
	ck_assert_uint_eq(totals.started, 21);
	ck_assert_double_eq(totals.regret_s, 0);
	ck_assert_uint_eq(totals.settled_round, 1);
	finish(&run);
}
END_TEST

/* Not 0, which would look as good as can be. */
START_TEST(without_means_there_is_no_regret)
{
	struct run run = with_constants(3, (const double[]){ 1, 2, 4 });

	add_strategy(&run, ISO_STRATEGY_UTA, 6);
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 6 }, NULL);
	ck_assert_double_nan(after_rounds(&run, 5).regret_s);
	finish(&run);
}
END_TEST

/* Two tasks each: max(2, 4, 8) instead of 4 s is a regret of 4 s a round. */
START_TEST(the_regret_is_that_of_the_proxy_loss)
{
	struct run run = with_constants(3, (const double[]){ 1, 2, 4 });
	struct iso_training_totals totals;

	add_strategy(&run, ISO_STRATEGY_UTA, 6);
	run.config.means_s = (const double[]){ 1, 2, 4 };
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 6 }, NULL);
	totals = after_rounds(&run, 5);
	ck_assert_double_eq(totals.time_s, 40);
	ck_assert_double_eq(totals.worker_s, 5 * 14);
	ck_assert_double_eq(totals.regret_s, 5 * (8 - 4));
	finish(&run);
}
END_TEST

/*
 * A task of 10: speed 1/2 from 4 s, share 2 from 10 s.  4 + 3 are done by
 * then, the rest goes at 2 * 1/2, to 13 s; on the CPU 4 + 6 + 3 * 2.
 */
START_TEST(a_running_task_follows_its_speed_exactly)
{
	static const struct iso_speed_change changes[] = {
		{ ISO_SPEED_SPEED, 4, 0, 0, 0.5 },
		{ ISO_SPEED_SHARE, 10, 0, 0, 2 },
		{ ISO_SPEED_SPEED, 14, 0, 0, 0 },
		{ ISO_SPEED_SPEED, 20, 0, 0, 4 },
	};
	struct run run = with_constants(1, (const double[]){ 10 });
	struct iso_training_totals totals;

	add_changes(&run, changes, 4);
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = at_time(&run, 12.5);
	ck_assert_uint_eq(totals.computed, 0);
	ck_assert_double_eq(totals.worker_s, 12.5);
	ck_assert_double_eq(totals.cpu_s, 10 + 2 * 2.5);
	totals = at_time(&run, 13);
	ck_assert_uint_eq(totals.computed, 1);
	ck_assert_double_eq(totals.worker_s, 13);
	ck_assert_double_eq(totals.cpu_s, 16);
	/* The next one: 1 of 10 until 14 s, nothing until 20, the rest at 8 in 9/8 s. */
	totals = at_time(&run, 21);
	ck_assert_uint_eq(totals.computed, 1);
	totals = at_time(&run, 21.125);
	ck_assert_uint_eq(totals.computed, 2);
	ck_assert_double_eq(totals.worker_s, 21.125);
	ck_assert_double_eq(totals.cpu_s, 16 + 2 * 8.125);
	finish(&run);
}
END_TEST

/*
 * Twice the share halves the wall time and leaves the time on the CPU; half the speed
 * doubles both.  What the strategy learns is the one or the other.
 */
START_TEST(a_strategy_learns_the_time_that_is_asked_for)
{
	static const struct iso_speed_change changes[] = { { ISO_SPEED_SHARE, 0, 0, 0, 2 },
							   { ISO_SPEED_SPEED, 0, 0, 0, 0.25 } };

	for (int wall = 0; wall < 2; wall++) {
		struct run run = with_constants(1, (const double[]){ 5 });

		add_changes(&run, changes, 2);
		add_strategy(&run, ISO_STRATEGY_ATA_EMPIRICAL, 3);
		run.config.observe_wall = wall == 1;
		start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH }, NULL);
		(void)run_until(&run, 100, 2, ISO_TRAINING_ROUNDS);
		struct iso_ata_samples samples = iso_strategy_samples(run.strategy, 0);
		ck_assert_double_eq(samples.count, 6);
		ck_assert_double_eq(samples.sum_s, wall == 1 ? 60 : 120);
		finish(&run);
	}
}
END_TEST

/* Of two alike, the one with four times the share gets four times the tasks, and that is best. */
START_TEST(a_strategy_knows_the_shares)
{
	static const struct iso_speed_change changes[] = { { ISO_SPEED_SHARE, 0, 0, 0, 4 },
							   { ISO_SPEED_SHARE, 4, 0, 0, 1 } };
	struct run run = with_constants(2, (const double[]){ 2, 2 });
	struct iso_training_totals totals;

	add_changes(&run, changes, 2);
	add_strategy(&run, ISO_STRATEGY_OFTA, 5);
	iso_strategy_set_mean(run.strategy, 0, 2);
	iso_strategy_set_mean(run.strategy, 1, 2);
	run.config.means_s = (const double[]){ 2, 2 };
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH }, NULL);
	/* Two rounds of four tasks and one, of 2 s; then three and two, of 6 s. */
	totals = after_rounds(&run, 3);
	ck_assert_double_eq(totals.time_s, 2 + 2 + 6);
	ck_assert_uint_eq(totals.computed, 15);
	ck_assert_double_eq(totals.regret_s, 0);
	finish(&run);
}
END_TEST

/* Who leaves takes its work with it; who joins late starts then. */
START_TEST(workers_come_and_go)
{
	static const struct iso_speed_change changes[] = {
		{ ISO_SPEED_LEAVE, 2.5, 0, 0, 0 },
		{ ISO_SPEED_JOIN, 3, 1, 1, 0 },
		{ ISO_SPEED_JOIN, 8, 0, 0, 0 },
	};
	struct run run = with_constants(2, (const double[]){ 1, 2 });
	struct iso_training_totals totals;

	add_changes(&run, changes, 3);
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = at_time(&run, 2.75);
	ck_assert_uint_eq(totals.computed, 2);
	ck_assert_uint_eq(totals.lost, 1);
	ck_assert_uint_eq(totals.running, 0);
	ck_assert_double_eq(totals.discarded_s, 0.5);
	totals = at_time(&run, 8);
	ck_assert_uint_eq(totals.computed, 2 + 2);
	totals = at_time(&run, 9);
	ck_assert_uint_eq(totals.computed, 4 + 2);
	finish(&run);
}
END_TEST

START_TEST(a_run_without_workers_is_stuck_until_one_comes)
{
	static const struct iso_speed_change changes[] = {
		{ ISO_SPEED_LEAVE, 1.5, 0, 0, 0 },
		{ ISO_SPEED_JOIN, 7, 0, 0, 0 },
		{ ISO_SPEED_LEAVE, 9, 0, 0, 0 },
	};
	struct run run = with_constants(1, (const double[]){ 1 });
	struct iso_training_totals totals;

	/* Shares that move for ever must not keep it going. */
	add_speeds(&run, &(struct iso_speeds_config){ .workers = 1,
						      .share = 1,
						      .changes = changes,
						      .change_count = 3,
						      .every_s = 0.75,
						      .share_least = 1,
						      .share_most = 1 });
	add_strategy(&run, ISO_STRATEGY_UTA, 1);
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .batch = 1 }, NULL);
	totals = run_until(&run, HUGE_VAL, UINT64_MAX, ISO_TRAINING_STUCK);
	/* Ends at 1 and 8 s; what would have ended at 9 s leaves just before. */
	ck_assert_double_eq(totals.time_s, 9);
	ck_assert_uint_eq(totals.rounds, 2);
	finish(&run);
}
END_TEST

/* f = x^2 / 2 for each parameter: the gradient is the point itself. */
static double identity(void *context, uint32_t worker, const float *x, struct iso_rng *rng,
		       float *ret_gradient)
{
	uint32_t params = *(const uint32_t *)context;

	(void)worker;
	(void)rng;
	memcpy(ret_gradient, x, params * sizeof(*x));
	return 0;
}

/*
 * Two workers of 2 and 3 s, step 1/2, from 64: at 2 s the first has 64 and
 * makes it 32; at 3 s the second has 64 still and makes it 0; at 4 s the
 * first has 32: -16; at 6 s the first, which was given -16, makes it -8, and the
 * second, which was given 0 at 3 s, leaves it.
 */
START_TEST(gradients_are_those_of_the_point_that_was_given)
{
	static uint32_t params = 3;
	struct run run = with_constants(2, (const double[]){ 2, 3 });
	static const double expected[][2] = { { 1, 64 },  { 2, 32 }, { 3, 0 },
					      { 4, -16 }, { 6, -8 }, { 8, -4 } };
	const float x[3] = { 64, 64, 64 };

	run.config.problem = (struct iso_problem){ params, &params, identity };
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD, .step = 0.5 }, x);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		float now[3];

		(void)at_time(&run, expected[i][0]);
		iso_method_point(run.method, now);
		for (int p = 0; p < 3; p++)
			ck_assert_double_eq(now[p], expected[i][1]);
	}
	finish(&run);
}
END_TEST

START_TEST(tasks_of_another_size_take_as_much_longer)
{
	static const struct iso_law size = { .kind = ISO_LAW_CONSTANT, .scale = 3 };
	struct run run = with_constants(1, (const double[]){ 2 });
	struct iso_training_totals totals;

	run.config.size = &size;
	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	totals = at_time(&run, 18);
	ck_assert_uint_eq(totals.computed, 3);
	finish(&run);
}
END_TEST

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
	struct run run = { .config = { .workers = 1 + (uint32_t)iso_rng_below(&rng, WORKERS_MAX),
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
		run.config.problem = (struct iso_problem){ params, &params, identity };
	add_speeds(&run, &(struct iso_speeds_config){ .workers = n,
						      .share = 1,
						      .changes = changes,
						      .change_count = 6,
						      .every_s = 3,
						      .share_least = 0.25,
						      .share_most = 4,
						      .seed = seed });
	method.capped = traits.can_cap && iso_rng_below(&rng, 2) != 0;
	if (traits.wants_allocation || method.capped)
		add_strategy(&run,
			     iso_rng_below(&rng, 2) != 0 ? ISO_STRATEGY_ATA_EMPIRICAL
							 : ISO_STRATEGY_UTA,
			     method.batch);
	run.means = room(n * sizeof(*run.means));
	for (uint32_t w = 0; w < n; w++)
		run.means[w] = iso_law_mean(&run.laws[w]);
	run.config.means_s = run.strategy != NULL ? run.means : NULL;
	start(&run, method, run.config.problem.params > 0 ? (const float[]){ 1, 1 } : NULL);
	const struct iso_training_until until = { 300, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	enum iso_training_stop stop = iso_training_run(run.training, &until);
	ck_assert(stop == ISO_TRAINING_TIME || stop == ISO_TRAINING_STUCK);
	iso_training_totals(run.training, ret_totals);
	*ret_busy_most_s = n * ret_totals->time_s;
	finish(&run);
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
		run[k] = with_constants(3, (const double[]){ 1, 1.25, 3 });
		start(&run[k],
		      (struct iso_method_config){ .kind = ISO_METHOD_RINGMASTER_STOPS,
						  .delay_max = 3 },
		      NULL);
	}
	whole = at_time(&run[0], 50);
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
	finish(&run[0]);
	finish(&run[1]);
}
END_TEST

START_TEST(a_million_workers_are_no_trouble)
{
	const uint32_t n = 1000000;
	struct iso_law *laws = room(n * sizeof(*laws));
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
	ck_assert_ok(iso_method_init(room(bytes), bytes, &method, &run.method));
	run.config.laws = laws;
	run.config.method = run.method;
	run.config.kind = method.kind;
	bytes = iso_training_size(&run.config);
	ck_assert_ok(iso_training_init(room(bytes), bytes, &run.config, &run.training));
	totals = after_rounds(&run, 3);
	ck_assert_uint_eq(totals.computed, 3000);
	ck_assert_double_eq_tol(totals.worker_s, n * totals.time_s, 1e-9 * totals.worker_s);
	finish(&run);
	free(laws);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct run run = with_constants(2, (const double[]){ 1, 2 });
	struct iso_training_config bad;
	uint64_t memory[64];

	start(&run, (struct iso_method_config){ .kind = ISO_METHOD_ASGD }, NULL);
	bad = run.config;
	ck_assert_uint_gt(iso_training_size(&bad), sizeof(memory));
	ck_assert_int_eq(iso_training_init(memory, sizeof(memory), &bad, &run.training),
			 ISO_E_SHORT);
	bad.workers = 0;
	ck_assert_uint_eq(iso_training_size(&bad), 0);
	bad = run.config;
	bad.kind = ISO_METHOD_MINIBATCH; /* wants an allocation */
	ck_assert_int_eq(iso_training_init(memory, sizeof(memory), &bad, &run.training),
			 ISO_E_RANGE);
	bad = run.config;
	bad.capped = true;
	ck_assert_uint_eq(iso_training_size(&bad), 0);
	bad = run.config;
	bad.problem.params = 1; /* and no gradient */
	ck_assert_uint_eq(iso_training_size(&bad), 0);
	finish(&run);
}
END_TEST

/* The queue gives what a search of all entries would. */
START_TEST(the_queue_keeps_the_order_of_time_and_number)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_queue_entry heap[50];
	uint32_t place[50];
	double time[50];
	struct iso_queue queue;

	iso_queue_init(&queue, heap, place, 50);
	for (int i = 0; i < 50; i++)
		time[i] = -1;
	for (int step = 0; step < test_runs(20000); step++) {
		uint32_t id = (uint32_t)iso_rng_below(&rng, 50), first = 50;

		if (iso_rng_below(&rng, 3) != 0 || queue.count == 0) {
			time[id] = (double)iso_rng_below(&rng, 20);
			iso_queue_set(&queue, id, time[id]);
		} else {
			time[iso_queue_first(&queue)->id] = -1;
			iso_queue_remove_first(&queue);
		}
		for (uint32_t k = 0; k < 50; k++)
			if (time[k] >= 0 && (first == 50 || time[k] < time[first]))
				first = k;
		if (first == 50) {
			ck_assert_uint_eq(queue.count, 0);
			continue;
		}
		ck_assert_uint_eq(iso_queue_first(&queue)->id, first);
		ck_assert_double_eq(iso_queue_first(&queue)->time, time[first]);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("training");
	TCase *tcase = tcase_create("driver");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_greedy_round_costs_n_times_its_time);
	tcase_add_test(tcase, asynchronous_workers_never_wait);
	tcase_add_test(tcase, an_allocated_round_ends_with_its_last_task);
	tcase_add_test(tcase, the_regret_is_that_of_the_proxy_loss);
	tcase_add_test(tcase, without_means_there_is_no_regret);
	tcase_add_test(tcase, a_running_task_follows_its_speed_exactly);
	tcase_add_test(tcase, a_strategy_learns_the_time_that_is_asked_for);
	tcase_add_test(tcase, a_strategy_knows_the_shares);
	tcase_add_test(tcase, workers_come_and_go);
	tcase_add_test(tcase, a_run_without_workers_is_stuck_until_one_comes);
	tcase_add_test(tcase, gradients_are_those_of_the_point_that_was_given);
	tcase_add_test(tcase, tasks_of_another_size_take_as_much_longer);
	tcase_add_test(tcase, computations_and_their_time_add_up_for_every_method);
	tcase_add_test(tcase, a_run_may_be_interrupted_anywhere);
	tcase_add_test(tcase, a_million_workers_are_no_trouble);
	tcase_add_test(tcase, what_makes_no_sense_is_refused);
	tcase_add_test(tcase, the_queue_keeps_the_order_of_time_and_number);
	suite_add_tcase(suite, tcase);
	return suite;
}
