/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/sim/train.h"
#include "agent/sim/train_machine.h"
#include "lib/ata/strategy.h"
#include "lib/sgd/method.h"
#include "tests/test.h"

static const char text[] = "workers = 4\n"
			   "time = 100\n"
			   "times {\n"
			   "	law = exponential\n"
			   "	power = 1\n"
			   "}\n"
			   "group \"2-3\" {\n"
			   "	law = uniform\n"
			   "	mean = 8\n"
			   "	shift = 0.5\n"
			   "}\n"
			   "curve \"a.b\" {\n"
			   "	method = asgd\n"
			   "}\n"
			   "curve \"c\" {\n"
			   "	allocation = uta\n"
			   "}\n";

static struct scenario *parse(const char *source, const char *const *sets, size_t count)
{
	struct scenario *scenario;
	struct error error = { 0 };
	int r = scenario_parse("s", source, sets, count, &scenario, &error);

	ck_assert_msg(r == 0, "%s", error.text);
	return scenario;
}

static struct train_world *open_world(const struct scenario *scenario, uint64_t seed)
{
	struct train_world *world;
	struct error error = { 0 };
	int r = train_open(scenario, seed, &world, &error);

	ck_assert_msg(r == 0, "%s", error.text);
	return world;
}

static struct train_result run(struct train_world *world, unsigned curve)
{
	struct train_result result;
	struct error error = { 0 };
	int r = train_run(world, curve, NULL, &result, &error);

	ck_assert_msg(r == 0, "%s", error.text);
	return result;
}

START_TEST(what_is_set_replaces_what_is_written)
{
	static const char *const sets[] = { "time=7", "times.power=0.5", "curve.step=3",
					    "curve.a.b.step=4", "group.2-3.mean=9" };
	struct scenario *scenario = parse(text, sets, 5);

	ck_assert_double_eq(scenario->time, 7);
	ck_assert_double_eq(scenario->times.power, 0.5);
	ck_assert_uint_eq(scenario->curve_count, 2);
	ck_assert_double_eq(scenario->curves[0].step, 4);
	ck_assert_double_eq(scenario->curves[1].step, 3);
	ck_assert_double_eq(scenario->groups[0].mean, 9);
	free(scenario);
}
END_TEST

/* The choices of the file are in the order of what they stand for. */
START_TEST(methods_and_allocations_are_those_of_the_library)
{
	for (int i = 1; i <= (int)ISO_METHOD_KINDS; i++) {
		char set[64];

		snprintf(set, sizeof(set), "curve.a.b.method=%s",
			 iso_method_text((enum iso_method_kind)i));
		bool allocated = iso_method_traits((enum iso_method_kind)i).wants_allocation;
		const char *const sets[] = { set, "curve.a.b.allocation=uta" };
		struct scenario *scenario = parse(text, sets, allocated ? 2 : 1);
		struct train_world *world = open_world(scenario, 1);
		struct train_result result = run(world, 0);

		ck_assert_int_eq(result.parameters.kind, i);
		train_result_close(&result);
		train_close(world);
		free(scenario);
	}
	for (int i = ISO_STRATEGY_ATA; i <= ISO_STRATEGY_ATA_POOLED; i++) {
		char set[64];
		const char *const sets[] = { set };

		snprintf(set, sizeof(set), "curve.c.allocation=%s",
			 iso_strategy_kind_text((enum iso_strategy_kind)i));
		struct scenario *scenario = parse(text, sets, 1);
		ck_assert_int_eq(scenario->curves[1].allocation, i);
		free(scenario);
	}
}
END_TEST

START_TEST(workers_have_the_laws_that_are_written)
{
	struct scenario *scenario = parse(text, NULL, 0);
	struct train_world *world = open_world(scenario, 1);

	ck_assert_double_eq(train_means(world)[0], 1);
	ck_assert_double_eq(train_means(world)[1], 12);
	ck_assert_double_eq(train_means(world)[2], 12);
	ck_assert_double_eq(train_means(world)[3], 4);
	ck_assert_int_eq(train_laws(world)[1].kind, ISO_LAW_UNIFORM);
	ck_assert_int_eq(train_laws(world)[3].kind, ISO_LAW_EXPONENTIAL);
	train_close(world);
	free(scenario);
}
END_TEST

