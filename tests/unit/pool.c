/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_pool.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/batch.h"
#include "lib/threads.h"
#include "tests/test.h"

#define SAMPLES	 1000u
#define FEATURES 6u
#define CLASSES	 3u
#define PARAMS	 (CLASSES * (FEATURES + 1))
#define BATCH	 300u /* more than two chunks, and not a whole number of them */
#define WAIT_MS	 20000

static uint8_t pixels[SAMPLES * FEATURES], labels[SAMPLES];
static uint32_t part[SAMPLES];
static float params[PARAMS];
static const struct dataset data = {
	.samples = SAMPLES,
	.features = FEATURES,
	.classes = CLASSES,
	.pixels = pixels,
	.labels = labels,
};
static const struct lesson lesson = {
	.objective = { .model = { ISO_MODEL_SOFTMAX, FEATURES, CLASSES, 0, 0.5f },
		       .params = PARAMS },
	.data = &data,
	.part = part,
	.part_samples = SAMPLES,
	.samples_max = BATCH,
};
static struct pool *pool;

static void open_pool(void)
{
	struct iso_rng rng = { test_seed_base() };
	struct error error;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		part[i] = i;
		labels[i] = (uint8_t)iso_rng_below(&rng, CLASSES);
	}
	for (uint32_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)iso_rng_below(&rng, 256);
	for (uint32_t i = 0; i < PARAMS; i++)
		params[i] = (float)iso_rng_unit(&rng) - 0.5f;
	ck_assert_int_eq(pool_open(3, NULL, &pool, &error), 0);
}

static void close_pool(void)
{
	pool = pool_close(pool);
}

/* The pool frees what it is given. */
static int set_point(uint64_t version, const float *values, size_t bytes)
{
	float *copy = malloc(bytes);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, values, bytes);
	return pool_set_point(pool, version, copy);
}

/* A task of as many samples as the tests' lesson has, unless it says. */
static int submit(struct task task)
{
	task.samples = task.samples != 0 ? task.samples : BATCH;
	return pool_submit(pool, &task);
}

/* Waits for a result; fails the test if none comes. */
static struct task_result take(void)
{
	struct pollfd ready = { .fd = pool_fd(pool), .events = POLLIN };
	struct task_result result;

	while (!pool_take(pool, &result))
		ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	return result;
}

START_TEST(computes_the_gradient_of_the_tasks_own_batch)
{
	const struct task task = { .term = 1, .seed = 42, .task = 3, .attempt = 4 };
	static uint32_t drawn[BATCH];
	static float x[BATCH * FEATURES], expected[PARAMS];
	static float targets[BATCH];
	float *workspace =
	    calloc(iso_model_workspace_floats(&lesson.objective.model, BATCH), sizeof(float));

	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(0, params, sizeof(params)), 0);
	ck_assert_int_eq(submit(task), 0);
	struct task_result result = take();

	ck_assert(!result.abandoned);
	ck_assert_uint_eq(result.task.task, 3);
	ck_assert_uint_eq(result.task.attempt, 4);
	ck_assert_uint_gt(result.on_cpu_ns, 0);
	ck_assert_uint_gt(result.wall_ns, 0);
	/* All at once must be the same as chunk by chunk, but for rounding. */
	iso_batch_draw(42, part, SAMPLES, BATCH, drawn);
	for (uint32_t j = 0; j < BATCH; j++) {
		targets[j] = labels[drawn[j]];
		for (uint32_t f = 0; f < FEATURES; f++)
			x[j * FEATURES + f] = (float)pixels[drawn[j] * FEATURES + f] / 255;
	}
	const struct iso_model_batch batch = { .x = x, .targets = targets, .count = BATCH };
	double loss =
	    iso_model_gradient(&lesson.objective.model, params, &batch, workspace, expected);
	ck_assert_double_eq_tol(result.loss, loss, 1e-5);
	for (uint32_t i = 0; i < PARAMS; i++)
		ck_assert_double_eq_tol((double)result.gradient[i], (double)expected[i], 1e-5);
	free(result.gradient);
	free(workspace);
}
END_TEST

