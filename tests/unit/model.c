/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/model/model.h"
#include "lib/sgd/step.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEATURES_MAX 13u
#define CLASSES_MAX  5u
#define HIDDEN_MAX   7u
#define COUNT_MAX    9u
#define PARAMS_MAX   200u

/* One random problem.  workspace is no larger than promised: a sanitizer sees an overrun. */
static struct iso_model model;
static struct iso_model_batch batch;
static uint32_t params_count;
static float params[PARAMS_MAX], x[COUNT_MAX * FEATURES_MAX], targets[COUNT_MAX];
static float gradient[PARAMS_MAX], *workspace;

static float noise(struct iso_rng *rng)
{
	return (float)(2 * iso_rng_unit(rng) - 1);
}

static void make(struct iso_rng *rng, enum iso_model_kind kind)
{
	model = (struct iso_model){
		.kind = kind,
		.features = 1 + (uint32_t)iso_rng_below(rng, FEATURES_MAX),
		.classes = 2 + (uint32_t)iso_rng_below(rng, CLASSES_MAX - 1),
		.hidden = kind == ISO_MODEL_MLP ? 1 + (uint32_t)iso_rng_below(rng, HIDDEN_MAX) : 0,
		.l2 = iso_rng_below(rng, 2) == 0 ? 0 : 0.1f,
	};
	if (kind == ISO_MODEL_LOGISTIC)
		model.classes = 2;
	if (kind == ISO_MODEL_LINEAR)
		model.classes = 1;
	batch = (struct iso_model_batch){
		.x = x,
		.targets = targets,
		.count = 1 + (uint32_t)iso_rng_below(rng, COUNT_MAX),
	};
	params_count = iso_model_params(&model);
	ck_assert_uint_le(params_count, PARAMS_MAX);
	for (uint32_t i = 0; i < params_count; i++)
		params[i] = noise(rng);
	for (uint32_t i = 0; i < batch.count * model.features; i++)
		x[i] = noise(rng);
	for (uint32_t j = 0; j < batch.count; j++)
		targets[j] = kind == ISO_MODEL_LINEAR ? 3 * noise(rng)
						      : (float)iso_rng_below(rng, model.classes);
	free(workspace);
	workspace = malloc(iso_model_workspace_floats(&model, batch.count) * sizeof(float));
}

static void teardown(void)
{
	free(workspace);
	workspace = NULL;
}

/* y[outputs] = W x + b; adds ||W||^2 to *square; returns where the next layer starts. */
static const double *layer(const double *at, uint32_t inputs, uint32_t outputs, const double *in,
			   double *out, double *square)
{
	for (uint32_t o = 0; o < outputs; o++) {
		out[o] = at[outputs * inputs + o];
		for (uint32_t i = 0; i < inputs; i++) {
			out[o] += at[o * inputs + i] * in[i];
			*square += at[o * inputs + i] * at[o * inputs + i];
		}
	}
	return at + outputs * (inputs + 1);
}

static double softmax_loss(const double *outputs, uint32_t label)
{
	double sum = 0;

	for (uint32_t c = 0; c < model.classes; c++)
		sum += exp(outputs[c]);
	return log(sum) - outputs[label];
}

/* y output below 1 costs; by the formulas of the header. */
static double hinge(double margin)
{
	double miss = 1 - margin, mu = (double)ISO_MODEL_HINGE_MU;

	if (model.kind == ISO_MODEL_SVM_SMOOTH)
		return log(1 + exp(mu * miss)) / mu;
	return miss > 0 ? miss * miss : 0;
}

static double svm_loss(const double *outputs, uint32_t label)
{
	double loss = 0;

	if (model.classes == 2)
		return hinge(label == 1 ? outputs[0] : -outputs[0]);
	for (uint32_t c = 0; c < model.classes; c++)
		loss += hinge(label == c ? outputs[c] : -outputs[c]);
	return loss;
}

