/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/smooth_loss.h"

#include <assert.h>
#include <math.h>

#include "lib/model/softplus.h"

uint32_t iso_smooth_outputs(const struct iso_smooth *smooth)
{
	return smooth->kind == ISO_SMOOTH_SOFTMAX ? smooth->classes : 1;
}

static double sign_of(double target)
{
	assert(target == 0 || target == 1);
	return target > 0 ? 1 : -1;
}

/* Outputs become their probabilities; returns the logarithm of their sum of exponentials. */
static double normalise(double *outputs, uint32_t classes)
{
	double largest = outputs[0], sum = 0;

	for (uint32_t k = 1; k < classes; k++)
		largest = fmax(largest, outputs[k]);
	for (uint32_t k = 0; k < classes; k++) {
		outputs[k] = exp(outputs[k] - largest);
		sum += outputs[k];
	}
	for (uint32_t k = 0; k < classes; k++)
		outputs[k] /= sum;
	return largest + log(sum);
}

static double softmax_loss(double *outputs, uint32_t classes, double target)
{
	assert(target >= 0 && target < classes);
	uint32_t label = (uint32_t)target;
	double output = outputs[label];
	double loss = normalise(outputs, classes) - output;

	outputs[label] -= 1;
	return loss;
}

double iso_smooth_losses(const struct iso_smooth *smooth, const double *targets, uint32_t count,
			 double *outputs)
{
	uint32_t width = iso_smooth_outputs(smooth);
	double sum = 0, mu = smooth->mu;

	assert(smooth->kind != ISO_SMOOTH_WAVES);
	for (uint32_t j = 0; j < count; j++) {
		double *output = outputs + (size_t)j * width, target = targets[j];

		if (smooth->kind == ISO_SMOOTH_SOFTMAX) {
			sum += softmax_loss(output, width, target);
		} else if (smooth->kind == ISO_SMOOTH_REGRESSION) {
			double miss = *output - target;

			sum += miss * miss;
			*output = 2 * miss;
		} else if (smooth->kind == ISO_SMOOTH_LOGISTIC) {
			double sign = sign_of(target), slope;

			sum += iso_softplus(-sign * *output, &slope);
			*output = -sign * slope;
		} else {
			double sign = sign_of(target), slope;

			sum += iso_softplus(mu * (1 - sign * *output), &slope) / mu;
			*output = -sign * slope;
		}
	}
	return sum;
}

/* The logistic function's derivative, of the slope that iso_softplus() gives. */
static double bell(double u)
{
	double slope;

	(void)iso_softplus(u, &slope);
	return slope * (1 - slope);
}

/* (diag(p) - p p') d, with the probabilities p of the outputs. */
static void softmax_bend(const double *outputs, uint32_t classes, double *directions)
{
	double largest = outputs[0], sum = 0, mean = 0;

	for (uint32_t k = 1; k < classes; k++)
		largest = fmax(largest, outputs[k]);
	for (uint32_t k = 0; k < classes; k++) {
		double weight = exp(outputs[k] - largest);

		sum += weight;
		mean += weight * directions[k];
	}
	mean /= sum;
	for (uint32_t k = 0; k < classes; k++)
		directions[k] = exp(outputs[k] - largest) / sum * (directions[k] - mean);
}

void iso_smooth_losses_bend(const struct iso_smooth *smooth, const double *targets, uint32_t count,
			    const double *outputs, double *directions)
{
	uint32_t width = iso_smooth_outputs(smooth);
	double mu = smooth->mu;

	assert(smooth->kind != ISO_SMOOTH_WAVES);
	for (uint32_t j = 0; j < count; j++) {
		const double *output = outputs + (size_t)j * width;
		double *direction = directions + (size_t)j * width;

		if (smooth->kind == ISO_SMOOTH_SOFTMAX)
			softmax_bend(output, width, direction);
		else if (smooth->kind == ISO_SMOOTH_REGRESSION)
			*direction *= 2;
		else if (smooth->kind == ISO_SMOOTH_LOGISTIC)
			*direction *= bell(*output);
		else
			*direction *= mu * bell(mu * (1 - sign_of(targets[j]) * *output));
	}
}

/* softmax: diag(p) - p p' has no eigenvalue above 1/2, which two classes reach at p = 1/2. */
double iso_smooth_losses_curvature(const struct iso_smooth *smooth)
{
	switch (smooth->kind) {
	case ISO_SMOOTH_REGRESSION: return 2;
	case ISO_SMOOTH_LOGISTIC: return 0.25;
	case ISO_SMOOTH_SOFTMAX: return 0.5;
	case ISO_SMOOTH_SVM: return smooth->mu / 4;
	case ISO_SMOOTH_WAVES: break;
	}
	assert(!"a loss of outputs");
	return 0;
}
