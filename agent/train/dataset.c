/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/train/dataset_idx.h"
#include "agent/train/dataset_spec.h"
#include "agent/train/dataset_text.h"
#include "lib/checksum.h"
#include "lib/data/batch.h"

/* A byte as a fraction of the largest one. */
#define BYTE_SCALE (1.0f / 255.0f)

static float unit_scale(double square)
{
	return square > 0 ? (float)(1 / sqrt(square)) : 0;
}

static void scale_row(float *row, uint64_t count)
{
	double square = 0;

	for (uint64_t i = 0; i < count; i++)
		square += (double)row[i] * (double)row[i];
	float scale = unit_scale(square);
	for (uint64_t i = 0; i < count; i++)
		row[i] *= scale;
}

/* Bytes stay bytes: each row gets a factor of its own. */
static int scale_pixels(struct dataset *dataset)
{
	dataset->scales = calloc(dataset->samples, sizeof(*dataset->scales));
	if (dataset->scales == NULL)
		return -ENOMEM;
	for (uint32_t j = 0; j < dataset->samples; j++) {
		const uint8_t *row = dataset->pixels + (size_t)j * dataset->features;
		uint64_t square = 0;

		for (uint32_t f = 0; f < dataset->features; f++)
			square += (uint64_t)row[f] * row[f];
		dataset->scales[j] = unit_scale((double)square);
	}
	return 0;
}

static int scale_rows(struct dataset *dataset)
{
	if (dataset->pixels != NULL)
		return scale_pixels(dataset);
	for (uint32_t j = 0; j < dataset->samples; j++) {
		if (dataset->dense != NULL)
			scale_row(dataset->dense + (size_t)j * dataset->features,
				  dataset->features);
		else
			scale_row(dataset->values + dataset->starts[j],
				  dataset->starts[j + 1] - dataset->starts[j]);
	}
	return 0;
}

/*
 * Images of a folder.  The test half may lack the last class, and a coordinator may
 * have that half alone.
 */
static int load_folder(const struct dataset_spec *spec, enum dataset_half half,
		       struct dataset *ret_dataset, struct error *reterr)
{
	const char *set = half == DATASET_TRAIN ? "train" : "t10k";
	struct dataset dataset;

	if (spec->test[0] != '\0' || spec->has_holdout || spec->label[0] != '\0')
		return error_set(reterr, -EINVAL,
				 "data: %s: a folder of images has its own test half and labels",
				 spec->path);
	int r = dataset_idx_load_folder(spec->path, set, &dataset, reterr);
	if (r < 0)
		return r;
	if (half == DATASET_TEST)
		r = dataset_idx_follow(spec->path, "train", set, &dataset, reterr);
	if (r < 0) {
		dataset_close(&dataset);
		return r;
	}
	*ret_dataset = dataset;
	return 0;
}

static uint64_t checksum_of(const struct dataset *dataset)
{
	size_t rows = dataset->samples, cells = rows * dataset->features;
	uint64_t nonzeros = dataset->starts != NULL ? dataset->starts[rows] : 0;
	const struct {
		const void *array;
		size_t bytes;
	} arrays[] = {
		{ dataset->pixels, cells },
		{ dataset->dense, cells * sizeof(float) },
		{ dataset->starts, (rows + 1) * sizeof(uint64_t) },
		{ dataset->columns, nonzeros * sizeof(uint32_t) },
		{ dataset->values, nonzeros * sizeof(float) },
		{ dataset->scales, rows * sizeof(float) },
		{ dataset->labels, rows },
		{ dataset->targets, rows * sizeof(float) },
	};
	uint64_t sums[3 + sizeof(arrays) / sizeof(arrays[0])] = { dataset->samples,
								  dataset->features,
								  dataset->classes };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (arrays[i].array != NULL)
			sums[3 + i] = iso_checksum(arrays[i].array, arrays[i].bytes);
	return iso_checksum(sums, sizeof(sums));
}

int dataset_open(const char *text, enum dataset_half half, struct dataset *ret_dataset,
		 struct error *reterr)
{
	struct dataset_spec spec;
	struct dataset dataset;
	struct stat info;

	int r = dataset_spec_parse(text, &spec, reterr);
	if (r < 0)
		return r;
	if (stat(spec.path, &info) < 0)
		return error_errno(reterr, -errno, "%s", spec.path);
	if (S_ISDIR(info.st_mode) != (spec.format == DATASET_FORMAT_IDX) &&
	    spec.format != DATASET_FORMAT_AUTO)
		return error_set(reterr, -EINVAL, "data: %s: IDX is a folder, the others are files",
				 spec.path);
	if (S_ISDIR(info.st_mode))
		r = load_folder(&spec, half, &dataset, reterr);
	else
		r = dataset_text_load(&spec, half, &dataset, reterr);
	if (r < 0)
		return r;
	if (spec.unit_rows && scale_rows(&dataset) < 0) {
		dataset_close(&dataset);
		return error_errno(reterr, -ENOMEM, "%s", spec.path);
	}
	dataset.checksum = checksum_of(&dataset);
	*ret_dataset = dataset;
	return 0;
}

