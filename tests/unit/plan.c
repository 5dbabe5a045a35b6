/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "agent/train/coordinator_runstate.h"
#include "agent/train/coordinator_status.h"
#include "tests/test.h"
#include "tests/unit/small_run.h"

/* What a run does is settled by its configuration, by theory, and by the workers' speed. */

static struct run_plan plan;

static void planned(const char *more)
{
	configure(more);
	ck_assert_msg(run_plan_make(&conf, &plan, &run_error) == 0, "%s", run_error.text);
}

START_TEST(a_greedy_round_is_rennalas)
{
	planned("allocation { strategy = gta }");
	ck_assert_int_eq(plan.method, ISO_METHOD_RENNALA);
	ck_assert(!plan.allocates);
	planned("");
	ck_assert_int_eq(plan.method, ISO_METHOD_MINIBATCH);
	ck_assert(plan.allocates);
	ck_assert(!plan.caps);
	ck_assert_uint_eq(plan.batch, 16);
	ck_assert_double_eq(plan.step, 0.2);
}
END_TEST

START_TEST(an_allocation_caps_what_is_asynchronous)
{
	planned("training { method = ringmaster }");
	ck_assert(!plan.allocates);
	ck_assert(!plan.caps);
	ck_assert_uint_eq(plan.delay_max, 6); /* twice the workers */
	planned("training { method = ringmaster delay-max = 4 }\nallocation { strategy = ata }");
	ck_assert(plan.allocates);
	ck_assert(plan.caps);
	ck_assert_uint_eq(plan.delay_max, 4);
}
END_TEST

/* L = 2, sigma^2 = 3, eps = 0.5: R = 6, gamma = min{ 1/24, 0.5/24 }. */
START_TEST(theory_settles_what_the_file_does_not)
{
#define THEORY "theory { smoothness = 2 noise-variance = 3 target = 0.5 }\n"
	planned(THEORY "training { method = ringmaster }");
	ck_assert_uint_eq(plan.delay_max, 6);
	ck_assert_double_eq_tol(plan.step, 0.5 / 24, 1e-12);
	planned(THEORY "training { method = ringmaster delay-max = 9 learning-rate = 0.3 }");
	ck_assert_uint_eq(plan.delay_max, 9);
	ck_assert_double_eq(plan.step, 0.3);
	planned(THEORY "training { method = rennala }");
	ck_assert_uint_eq(plan.batch, 6);
	ck_assert_double_eq_tol(plan.step, 0.5 * 6 / 12, 1e-12);
	planned(THEORY "training { method = rennala tasks-per-round = 4 }");
	ck_assert_uint_eq(plan.batch, 4);
	/* Steps that go with what the file says. */
	ck_assert_double_eq_tol(plan.step, 0.5 * 4 / 12, 1e-12);
	planned(THEORY "training { method = ringmaster delay-max = 20 }");
	ck_assert_uint_eq(plan.delay_max, 20);
	ck_assert_double_eq_tol(plan.step, 1.0 / (2 * 20 * 2), 1e-12);
	/* Ringleader, B = 1: min{ 1/(8 n L), eps/(10 L sigma^2) }. */
	planned(THEORY "training { method = ringleader }");
	ck_assert_double_eq_tol(plan.step, 0.5 / 60, 1e-12);
	/* By hand, but for who the fastest are. */
	planned(THEORY "training { method = naive-optimal }");
	ck_assert_double_eq(plan.step, 0.2);
}
END_TEST

/* Each at a value that no other option has, and that is not its default. */
#define OPTIONS                                                                                    \
	"training { tasks-per-round = 21 seed = 77 }\n"                                           \
	"allocation { strategy = ata-empirical alpha = 3ms eta = 0.7 width = 4e\n"                \
	"share-normalised = no explore-tasks = 5 calibrate-tasks = 9 discount = 0.75\n"           \
	"smoothing = 0.25 every-rounds = 6 statistics = by-round cost-normalised = no\n"          \
	"cluster = 0.3 drift = 24 probe-rounds = 11 profile-trust = 13 profile = /p }\n"          \
	"lease { first = 40s least = 2s mads = 10 give-up-after = 8 }\n"