static double sample_loss(const double *outputs, double target)
{
	switch (model.kind) {
	case ISO_MODEL_SOFTMAX:
	case ISO_MODEL_MLP: return softmax_loss(outputs, (uint32_t)target);
	case ISO_MODEL_SVM:
	case ISO_MODEL_SVM_SMOOTH: return svm_loss(outputs, (uint32_t)target);
	case ISO_MODEL_LOGISTIC: return log(1 + exp(target > 0.5 ? -outputs[0] : outputs[0]));
	case ISO_MODEL_LINEAR: return (outputs[0] - target) * (outputs[0] - target) / 2;
	}
	return NAN;
}

/* Outputs a linear model of these kinds has. */
static uint32_t outputs_count(void)
{
	bool is_binary = model.classes == 2 && model.kind != ISO_MODEL_SOFTMAX;

	return is_binary ? 1 : model.classes;
}

/* The definition in the header, in double and without any trick. */
static double naive(const double *at)
{
	double loss = 0, square = 0;

	for (uint32_t j = 0; j < batch.count; j++) {
		double in[FEATURES_MAX], hidden[HIDDEN_MAX], outputs[CLASSES_MAX];

		square = 0;
		for (uint32_t f = 0; f < model.features; f++)
			in[f] = (double)x[j * model.features + f];
		if (model.kind == ISO_MODEL_MLP) {
			const double *next =
			    layer(at, model.features, model.hidden, in, hidden, &square);

			for (uint32_t h = 0; h < model.hidden; h++)
				hidden[h] = hidden[h] > 0 ? hidden[h] : 0;
			(void)layer(next, model.hidden, model.classes, hidden, outputs, &square);
		} else {
			(void)layer(at, model.features, outputs_count(), in, outputs, &square);
		}
		loss += sample_loss(outputs, (double)targets[j]) / batch.count;
	}
	return loss + 0.5 * (double)model.l2 * square;
}

/* A hinge or ReLU that turns within the step has no derivative to compare with. */
static bool check_one(uint32_t i, double *at)
{
	const double step = 1e-5, before = at[i];

	at[i] = before + step;
	double above = naive(at);
	at[i] = before - step;
	double below = naive(at);
	at[i] = before;
	double left = (naive(at) - below) / step, right = (above - naive(at)) / step;
	if (fabs(left - right) > 1e-2)
		return false;
	ck_assert_double_eq_tol((double)gradient[i], (above - below) / (2 * step), 2e-5);
	return true;
}

START_TEST(gradients_equal_central_differences_of_the_naive_loss)
{
	struct iso_rng rng = { test_seed_base() };
	uint32_t checked = 0, all = 0;

	for (int run = 0; run < test_runs(200); run++) {
		double at[PARAMS_MAX];

		make(&rng, (enum iso_model_kind)(1 + run % ISO_MODEL_KIND_LAST));
		for (uint32_t i = 0; i < params_count; i++)
			at[i] = (double)params[i];
		memset(gradient, 0x7f, sizeof(gradient));
		double loss = iso_model_gradient(&model, params, &batch, workspace, gradient);
		ck_assert_double_eq_tol(loss, naive(at), 1e-5 * (1 + loss));
		ck_assert_double_eq_tol(iso_model_loss(&model, params, &batch, workspace, NULL),
					loss, 1e-9 * (1 + loss));
		for (uint32_t i = 0; i < params_count; i++, all++)
			checked += check_one(i, at);
	}
	ck_assert_uint_gt(checked, all - all / 50);
}
END_TEST

