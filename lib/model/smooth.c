/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/smooth.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "lib/draw.h"
#include "lib/model/smooth_loss.h"
#include "lib/tridiagonal.h"

/* Samples that are computed together: large enough for CBLAS, small enough for a cache. */
#define CHUNK 64u
_Static_assert((uint64_t)CHUNK *ISO_SMOOTH_PARAMS_MAX <= INT_MAX, "a length for CBLAS");

#define LANCZOS_STEPS  40u
#define LANCZOS_MARGIN 1.03

bool iso_smooth_valid(const struct iso_smooth *smooth)
{
	bool is_svm = smooth->kind == ISO_SMOOTH_SVM, is_waves = smooth->kind == ISO_SMOOTH_WAVES;
	uint64_t outputs = smooth->kind == ISO_SMOOTH_SOFTMAX ? smooth->classes : 1;

	if (iso_smooth_kind_text(smooth->kind) == NULL || smooth->features == 0)
		return false;
	if (smooth->kind == ISO_SMOOTH_SOFTMAX ? smooth->classes < 2 : smooth->classes != 0)
		return false;
	if (outputs * smooth->features >= ISO_SMOOTH_PARAMS_MAX)
		return false;
	if (is_svm ? !(smooth->mu > 0 && smooth->c > 0) : smooth->mu != 0 || smooth->c != 0)
		return false;
	if (!isfinite(smooth->mu) || !isfinite(smooth->c) || !isfinite(smooth->l2))
		return false;
	return (is_svm || is_waves ? smooth->l2 == 0 : smooth->l2 >= 0) &&
	       (!is_waves || smooth->features == 2);
}

const char *iso_smooth_kind_text(enum iso_smooth_kind kind)
{
	switch (kind) {
	case ISO_SMOOTH_REGRESSION: return "regression";
	case ISO_SMOOTH_LOGISTIC: return "logistic";
	case ISO_SMOOTH_SOFTMAX: return "softmax";
	case ISO_SMOOTH_SVM: return "svm";
	case ISO_SMOOTH_WAVES: return "waves";
	}
	return NULL;
}

/* nu, the last parameter. */
static bool has_offset(const struct iso_smooth *smooth)
{
	return smooth->kind == ISO_SMOOTH_REGRESSION || smooth->kind == ISO_SMOOTH_SVM;
}

uint32_t iso_smooth_params(const struct iso_smooth *smooth)
{
	assert(iso_smooth_valid(smooth));
	if (smooth->kind == ISO_SMOOTH_WAVES)
		return 1;
	return iso_smooth_outputs(smooth) * smooth->features + has_offset(smooth);
}

double iso_smooth_weight(const struct iso_smooth *smooth, uint32_t count, uint32_t parts,
			 uint64_t total)
{
	assert(count >= 1 && parts >= 1 && total >= count);
	return smooth->kind == ISO_SMOOTH_SVM ? 1 : (double)count * parts / (double)total;
}

/* What the sum of the losses is multiplied by. */
static double factor_of(const struct iso_smooth *smooth, const struct iso_samples *samples)
{
	assert(samples->count >= 1 && samples->count <= INT32_MAX);
	assert(samples->weight > 0);
	return smooth->kind == ISO_SMOOTH_SVM ? samples->weight * smooth->c
					      : samples->weight / samples->count;
}

struct desk {
	double *x, *targets, *outputs, *directions, *vectors;
};

static size_t lay_out(const struct iso_smooth *smooth, uint32_t count, double *workspace,
		      struct desk *ret_desk)
{
	size_t rows = count < CHUNK ? count : CHUNK, outputs = rows * iso_smooth_outputs(smooth);

	if (ret_desk != NULL) {
		ret_desk->x = workspace;
		ret_desk->targets = ret_desk->x + rows * smooth->features;
		ret_desk->outputs = ret_desk->targets + rows;
		ret_desk->directions = ret_desk->outputs + outputs;
		ret_desk->vectors = ret_desk->directions + outputs;
	}
	return rows * (smooth->features + 1ul) + 2 * outputs + 3 * (smooth->features + 1ul);
}

size_t iso_smooth_workspace(const struct iso_smooth *smooth, uint32_t samples)
{
	assert(iso_smooth_valid(smooth));
	return lay_out(smooth, samples, NULL, NULL);
}

struct chunk {
	const double *x, *targets;
	uint32_t count;
};

/* Samples first .. of them all: in place where they lie together, else copied. */
static struct chunk chunk_at(const struct iso_smooth *smooth, const struct iso_samples *samples,
			     uint32_t first, const struct desk *desk)
{
	uint32_t left = samples->count - first, count = left < CHUNK ? left : CHUNK;
	size_t features = smooth->features;

	if (samples->rows == NULL) {
		const double *targets = samples->targets;

		return (struct chunk){
			.x = samples->x + first * features,
			.targets = targets != NULL ? targets + first : NULL,
			.count = count,
		};
	}
	for (uint32_t j = 0; j < count; j++) {
		uint32_t row = samples->rows[first + j];

		memcpy(desk->x + j * features, samples->x + row * features,
		       features * sizeof(*desk->x));
		if (samples->targets != NULL)
			desk->targets[j] = samples->targets[row];
	}
	return (struct chunk){ desk->x, samples->targets != NULL ? desk->targets : NULL, count };
}

