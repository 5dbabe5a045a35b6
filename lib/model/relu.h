/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_RELU_H
#define ISO_MODEL_RELU_H

#include <stddef.h>

/* values = max(values, 0). */
void iso_relu(float *values, size_t count);

/* Its derivative: 0 where the value was cut off (and, by choice, at 0). */
void iso_relu_backward(const float *values, float *residuals, size_t count);

#endif