/* Half of x becomes 0; the same rows sparse, in another order of storage. */
START_TEST(sparse_rows_give_what_full_rows_give)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(120); run++) {
		static uint64_t starts[COUNT_MAX + 1];
		static uint32_t columns[COUNT_MAX * FEATURES_MAX], rows[COUNT_MAX];
		static float values[COUNT_MAX * FEATURES_MAX], other[PARAMS_MAX];
		const struct iso_sparse sparse = { starts, columns, values };
		uint64_t filled = 0;

		make(&rng, (enum iso_model_kind)(1 + run % ISO_MODEL_KIND_LAST));
		for (uint32_t j = 0; j < batch.count; j++) {
			uint32_t row = batch.count - 1 - j;

			rows[row] = j;
			starts[j] = filled;
			for (uint32_t f = 0; f < model.features; f++) {
				float *cell = &x[row * model.features + f];

				if (iso_rng_below(&rng, 2) == 0)
					*cell = 0;
				if (fabsf(*cell) <= 0)
					continue;
				columns[filled] = f;
				values[filled++] = *cell;
			}
		}
		starts[batch.count] = filled;
		double loss = iso_model_gradient(&model, params, &batch, workspace, gradient);
		const struct iso_model_batch same = {
			.targets = targets, .count = batch.count, .sparse = &sparse, .rows = rows
		};
		memset(other, 0x7f, sizeof(other));
		ck_assert_double_eq_tol(iso_model_gradient(&model, params, &same, workspace, other),
					loss, 1e-5 * (1 + loss));
		for (uint32_t i = 0; i < params_count; i++)
			ck_assert_double_eq_tol((double)other[i], (double)gradient[i], 2e-5);
	}
}
END_TEST

START_TEST(huge_outputs_are_safe)
{
	struct iso_rng rng = { test_seed_base() };

	for (int kind = 1; kind <= (int)ISO_MODEL_KIND_LAST; kind++) {
		make(&rng, (enum iso_model_kind)kind);
		model.l2 = 0;
		/* Squares of them and products of two layers still have to fit a float. */
		float factor = kind == ISO_MODEL_MLP ? 1e15f : 1e30f;
		for (uint32_t i = 0; i < params_count; i++)
			params[i] *= factor;
		double loss = iso_model_gradient(&model, params, &batch, workspace, gradient);

		ck_assert_msg(isfinite(loss), "%s", iso_model_kind_text(model.kind));
		ck_assert(iso_sgd_finite(gradient, params_count));
	}
}
END_TEST

/* Far on the right side of every boundary: no loss and no gradient. */
START_TEST(what_is_right_by_far_costs_nothing)
{
	static const enum iso_model_kind kinds[] = { ISO_MODEL_SOFTMAX, ISO_MODEL_SVM,
						     ISO_MODEL_SVM_SMOOTH, ISO_MODEL_LOGISTIC };
	struct iso_rng rng = { test_seed_base() };

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		make(&rng, kinds[k]);
		model.l2 = 0;
		for (uint32_t j = 0; j < batch.count; j++)
			targets[j] = 1;
		for (uint32_t i = 0; i < params_count; i++)
			params[i] = 0;
		float *bias = params + params_count - outputs_count();
		for (uint32_t c = 0; c < outputs_count(); c++)
			bias[c] = c == 1 || outputs_count() == 1 ? 1e4f : -1e4f;
		ck_assert_double_eq(iso_model_gradient(&model, params, &batch, workspace, gradient),
				    0);
		for (uint32_t i = 0; i < params_count; i++)
			ck_assert_double_eq((double)gradient[i], 0);
	}
}
END_TEST

START_TEST(correct_ones_are_counted_and_ties_go_to_the_lowest_class)
{
	struct iso_rng rng = { test_seed_base() };
	uint32_t correct = 99;

	for (int kind = 1; kind <= (int)ISO_MODEL_KIND_LAST; kind++) {
		make(&rng, (enum iso_model_kind)kind);
		batch.count = 3;
		targets[0] = targets[1] = 0;
		targets[2] = 1;
		free(workspace);
		workspace = malloc(iso_model_workspace_floats(&model, 3) * sizeof(float));
		memset(params, 0, sizeof(params));
		double loss = iso_model_loss(&model, params, &batch, workspace, &correct);
		if (kind == ISO_MODEL_SOFTMAX || kind == ISO_MODEL_MLP)
			ck_assert_double_eq_tol(loss, log(model.classes), 1e-6);
		ck_assert_uint_eq(correct, kind == ISO_MODEL_LINEAR ? 0 : 2);
		if (kind == ISO_MODEL_LINEAR)
			continue;
		uint32_t outputs = kind == ISO_MODEL_MLP ? model.classes : outputs_count();
		params[params_count - outputs + (outputs > 1)] = 1;
		(void)iso_model_loss(&model, params, &batch, workspace, &correct);
		ck_assert_uint_eq(correct, 1);
	}
}
END_TEST