START_TEST(each_option_reaches_the_allocation)
{
	planned(OPTIONS);
	struct iso_strategy_config config = run_strategy_config(&conf, &plan);

	ck_assert_int_eq(config.kind, ISO_STRATEGY_ATA_EMPIRICAL);
	ck_assert_uint_eq(config.workers, 3);
	ck_assert_uint_eq(config.batch, 21);
	ck_assert_uint_eq(config.seed, 77);
	ck_assert_double_eq(config.width.constant, ISO_ATA_WIDTH_FIRST);
	ck_assert_double_eq(config.width.alpha_s, 0.003);
	ck_assert_double_eq(config.width.eta, 0.7);
	ck_assert(!config.by_rate);
	ck_assert_uint_eq(config.options.explore_tasks, 5);
	ck_assert_double_eq(config.options.discount, 0.75);
	ck_assert_double_eq(config.options.smoothing, 0.25);
	ck_assert_uint_eq(config.options.every_rounds, 6);
	ck_assert(config.options.by_round);
	ck_assert(!config.options.by_cost);
	ck_assert_uint_eq(config.options.calibrate_tasks, 9);
	ck_assert_double_eq(config.options.cluster, 0.3);
	ck_assert_double_eq(config.options.drift, 24);
	ck_assert_uint_eq(config.options.probe_rounds, 11);
	/* And what is not the allocation's alone. */
	ck_assert_int_eq(conf.allocation.profile_trust, 13);
	ck_assert_str_eq(conf.allocation.profile, "/p");
	ck_assert_uint_eq(conf.lease.first_ns, 40000 * MS);
	ck_assert_uint_eq(conf.lease.least_ns, 2000 * MS);
	ck_assert_int_eq(conf.lease.mads, 10);
	ck_assert_int_eq(conf.lease.give_up_after, 8);
}
END_TEST

/* None of them is on by itself. */
START_TEST(without_options_it_is_the_papers_allocation)
{
	static const struct {
		const char *name;
		enum iso_strategy_kind kind;
	} kinds[] = {
		{ "ata", ISO_STRATEGY_ATA },
		{ "ata-pooled", ISO_STRATEGY_ATA_POOLED },
		{ "uta", ISO_STRATEGY_UTA },
		{ "ofta profile = /p", ISO_STRATEGY_OFTA },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char text[100];

		snprintf(text, sizeof(text), "allocation { strategy = %s }", kinds[i].name);
		planned(text);
		ck_assert_int_eq(run_strategy_config(&conf, &plan).kind, kinds[i].kind);
	}
	planned("");
	struct iso_strategy_config config = run_strategy_config(&conf, &plan);
	ck_assert_double_eq(config.width.constant, ISO_ATA_WIDTH_FINAL);
	ck_assert(config.by_rate);
	ck_assert_uint_eq(config.options.explore_tasks, 0);
	ck_assert_double_eq(config.options.discount, 1);
	ck_assert_double_eq(config.options.smoothing, 1);
	ck_assert_uint_eq(config.options.every_rounds, 1);
	ck_assert(!config.options.by_round);
	ck_assert(config.options.by_cost);
	ck_assert_uint_eq(config.options.calibrate_tasks, 0);
	ck_assert_double_eq(config.options.cluster, 0);
	ck_assert_double_eq(config.options.drift, 0);
	ck_assert_uint_eq(config.options.probe_rounds, 0);
}
END_TEST

static bool is_admitted(uint32_t worker)
{
	return run_worker_view(run, worker).is_admitted;
}

START_TEST(naive_optimal_goes_on_with_the_fastest)
{
	const uint64_t times[3] = { 10 * MS, 12 * MS, 10000 * MS };

	open_run("training { method = naive-optimal tasks-per-round = 1 start-after = 0s }");
	ck_assert(is_admitted(0) && is_admitted(1) && is_admitted(2));
	for (int i = 0; i < 20; i++)
		compute(times);
	ck_assert(is_admitted(0));
	ck_assert(!is_admitted(2));
	ck_assert_uint_eq(run_worker_view(run, 2).ledger.started, 1);
	/* When the others go, it is all there is. */
	run_leave(run, now_ns, 0);
	run_leave(run, now_ns, 1);
	run_advance(run, now_ns);
	ck_assert(is_admitted(2));
	ck_assert_uint_eq(run_worker_view(run, 2).dispatch.tasks, 1);
	run = run_close(run);
}
END_TEST

