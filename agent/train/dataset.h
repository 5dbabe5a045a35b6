/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef AGENT_DATASET_H
#define AGENT_DATASET_H

#include <stdint.h>

#include "agent/base/error.h"

/*
 * A labelled image set in memory, as bytes: 60 000 x 784 as floats would be
 * 188 MB in each worker.  iso_batch_gather() makes floats of a mini-batch.
 */
struct dataset {
	uint32_t samples;
	uint32_t features;  /* all dimensions but the first, multiplied */
	uint32_t classes;   /* largest label + 1 */
	uint8_t *pixels;    /* owns; samples x features */
	uint8_t *labels;    /* owns; samples */
	uint64_t checksum;  /* of both: two machines with the same one train on the same data */
};

/* Multiplies a pixel into [0, 1]. */
#define DATASET_SCALE (1.0f / 255.0f)

/*
 * Reads an IDX image file and an IDX label file, each plain or gzip'd (the
 * content tells).  Bounded: at most 1 GiB each after unpacking.  0 or -errno;
 * *reterr names file, offset and reason; *ret_dataset is untouched on failure.
 */
int dataset_load(const char *images_path, const char *labels_path, struct dataset *ret_dataset,
		 struct error *reterr);

/*
 * The usual names in a folder: set is "train" or "t10k", files
 * SET-images-idx3-ubyte and SET-labels-idx1-ubyte, with .gz or without.
 */
int dataset_load_folder(const char *folder, const char *set, struct dataset *ret_dataset,
			struct error *reterr);

/* Frees what it owns and zeroes it; a zeroed dataset is fine. */
void dataset_close(struct dataset *dataset);

#endif