/* What is told the same in a group and in section times is the same. */
START_TEST(a_group_with_a_trace_has_the_law_of_section_times)
{
	static const char form[] = "workers = 2\nrounds = 1\n"
				   "times {\n	law = trace\n	trace = \"%s\"\n"
				   "	scale = 2\n	shift = 1\n}\n"
				   "group \"2\" {\n	law = trace\n	trace = \"%s\"\n"
				   "	mean = 2\n	shift = 1\n}\n"
				   "curve \"c\" {\n	allocation = uta\n}\n";
	char path[] = "/tmp/isobar-trace-XXXXXX", source[400];
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "8\n12\n", 5), 5);
	ck_assert_int_eq(close(fd), 0);
	snprintf(source, sizeof(source), form, path, path);
	struct scenario *scenario = parse(source, NULL, 0);
	struct train_world *world = open_world(scenario, 1);
	for (uint32_t w = 0; w < 2; w++) {
		ck_assert_double_eq(train_means(world)[w], 2 * 10 + 2 * 10);
		ck_assert_double_eq(train_laws(world)[w].base, 20);
	}
	train_close(world);
	free(scenario);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* One worker: what it computes, one task after the other, takes the same in every curve. */
START_TEST(curves_are_compared_on_the_same_luck)
{
	static const char *const sets[] = { "workers=1", "time=50" };
	static const char alone[] =
	    "workers = 1\ntime = 1\ntimes {\n	law = gamma\n	shape = 2\n}\n"
	    "curve \"a\" {\n	method = asgd\n}\n"
	    "curve \"b\" {\n	allocation = uta\n}\n"
	    "curve \"c\" {\n	method = ringleader\n}\n";
	struct scenario *scenario = parse(alone, sets, 2);
	struct train_world *world = open_world(scenario, 7);
	struct train_result first = run(world, 0);

	ck_assert_uint_gt(first.end.totals.computed, 20);
	for (unsigned c = 1; c < 3; c++) {
		struct train_result other = run(world, c);

		ck_assert_uint_eq(other.end.totals.computed, first.end.totals.computed);
		for (size_t i = 0; i < other.count; i++)
			ck_assert_uint_eq(other.samples[i].totals.computed,
					  first.samples[i].totals.computed);
		train_result_close(&other);
	}
	train_result_close(&first);
	train_close(world);
	free(scenario);
}
END_TEST

START_TEST(points_lie_where_they_were_asked_for)
{
	static const char *const even[] = { "samples=4" };
	static const char *const log[] = { "samples=4", "spacing=log", "time=0", "rounds=10000",
					   "curve.a.b.method=rennala" };
	struct scenario *scenario = parse(text, even, 1);
	struct train_world *world = open_world(scenario, 1);
	struct train_result result = run(world, 0);

	ck_assert_uint_eq(result.count, 5);
	for (size_t i = 0; i < 5; i++)
		ck_assert_double_eq(result.samples[i].totals.time_s, 25.0 * (double)i);
	ck_assert_int_eq(result.stop, ISO_TRAINING_TIME);
	train_result_close(&result);
	train_close(world);
	free(scenario);

	scenario = parse(text, log, 5);
	world = open_world(scenario, 1);
	result = run(world, 0);
	ck_assert_uint_eq(result.count, 6);
	ck_assert_uint_eq(result.samples[0].totals.rounds, 0);
	uint64_t decade = 1;
	for (size_t i = 1; i < 6; i++, decade *= 10)
		ck_assert_uint_eq(result.samples[i].totals.rounds, decade);
	ck_assert_int_eq(result.stop, ISO_TRAINING_ROUNDS);
	train_result_close(&result);
	train_close(world);
	free(scenario);
}
END_TEST

/* j / 20000 of 20000 is not always j for who cuts off what is behind the point. */
START_TEST(as_many_points_as_updates_are_one_each)
{
	static const char *const each[] = { "samples=20000", "updates=20000", "time=0" };
	struct scenario *scenario = parse(text, each, 3);
	struct train_world *world = open_world(scenario, 1);
	struct train_result result = run(world, 0);

	ck_assert_uint_eq(result.count, 20001);
	for (size_t i = 0; i < result.count; i++)
		ck_assert_uint_eq(result.samples[i].totals.updates, i);
	train_result_close(&result);
	train_close(world);
	free(scenario);
}
END_TEST