/* Worker 0 comes back, and what it had had to do is somebody else's: how many times of it count. */
static double late_times(const char *statistics)
{
	const float gradient[64] = { 0 };
	struct iso_train_task tasks[64], late = { 0 };
	struct iso_dispatch_order order;
	char text[200];

	snprintf(text, sizeof(text),
		 "training { tasks-per-round = 3 start-after = 0s }\n"
		 "allocation { strategy = ata %s }\nlease { first = 1s least = 1s }",
		 statistics);
	open_run(text);
	while (run_next_order(run, now_ns, tasks, 64, &order))
		late = order.worker == 0 ? tasks[0] : late;
	struct iso_train_result result = {
		.term = 1, .task = late.task, .attempt = 1, .worker = 0, .samples = 256,
		.on_cpu_ns = 9 * MS, .wall_ns = 9 * MS, .loss = 1,
	};
	run_leave(run, now_ns, 0);
	run_join(run, now_ns, 0, (struct iso_train_speed){ 1, 1000000 });
	run_advance(run, now_ns);
	run_result(run, now_ns, 0, &result, gradient);
	ck_assert_uint_eq(run_worker_view(run, 0).ledger.late, 1);
	double count = iso_strategy_samples(run->strategy, 0).count;
	run = run_close(run);
	return count;
}

START_TEST(late_times_are_not_learnt_by_round)
{
	ck_assert_double_eq(late_times(""), 1);
	ck_assert_double_eq(late_times("statistics = by-round"), 0);
}
END_TEST

/* 10 s a task: it is tried again after 20 of them, with one. */
START_TEST(naive_optimal_notices_that_speeds_change)
{
	const uint64_t times[3] = { 10 * MS, 12 * MS, 10000 * MS };
	const uint64_t changed[3] = { 10 * MS, 20000 * MS, 10 * MS };

	open_run("training { method = naive-optimal tasks-per-round = 1 start-after = 0s }");
	for (int i = 0; i < 100; i++)
		compute(times);
	now_ns += 200000 * MS;
	run_advance(run, now_ns);
	ck_assert(is_admitted(2));
	for (int i = 0; i < 5; i++)
		compute(times);
	ck_assert(!is_admitted(2));
	ck_assert_uint_eq(run_worker_view(run, 2).ledger.started, 2);
	now_ns += 200000 * MS;
	run_advance(run, now_ns);
	for (int i = 0; i < 5; i++)
		compute(changed);
	ck_assert(is_admitted(2));
	ck_assert_uint_gt(run_worker_view(run, 2).ledger.started, 5);
	now_ns += 1000 * MS;
	compute(changed);
	ck_assert(is_admitted(0) && !is_admitted(1) && is_admitted(2));
	run = run_close(run);
}
END_TEST

/* The same number of samples on average, never more than is announced. */
START_TEST(tasks_of_different_size_stay_in_their_bounds)
{
	struct iso_train_task tasks[64];
	struct iso_dispatch_order order;
	uint32_t least = UINT32_MAX, most = 0;
	double sum = 0, count = 0;

	open_run("training { tasks-per-round = 60 samples-per-task = 100 samples-spread = 0.5 }\n"
		 "allocation { strategy = uta }");
	while (run_next_order(run, now_ns, tasks, 64, &order))
		for (uint32_t t = 0; t < order.count; t++) {
			least = tasks[t].samples < least ? tasks[t].samples : least;
			most = tasks[t].samples > most ? tasks[t].samples : most;
			sum += tasks[t].samples;
			count++;
		}
	ck_assert_double_eq(count, 60);
	ck_assert_uint_ge(least, 50);
	ck_assert_uint_lt(least, 70);
	ck_assert_uint_le(most, cconf_samples_max(&conf));
	ck_assert_uint_gt(most, 130);
	ck_assert_double_eq_tol(sum / count, 100, 12);
	run = run_close(run);
}
END_TEST

/* Orders of twenty rounds. */
static uint32_t orders_of(unsigned every_rounds)
{
	struct iso_dispatch_order order;
	struct iso_train_task tasks[64];
	float gradient[64] = { 0 };
	uint32_t orders = 0;
	char text[200];

	snprintf(text, sizeof(text),
		 "training { tasks-per-round = 3 start-after = 0s }\n"
		 "allocation { strategy = uta every-rounds = %u }",
		 every_rounds);
	open_run(text);
	for (int round = 0; round < 20; round++) {
		struct iso_train_result results[3];
		uint32_t count = 0;

		while (run_next_order(run, now_ns, tasks, 64, &order)) {
			ck_assert_uint_lt(count, 3);
			results[count++] = (struct iso_train_result){
				.term = 1, .model_version = order.version, .task = tasks[0].task,
				.attempt = 1, .worker = order.worker, .samples = 256,
				.on_cpu_ns = MS, .wall_ns = MS, .loss = 1,
			};
		}
		orders += count;
		for (uint32_t i = 0; i < count; i++)
			run_result(run, now_ns += MS, results[i].worker, &results[i], gradient);
	}
	ck_assert_uint_eq(run_view(run, now_ns).steps, 20);
	run = run_close(run);
	return orders;
}