/* outputs[count][k] = X W' - nu. */
static void forward(const struct iso_smooth *smooth, const struct chunk *chunk, const double *y,
		    double *outputs)
{
	int m = (int)chunk->count, d = (int)smooth->features, k = (int)iso_smooth_outputs(smooth);
	double offset = has_offset(smooth) ? y[d] : 0;

	if (k > 1) {
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, d, 1, chunk->x, d, y, d,
			    0, outputs, k);
		return;
	}
	for (int j = 0; j < m; j++)
		outputs[j] = -offset;
	cblas_dgemv(CblasRowMajor, CblasNoTrans, m, d, 1, chunk->x, d, y, 1, 1, outputs, 1);
}

/* gradient += factor times what residuals[count][k] of the outputs mean for y. */
static void backward(const struct iso_smooth *smooth, const struct chunk *chunk,
		     const double *residuals, double factor, double *gradient)
{
	int m = (int)chunk->count, d = (int)smooth->features, k = (int)iso_smooth_outputs(smooth);

	if (k > 1) {
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, d, m, factor, residuals, k,
			    chunk->x, d, 1, gradient, d);
		return;
	}
	cblas_dgemv(CblasRowMajor, CblasTrans, m, d, factor, chunk->x, d, residuals, 1, 1, gradient,
		    1);
	for (int j = 0; j < m && has_offset(smooth); j++)
		gradient[d] -= factor * residuals[j];
}

/* The penalty is ridge / 2 times the squares of the first *ret_params parameters. */
static double ridge_of(const struct iso_smooth *smooth, int *ret_params)
{
	bool is_svm = smooth->kind == ISO_SMOOTH_SVM;

	*ret_params = (int)(is_svm ? smooth->features : iso_smooth_params(smooth));
	return is_svm ? 2 : smooth->l2;
}

/* The weighted means of a and b. */
static void wave_of(const struct iso_samples *samples, double *ret_a, double *ret_b)
{
	double sum_a = 0, sum_b = 0;

	for (uint32_t j = 0; j < samples->count; j++) {
		size_t row = samples->rows != NULL ? samples->rows[j] : j;

		sum_a += samples->x[2 * row];
		sum_b += samples->x[2 * row + 1];
	}
	*ret_a = samples->weight / samples->count * sum_a;
	*ret_b = samples->weight / samples->count * sum_b;
}

static double wave_gradient(const struct iso_samples *samples, double y, double *ret_gradient)
{
	double a, b;

	wave_of(samples, &a, &b);
	if (ret_gradient != NULL)
		*ret_gradient = 8 * y + 6 * sin(y) * cos(y) - a * sin(y) + b;
	return 4 * y * y + 3 * sin(y) * sin(y) + a * cos(y) + b * y;
}

/* gradient NULL: the value only. */
static double evaluate(const struct iso_smooth *smooth, const double *y,
		       const struct iso_samples *samples, double *workspace, double *gradient)
{
	double factor = factor_of(smooth, samples), sum = 0;
	struct desk desk;
	int penalised;

	if (smooth->kind == ISO_SMOOTH_WAVES)
		return wave_gradient(samples, y[0], gradient);
	(void)lay_out(smooth, samples->count, workspace, &desk);
	for (uint32_t first = 0; first < samples->count; first += CHUNK) {
		struct chunk chunk = chunk_at(smooth, samples, first, &desk);

		forward(smooth, &chunk, y, desk.outputs);
		sum += iso_smooth_losses(smooth, chunk.targets, chunk.count, desk.outputs);
		if (gradient != NULL)
			backward(smooth, &chunk, desk.outputs, factor, gradient);
	}
	double ridge = ridge_of(smooth, &penalised);
	if (gradient != NULL)
		cblas_daxpy(penalised, ridge, y, 1, gradient, 1);
	return factor * sum + ridge / 2 * cblas_ddot(penalised, y, 1, y, 1);
}

double iso_smooth_gradient(const struct iso_smooth *smooth, const double *y,
			   const struct iso_samples *samples, double *workspace,
			   double *ret_gradient)
{
	memset(ret_gradient, 0, iso_smooth_params(smooth) * sizeof(*ret_gradient));
	return evaluate(smooth, y, samples, workspace, ret_gradient);
}

double iso_smooth_value(const struct iso_smooth *smooth, const double *y,
			const struct iso_samples *samples, double *workspace)
{
	assert(iso_smooth_valid(smooth));
	return evaluate(smooth, y, samples, workspace, NULL);
}

void iso_smooth_sample_gradient(const struct iso_smooth *smooth, const double *y,
				const struct iso_samples *samples, uint32_t sample,
				double *workspace, double *ret_gradient)
{
	assert(sample < samples->count);
	const uint32_t row = samples->rows != NULL ? samples->rows[sample] : sample;
	struct iso_samples one = *samples;

	one.rows = &row;
	one.count = 1;
	if (smooth->kind == ISO_SMOOTH_SVM)
		one.weight *= samples->count; /* a sum: each stands for all of them */
	(void)iso_smooth_gradient(smooth, y, &one, workspace, ret_gradient);
}

