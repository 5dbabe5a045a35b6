/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/softmax.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

uint32_t iso_softmax_params(const struct iso_softmax *model)
{
	assert(model->features > 0);
	assert(model->classes >= 2);
	assert((uint64_t)model->classes * (model->features + 1ull) <= UINT32_MAX);
	return model->classes * (model->features + 1);
}

size_t iso_softmax_workspace_floats(const struct iso_softmax *model, uint32_t count)
{
	/* The logits, which become the residuals, and ones to sum them with. */
	return (size_t)count * model->classes + count;
}

static const float *bias(const struct iso_softmax *model, const float *params)
{
	return params + (size_t)model->classes * model->features;
}

/* logits[count][classes] = x W' + 1 b'. */
static void forward(const struct iso_softmax *model, const float *params, const float *x,
		    uint32_t count, float *logits)
{
	int m = (int)count, k = (int)model->classes, d = (int)model->features;

	assert(count >= 1);
	assert(count <= INT32_MAX);
	for (uint32_t j = 0; j < count; j++)
		memcpy(logits + (size_t)j * model->classes, bias(model, params),
		       model->classes * sizeof(*logits));
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, d, 1, x, d, params, d, 1,
		    logits, k);
}

/*
 * Loss of one sample.  Logits are shifted by the largest, so that exp never
 * overflows and the sum is at least 1.  With residuals, `logits` becomes
 * (softmax - indicator of the label) * scale.
 */
static double one_sample(float *logits, uint32_t classes, uint8_t label, bool residuals,
			 float scale)
{
	float largest = logits[0];
	double sum = 0;

	assert(label < classes);
	for (uint32_t c = 1; c < classes; c++)
		largest = logits[c] > largest ? logits[c] : largest;
	double margin = (double)largest - (double)logits[label];
	for (uint32_t c = 0; c < classes; c++) {
		float weight = expf(logits[c] - largest);

		sum += (double)weight;
		if (residuals)
			logits[c] = weight;
	}
	if (residuals) {
		float factor = scale / (float)sum;

		for (uint32_t c = 0; c < classes; c++)
			logits[c] *= factor;
		logits[label] -= scale;
	}
	return log(sum) + margin;
}

static double penalty(const struct iso_softmax *model, const float *params)
{
	int weights = (int)(model->classes * model->features);

	if (model->l2 <= 0)
		return 0;
	return 0.5 * (double)model->l2 * (double)cblas_sdot(weights, params, 1, params, 1);
}

double iso_softmax_gradient(const struct iso_softmax *model, const float *params, const float *x,
			    const uint8_t *labels, uint32_t count, float *workspace,
			    float *ret_gradient)
{
	int m = (int)count, k = (int)model->classes, d = (int)model->features;
	float *residuals = workspace, *ones = workspace + (size_t)count * model->classes;
	size_t weights = (size_t)model->classes * model->features;
	double loss = 0;

	forward(model, params, x, count, residuals);
	for (uint32_t j = 0; j < count; j++) {
		loss += one_sample(residuals + (size_t)j * model->classes, model->classes,
				   labels[j], true, 1.0f / (float)count);
		ones[j] = 1;
	}
	/* grad W = R' X + l2 W, grad b = R' 1. */
	memcpy(ret_gradient, params, weights * sizeof(*params));
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, d, m, 1, residuals, k, x, d,
		    model->l2, ret_gradient, d);
	cblas_sgemv(CblasRowMajor, CblasTrans, m, k, 1, residuals, k, ones, 1, 0,
		    ret_gradient + weights, 1);
	return loss / (double)count + penalty(model, params);
}

double iso_softmax_loss(const struct iso_softmax *model, const float *params, const float *x,
			const uint8_t *labels, uint32_t count, float *workspace,
			uint32_t *ret_correct)
{
	uint32_t correct = 0;
	double loss = 0;

	forward(model, params, x, count, workspace);
	for (uint32_t j = 0; j < count; j++) {
		float *logits = workspace + (size_t)j * model->classes;
		uint32_t best = 0;

		for (uint32_t c = 1; c < model->classes; c++)
			best = logits[c] > logits[best] ? c : best;
		correct += best == labels[j];
		loss += one_sample(logits, model->classes, labels[j], false, 0);
	}
	if (ret_correct != NULL)
		*ret_correct = correct;
	return loss / (double)count + penalty(model, params);
}