START_TEST(refuses_tasks_before_there_is_something_to_compute)
{
	const struct task task = { .term = 1 };

	ck_assert_int_eq(submit(task), -ENODATA);
	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(submit(task), -ENODATA);
	ck_assert_int_eq(set_point(0, params, sizeof(params)), 0);
	ck_assert_int_eq(submit(task), 0);
	free(take().gradient);
	pool_set_lesson(pool, NULL);
	ck_assert_int_eq(submit(task), -ENODATA);
}
END_TEST

START_TEST(does_each_task_once_whatever_the_number_of_threads)
{
	bool seen[200] = { false };

	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(0, params, sizeof(params)), 0);
	for (uint32_t i = 0; i < 200; i++)
		ck_assert_int_eq(submit((struct task){ .task = i, .seed = i }), 0);
	for (uint32_t i = 0; i < 200; i++) {
		struct task_result result = take();

		pool_set_active(pool, 1 + i % 4);
		ck_assert_uint_lt(result.task.task, 200);
		ck_assert(!seen[result.task.task]);
		seen[result.task.task] = true;
		free(result.gradient);
	}
}
END_TEST

/* The coordinator orders again what it has not heard of. */
START_TEST(computes_a_task_once_however_often_it_is_ordered)
{
	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(0, params, sizeof(params)), 0);
	for (uint32_t attempt = 1; attempt <= 3; attempt++)
		for (uint32_t i = 0; i < 50; i++)
			ck_assert_int_eq(submit((struct task){ .task = i, .attempt = attempt }), 0);
	ck_assert_int_eq(submit((struct task){ .task = 77, .attempt = 1 }), 0);
	for (uint32_t i = 0; i < 50; i++) {
		struct task_result result = take();

		ck_assert_uint_lt(result.task.task, 50);
		ck_assert_uint_eq(result.task.attempt, 1);
		free(result.gradient);
	}
	struct task_result last = take();
	ck_assert_uint_eq(last.task.task, 77);
	free(last.gradient);
}
END_TEST

START_TEST(forgets_what_was_cancelled)
{
	struct task_result result;
	uint32_t done = 0;

	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(0, params, sizeof(params)), 0);
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_int_eq(submit((struct task){ .task = i, .attempt = 2 }), 0);
	pool_cancel(pool, &(struct task){ .task = 99, .attempt = 3 });
	pool_cancel(pool, &(struct task){ .task = 98, .attempt = 1 }); /* an earlier attempt */
	do {
		result = take();
		ck_assert_uint_ne(result.task.task, 99);
		done++;
		free(result.gradient);
	} while (result.task.task != 98);
	ck_assert_uint_eq(done, 99);

	/* Threads may be done with most of them before the word, but not time and again. */
	done = 100;
	for (unsigned tries = 0; tries < 50 && done >= 90; tries++) {
		for (uint32_t i = 0; i < 100; i++)
			ck_assert_int_eq(submit((struct task){ .task = i }), 0);
		pool_cancel(pool, NULL);
		ck_assert_int_eq(submit((struct task){ .task = 1000 }), 0);
		/* At most the ones that ran come before it. */
		for (done = 0; (result = take()).task.task != 1000; done++)
			free(result.gradient);
		free(result.gradient);
	}
	ck_assert_uint_lt(done, 90);
}
END_TEST

/* A task of many chunks, so that the order to stop meets it on its way. */
START_TEST(stops_a_running_task_and_says_what_it_cost)
{
	enum { WIDE = 784, LONG = 2000 };
	static uint8_t wide_pixels[LONG * WIDE], wide_labels[LONG];
	static uint32_t wide_part[LONG];
	static float wide_params[CLASSES * (WIDE + 1)];
	const struct dataset wide_data = {
		.samples = LONG,
		.features = WIDE,
		.classes = CLASSES,
		.pixels = wide_pixels,
		.labels = wide_labels,
	};
	const struct lesson wide = {
		.objective = { .model = { ISO_MODEL_SOFTMAX, WIDE, CLASSES, 0, 0 },
			       .params = CLASSES * (WIDE + 1) },
		.data = &wide_data,
		.part = wide_part,
		.part_samples = LONG,
		.samples_max = LONG,
	};
	bool stopped = false;

	for (uint32_t i = 0; i < LONG; i++)
		wide_part[i] = i;
	pool_set_lesson(pool, &wide);
	ck_assert_int_eq(set_point(0, wide_params, sizeof(wide_params)), 0);
	for (unsigned i = 0; i < 1000 && !stopped; i++) {
		struct pollfd ready = { .fd = pool_fd(pool), .events = POLLIN };
		struct task_result result = { 0 };

		ck_assert_int_eq(submit((struct task){ .task = i }), 0);
		usleep(50 * (i % 20));
		pool_cancel(pool, &(struct task){ .task = i });
		/* Nothing comes if it had not begun. */
		while (!pool_take(pool, &result) && poll(&ready, 1, 100) == 1)
			;
		stopped = result.abandoned && result.on_cpu_ns > 0;
		ck_assert(!stopped || result.gradient == NULL);
		free(result.gradient);
	}
	ck_assert(stopped);
	/* The data is the test's own. */
	pool_set_lesson(pool, NULL);
}
END_TEST

