/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_LOSS_H
#define ISO_MODEL_LOSS_H

#include <stdint.h>

/*
 * Losses of a model's outputs[count][width] against targets[count].  Each returns
 * the sum over the samples.  With scale != 0 the outputs are replaced by scale times
 * the derivative of their sample's loss.  Any finite output is safe.
 */
struct iso_loss_batch {
	float *outputs;
	const float *targets;
	uint32_t count, width;
	float scale;
};

/* logsumexp(outputs) - outputs[target]. */
double iso_loss_softmax(const struct iso_loss_batch *batch);

/* Width 1: target 1 is y = 1, 0 is y = -1.  Else y = 1 for the output of the target. */
double iso_loss_squared_hinge(const struct iso_loss_batch *batch);
double iso_loss_smooth_hinge(const struct iso_loss_batch *batch, float mu);

/* Width 1. */
double iso_loss_logistic(const struct iso_loss_batch *batch);
double iso_loss_squares(const struct iso_loss_batch *batch);

/* How many targets their outputs predict, see iso_model_loss(). */
uint32_t iso_loss_correct(const struct iso_loss_batch *batch);

#endif