/* Rounds before the first one teach the allocation, and time does not begin with them. */
START_TEST(prior_rounds_teach_and_take_no_time)
{
	static const char *const sets[] = { "workers=4", "time=0", "rounds=200",
					    "curve.c.allocation=ata-empirical" };
	static const char *const taught[] = { "workers=4", "time=0", "rounds=200",
					      "curve.c.allocation=ata-empirical",
					      "curve.c.prior-rounds=5000" };
	struct iso_training_totals totals[2];
	uint64_t settled[2];

	for (int i = 0; i < 2; i++) {
		static const char one[] = "workers = 4\nbatch = 8\nrounds = 1\n"
					  "times {\n	law = exponential\n	power = 1\n}\n"
					  "curve \"c\" {\n	allocation = uta\n}\n";
		struct scenario *scenario = parse(one, i == 0 ? sets : taught, i == 0 ? 4 : 5);
		struct train_world *world = open_world(scenario, 3);
		struct train_result result = run(world, 0);

		totals[i] = result.end.totals;
		settled[i] = totals[i].settled_round;
		train_result_close(&result);
		train_close(world);
		free(scenario);
	}
	ck_assert_uint_eq(totals[1].rounds, 200);
	ck_assert_uint_gt(settled[0], 10);
	ck_assert_uint_eq(settled[1], 5001);
	ck_assert_double_lt(totals[1].regret_s, totals[0].regret_s / 2);
	ck_assert_double_lt(totals[1].time_s, totals[0].time_s);
}
END_TEST

static struct train_result run_once(const char *source, const char *const *sets, size_t count)
{
	struct scenario *scenario = parse(source, sets, count);
	struct train_world *world = open_world(scenario, 3);
	struct train_result result = run(world, 0);

	train_close(world);
	free(scenario);
	return result;
}

/* Who joins later was there while the others learnt, but is not when time begins. */
START_TEST(prior_rounds_bring_nobody_who_is_absent)
{
	static const char late[] = "workers = 3\nbatch = 3\nrounds = 10\n"
				   "event \"late\" {\n	at = 1000\n	workers = \"3\"\n"
				   "	what = join\n}\n"
				   "curve \"c\" {\n	method = asgd\n	allocation = uta\n}\n";
	static const char *const sets[] = { "curve.c.prior-rounds=5" };

	for (size_t i = 0; i < 2; i++) {
		struct train_result result = run_once(late, sets, i);

		ck_assert_uint_eq(result.end.totals.rounds, 10);
		ck_assert_uint_eq(result.end.totals.updates, 30);
		train_result_close(&result);
	}
}
END_TEST

/* Tasks of constant times vary as their sizes do. */
START_TEST(prior_rounds_have_tasks_of_the_same_sizes)
{
	static const char sizes[] = "workers = 1\nbatch = 2\nrounds = 1\n"
				    "size {\n	law = exponential\n}\n"
				    "curve \"c\" {\n	allocation = uta\n	prior-rounds = 50\n"
				    "	cost-normalised = no\n}\n";
	struct scenario *scenario = parse(sizes, NULL, 0);
	struct train_world *world = open_world(scenario, 3);
	struct train_machine machine;
	struct error error = { 0 };

	ck_assert_int_eq(train_machine_make(world, &scenario->curves[0], NULL, &machine, &error),
			 0);
	struct iso_ata_samples samples = iso_strategy_samples(machine.strategy, 0);
	ck_assert_double_eq(samples.count, 100);
	ck_assert_double_gt(samples.squares_s2, 1);
	train_machine_free(&machine);
	train_close(world);
	free(scenario);
}
END_TEST

struct looks {
	unsigned prior, rest; /* how many */
	double part;	      /* the last one */
	bool is_prior;
};

static void look(void *context, const struct train_stage *stage)
{
	struct looks *looks = context;

	ck_assert_str_eq(stage->curve->name, "c");
	ck_assert_uint_eq(stage->seed, 3);
	ck_assert(!stage->is_prior || looks->rest == 0);
	if (stage->is_prior == looks->is_prior)
		ck_assert_double_ge(stage->part, looks->part);
	ck_assert(stage->part >= 0 && stage->part <= 1);
	looks->prior += stage->is_prior;
	looks->rest += !stage->is_prior;
	looks->part = stage->part;
	looks->is_prior = stage->is_prior;
}

/* People who wait see that something happens, from the first prior round on. */
START_TEST(progress_is_shown_of_prior_rounds_and_of_the_rest)
{
	static const char *const sets[] = { "curve.c.prior-rounds=5000", "time=20000" };
	struct scenario *scenario = parse(text, sets, 2);
	struct train_world *world = open_world(scenario, 3);
	struct looks looks = { .is_prior = true };
	const struct train_progress progress = { look, &looks };
	struct train_result result;
	struct error error = { 0 };

	ck_assert_int_eq(train_run(world, 1, &progress, &result, &error), 0);
	ck_assert_uint_ge(looks.prior, 2);
	ck_assert_uint_ge(looks.rest, (unsigned)scenario->samples);
	ck_assert_double_eq(looks.part, 1);
	train_result_close(&result);
	train_close(world);
	free(scenario);
}
END_TEST