START_TEST(each_task_is_computed_at_the_point_of_its_version)
{
	double loss_at[3] = { 0 };
	uint32_t seen[3] = { 0 };

	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(1, params, sizeof(params)), 0);
	ck_assert_int_eq(submit((struct task){ .version = 1, .seed = 5 }), 0);
	struct task_result result = take();
	loss_at[1] = result.loss;
	free(result.gradient);
	for (uint32_t i = 0; i < 50; i++)
		ck_assert_int_eq(submit((struct task){ .version = 1, .seed = 5 }), 0);
	/* Newer ones come while those wait and run; at zero all classes are equally likely. */
	memset(params, 0, sizeof(params));
	loss_at[2] = log(CLASSES);
	ck_assert_double_gt(fabs(loss_at[1] - loss_at[2]), 1e-3);
	ck_assert_int_eq(set_point(2, params, sizeof(params)), 0);
	for (uint32_t i = 0; i < 10; i++)
		ck_assert_int_eq(submit((struct task){ .version = 2, .seed = 5 }), 0);
	/* What nobody can compute at any more. */
	ck_assert_int_eq(submit((struct task){ .version = 3 }), -ENODATA);
	for (uint32_t i = 0; i < 60; i++) {
		result = take();
		ck_assert(!result.abandoned);
		ck_assert_double_eq_tol(result.loss, loss_at[result.task.version], 1e-5);
		seen[result.task.version]++;
		free(result.gradient);
	}
	ck_assert_uint_eq(seen[1], 50);
	ck_assert_uint_eq(seen[2], 10);
	/* The older one went with the last task at it. */
	ck_assert_uint_eq(pool_points(pool), 1);
	ck_assert_int_eq(submit((struct task){ .version = 1 }), -ENODATA);
}
END_TEST

START_TEST(a_version_that_came_again_is_the_one_that_came_last)
{
	static const float zero[PARAMS];

	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(7, params, sizeof(params)), 0);
	ck_assert_int_eq(set_point(7, zero, sizeof(zero)), 0);
	ck_assert_uint_eq(pool_points(pool), 1);
	ck_assert_int_eq(submit((struct task){ .version = 7 }), 0);
	struct task_result result = take();
	ck_assert_double_eq_tol(result.loss, log(CLASSES), 1e-6);
	free(result.gradient);
	/* An older version may come after a newer one: a task that was another worker's. */
	ck_assert_int_eq(set_point(6, params, sizeof(params)), 0);
	ck_assert_int_eq(submit((struct task){ .version = 6 }), 0);
	result = take();
	ck_assert_uint_eq(result.task.version, 6);
	free(result.gradient);
}
END_TEST

/* Tasks at versions 1 to 3, and what is older than 3 stopped: how many of those were computed. */
static uint32_t computed_of_the_older(void)
{
	uint32_t older = 0, newer = 0;

	for (uint64_t version = 1; version <= 3; version++) {
		ck_assert_int_eq(set_point(version, params, sizeof(params)), 0);
		for (uint32_t i = 0; i < 100; i++)
			ck_assert_int_eq(submit((struct task){ .version = version, .task = i }), 0);
	}
	pool_cancel_older(pool, 3);
	while (newer < 100) {
		struct task_result result = take();

		newer += result.task.version == 3;
		older += result.task.version < 3 && !result.abandoned;
		ck_assert(result.task.version < 3 || !result.abandoned);
		free(result.gradient);
	}
	return older;
}