START_TEST(descent_finds_the_classes_of_separable_data)
{
	struct iso_rng rng = { test_seed_base() };

	for (int kind = 1; kind < (int)ISO_MODEL_LINEAR; kind++) {
		uint32_t correct = 0;

		do
			make(&rng, (enum iso_model_kind)kind);
		while (model.features < CLASSES_MAX || model.classes > model.features ||
		       (kind == ISO_MODEL_MLP && model.hidden < 4));
		for (uint32_t j = 0; j < batch.count; j++)
			x[j * model.features + (uint32_t)targets[j]] += 4;
		iso_model_init(&model, 3, params);
		for (int k = 0; k < 1000; k++) {
			(void)iso_model_gradient(&model, params, &batch, workspace, gradient);
			iso_sgd_add(params, gradient, params_count, -0.02f);
		}
		(void)iso_model_loss(&model, params, &batch, workspace, &correct);
		ck_assert_msg(correct == batch.count, "%s: %u of %u",
			      iso_model_kind_text(model.kind), correct, batch.count);
	}
}
END_TEST

/* t = w* x + b*: without penalty the loss is 0 there alone. */
START_TEST(least_squares_recover_the_line)
{
	const float weights[2] = { 2, -3 };
	float start[3];

	model = (struct iso_model){ ISO_MODEL_LINEAR, 2, 1, 0, 0 };
	batch = (struct iso_model_batch){ .x = x, .targets = targets, .count = 4 };
	workspace = malloc(iso_model_workspace_floats(&model, 4) * sizeof(float));
	for (uint32_t j = 0; j < 4; j++) {
		x[2 * j] = j % 2 == 0 ? 1 : -1;
		x[2 * j + 1] = j / 2 == 0 ? 1 : -1;
		targets[j] = weights[0] * x[2 * j] + weights[1] * x[2 * j + 1] + 0.5f;
	}
	iso_model_init(&model, 1, start);
	for (int k = 0; k < 100; k++) {
		(void)iso_model_gradient(&model, start, &batch, workspace, gradient);
		iso_sgd_add(start, gradient, 3, -0.5f);
	}
	ck_assert_double_eq_tol((double)start[0], 2, 1e-5);
	ck_assert_double_eq_tol((double)start[1], -3, 1e-5);
	ck_assert_double_eq_tol((double)start[2], 0.5, 1e-5);
}
END_TEST

/* f((p + q) / 2) <= (f(p) + f(q)) / 2. */
START_TEST(all_but_the_network_are_convex)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(200); run++) {
		float other[PARAMS_MAX], middle[PARAMS_MAX];

		make(&rng, (enum iso_model_kind)(1 + run % ISO_MODEL_KIND_LAST));
		if (model.kind == ISO_MODEL_MLP)
			continue;
		for (uint32_t i = 0; i < params_count; i++) {
			other[i] = 3 * noise(&rng);
			middle[i] = (params[i] + other[i]) / 2;
		}
		double mean = (iso_model_loss(&model, params, &batch, workspace, NULL) +
			       iso_model_loss(&model, other, &batch, workspace, NULL)) /
			      2;
		ck_assert_double_le(iso_model_loss(&model, middle, &batch, workspace, NULL),
				    mean + 1e-5 * (1 + mean));
	}
}
END_TEST

START_TEST(a_network_starts_from_its_seed_and_within_its_bounds)
{
	const struct iso_model mlp = { ISO_MODEL_MLP, 12, 3, 7, 0 };
	float first[7 * 13 + 3 * 8], again[7 * 13 + 3 * 8];
	double largest = 0;

	ck_assert_uint_eq(iso_model_params(&mlp), 7 * 13 + 3 * 8);
	iso_model_init(&mlp, 5, first);
	iso_model_init(&mlp, 5, again);
	ck_assert_mem_eq(first, again, sizeof(first));
	iso_model_init(&mlp, 6, again);
	ck_assert_mem_ne(first, again, sizeof(first));
	for (uint32_t i = 0; i < 7 * 13; i++)
		largest = fmax(largest, fabs((double)first[i]));
	ck_assert_double_le(largest, 1 / sqrt(12));
	ck_assert_double_gt(largest, 0.8 / sqrt(12));
	for (uint32_t i = 7 * 13; i < 7 * 13 + 3 * 8; i++)
		ck_assert_double_le(fabs((double)first[i]), 1 / sqrt(7));
}
END_TEST

