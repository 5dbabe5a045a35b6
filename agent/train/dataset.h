/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef AGENT_DATASET_H
#define AGENT_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "lib/model/model.h"

/*
 * Samples with their targets in memory, in the form that takes least: 60 000 x 784
 * bytes would be 188 MB as floats, in each worker.  dataset_gather() makes floats of
 * a mini-batch.
 */
struct dataset {
	uint32_t samples;
	uint32_t features;  /* of images: all dimensions but the first, multiplied */
	uint32_t classes;   /* labels are below it; 1 if the targets are no classes */
	uint8_t *pixels;    /* owns; samples x features bytes, or NULL */
	uint8_t *labels;    /* owns; class of each sample, or NULL: there are only values */
	float *values;	    /* owns; target of each sample as in the file, or NULL: the labels */
	uint64_t checksum;  /* of all: two machines with the same one train on the same data */
};

/* Whether a model can be trained on it: as many features, and no class it does not have. */
bool dataset_fits(const struct dataset *dataset, const struct iso_model *model);

/* ret_x[count][features]: the rows of these samples.  Bytes are divided by 255. */
void dataset_gather(const struct dataset *dataset, const uint32_t *samples, uint32_t count,
		    float *ret_x);

/* ret_targets[count]: class numbers if as_classes, else the values. */
void dataset_targets(const struct dataset *dataset, bool as_classes, const uint32_t *samples,
		     uint32_t count, float *ret_targets);

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
