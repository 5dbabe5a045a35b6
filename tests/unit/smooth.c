/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/model/smooth.h"
#include "lib/tridiagonal.h"
#include "tests/test.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEATURES_MAX 9u
#define CLASSES_MAX  5u
#define ROWS	     200u /* several chunks */
#define PARAMS_MAX   (FEATURES_MAX * CLASSES_MAX)

/* One random problem.  workspace is no larger than promised: a sanitizer sees an overrun. */
static struct iso_smooth smooth;
static struct iso_samples samples;
static uint32_t params, rows[ROWS];
static double x[ROWS * FEATURES_MAX], targets[ROWS], y[PARAMS_MAX], *workspace;

static double noise(struct iso_rng *rng)
{
	return 2 * iso_rng_unit(rng) - 1;
}

static const enum iso_smooth_kind kinds[] = { ISO_SMOOTH_REGRESSION, ISO_SMOOTH_LOGISTIC,
					      ISO_SMOOTH_SOFTMAX, ISO_SMOOTH_SVM,
					      ISO_SMOOTH_WAVES };
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

static void draw_problem(struct iso_rng *rng, enum iso_smooth_kind kind)
{
	bool is_svm = kind == ISO_SMOOTH_SVM, is_waves = kind == ISO_SMOOTH_WAVES;

	smooth = (struct iso_smooth){
		.kind = kind,
		.features = is_waves ? 2 : 1 + (uint32_t)iso_rng_below(rng, FEATURES_MAX),
		.l2 = is_svm || is_waves || iso_rng_below(rng, 2) == 0 ? 0 : 0.3,
		.mu = is_svm ? 1 + 4 * iso_rng_unit(rng) : 0,
		.c = is_svm ? 0.1 + iso_rng_unit(rng) : 0,
	};
	if (kind == ISO_SMOOTH_SOFTMAX)
		smooth.classes = 2 + (uint32_t)iso_rng_below(rng, CLASSES_MAX - 1);
	samples = (struct iso_samples){
		.x = x,
		.targets = targets,
		.rows = iso_rng_below(rng, 2) == 0 ? NULL : rows,
		.count = 1 + (uint32_t)iso_rng_below(rng, ROWS),
		.weight = 0.5 + iso_rng_unit(rng),
	};
}

static void make(uint64_t seed, enum iso_smooth_kind kind)
{
	struct iso_rng rng = { seed };

	draw_problem(&rng, kind);
	params = iso_smooth_params(&smooth);
	for (uint32_t i = 0; i < params; i++)
		y[i] = 2 * noise(&rng);
	for (uint32_t i = 0; i < ROWS * smooth.features; i++)
		x[i] = 2 * noise(&rng);
	for (uint32_t j = 0; j < ROWS; j++) {
		uint32_t classes = kind == ISO_SMOOTH_SOFTMAX ? smooth.classes : 2;

		rows[j] = (uint32_t)iso_rng_below(&rng, ROWS);
		targets[j] = kind == ISO_SMOOTH_REGRESSION ? 3 * noise(&rng)
							   : (double)iso_rng_below(&rng, classes);
	}
	free(workspace);
	workspace = malloc(iso_smooth_workspace(&smooth, samples.count) * sizeof(double));
}

static void teardown(void)
{
	free(workspace);
	workspace = NULL;
}

static double dot(uint32_t n, const double *a, const double *b)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* The loss of one row by the formulas of the header, without any trick. */
static double naive_loss(const double *at, uint32_t row)
{
	uint32_t n = smooth.features;
	const double *in = x + (size_t)row * n;
	double target = targets[row], sign = target > 0 ? 1 : -1, sum = 0;

	switch (smooth.kind) {
	case ISO_SMOOTH_REGRESSION: return pow(dot(n, at, in) - at[n] - target, 2);
	case ISO_SMOOTH_LOGISTIC: return log(1 + exp(-sign * dot(n, at, in)));
	case ISO_SMOOTH_SOFTMAX:
		for (uint32_t k = 0; k < smooth.classes; k++)
			sum += exp(dot(n, at + k * n, in));
		return log(sum) - dot(n, at + (uint32_t)target * n, in);
	case ISO_SMOOTH_SVM:
		return log(1 + exp(smooth.mu * (1 - sign * (dot(n, at, in) - at[n])))) / smooth.mu;
	case ISO_SMOOTH_WAVES: return in[0] * cos(at[0]) + in[1] * at[0];
	}
	return NAN;
}