START_TEST(models_that_make_no_sense_are_not_valid)
{
	static const struct iso_model bad[] = {
		{ 0, 3, 2, 0, 0 },
		{ (enum iso_model_kind)(ISO_MODEL_KIND_LAST + 1), 3, 2, 0, 0 },
		{ ISO_MODEL_SOFTMAX, 0, 2, 0, 0 },
		{ ISO_MODEL_SOFTMAX, 3, 1, 0, 0 },
		{ ISO_MODEL_SOFTMAX, 3, ISO_MODEL_CLASSES_MAX + 1, 0, 0 },
		{ ISO_MODEL_SOFTMAX, 3, 2, 1, 0 },
		{ ISO_MODEL_SOFTMAX, 3, 2, 0, -1 },
		{ ISO_MODEL_SOFTMAX, 3, 2, 0, NAN },
		{ ISO_MODEL_SOFTMAX, 3, 2, 0, INFINITY },
		{ ISO_MODEL_SOFTMAX, UINT32_MAX, 256, 0, 0 },
		{ ISO_MODEL_SOFTMAX, 1u << 28, 2, 0, 0 },
		{ ISO_MODEL_MLP, 3, 2, 0, 0 },
		{ ISO_MODEL_MLP, UINT32_MAX, 2, UINT32_MAX, 0 },
		{ ISO_MODEL_MLP, 1u << 28, 2, 1u << 28, 0 },
		{ ISO_MODEL_LOGISTIC, 3, 3, 0, 0 },
		{ ISO_MODEL_LINEAR, 3, 2, 0, 0 },
	};
	const struct iso_model good = { ISO_MODEL_SOFTMAX, (1u << 27) - 1, 2, 0, 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!iso_model_valid(&bad[i]), "%zu", i);
	ck_assert(iso_model_valid(&good));
}
END_TEST

START_TEST(steps_are_exact_and_infinities_seen)
{
	float point[5] = { 1, 2, 3, 4, 5 };
	const float slope[5] = { 0.5f, -2, 0, 8, 1 };

	iso_sgd_add(point, slope, 5, -2);
	ck_assert_double_eq((double)point[0], 0);
	ck_assert_double_eq((double)point[1], 6);
	ck_assert_double_eq((double)point[4], 3);
	float values[4] = { 0, -FLT_MAX, FLT_TRUE_MIN, FLT_MAX };
	ck_assert(iso_sgd_finite(values, 4));
	ck_assert(iso_sgd_finite(values, 0));
	for (int i = 0; i < 3; i++) {
		values[2] = (const float[]){ NAN, INFINITY, -INFINITY }[i];
		ck_assert(!iso_sgd_finite(values, 4));
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("model");
	TCase *tcase = tcase_create("gradient");

	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_test(tcase, gradients_equal_central_differences_of_the_naive_loss);
	tcase_add_test(tcase, sparse_rows_give_what_full_rows_give);
	tcase_add_test(tcase, huge_outputs_are_safe);
	tcase_add_test(tcase, what_is_right_by_far_costs_nothing);
	tcase_add_test(tcase, correct_ones_are_counted_and_ties_go_to_the_lowest_class);
	tcase_add_test(tcase, descent_finds_the_classes_of_separable_data);
	tcase_add_test(tcase, least_squares_recover_the_line);
	tcase_add_test(tcase, all_but_the_network_are_convex);
	tcase_add_test(tcase, a_network_starts_from_its_seed_and_within_its_bounds);
	tcase_add_test(tcase, models_that_make_no_sense_are_not_valid);
	tcase_add_test(tcase, steps_are_exact_and_infinities_seen);
	suite_add_tcase(suite, tcase);
	return suite;
}
