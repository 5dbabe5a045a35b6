/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_LAYER_H
#define ISO_MODEL_LAYER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/model/model.h"

/*
 * One linear layer over a batch: y[count][outputs] = x[count][inputs] W' + 1 b'.
 * params: W row by row (outputs x inputs), then b.
 */
struct iso_layer {
	uint32_t inputs, outputs;
};

/* outputs * (inputs + 1). */
size_t iso_layer_params(struct iso_layer layer);

void iso_layer_forward(struct iso_layer layer, const float *params, const float *x, uint32_t count,
		       float *ret_y);

/* From residuals r = dloss/dy: gradient += (r' x, r' 1).  ones[count] is workspace. */
void iso_layer_gradient(struct iso_layer layer, const float *x, const float *residuals,
			uint32_t count, float *ones, float *gradient);

/* dloss/dx = r W. */
void iso_layer_backward(struct iso_layer layer, const float *params, const float *residuals,
			uint32_t count, float *ret_x);

/* The same two with rows of a sparse matrix as x: work is for what is there only. */
void iso_layer_forward_sparse(struct iso_layer layer, const float *params,
			      const struct iso_sparse *x, const uint32_t *rows, uint32_t count,
			      float *ret_y);
void iso_layer_gradient_sparse(struct iso_layer layer, const struct iso_sparse *x,
			       const uint32_t *rows, const float *residuals, uint32_t count,
			       float *gradient);

/* gradient += l2 (W, 0); returns l2/2 ||W||^2.  gradient may be NULL. */
double iso_layer_penalty(struct iso_layer layer, const float *params, float l2, float *gradient);

#endif