/* A worker needs the new point for each round: the allocation is steady, the orders are not. */
START_TEST(each_round_has_its_orders_however_seldom_it_allocates)
{
	ck_assert_uint_eq(orders_of(1), 60);
	ck_assert_uint_eq(orders_of(20), 60);
}
END_TEST

/* A member that is there for some numbers only would be a trap to whoever reads it. */
START_TEST(what_is_no_number_is_null_in_the_status)
{
	open_run("training { start-after = 0s }");
	run->plan.step = HUGE_VAL;
	run->has_train_loss = true;
	run->train_loss = NAN;
	json_t *status = coordinator_status(&conf, run, NULL, now_ns);
	ck_assert(json_is_null(json_object_get(status, "learning_rate")));
	ck_assert(json_is_null(json_object_get(status, "train_loss")));
	ck_assert(json_is_real(json_object_get(status, "eta")));
	json_decref(status);
	run = run_close(run);
}
END_TEST

START_TEST(a_model_that_no_message_holds_is_refused)
{
	struct dataset wide = test;

	wide.features = 200000;
	wide.classes = 200;
	configure("");
	ck_assert_int_eq(run_open(&conf, &wide, (struct run_options){ 0 }, &run, &run_error),
			 -EINVAL);
	ck_assert_str_eq(run_error.text,
			 "model softmax with 200000 features, 200 classes and 0 hidden units has "
			 "40000200 parameters, at most 16777216");
	configure("training { model = mlp hidden = 65536 }");
	struct dataset images = wide;
	images.features = 784;
	images.classes = 10;
	ck_assert_int_eq(run_open(&conf, &images, (struct run_options){ 0 }, &run, &run_error),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(run_error.text, "65536 hidden units"));
}
END_TEST

START_TEST(theory_cannot_ask_for_any_batch)
{
	configure("training { method = rennala }\n"
		  "theory { smoothness = 1 noise-variance = 2e7 target = 1 }");
	ck_assert_int_eq(run_plan_make(&conf, &plan, &run_error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(run_error.text, "theory: method rennala wants batches of "
						 "20000000, at most 4096 are possible"));
	planned("training { method = rennala tasks-per-round = 64 }\n"
		"theory { smoothness = 1 noise-variance = 2e7 target = 1 }");
	ck_assert_uint_eq(plan.batch, 64);
	planned("training { method = rennala }\n"
		"theory { smoothness = 1 noise-variance = 4096 target = 1 }");
	ck_assert_uint_eq(plan.batch, 4096);
}
END_TEST

START_TEST(only_what_has_alpha_and_eta_is_calibrated)
{
	static const char *const never[] = { "ata-pooled", "uta" };
	char text[100];

	open_run("allocation { strategy = ata calibrate-tasks = 8 }");
	ck_assert(run_view(run, now_ns).is_calibrating);
	run = run_close(run);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		snprintf(text, sizeof(text), "allocation { strategy = %s calibrate-tasks = 8 }",
			 never[i]);
		open_run(text);
		ck_assert(!run_view(run, now_ns).is_calibrating);
		run = run_close(run);
	}
}
END_TEST

START_TEST(a_profile_of_another_layer_is_refused)
{
	const uint64_t times[3] = { 10 * MS, 12 * MS, 14 * MS };
	char text[300];

	for (int hidden = 4; hidden <= 5; hidden++) {
		snprintf(text, sizeof(text),
			 "training { model = mlp hidden = %d }\nallocation { profile = %s/p }",
			 hidden, folder);
		if (hidden == 5)
			break;
		open_run(text);
		compute(times);
		ck_assert_int_eq(run_write_profile(run, &run_error), 0);
		run = run_close(run);
		open_run(text);
		run = run_close(run);
	}
	configure(text);
	ck_assert_int_eq(run_open(&conf, &test, (struct run_options){ 0 }, &run, &run_error),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(run_error.text, "'mlp 3x4x2, 256 samples'"));
	ck_assert_ptr_nonnull(strstr(run_error.text, "'mlp 3x5x2, 256 samples'"));
}
END_TEST

/* Whether the first round explores; tasks that the slow worker gets in it. */
static bool explores(const char *profile, uint64_t *ret_started)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "training { tasks-per-round = 6 start-after = 0s }\n"
		 "allocation { strategy = ata-empirical explore-tasks = 5 profile-trust = 1000000\n"
		 "profile = %s/%s }",
		 folder, profile);
	open_run(text);
	bool exploring = run_view(run, now_ns).exploring;
	*ret_started = run_worker_view(run, 2).ledger.started;
	run = run_close(run);
	return exploring;
}

