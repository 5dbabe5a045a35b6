/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/train/dataset_idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FEATURES_MAX 4096u

/* A file with these bytes, by a name that can be opened. */
static int make_file(const uint8_t *bytes, size_t size, char path[32])
{
	int fd = memfd_create("data", MFD_CLOEXEC);

	assert(fd >= 0);
	assert(write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void check_rows(const struct dataset *dataset)
{
	static float row[FEATURES_MAX];

	for (uint32_t j = 0; j < dataset->samples; j++) {
		float target;

		if (dataset->labels != NULL)
			assert(dataset->labels[j] < dataset->classes);
		dataset_targets(dataset, dataset->labels != NULL, &j, 1, &target);
		assert(isfinite(target));
		if (dataset->features > FEATURES_MAX)
			continue;
		dataset_gather(dataset, &j, 1, row);
		for (uint32_t f = 0; f < dataset->features; f++)
			assert(isfinite(row[f]));
	}
}

static void check(const struct dataset *dataset)
{
	char text[256];

	assert(dataset->samples > 0);
	assert(dataset->features > 0);
	assert(dataset->classes >= 1);
	assert(dataset->labels != NULL || dataset->targets != NULL);
	assert((dataset->pixels != NULL) + (dataset->dense != NULL) + (dataset->starts != NULL) ==
	       1);
	if (dataset->starts != NULL)
		for (uint64_t i = 0; i < dataset->starts[dataset->samples]; i++)
			assert(dataset->columns[i] < dataset->features);
	check_rows(dataset);
	dataset_describe(dataset, text, sizeof(text));
	assert(strlen(text) > 0);
}

/* Images of 4 values with the rest as labels, or all of it as images. */
static void check_idx(const uint8_t *bytes, size_t size)
{
	struct dataset dataset;
	struct error error = { 0 };
	size_t first = size / 2;
	char images[32], labels[32];
	int fds[2] = { make_file(bytes, first, images),
		       make_file(bytes + first, size - first, labels) };

	if (dataset_idx_load(images, labels, &dataset, &error) == 0) {
		check(&dataset);
		dataset_close(&dataset);
	} else {
		assert(error.text[0] != '\0');
	}
	close(fds[0]);
	close(fds[1]);
}

static void check_text(const char *options, const uint8_t *bytes, size_t size)
{
	uint32_t samples[3] = { 0 }, held_out[3] = { 0 };
	char path[32], spec[256];
	int fd = make_file(bytes, size, path);

	snprintf(spec, sizeof(spec), "%s%s%s", path, options[0] != '\0' ? "," : "", options);
	for (int half = DATASET_TRAIN; half <= DATASET_TEST; half++) {
		struct dataset dataset = { .samples = 0 };
		struct error error = { 0 };

		if (dataset_open(spec, (enum dataset_half)half, &dataset, &error) < 0) {
			assert(error.text[0] != '\0');
			assert(dataset.samples == 0);
			continue;
		}
		check(&dataset);
		samples[half] = dataset.samples;
		held_out[half] = dataset.held_out;
		dataset_close(&dataset);
	}
	/* What one half leaves out is what the other has. */
	if (samples[DATASET_TRAIN] > 0 && samples[DATASET_TEST] > 0 && held_out[DATASET_TRAIN] > 0)
		assert(held_out[DATASET_TRAIN] == samples[DATASET_TEST]);
	close(fd);
}

/* The first line has the options of a spec, or "images"; the file is behind it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t length = end != NULL ? (size_t)(end - data) : size;
	char options[128];

	if (end == NULL || length >= sizeof(options))
		return 0;
	memcpy(options, data, length);
	options[length] = '\0';
	if (strcmp(options, "images") == 0)
		check_idx(end + 1, size - length - 1);
	else if (strstr(options, "test") == NULL) /* it could name anything there is */
		check_text(options, end + 1, size - length - 1);
	return 0;
}