START_TEST(stops_all_that_is_older_than_a_version)
{
	uint32_t least = 200;

	pool_set_lesson(pool, &lesson);
	/* Some may be done before the order comes; all, if the host is busy just then. */
	for (unsigned i = 0; i < 100 && least > 100; i++) {
		uint32_t older = computed_of_the_older();

		least = older < least ? older : least;
	}
	ck_assert_uint_le(least, 100);
	/* And with them went their points. */
	ck_assert_uint_eq(pool_points(pool), 1);
}
END_TEST

START_TEST(what_is_no_number_is_said_to_be_none)
{
	pool_set_lesson(pool, &lesson);
	params[3] = NAN;
	ck_assert_int_eq(set_point(1, params, sizeof(params)), 0);
	ck_assert_int_eq(submit((struct task){ .version = 1 }), 0);
	struct task_result result = take();
	ck_assert(!result.abandoned);
	ck_assert(result.not_finite);
	ck_assert_ptr_nonnull(result.gradient);
	ck_assert_uint_gt(result.wall_ns, 0);
	free(result.gradient);
}
END_TEST

START_TEST(a_task_has_its_own_number_of_samples)
{
	struct task_result few, many;

	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(1, params, sizeof(params)), 0);
	ck_assert_int_eq(pool_submit(pool, &(struct task){ .version = 1 }), -ERANGE);
	ck_assert_int_eq(submit((struct task){ .version = 1, .samples = BATCH + 1 }), -ERANGE);
	ck_assert_int_eq(submit((struct task){ .version = 1, .samples = 1 }), 0);
	few = take();
	ck_assert_int_eq(submit((struct task){ .version = 1, .samples = BATCH }), 0);
	many = take();
	ck_assert_uint_eq(few.task.samples, 1);
	ck_assert(!few.abandoned && !many.abandoned);
	ck_assert_double_ne(few.loss, many.loss);
	free(few.gradient);
	free(many.gradient);
}
END_TEST

#define KINDS	 8u
#define SEQUENCE 1500u

/* What became of the tasks of a sequence, by number. */
static struct {
	uint64_t version;
	bool is_cancelled, is_done;
} fates[SEQUENCE];

static void set_kind(uint64_t version)
{
	memset(params, 0, sizeof(params));
	params[PARAMS - 1] = (float)(version % KINDS) / 4;
	ck_assert_int_eq(set_point(version, params, sizeof(params)), 0);
}

/* Each result is the only one of its task, and right; only what was cancelled is abandoned. */
static uint32_t take_ready(const double *losses)
{
	struct task_result result;
	uint32_t count = 0;

	for (; pool_take(pool, &result); count++) {
		uint64_t i = result.task.task;

		ck_assert_uint_lt(i, SEQUENCE);
		ck_assert(!fates[i].is_done);
		fates[i].is_done = true;
		ck_assert_uint_eq(result.task.version, fates[i].version);
		ck_assert(!result.abandoned || fates[i].is_cancelled);
		if (!result.abandoned)
			ck_assert_double_eq_tol(result.loss, losses[result.task.version % KINDS],
						1e-6);
		free(result.gradient);
	}
	return count;
}

START_TEST(threads_come_and_go_while_points_and_orders_change)
{
	struct iso_rng rng = { test_seed_base() };
	double losses[KINDS];
	uint64_t version = KINDS;
	uint32_t made = 0;

	pool_set_lesson(pool, &lesson);
	for (uint32_t i = 0; i < KINDS; i++) {
		set_kind(i);
		ck_assert_int_eq(submit((struct task){ .version = i, .seed = 5 }), 0);
		struct task_result result = take();
		losses[i] = result.loss;
		free(result.gradient);
	}
	set_kind(version);
	while (made < SEQUENCE) {
		uint64_t chosen = iso_rng_below(&rng, made + 1);

		switch (iso_rng_below(&rng, 8)) {
		case 0: set_kind(++version); break;
		case 1: pool_set_active(pool, 1 + (uint32_t)iso_rng_below(&rng, 3)); break;
		case 2:
			/* Before the word, so that nothing comes in between. */
			if (chosen < made)
				fates[chosen].is_cancelled = true;
			pool_cancel(pool, &(struct task){ .task = chosen });
			break;
		case 3:
			if (iso_rng_below(&rng, 8) > 0)
				break;
			for (uint32_t i = 0; i < made; i++)
				fates[i].is_cancelled |= fates[i].version < version;
			pool_cancel_older(pool, version);
			break;
		default:
			fates[made].version = version;
			ck_assert_int_eq(
			    submit((struct task){ .task = made, .version = version, .seed = 5 }),
			    0);
			made++;
			break;
		}
		(void)take_ready(losses);
	}
	/* What was not cancelled comes, all of it. */
	for (uint32_t i = 0; i < SEQUENCE; i++) {
		struct pollfd ready = { .fd = pool_fd(pool), .events = POLLIN };

		while (!fates[i].is_cancelled && !fates[i].is_done)
			if (take_ready(losses) == 0)
				ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	}
	/* What was running when it was cancelled comes as well, and keeps its point until then. */
	pool_cancel(pool, NULL);
	while (pool_points(pool) > 1)
		if (take_ready(losses) == 0)
			usleep(100);
	ck_assert_uint_eq(pool_points(pool), 1);
}
END_TEST

