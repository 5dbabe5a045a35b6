/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/gradient.h"

#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/draw.h"
#include "lib/rng.h"
#include "tests/test.h"

/* The gradient of a node's part, in pieces: against the model's own over all at once. */

#define SAMPLES	 3001u /* several pieces, the last one short */
#define FEATURES 5u
#define CLASSES	 3u
#define PARAMS	 (CLASSES * (FEATURES + 1))
#define WAIT_MS	 20000

static float dense[SAMPLES * FEATURES];
static uint8_t labels[SAMPLES];
static uint32_t order[SAMPLES];
static double y[PARAMS];
static const struct dataset data = {
	.samples = SAMPLES,
	.features = FEATURES,
	.classes = CLASSES,
	.dense = dense,
	.labels = labels,
};
static struct local local;
static struct pool *pool;
static struct gradient *gradient;
static struct error error;

static void draw(void)
{
	struct iso_rng rng = { test_seed_base() };

	for (uint32_t i = 0; i < SAMPLES; i++) {
		order[i] = i;
		labels[i] = (uint8_t)iso_rng_below(&rng, CLASSES);
	}
	iso_draw_shuffle(&rng, order, SAMPLES);
	for (uint32_t i = 0; i < SAMPLES * FEATURES; i++)
		dense[i] = (float)iso_draw_normal(&rng);
	for (uint32_t i = 0; i < PARAMS; i++)
		y[i] = iso_draw_normal(&rng);
	local = (struct local){
		.data = &data,
		.model = { ISO_MODEL_SOFTMAX, FEATURES, CLASSES, 0, 0.125f },
		.params = PARAMS,
		.samples = order,
		.samples_count = SAMPLES,
		.weight = 1,
	};
}

static void open_all(uint32_t threads, uint32_t batch)
{
	ck_assert_int_eq(pool_open(threads, NULL, &pool, &error), 0);
	pool_set_active(pool, threads);
	ck_assert_int_eq(gradient_open(&local, batch, 7, pool, &gradient, &error), 0);
}

static void close_all(void)
{
	gradient = gradient_close(gradient);
	pool = pool_close(pool);
}

static int compute_one(uint64_t number)
{
	struct pollfd ready = { .fd = pool_fd(pool), .events = POLLIN };
	int r;

	ck_assert_int_eq(gradient_start(gradient, number, y), 0);
	ck_assert(gradient_is_running(gradient));
	while ((r = gradient_take(gradient)) == 0)
		ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	ck_assert(!gradient_is_running(gradient));
	return r;
}

/* All samples in one batch. */
static double whole(float ret_gradient[PARAMS])
{
	float params[PARAMS], targets[SAMPLES];
	float *x = malloc(sizeof(dense));
	float *workspace =
	    malloc(iso_model_workspace_floats(&local.model, SAMPLES) * sizeof(float));
	struct iso_model_batch batch = { .count = SAMPLES };

	ck_assert(x != NULL && workspace != NULL);
	for (uint32_t i = 0; i < PARAMS; i++)
		params[i] = (float)y[i];
	batch = dataset_batch(&data, true, order, SAMPLES, x, targets);
	double loss = iso_model_gradient(&local.model, params, &batch, workspace, ret_gradient);
	free(workspace);
	free(x);
	return loss;
}

START_TEST(the_pieces_add_up_to_the_gradient_of_the_whole_part)
{
	float expected[PARAMS];

	open_all(3, 0);
	ck_assert_int_eq(compute_one(1), 1);
	double loss = whole(expected);
	ck_assert_double_eq_tol(gradient_loss(gradient), loss, 1e-5 * fabs(loss));
	for (uint32_t i = 0; i < PARAMS; i++)
		ck_assert_double_eq_tol(gradient_values(gradient)[i], (double)expected[i], 1e-5);
	ck_assert_uint_eq(gradient_pieces(gradient), 6);
	ck_assert_uint_gt(gradient_on_cpu_ns(gradient), 0);
	close_all();
}
END_TEST

START_TEST(the_number_of_threads_changes_not_a_bit)
{
	double first[PARAMS];

	open_all(1, 0);
	ck_assert_int_eq(compute_one(1), 1);
	memcpy(first, gradient_values(gradient), sizeof(first));
	double loss = gradient_loss(gradient);
	close_all();
	open_all(4, 0);
	for (uint64_t i = 0; i < 5; i++) {
		ck_assert_int_eq(compute_one(i), 1);
		ck_assert_mem_eq(gradient_values(gradient), first, sizeof(first));
		ck_assert_double_eq(gradient_loss(gradient), loss);
	}
	close_all();
}
END_TEST

START_TEST(a_weight_counts_for_the_loss_and_not_for_the_penalty)
{
	double plain[PARAMS], penalty;

	open_all(2, 0);
	ck_assert_int_eq(compute_one(1), 1);
	memcpy(plain, gradient_values(gradient), sizeof(plain));
	close_all();
	local.weight = 3;
	open_all(2, 0);
	ck_assert_int_eq(compute_one(1), 1);
	for (uint32_t i = 0; i < PARAMS; i++) {
		/* The last of each layer are biases, which are not penalised. */
		penalty = i < CLASSES * FEATURES ? 0.125 * y[i] : 0;
		ck_assert_double_eq_tol(gradient_values(gradient)[i],
					3 * (plain[i] - penalty) + penalty, 1e-4);
	}
	close_all();
}
END_TEST

START_TEST(batches_differ_by_number_and_only_by_it)
{
	double first[PARAMS];

	open_all(2, 700);
	ck_assert_int_eq(compute_one(1), 1);
	memcpy(first, gradient_values(gradient), sizeof(first));
	ck_assert_int_eq(compute_one(2), 1);
	ck_assert(memcmp(first, gradient_values(gradient), sizeof(first)) != 0);
	ck_assert_int_eq(compute_one(1), 1);
	ck_assert_mem_eq(first, gradient_values(gradient), sizeof(first));
	close_all();
}
END_TEST

START_TEST(what_is_not_finite_is_said_and_the_next_is_fine)
{
	open_all(2, 0);
	double kept = y[0];
	y[0] = 1e300;
	ck_assert_int_eq(compute_one(1), -EDOM);
	y[0] = kept;
	ck_assert_int_eq(compute_one(2), 1);
	close_all();
}
END_TEST

START_TEST(may_be_closed_while_it_runs)
{
	open_all(2, 0);
	ck_assert_int_eq(gradient_start(gradient, 1, y), 0);
	close_all();
}
END_TEST

Suite *test_suite(void)
{
	/* isobar-worker takes no second thread then. */
	if (openblas_get_parallel() == OPENBLAS_SEQUENTIAL)
		test_skip_all("the sequential OpenBLAS is not for several threads");

	Suite *suite = suite_create("gradient");
	TCase *tcase = tcase_create("pieces");

	tcase_add_checked_fixture(tcase, draw, NULL);
	tcase_add_test(tcase, the_pieces_add_up_to_the_gradient_of_the_whole_part);
	tcase_add_test(tcase, the_number_of_threads_changes_not_a_bit);
	tcase_add_test(tcase, a_weight_counts_for_the_loss_and_not_for_the_penalty);
	tcase_add_test(tcase, batches_differ_by_number_and_only_by_it);
	tcase_add_test(tcase, what_is_not_finite_is_said_and_the_next_is_fine);
	tcase_add_test(tcase, may_be_closed_while_it_runs);
	suite_add_tcase(suite, tcase);
	return suite;
}