void iso_smooth_hessian(const struct iso_smooth *smooth, const double *y,
			const struct iso_samples *samples, const double *direction,
			double *workspace, double *ret_product)
{
	uint32_t params = iso_smooth_params(smooth);
	double factor = factor_of(smooth, samples);
	struct desk desk;
	int penalised;

	if (smooth->kind == ISO_SMOOTH_WAVES) {
		double a, b;

		wave_of(samples, &a, &b);
		ret_product[0] = (8 + 6 * cos(2 * y[0]) - a * cos(y[0])) * direction[0];
		return;
	}
	(void)lay_out(smooth, samples->count, workspace, &desk);
	memset(ret_product, 0, params * sizeof(*ret_product));
	for (uint32_t first = 0; first < samples->count; first += CHUNK) {
		struct chunk chunk = chunk_at(smooth, samples, first, &desk);

		forward(smooth, &chunk, y, desk.outputs);
		forward(smooth, &chunk, direction, desk.directions);
		iso_smooth_losses_bend(smooth, chunk.targets, chunk.count, desk.outputs,
				       desk.directions);
		backward(smooth, &chunk, desk.directions, factor, ret_product);
	}
	double ridge = ridge_of(smooth, &penalised);
	cblas_daxpy(penalised, ridge, direction, 1, ret_product, 1);
}

/* ret_product = X'X vector, X with a column of -1 if there is an offset; returns ||X||^2. */
static double square(const struct iso_smooth *smooth, const struct iso_samples *samples,
		     const struct desk *desk, const double *vector, double *ret_product)
{
	struct iso_smooth single = *smooth;
	double trace = 0;

	if (smooth->kind == ISO_SMOOTH_SOFTMAX) /* all outputs see the same X */
		single = (struct iso_smooth){ .kind = ISO_SMOOTH_LOGISTIC,
					      .features = smooth->features };
	memset(ret_product, 0, iso_smooth_params(&single) * sizeof(*ret_product));
	for (uint32_t first = 0; first < samples->count; first += CHUNK) {
		struct chunk chunk = chunk_at(smooth, samples, first, desk);
		int numbers = (int)(chunk.count * smooth->features);

		forward(&single, &chunk, vector, desk->outputs);
		backward(&single, &chunk, desk->outputs, 1, ret_product);
		trace += cblas_ddot(numbers, chunk.x, 1, chunk.x, 1);
	}
	return trace + (has_offset(smooth) ? samples->count : 0);
}

static void normal_start(uint32_t n, double *ret_vector)
{
	struct iso_rng rng = { 1 };

	for (uint32_t i = 0; i < n; i++)
		ret_vector[i] = iso_draw_normal(&rng);
	cblas_dscal((int)n, 1 / cblas_dnrm2((int)n, ret_vector, 1), ret_vector, 1);
}

/* The largest eigenvalue of X'X, not below it as the header says. */
static double largest_square(const struct iso_smooth *smooth, const struct iso_samples *samples,
			     const struct desk *desk)
{
	uint32_t n = smooth->features + has_offset(smooth), steps = 0;
	double *now = desk->vectors, *before = now + n, *next = before + n;
	double diagonal[LANCZOS_STEPS], beside[LANCZOS_STEPS], trace = 0;

	normal_start(n, now);
	memset(before, 0, n * sizeof(*before));
	while (steps < LANCZOS_STEPS && steps < n) {
		double last = steps > 0 ? beside[steps - 1] : 0, *spare = before;

		trace = square(smooth, samples, desk, now, next);
		diagonal[steps] = cblas_ddot((int)n, now, 1, next, 1);
		cblas_daxpy((int)n, -diagonal[steps], now, 1, next, 1);
		cblas_daxpy((int)n, -last, before, 1, next, 1);
		beside[steps] = cblas_dnrm2((int)n, next, 1);
		if (!(beside[steps++] > 1e-14 * trace))
			break; /* all that the start could reach, exactly */
		cblas_dscal((int)n, 1 / beside[steps - 1], next, 1);
		before = now;
		now = next;
		next = spare;
	}
	return fmin(trace, LANCZOS_MARGIN * iso_tridiagonal_largest(steps, diagonal, beside));
}

double iso_smooth_curvature(const struct iso_smooth *smooth, const struct iso_samples *samples,
			    double *workspace)
{
	double factor = factor_of(smooth, samples), a, b;
	struct desk desk;
	int penalised;

	assert(iso_smooth_valid(smooth));
	if (smooth->kind == ISO_SMOOTH_WAVES) {
		wave_of(samples, &a, &b);
		return 14 + fabs(a);
	}
	(void)lay_out(smooth, samples->count, workspace, &desk);
	return factor * iso_smooth_losses_curvature(smooth) *
		   largest_square(smooth, samples, &desk) +
	       ridge_of(smooth, &penalised);
}