START_TEST(with_a_profile_nothing_is_explored_again)
{
	char path[100];
	uint64_t started;

	snprintf(path, sizeof(path), "%s/p", folder);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "{ \"isobar-profile\": 1, \"task\": \"softmax 3x2, 256 samples\",\n"
		      "\"time\": \"on-cpu\", \"per-cost\": true, \"workers\": [\n");
	for (int i = 0; i < 3; i++)
		fprintf(file, "{ \"name\": \"%c\", \"tasks\": 1000000, \"mean_s\": %g }%s\n",
			'a' + i, i == 2 ? 1 : 0.01, i == 2 ? "] }" : ",");
	ck_assert_int_eq(fclose(file), 0);
	ck_assert(explores("none", &started));
	ck_assert_uint_eq(started, 2);
	ck_assert(!explores("p", &started));
	ck_assert_uint_eq(started, 0);
}
END_TEST

static const char *theory_text(const char *more, const struct iso_theory_choice *choice)
{
	static char text[RUN_THEORY_BYTES];

	planned(more);
	run_theory_text(&conf, &plan, choice, text);
	return text;
}

START_TEST(of_theory_only_what_was_taken_is_told)
{
	struct iso_theory_choice choice = { .batch = 6, .step = 0.25, .updates = 48 };

	ck_assert_str_eq(theory_text("training { method = rennala }", &choice),
			 "steps of 0.25, batches of 6");
	ck_assert_str_eq(theory_text("training { method = minibatch learning-rate = 1 }", &choice),
			 "");
	choice.delay_max = 7;
	ck_assert_str_eq(theory_text("training { method = ringmaster learning-rate = 1 }", &choice),
			 "delays below 7");
	ck_assert_str_eq(theory_text("training { method = ringmaster delay-max = 3 }\n"
				     "theory { smoothness = 1 target = 1 gap = 2 }",
				     &choice),
			 "steps of 0.25; 48 steps are enough");
}
END_TEST

START_TEST(what_the_start_refuses_is_refused_when_checked)
{
	configure("theory {\nsmoothness = 1 noise-variance = 1e12 target = 1 }");
	ck_assert_int_lt(run_check(&conf, &run_error), 0);
	ck_assert_ptr_nonnull(strstr(run_error.text, "line 9: theory: "));
	configure("allocation { strategy = ofta profile = /nowhere/p }");
	ck_assert_int_eq(run_check(&conf, &run_error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(run_error.text, "/nowhere/p"));
	configure("training { model = user task = /nowhere/task.so }");
	ck_assert_int_lt(run_check(&conf, &run_error), 0);
	ck_assert_ptr_nonnull(strstr(run_error.text, "/nowhere/task.so"));
	/* One that is written at the end need not be there. */
	configure("allocation { profile = /nowhere/p }");
	ck_assert_int_eq(run_check(&conf, &run_error), 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("plan");
	TCase *tcase = tcase_create("run");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, a_greedy_round_is_rennalas);
	tcase_add_test(tcase, an_allocation_caps_what_is_asynchronous);
	tcase_add_test(tcase, theory_settles_what_the_file_does_not);
	tcase_add_test(tcase, each_option_reaches_the_allocation);
	tcase_add_test(tcase, without_options_it_is_the_papers_allocation);
	tcase_add_test(tcase, each_round_has_its_orders_however_seldom_it_allocates);
	tcase_add_test(tcase, what_is_no_number_is_null_in_the_status);
	tcase_add_test(tcase, a_model_that_no_message_holds_is_refused);
	tcase_add_test(tcase, theory_cannot_ask_for_any_batch);
	tcase_add_test(tcase, only_what_has_alpha_and_eta_is_calibrated);
	tcase_add_test(tcase, a_profile_of_another_layer_is_refused);
	tcase_add_test(tcase, with_a_profile_nothing_is_explored_again);
	tcase_add_test(tcase, of_theory_only_what_was_taken_is_told);
	tcase_add_test(tcase, what_the_start_refuses_is_refused_when_checked);
	tcase_add_test(tcase, naive_optimal_goes_on_with_the_fastest);
	tcase_add_test(tcase, naive_optimal_notices_that_speeds_change);
	tcase_add_test(tcase, late_times_are_not_learnt_by_round);
	tcase_add_test(tcase, tasks_of_different_size_stay_in_their_bounds);
	suite_add_tcase(suite, tcase);
	return suite;
}
