/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_SMOOTH_LOSS_H
#define ISO_MODEL_SMOOTH_LOSS_H

#include "lib/model/smooth.h"

/* Outputs of one sample: what its loss depends on. */
uint32_t iso_smooth_outputs(const struct iso_smooth *smooth);

/*
 * Sum of the losses of outputs[count][iso_smooth_outputs()], which are replaced by their
 * derivatives.  Not for waves.
 */
double iso_smooth_losses(const struct iso_smooth *smooth, const double *targets, uint32_t count,
			 double *outputs);

/* directions of the same shape become the second derivative of the losses times them. */
void iso_smooth_losses_bend(const struct iso_smooth *smooth, const double *targets, uint32_t count,
			    const double *outputs, double *directions);

/* No second derivative of a sample's loss by its outputs is larger. */
double iso_smooth_losses_curvature(const struct iso_smooth *smooth);

#endif
