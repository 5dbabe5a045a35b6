/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/layer.h"

/* An output at a time: its weights are one array, and what one row needs of it is near. */
static float dot(const struct iso_sparse *x, uint32_t row, const float *weights)
{
	float sum = 0;

	for (uint64_t i = x->starts[row]; i < x->starts[row + 1]; i++)
		sum += x->values[i] * weights[x->columns[i]];
	return sum;
}

static void add(const struct iso_sparse *x, uint32_t row, float factor, float *weights)
{
	for (uint64_t i = x->starts[row]; i < x->starts[row + 1]; i++)
		weights[x->columns[i]] += factor * x->values[i];
}

void iso_layer_forward_sparse(struct iso_layer layer, const float *params,
			      const struct iso_sparse *x, const uint32_t *rows, uint32_t count,
			      float *ret_y)
{
	size_t outputs = layer.outputs, inputs = layer.inputs;
	const float *bias = params + outputs * inputs;

	for (uint32_t j = 0; j < count; j++)
		for (size_t k = 0; k < outputs; k++)
			ret_y[j * outputs + k] = bias[k] + dot(x, rows[j], params + k * inputs);
}

void iso_layer_gradient_sparse(struct iso_layer layer, const struct iso_sparse *x,
			       const uint32_t *rows, const float *residuals, uint32_t count,
			       float *gradient)
{
	size_t outputs = layer.outputs, inputs = layer.inputs;
	float *bias = gradient + outputs * inputs;

	for (uint32_t j = 0; j < count; j++)
		for (size_t k = 0; k < outputs; k++) {
			float residual = residuals[j * outputs + k];

			bias[k] += residual;
			add(x, rows[j], residual, gradient + k * inputs);
		}
}
