/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_RULE_VECTOR_H
#define ISO_SGD_RULE_VECTOR_H

#include <stdint.h>

/*
 * The arithmetic of the rules: n numbers each, none overlapping.  Sums and x are double,
 * gradients and their means float.  Any n, also 0 with NULL.
 */

/* sum += g */
void iso_vector_add(double *sum, const float *gradient, uint32_t n);
/* sum += scale g */
void iso_vector_add_scaled(double *sum, const float *gradient, uint32_t n, double scale);
/* sum -= g */
void iso_vector_subtract(double *sum, const float *gradient, uint32_t n);
/* x -= gamma sum */
void iso_vector_step(double *x, const double *sum, uint32_t n, double gamma);
/* x -= gamma g */
void iso_vector_step_float(double *x, const float *gradient, uint32_t n, double gamma);
/* mean += (g - mean) / count, and sum gets what the mean has changed by. */
void iso_vector_mean(float *mean, double *sum, const float *gradient, uint32_t n, uint32_t count);
/* mean = g, and sum gets the change. */
void iso_vector_replace(float *mean, double *sum, const float *gradient, uint32_t n);
/* mean = g, sum += g: there was none before. */
void iso_vector_enter(float *mean, double *sum, const float *gradient, uint32_t n);

#endif