static struct iso_strategy_config config_of(const char *const *sets, size_t count)
{
	struct scenario *scenario = parse(text, sets, count);
	struct train_world *world = open_world(scenario, 1);
	struct iso_strategy_config config = train_strategy_config(world, &scenario->curves[1], 11);

	train_close(world);
	free(scenario);
	return config;
}

/* No two have the same value, so that none can be taken for another. */
START_TEST(options_of_a_curve_are_those_of_its_allocation)
{
	static const char *const sets[] = {
		"curve.c.allocation=ata-empirical",
		"curve.c.explore-tasks=2",
		"curve.c.discount=0.75",
		"curve.c.smoothing=0.25",
		"curve.c.every-rounds=3",
		"curve.c.statistics=by-round",
		"curve.c.cost-normalised=yes",
		"curve.c.calibrate-tasks=5",
		"curve.c.cluster=0.125",
		"curve.c.drift=24",
		"curve.c.probe-rounds=7",
		"curve.c.share-normalised=no",
		"curve.c.width=4e",
		"curve.c.alpha=9",
		"curve.c.eta=1.5",
	};
	struct iso_strategy_config config = config_of(sets, sizeof(sets) / sizeof(sets[0]));

	ck_assert_int_eq(config.kind, ISO_STRATEGY_ATA_EMPIRICAL);
	ck_assert_uint_eq(config.workers, 4);
	ck_assert_uint_eq(config.batch, 11);
	ck_assert_uint_eq(config.options.explore_tasks, 2);
	ck_assert_double_eq(config.options.discount, 0.75);
	ck_assert_double_eq(config.options.smoothing, 0.25);
	ck_assert_uint_eq(config.options.every_rounds, 3);
	ck_assert(config.options.by_round);
	ck_assert(config.options.by_cost);
	ck_assert_uint_eq(config.options.calibrate_tasks, 5);
	ck_assert_double_eq(config.options.cluster, 0.125);
	ck_assert_double_eq(config.options.drift, 24);
	ck_assert_uint_eq(config.options.probe_rounds, 7);
	ck_assert(!config.by_rate);
	ck_assert_double_eq(config.width.constant, ISO_ATA_WIDTH_FIRST);
	ck_assert_double_eq(config.width.alpha_s, 9);
	ck_assert_double_eq(config.width.eta, 1.5);
}
END_TEST

START_TEST(flags_that_are_off_stay_off)
{
	static const char *const sets[] = { "curve.c.cost-normalised=no", "curve.c.alpha-means=3" };
	struct iso_strategy_config config = config_of(sets, 2);

	ck_assert_int_eq(config.kind, ISO_STRATEGY_UTA);
	ck_assert(!config.options.by_round);
	ck_assert(!config.options.by_cost);
	ck_assert(config.by_rate);
	ck_assert_double_eq(config.width.constant, ISO_ATA_WIDTH_FINAL);
	/* Of the largest mean, which is that of workers 2 and 3. */
	ck_assert_double_eq(config.width.alpha_s, 3 * 12);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("scenario");
	TCase *tcase = tcase_create("files");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, what_is_set_replaces_what_is_written);
	tcase_add_test(tcase, methods_and_allocations_are_those_of_the_library);
	tcase_add_test(tcase, workers_have_the_laws_that_are_written);
	tcase_add_test(tcase, a_group_with_a_trace_has_the_law_of_section_times);
	tcase_add_test(tcase, curves_are_compared_on_the_same_luck);
	tcase_add_test(tcase, points_lie_where_they_were_asked_for);
	tcase_add_test(tcase, as_many_points_as_updates_are_one_each);
	tcase_add_test(tcase, prior_rounds_teach_and_take_no_time);
	tcase_add_test(tcase, prior_rounds_bring_nobody_who_is_absent);
	tcase_add_test(tcase, prior_rounds_have_tasks_of_the_same_sizes);
	tcase_add_test(tcase, progress_is_shown_of_prior_rounds_and_of_the_rest);
	tcase_add_test(tcase, options_of_a_curve_are_those_of_its_allocation);
	tcase_add_test(tcase, flags_that_are_off_stay_off);
	suite_add_tcase(suite, tcase);
	return suite;
}
