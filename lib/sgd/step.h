/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_STEP_H
#define ISO_SGD_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* sum += weight g, n floats each; they do not overlap.  With weight -gamma a step of SGD. */
void iso_sgd_add(float *sum, const float *gradient, uint32_t n, float weight);

/* Whether all n values are finite. */
bool iso_sgd_finite(const float *values, uint32_t n);

#endif