static double naive(const double *at)
{
	double sum = 0, square = dot(params, at, at);

	for (uint32_t j = 0; j < samples.count; j++)
		sum += naive_loss(at, samples.rows != NULL ? rows[j] : j);
	if (smooth.kind == ISO_SMOOTH_SVM)
		return dot(smooth.features, at, at) + samples.weight * smooth.c * sum;
	sum *= samples.weight / samples.count;
	if (smooth.kind == ISO_SMOOTH_WAVES)
		return 4 * square + 3 * pow(sin(at[0]), 2) + sum;
	return sum + smooth.l2 / 2 * square;
}

static void assert_near(double value, double expected, double tolerance)
{
	ck_assert_msg(fabs(value - expected) <= tolerance * fmax(1, fabs(expected)),
		      "%s: %.17g, expected %.17g", iso_smooth_kind_text(smooth.kind), value,
		      expected);
}

START_TEST(is_what_its_formula_says)
{
	double gradient[PARAMS_MAX], at[PARAMS_MAX];

	for (int run = 0; run < test_runs(20); run++) {
		make(test_seed_base() + (uint64_t)run, kinds[_i]);
		double value = iso_smooth_gradient(&smooth, y, &samples, workspace, gradient);

		assert_near(value, naive(y), 1e-12);
		assert_near(iso_smooth_value(&smooth, y, &samples, workspace), value, 1e-15);
		memcpy(at, y, sizeof(at));
		for (uint32_t i = 0; i < params; i++) {
			double h = 1e-5;

			at[i] = y[i] + h;
			double above = naive(at);
			at[i] = y[i] - h;
			double below = naive(at);
			at[i] = y[i];
			assert_near(gradient[i], (above - below) / (2 * h), 1e-6);
		}
	}
}
END_TEST

START_TEST(mean_of_the_sample_gradients_is_the_gradient)
{
	double gradient[PARAMS_MAX], one[PARAMS_MAX], sum[PARAMS_MAX] = { 0 };

	make(test_seed_base(), kinds[_i]);
	(void)iso_smooth_gradient(&smooth, y, &samples, workspace, gradient);
	for (uint32_t j = 0; j < samples.count; j++) {
		iso_smooth_sample_gradient(&smooth, y, &samples, j, workspace, one);
		for (uint32_t i = 0; i < params; i++)
			sum[i] += one[i];
	}
	for (uint32_t i = 0; i < params; i++)
		assert_near(sum[i] / samples.count, gradient[i], 1e-12);
}
END_TEST

/* Along one direction, against the difference of gradients. */
START_TEST(hessian_is_the_slope_of_the_gradient)
{
	double above[PARAMS_MAX], below[PARAMS_MAX], at[PARAMS_MAX], direction[PARAMS_MAX];
	double product[PARAMS_MAX], h = 1e-5;

	for (int run = 0; run < test_runs(20); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run + 1000 };

		make(test_seed_base() + (uint64_t)run, kinds[_i]);
		for (uint32_t i = 0; i < params; i++)
			direction[i] = noise(&rng);
		for (uint32_t i = 0; i < params; i++)
			at[i] = y[i] + h * direction[i];
		(void)iso_smooth_gradient(&smooth, at, &samples, workspace, above);
		for (uint32_t i = 0; i < params; i++)
			at[i] = y[i] - h * direction[i];
		(void)iso_smooth_gradient(&smooth, at, &samples, workspace, below);
		iso_smooth_hessian(&smooth, y, &samples, direction, workspace, product);
		for (uint32_t i = 0; i < params; i++)
			assert_near(product[i], (above[i] - below[i]) / (2 * h), 1e-6);
	}
}
END_TEST

/* The largest curvature found by walking along the Hessian from a point. */
static double steepest(struct iso_rng *rng)
{
	double direction[PARAMS_MAX], product[PARAMS_MAX], slope = 0;

	for (uint32_t i = 0; i < params; i++)
		direction[i] = noise(rng);
	for (int step = 0; step < 300; step++) {
		double norm = cblas_dnrm2((int)params, direction, 1);

		if (!(norm > 0))
			return 0;
		cblas_dscal((int)params, 1 / norm, direction, 1);
		iso_smooth_hessian(&smooth, y, &samples, direction, workspace, product);
		slope = fmax(slope, dot(params, direction, product));
		memcpy(direction, product, params * sizeof(*product));
	}
	return slope;
}

START_TEST(curvature_is_a_bound_everywhere)
{
	for (int run = 0; run < test_runs(10); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run + 2000 };

		make(test_seed_base() + (uint64_t)run, kinds[_i]);
		double bound = iso_smooth_curvature(&smooth, &samples, workspace);
		for (int point = 0; point < 10; point++) {
			double size = pow(10, 2 * noise(&rng));

			for (uint32_t i = 0; i < params; i++)
				y[i] = point == 0 ? 0 : size * noise(&rng);
			ck_assert_double_le(steepest(&rng), bound * (1 + 1e-12));
		}
	}
}
END_TEST

