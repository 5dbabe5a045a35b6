/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_BATCH_H
#define ISO_DATA_BATCH_H

#include <stdint.h>

/*
 * Mini-batches from a part of the data set.
 */

/*
 * A batch that depends on the seed alone, so that a task computed again by
 * another thread or after a restart is the same task: `count` different
 * members of part[0 .. samples), count <= samples and <= ISO_BATCH_MAX.
 */
#define ISO_BATCH_MAX 4096u
void iso_batch_draw(uint64_t seed, const uint32_t *part, uint32_t samples, uint32_t count,
		    uint32_t *ret_samples);

/*
 * Gathers rows into floats: ret_x[count][features] = scale * pixels[sample][feature].
 * Images stay bytes in memory (a quarter of the size); 1/255 maps to [0, 1].
 */
void iso_batch_gather(const uint8_t *pixels, uint32_t features, const uint32_t *samples,
		      uint32_t count, float scale, float *ret_x);

#endif
