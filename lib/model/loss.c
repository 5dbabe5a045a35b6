/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/loss.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "lib/model/softplus.h"

static uint32_t class_of(const struct iso_loss_batch *batch, uint32_t sample)
{
	float target = batch->targets[sample];
	uint32_t classes = batch->width == 1 ? 2 : batch->width;

	assert(target >= 0);
	assert(target < (float)classes);
	return (uint32_t)target;
}

/*
 * Logits are shifted by the largest, so that exp never overflows and the sum is
 * at least 1.
 */
static double softmax_one(float *logits, uint32_t classes, uint32_t label, float scale)
{
	float largest = logits[0];
	double sum = 0;

	for (uint32_t c = 1; c < classes; c++)
		largest = logits[c] > largest ? logits[c] : largest;
	double margin = (double)largest - (double)logits[label];
	for (uint32_t c = 0; c < classes; c++) {
		float weight = expf(logits[c] - largest);

		sum += (double)weight;
		if (scale != 0)
			logits[c] = weight;
	}
	if (scale != 0) {
		float factor = scale / (float)sum;

		for (uint32_t c = 0; c < classes; c++)
			logits[c] *= factor;
		logits[label] -= scale;
	}
	return log(sum) + margin;
}

double iso_loss_softmax(const struct iso_loss_batch *batch)
{
	double loss = 0;

	assert(batch->width >= 2);
	for (uint32_t j = 0; j < batch->count; j++)
		loss += softmax_one(batch->outputs + (size_t)j * batch->width, batch->width,
				    class_of(batch, j), batch->scale);
	return loss;
}

/* y of output c of sample j. */
static float sign_of(const struct iso_loss_batch *batch, uint32_t label, uint32_t c)
{
	if (batch->width == 1)
		return label == 1 ? 1.0f : -1.0f;
	return label == c ? 1.0f : -1.0f;
}

double iso_loss_squared_hinge(const struct iso_loss_batch *batch)
{
	double loss = 0;

	for (uint32_t j = 0; j < batch->count; j++) {
		float *outputs = batch->outputs + (size_t)j * batch->width;
		uint32_t label = class_of(batch, j);

		for (uint32_t c = 0; c < batch->width; c++) {
			float y = sign_of(batch, label, c), miss = 1 - y * outputs[c];

			miss = miss > 0 ? miss : 0;
			loss += (double)miss * (double)miss;
			if (batch->scale != 0)
				outputs[c] = -2 * batch->scale * y * miss;
		}
	}
	return loss;
}

double iso_loss_smooth_hinge(const struct iso_loss_batch *batch, float mu)
{
	double loss = 0, slope;

	assert(mu > 0);
	for (uint32_t j = 0; j < batch->count; j++) {
		float *outputs = batch->outputs + (size_t)j * batch->width;
		uint32_t label = class_of(batch, j);

		for (uint32_t c = 0; c < batch->width; c++) {
			float y = sign_of(batch, label, c);
			double miss = 1 - (double)(y * outputs[c]);

			loss += iso_softplus((double)mu * miss, &slope) / (double)mu;
			if (batch->scale != 0)
				outputs[c] = -batch->scale * y * (float)slope;
		}
	}
	return loss;
}

double iso_loss_logistic(const struct iso_loss_batch *batch)
{
	double loss = 0, slope;

	assert(batch->width == 1);
	for (uint32_t j = 0; j < batch->count; j++) {
		float y = sign_of(batch, class_of(batch, j), 0);

		loss += iso_softplus(-(double)(y * batch->outputs[j]), &slope);
		if (batch->scale != 0)
			batch->outputs[j] = -batch->scale * y * (float)slope;
	}
	return loss;
}

double iso_loss_squares(const struct iso_loss_batch *batch)
{
	double loss = 0;

	assert(batch->width == 1);
	for (uint32_t j = 0; j < batch->count; j++) {
		float residual = batch->outputs[j] - batch->targets[j];

		loss += 0.5 * (double)residual * (double)residual;
		if (batch->scale != 0)
			batch->outputs[j] = batch->scale * residual;
	}
	return loss;
}

uint32_t iso_loss_correct(const struct iso_loss_batch *batch)
{
	uint32_t correct = 0;

	for (uint32_t j = 0; j < batch->count; j++) {
		const float *outputs = batch->outputs + (size_t)j * batch->width;
		uint32_t best = batch->width == 1 && outputs[0] > 0;

		for (uint32_t c = 1; c < batch->width; c++)
			best = outputs[c] > outputs[best] ? c : best;
		correct += best == class_of(batch, j);
	}
	return correct;
}
