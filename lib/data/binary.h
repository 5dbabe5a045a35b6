/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_BINARY_H
#define ISO_DATA_BINARY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Two classes of a set of images, as the code of S-ADDOPT and Push-SAGA prepares
 * MNIST for logistic regression: the first so many images of the two classes, in
 * the order of the file; a sample is the pixels, scaled to 0 .. 1, and a constant 1, divided
 * by their common 2-norm.  Node i of n has the i-th block of count / n of them.
 */

/*
 * Numbers of the samples whose label is `zero` or `one` (targets 0 and 1), the first
 * `limit` of them at most; returns how many.  ret_rows[limit].
 */
uint32_t iso_binary_select(const uint8_t *labels, uint32_t samples, uint8_t zero, uint8_t one,
			   uint32_t limit, uint32_t *ret_rows);

/*
 * Fills ret_x[count][features + 1] and ret_targets[count] from
 * pixels[samples][features] and the rows selected.
 */
void iso_binary_fill(const uint8_t *pixels, const uint8_t *labels, uint32_t features, uint8_t one,
		     const uint32_t *rows, uint32_t count, double *ret_x, double *ret_targets);

#endif
