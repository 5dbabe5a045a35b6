/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DRAW_H
#define ISO_DRAW_H

#include <stdint.h>

#include "lib/rng.h"

/* Random variates and orders, from the one generator (lib/rng.h). */

/* Exponential of mean 1. */
double iso_draw_exponential(struct iso_rng *rng);

/* A standard normal variate (polar method; the second one it could give is not used). */
double iso_draw_normal(struct iso_rng *rng);

/* ln of a Gamma(shape, 1) variate (Marsaglia and Tsang 2000); any shape > 0, no underflow. */
double iso_draw_log_gamma(struct iso_rng *rng, double shape);

/* Gamma(shape, 1); of a small shape many values are 0 in a double. */
double iso_draw_gamma(struct iso_rng *rng, double shape);

/* Fisher-Yates. */
void iso_draw_shuffle(struct iso_rng *rng, uint32_t *values, uint32_t n);

#endif
