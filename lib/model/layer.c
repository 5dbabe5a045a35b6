/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/layer.h"

#include <assert.h>
#include <cblas.h>
#include <string.h>

static size_t weights_of(struct iso_layer layer)
{
	return (size_t)layer.outputs * layer.inputs;
}

size_t iso_layer_params(struct iso_layer layer)
{
	assert(layer.inputs > 0);
	assert(layer.outputs > 0);
	return weights_of(layer) + layer.outputs;
}

/* With one output the matrix is a vector: gemv does it in half the time of gemm. */
void iso_layer_forward(struct iso_layer layer, const float *params, const float *x, uint32_t count,
		       float *ret_y)
{
	int m = (int)count, k = (int)layer.outputs, d = (int)layer.inputs;
	const float *bias = params + weights_of(layer);

	assert(count >= 1);
	assert(count <= INT32_MAX);
	for (uint32_t j = 0; j < count; j++)
		memcpy(ret_y + (size_t)j * layer.outputs, bias, layer.outputs * sizeof(*ret_y));
	if (k == 1)
		cblas_sgemv(CblasRowMajor, CblasNoTrans, m, d, 1, x, d, params, 1, 1, ret_y, 1);
	else
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, d, 1, x, d, params, d, 1,
			    ret_y, k);
}

void iso_layer_gradient(struct iso_layer layer, const float *x, const float *residuals,
			uint32_t count, float *ones, float *gradient)
{
	int m = (int)count, k = (int)layer.outputs, d = (int)layer.inputs;

	for (uint32_t j = 0; j < count; j++)
		ones[j] = 1;
	if (k == 1)
		cblas_sgemv(CblasRowMajor, CblasTrans, m, d, 1, x, d, residuals, 1, 1, gradient, 1);
	else
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, d, m, 1, residuals, k, x, d,
			    1, gradient, d);
	cblas_sgemv(CblasRowMajor, CblasTrans, m, k, 1, residuals, k, ones, 1, 1,
		    gradient + weights_of(layer), 1);
}

void iso_layer_backward(struct iso_layer layer, const float *params, const float *residuals,
			uint32_t count, float *ret_x)
{
	int m = (int)count, k = (int)layer.outputs, d = (int)layer.inputs;

	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, d, k, 1, residuals, k, params, d,
		    0, ret_x, d);
}

double iso_layer_penalty(struct iso_layer layer, const float *params, float l2, float *gradient)
{
	int weights = (int)weights_of(layer);

	if (gradient != NULL)
		cblas_saxpy(weights, l2, params, 1, gradient, 1);
	return 0.5 * (double)l2 * (double)cblas_sdot(weights, params, 1, params, 1);
}