static void describe_classes(const struct dataset *dataset, FILE *out)
{
	const uint32_t shown_max = 10;
	uint32_t shown = dataset->classes < shown_max ? dataset->classes : shown_max;

	fprintf(out, "%u classes", dataset->classes);
	if (dataset->class_labels == NULL)
		return;
	for (uint32_t c = 0; c < shown; c++)
		fprintf(out, "%s%g", c == 0 ? " (" : ", ", (double)dataset->class_labels[c]);
	fputs(shown < dataset->classes ? ", ...)" : ")", out);
}

void dataset_describe(const struct dataset *dataset, char *text, size_t size)
{
	const char *form = dataset->pixels != NULL  ? "bytes"
			   : dataset->dense != NULL ? "dense"
						    : "sparse";
	FILE *out = fmemopen(text, size, "w");

	text[0] = '\0';
	if (out == NULL)
		return;
	fprintf(out, "%u samples, %u features, ", dataset->samples, dataset->features);
	if (dataset->labels != NULL)
		describe_classes(dataset, out);
	else
		fputs("values to predict", out);
	fprintf(out, ", %s", form);
	if (dataset->held_out > 0)
		fprintf(out, "; %u left to the other half", dataset->held_out);
	if (dataset->unlabelled > 0)
		fprintf(out, "; %u without label left out", dataset->unlabelled);
	if (dataset->foreign > 0)
		fprintf(out, "; %llu values left out, of features that the training half has not",
			(unsigned long long)dataset->foreign);
	fclose(out);
	text[size - 1] = '\0';
}

bool dataset_fits(const struct dataset *dataset, const struct iso_model *model)
{
	if (dataset->features != model->features)
		return false;
	if (!iso_model_is_classifier(model))
		return true;
	return dataset->labels != NULL && dataset->classes <= model->classes;
}

static void gather_sparse(const struct dataset *dataset, uint32_t sample, float *ret_row)
{
	memset(ret_row, 0, dataset->features * sizeof(*ret_row));
	for (uint64_t i = dataset->starts[sample]; i < dataset->starts[sample + 1]; i++)
		ret_row[dataset->columns[i]] = dataset->values[i];
}

void dataset_gather(const struct dataset *dataset, const uint32_t *samples, uint32_t count,
		    float *ret_x)
{
	size_t features = dataset->features;

	if (dataset->pixels != NULL && dataset->scales == NULL) {
		iso_batch_gather(dataset->pixels, dataset->features, samples, count, BYTE_SCALE,
				 ret_x);
		return;
	}
	for (uint32_t j = 0; j < count; j++) {
		float *row = ret_x + j * features;

		assert(samples[j] < dataset->samples);
		if (dataset->pixels != NULL)
			iso_batch_gather(dataset->pixels, dataset->features, &samples[j], 1,
					 dataset->scales[samples[j]], row);
		else if (dataset->dense != NULL)
			memcpy(row, dataset->dense + samples[j] * features,
			       features * sizeof(*row));
		else
			gather_sparse(dataset, samples[j], row);
	}
}

struct iso_model_batch dataset_batch(const struct dataset *dataset, bool as_classes,
				     const uint32_t *samples, uint32_t count, float *x,
				     float *targets)
{
	dataset_targets(dataset, as_classes, samples, count, targets);
	if (x != NULL)
		dataset_gather(dataset, samples, count, x);
	else
		assert(dataset->starts != NULL);
	return (struct iso_model_batch){
		.x = x,
		.targets = targets,
		.count = count,
		.sparse = &dataset->sparse,
		.rows = samples,
	};
}

void dataset_targets(const struct dataset *dataset, bool as_classes, const uint32_t *samples,
		     uint32_t count, float *ret_targets)
{
	for (uint32_t j = 0; j < count; j++)
		ret_targets[j] = as_classes || dataset->targets == NULL
				     ? (float)dataset->labels[samples[j]]
				     : dataset->targets[samples[j]];
}

void dataset_close(struct dataset *dataset)
{
	free(dataset->pixels);
	free(dataset->dense);
	free(dataset->starts);
	free(dataset->columns);
	free(dataset->values);
	free(dataset->scales);
	free(dataset->labels);
	free(dataset->targets);
	free(dataset->class_labels);
	memset(dataset, 0, sizeof(*dataset));
}