/* At y = 0 all samples of a logistic regression have the largest curvature at once. */
START_TEST(curvature_is_not_far_above_what_is_reached)
{
	for (int run = 0; run < test_runs(20); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };

		make(rng.state, _i == 0 ? ISO_SMOOTH_LOGISTIC : ISO_SMOOTH_REGRESSION);
		memset(y, 0, sizeof(y));
		double bound = iso_smooth_curvature(&smooth, &samples, workspace);
		ck_assert_double_le(bound, 1.06 * steepest(&rng));
	}
}
END_TEST

START_TEST(values_by_hand)
{
	/* Two samples: (1, 2) -> 1, (3, -1) -> 0. */
	static const double in[] = { 1, 2, 3, -1 }, classes[] = { 1, 0 };
	const struct iso_samples two = { .x = in, .targets = classes, .count = 2, .weight = 1 };
	const double at[] = { 0.5, 0.25, 0.5 };
	double space[500], gradient[4];

	/* Outputs 1 - 0.5 and 1.25 - 0.5; misses -0.5 and 0.75. */
	smooth = (struct iso_smooth){ .kind = ISO_SMOOTH_REGRESSION, .features = 2 };
	ck_assert_uint_le(iso_smooth_workspace(&smooth, 2), 500);
	assert_near(iso_smooth_gradient(&smooth, at, &two, space, gradient), (0.25 + 0.5625) / 2,
		    1e-15);
	assert_near(gradient[0], -0.5 * 1 + 0.75 * 3, 1e-15);
	assert_near(gradient[1], -0.5 * 2 + 0.75 * -1, 1e-15);
	assert_near(gradient[2], 0.5 - 0.75, 1e-15);
	/* w'w + c sum: hinges at u = 1 - 0.5 and u = 1 + 0.75. */
	smooth = (struct iso_smooth){ .kind = ISO_SMOOTH_SVM, .features = 2, .mu = 2, .c = 3 };
	assert_near(iso_smooth_value(&smooth, at, &two, space),
		    0.3125 + 3 * (log(1 + exp(1)) + log(1 + exp(3.5))) / 2, 1e-15);
	/* Outputs 1 and 1.25. */
	smooth = (struct iso_smooth){ .kind = ISO_SMOOTH_LOGISTIC, .features = 2, .l2 = 0.5 };
	assert_near(iso_smooth_value(&smooth, at, &two, space),
		    (log(1 + exp(-1)) + log(1 + exp(1.25))) / 2 + 0.25 * 0.3125, 1e-15);
	/* Two classes of a softmax are a logistic regression of their difference. */
	const double pair[] = { 0, 0, 0.5, 0.25 };
	smooth = (struct iso_smooth){
		.kind = ISO_SMOOTH_SOFTMAX,
		.features = 2,
		.classes = 2,
		.l2 = 0.5,
	};
	assert_near(iso_smooth_value(&smooth, pair, &two, space),
		    (log(1 + exp(-1)) + log(1 + exp(1.25))) / 2 + 0.25 * 0.3125, 1e-15);
	/* a = 2, b = 0.5 as the means. */
	smooth = (struct iso_smooth){ .kind = ISO_SMOOTH_WAVES, .features = 2 };
	assert_near(iso_smooth_gradient(&smooth, at, &two, space, gradient),
		    1 + 3 * pow(sin(0.5), 2) + 2 * cos(0.5) + 0.25, 1e-15);
	assert_near(iso_smooth_curvature(&smooth, &two, space), 16, 1e-15);
}
END_TEST

/* Margins of a thousand, where exp() is infinite. */
START_TEST(survives_large_outputs)
{
	double gradient[PARAMS_MAX];

	make(test_seed_base(), kinds[_i]);
	for (uint32_t i = 0; i < params; i++)
		y[i] *= 1e4;
	ck_assert(isfinite(iso_smooth_gradient(&smooth, y, &samples, workspace, gradient)));
	for (uint32_t i = 0; i < params; i++)
		ck_assert(isfinite(gradient[i]));
}
END_TEST

