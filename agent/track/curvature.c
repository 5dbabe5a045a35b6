/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/curvature.h"

#include <stdlib.h>

#define SLICE_SAMPLES 128u

/* The largest second derivative of a sample's loss in the direction of the outputs. */
static double loss_curvature(const struct iso_model *model)
{
	switch (model->kind) {
	case ISO_MODEL_SOFTMAX:
	case ISO_MODEL_MLP: return 0.5;
	case ISO_MODEL_SVM: return 2;
	case ISO_MODEL_SVM_SMOOTH: return (double)ISO_MODEL_HINGE_MU / 4;
	case ISO_MODEL_LOGISTIC: return 0.25;
	case ISO_MODEL_LINEAR: return 1;
	}
	return 1;
}

static double sparse_squares(const struct local *local)
{
	const struct dataset *data = local->data;
	double sum = 0;

	for (uint32_t i = 0; i < local->samples_count; i++) {
		uint32_t row = local->samples[i];

		for (uint64_t j = data->starts[row]; j < data->starts[row + 1]; j++)
			sum += (double)data->values[j] * (double)data->values[j];
	}
	return sum;
}

/* Negative: no memory. */
static double dense_squares(const struct local *local)
{
	uint32_t features = local->data->features;
	float *x = calloc((size_t)SLICE_SAMPLES * features, sizeof(*x));
	double sum = 0;

	if (x == NULL)
		return -1;
	for (uint32_t done = 0; done < local->samples_count; done += SLICE_SAMPLES) {
		uint32_t left = local->samples_count - done;
		uint32_t count = left < SLICE_SAMPLES ? left : SLICE_SAMPLES;

		dataset_gather(local->data, local->samples + done, count, x);
		for (size_t i = 0; i < (size_t)count * features; i++)
			sum += (double)x[i] * (double)x[i];
	}
	free(x);
	return sum;
}

double curvature_of(const struct local *local)
{
	double sum = local->data->starts != NULL ? sparse_squares(local) : dense_squares(local);

	if (sum < 0)
		return 0;
	/* One more for the bias. */
	double square = sum / local->samples_count + 1;
	return local->weight * loss_curvature(&local->model) * square + (double)local->model.l2;
}
