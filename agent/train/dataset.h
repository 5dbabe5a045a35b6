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
	uint32_t features; /* of images: all dimensions but the first, multiplied */
	uint32_t classes;  /* labels are below it; 1 if the targets are no classes */

	/* The rows, in one of three forms; all owned. */
	uint8_t *pixels;  /* samples x features, or NULL */
	float *dense;	  /* samples x features, or NULL */
	uint64_t *starts; /* sparse: [samples + 1], where rows begin in the next two */
	uint32_t *columns;
	float *values;
	struct iso_sparse sparse; /* these three */

	float *scales;	     /* owns: what a row of pixels is multiplied by; NULL: 1/255 */
	uint8_t *labels;     /* owns: class of each sample; NULL: there are only targets */
	float *targets;	     /* owns: as in the file; NULL: the labels */
	float *class_labels; /* owns: [classes], how the file names them; NULL: by number */

	uint32_t unlabelled; /* samples left out because they have no label */
	uint32_t held_out;   /* samples left to the other half */
	uint64_t foreign;    /* test half: values of features that the training half has not */
	uint64_t checksum;   /* of all: two machines with the same one train on the same data */
};

enum dataset_half {
	DATASET_TRAIN = 1, /* the workers' */
	DATASET_TEST,	   /* the coordinator's: measures accuracy */
};

/*
 * Loads one half of the data that `spec` names: a path and options, as
 * isobar-data(5) has them.  Features and classes of the test half are those of the
 * training half, where that is there.  0 or -errno; *reterr names file, line or offset and reason;
 * *ret_dataset is untouched on failure.
 */
int dataset_open(const char *spec, enum dataset_half half, struct dataset *ret_dataset,
		 struct error *reterr);

/* "270 samples, 13 features, 2 classes (-1, 1), dense; 5 without label left out"; size >= 1. */
void dataset_describe(const struct dataset *dataset, char *text, size_t size);

/* Whether a model can be trained on it: as many features, and no class it does not have. */
bool dataset_fits(const struct dataset *dataset, const struct iso_model *model);

/*
 * A batch of these samples.  x: room for count rows, which are gathered into it; NULL: a
 * sparse data set's rows as they lie, for a built-in model.  targets: room for
 * count.  All of it is borrowed.
 */
struct iso_model_batch dataset_batch(const struct dataset *dataset, bool as_classes,
				     const uint32_t *samples, uint32_t count, float *x,
				     float *targets);

/* ret_x[count][features]: the rows of these samples. */
void dataset_gather(const struct dataset *dataset, const uint32_t *samples, uint32_t count,
		    float *ret_x);

/* ret_targets[count]: class numbers if as_classes, else the targets. */
void dataset_targets(const struct dataset *dataset, bool as_classes, const uint32_t *samples,
		     uint32_t count, float *ret_targets);

/* Frees what it owns and zeroes it; a zeroed dataset is fine. */
void dataset_close(struct dataset *dataset);

#endif
