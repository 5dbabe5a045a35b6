/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/binary.h"

#include <assert.h>
#include <math.h>

uint32_t iso_binary_select(const uint8_t *labels, uint32_t samples, uint8_t zero, uint8_t one,
			   uint32_t limit, uint32_t *ret_rows)
{
	uint32_t count = 0;

	assert(zero != one);
	for (uint32_t i = 0; i < samples && count < limit; i++)
		if (labels[i] == zero || labels[i] == one)
			ret_rows[count++] = i;
	return count;
}

void iso_binary_fill(const uint8_t *pixels, const uint8_t *labels, uint32_t features, uint8_t one,
		     const uint32_t *rows, uint32_t count, double *ret_x, double *ret_targets)
{
	for (uint32_t j = 0; j < count; j++) {
		const uint8_t *image = pixels + (size_t)rows[j] * features;
		double *x = ret_x + j * (features + 1ul), square = 1;

		for (uint32_t f = 0; f < features; f++) {
			x[f] = image[f] / 255.0;
			square += x[f] * x[f];
		}
		x[features] = 1;
		double norm = sqrt(square);
		for (uint32_t f = 0; f <= features; f++)
			x[f] /= norm;
		ret_targets[j] = labels[rows[j]] == one;
	}
}