/* Unequal parts, each weighted: the mean of the g_i is the objective of all. */
START_TEST(weights_make_up_for_unequal_parts)
{
	static const uint32_t sizes[] = { 120, 50, 29, 1 };
	double sum = 0;
	uint32_t first = 0;

	make(test_seed_base(), kinds[_i]);
	samples.rows = NULL;
	samples.weight = 1;
	samples.count = ROWS;
	free(workspace);
	workspace = malloc(iso_smooth_workspace(&smooth, ROWS) * sizeof(double));
	if (smooth.kind == ISO_SMOOTH_SVM)
		smooth.c /= 4;
	double whole = iso_smooth_value(&smooth, y, &samples, workspace);
	if (smooth.kind == ISO_SMOOTH_SVM)
		smooth.c *= 4;
	for (int part = 0; part < 4; part++) {
		samples.x = x + (size_t)first * smooth.features;
		samples.targets = targets + first;
		samples.count = sizes[part];
		samples.weight = iso_smooth_weight(&smooth, sizes[part], 4, ROWS);
		sum += iso_smooth_value(&smooth, y, &samples, workspace) / 4;
		first += sizes[part];
	}
	assert_near(sum, whole, 1e-13);
}
END_TEST

START_TEST(refuses_what_makes_no_sense)
{
	static const struct iso_smooth bad[] = {
		{ .kind = ISO_SMOOTH_LOGISTIC },
		{ .kind = 0, .features = 2 },
		{ .kind = ISO_SMOOTH_WAVES + 1, .features = 2 },
		{ .kind = ISO_SMOOTH_LOGISTIC, .features = 2, .l2 = -1 },
		{ .kind = ISO_SMOOTH_LOGISTIC, .features = 2, .l2 = INFINITY },
		{ .kind = ISO_SMOOTH_LOGISTIC, .features = 2, .mu = 1 },
		{ .kind = ISO_SMOOTH_LOGISTIC, .features = 2, .classes = 2 },
		{ .kind = ISO_SMOOTH_LOGISTIC, .features = ISO_SMOOTH_PARAMS_MAX },
		{ .kind = ISO_SMOOTH_LOGISTIC, .features = 1u << 25 }, /* 64 of them: 2^31 */
		{ .kind = ISO_SMOOTH_SOFTMAX, .features = 2, .classes = 1 },
		{ .kind = ISO_SMOOTH_SOFTMAX, .features = 1u << 16, .classes = 1u << 16 },
		{ .kind = ISO_SMOOTH_SVM, .features = 2, .mu = 1 },
		{ .kind = ISO_SMOOTH_SVM, .features = 2, .c = 1 },
		{ .kind = ISO_SMOOTH_SVM, .features = 2, .c = 1, .mu = 1, .l2 = 1 },
		{ .kind = ISO_SMOOTH_SVM, .features = 2, .c = INFINITY, .mu = 1 },
		{ .kind = ISO_SMOOTH_WAVES, .features = 3 },
		{ .kind = ISO_SMOOTH_WAVES, .features = 2, .l2 = 0.1 },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!iso_smooth_valid(&bad[i]), "number %zu", i);
	ck_assert_ptr_null(iso_smooth_kind_text(ISO_SMOOTH_WAVES + 1));
}
END_TEST

/* tridiag(-1, 2, -1) has 2 - 2 cos(k pi / (n + 1)). */
START_TEST(largest_eigenvalue_of_a_tridiagonal_matrix)
{
	double diagonal[50], beside[50];

	for (uint32_t n = 1; n <= 50; n++) {
		diagonal[n - 1] = 2;
		beside[n - 1] = -1;
		ck_assert_double_eq_tol(iso_tridiagonal_largest(n, diagonal, beside),
					2 - 2 * cos(M_PI * n / (n + 1)), 1e-14);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("smooth");
	TCase *tcase = tcase_create("objectives");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_loop_test(tcase, is_what_its_formula_says, 0, KINDS);
	tcase_add_loop_test(tcase, mean_of_the_sample_gradients_is_the_gradient, 0, KINDS);
	tcase_add_loop_test(tcase, hessian_is_the_slope_of_the_gradient, 0, KINDS);
	tcase_add_loop_test(tcase, curvature_is_a_bound_everywhere, 0, KINDS);
	tcase_add_loop_test(tcase, curvature_is_not_far_above_what_is_reached, 0, 2);
	tcase_add_test(tcase, values_by_hand);
	tcase_add_loop_test(tcase, survives_large_outputs, 0, KINDS);
	tcase_add_loop_test(tcase, weights_make_up_for_unequal_parts, 0, KINDS);
	tcase_add_test(tcase, refuses_what_makes_no_sense);
	tcase_add_test(tcase, largest_eigenvalue_of_a_tridiagonal_matrix);
	suite_add_tcase(suite, tcase);
	return suite;
}
