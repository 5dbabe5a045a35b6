/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_SOFTMAX_H
#define ISO_MODEL_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Multinomial logistic regression with bias and L2 penalty:
 *
 *   f(W, b) = (1/m) sum_j [ logsumexp(W x_j + b) - (W x_j + b)_{l_j} ] + l2/2 ||W||^2
 *
 * The bias is not penalised.  Parameters are one array of floats:
 * W row by row (classes x features), then b (classes).  Dense work is CBLAS's.
 */
struct iso_softmax {
	uint32_t features;
	uint32_t classes; /* 2 .. 256 */
	float l2;
};

/* classes * (features + 1). */
uint32_t iso_softmax_params(const struct iso_softmax *model);

/* Floats of workspace for a batch of `count` samples. */
size_t iso_softmax_workspace_floats(const struct iso_softmax *model, uint32_t count);

/*
 * x[count][features], labels[count] < classes, count >= 1.  Returns the mean
 * loss with penalty and fills ret_gradient[params] with its gradient.  Safe
 * for any finite logits.  All arrays are borrowed for the call.
 */
double iso_softmax_gradient(const struct iso_softmax *model, const float *params, const float *x,
			    const uint8_t *labels, uint32_t count, float *workspace,
			    float *ret_gradient);

/*
 * The same without gradient; *ret_correct counts samples whose largest logit is
 * their label's (the lowest class wins a tie).  ret_correct may be NULL.
 */
double iso_softmax_loss(const struct iso_softmax *model, const float *params, const float *x,
			const uint8_t *labels, uint32_t count, float *workspace,
			uint32_t *ret_correct);

#endif