START_TEST(gives_back_what_could_not_be_passed_on)
{
	pool_set_lesson(pool, &lesson);
	ck_assert_int_eq(set_point(0, params, sizeof(params)), 0);
	ck_assert_int_eq(submit((struct task){ .task = 1 }), 0);
	struct task_result first = take(), again;
	ck_assert_int_eq(pool_untake(pool, &first), 0);
	ck_assert_int_eq(submit((struct task){ .task = 2 }), 0);
	ck_assert(pool_take(pool, &again));
	ck_assert_uint_eq(again.task.task, 1);
	ck_assert_ptr_eq(again.gradient, first.gradient);
	free(again.gradient);
	free(take().gradient);
}
END_TEST

START_TEST(threads_follow_the_share_with_slack)
{
	/* First, from nothing. */
	ck_assert_uint_eq(iso_threads_for(0, 0, 4), 1);
	ck_assert_uint_eq(iso_threads_for(999999, 0, 4), 1);
	ck_assert_uint_eq(iso_threads_for(2000000, 0, 4), 2);
	ck_assert_uint_eq(iso_threads_for(UINT64_MAX, 0, 4), 4);
	/* Up as soon as a whole CPU is there, down only well below it. */
	ck_assert_uint_eq(iso_threads_for(1999999, 1, 4), 1);
	ck_assert_uint_eq(iso_threads_for(2000000, 1, 4), 2);
	ck_assert_uint_eq(iso_threads_for(1750000, 2, 4), 2);
	ck_assert_uint_eq(iso_threads_for(1749999, 2, 4), 1);
	ck_assert_uint_eq(iso_threads_for(100000, 4, 4), 1);
	/* The bound holds, whatever was before. */
	ck_assert_uint_eq(iso_threads_for(9000000, 8, 4), 4);
	ck_assert_uint_eq(iso_threads_for(UINT64_MAX, 4, 4), 4);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("pool");
	TCase *threads = tcase_create("threads");

	tcase_add_checked_fixture(tcase, open_pool, close_pool);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, computes_the_gradient_of_the_tasks_own_batch);
	tcase_add_test(tcase, refuses_tasks_before_there_is_something_to_compute);
	tcase_add_test(tcase, does_each_task_once_whatever_the_number_of_threads);
	tcase_add_test(tcase, computes_a_task_once_however_often_it_is_ordered);
	tcase_add_test(tcase, forgets_what_was_cancelled);
	tcase_add_test(tcase, stops_a_running_task_and_says_what_it_cost);
	tcase_add_test(tcase, each_task_is_computed_at_the_point_of_its_version);
	tcase_add_test(tcase, a_version_that_came_again_is_the_one_that_came_last);
	tcase_add_test(tcase, stops_all_that_is_older_than_a_version);
	tcase_add_test(tcase, what_is_no_number_is_said_to_be_none);
	tcase_add_test(tcase, a_task_has_its_own_number_of_samples);
	tcase_add_test(tcase, threads_come_and_go_while_points_and_orders_change);
	tcase_add_test(tcase, gives_back_what_could_not_be_passed_on);
	suite_add_tcase(suite, tcase);
	tcase_add_test(threads, threads_follow_the_share_with_slack);
	suite_add_tcase(suite, threads);
	return suite;
}
