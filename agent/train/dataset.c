/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/checksum.h"
#include "lib/data/batch.h"
#include "lib/data/idx.h"

/* 1 GiB: a hundred times Fashion-MNIST, and far from what would hurt the machine. */
#define DATA_BYTES_MAX ((size_t)1 << 30)

static void gz_close(gzFile *file)
{
	if (*file != NULL)
		(void)gzclose(*file); /* read only: nothing can be lost */
}

static void bytes_free(uint8_t **bytes)
{
	free(*bytes);
}

/* A read error of zlib in words; gzread() does not tell them from a short file. */
static int stream_error(gzFile file, const char *path, size_t offset, struct error *reterr)
{
	int code = Z_OK;
	const char *text = gzerror(file, &code);

	if (code == Z_ERRNO)
		return error_errno(reterr, -errno, "%s: offset %zu", path, offset);
	if (code == Z_BUF_ERROR)
		return error_set(reterr, -EBADMSG, "%s: offset %zu: gzip data is cut off", path,
				 offset);
	return error_set(reterr, -EBADMSG, "%s: offset %zu: damaged gzip data: %s", path, offset,
			 text);
}

/* Reads until `size` bytes are there or the file ends; fills *ret_size. */
static int read_some(gzFile file, const char *path, size_t offset, uint8_t *out, size_t size,
		     size_t *ret_size, struct error *reterr)
{
	size_t filled = 0;

	while (filled < size) {
		size_t rest = size - filled;
		unsigned piece = rest < INT_MAX ? (unsigned)rest : INT_MAX;
		int got = gzread(file, out + filled, piece);

		if (got < 0)
			return stream_error(file, path, offset + filled, reterr);
		filled += (size_t)got;
		if ((unsigned)got < piece) {
			/* The end, or a cut or damaged stream that still gave something. */
			int code = Z_OK;
			(void)gzerror(file, &code);
			if (code != Z_OK && code != Z_STREAM_END)
				return stream_error(file, path, offset + filled, reterr);
			break;
		}
	}
	*ret_size = filled;
	return 0;
}

static const char *idx_reason(enum iso_status status)
{
	if (status == ISO_E_MALFORMED)
		return "not an IDX file (it starts with two zero bytes)";
	if (status == ISO_E_VERSION)
		return "values are not unsigned bytes (type 0x08)";
	if (status == ISO_E_RANGE)
		return "number or size of dimensions is out of range";
	if (status == ISO_E_LONG)
		return "bytes behind the last value";
	return "file is cut off";
}

static int idx_error(const char *path, size_t offset, enum iso_status status, struct error *reterr)
{
	return error_set(reterr, -EBADMSG, "%s: offset %zu: %s", path, offset, idx_reason(status));
}

/* The values behind the header.  The header may have been read into the data already. */
static int read_data(gzFile file, const char *path, const struct iso_idx *idx,
		     const uint8_t *head, size_t head_bytes, uint8_t *data, struct error *reterr)
{
	size_t bad_offset, got, early = head_bytes - idx->data_offset;
	uint8_t extra = 0;

	if (early > idx->data_bytes)
		return idx_error(path, idx->data_offset + idx->data_bytes, ISO_E_LONG, reterr);
	memcpy(data, head + idx->data_offset, early);
	int r = read_some(file, path, head_bytes, data + early, idx->data_bytes - early, &got,
			  reterr);
	if (r < 0)
		return r;
	size_t total = head_bytes + got;
	if (total == idx->data_offset + idx->data_bytes) {
		r = read_some(file, path, total, &extra, 1, &got, reterr);
		if (r < 0)
			return r;
		total += got;
	}
	enum iso_status status = iso_idx_check(idx, total, &bad_offset);
	if (status != ISO_OK)
		return idx_error(path, bad_offset, status, reterr);
	return 0;
}

static int read_idx(const char *path, struct iso_idx *ret_idx, uint8_t **ret_data,
		    struct error *reterr)
{
	__attribute__((cleanup(gz_close))) gzFile file = gzopen(path, "rbe");
	__attribute__((cleanup(bytes_free))) uint8_t *data = NULL;
	uint8_t head[ISO_IDX_HEADER_MAX];
	size_t head_bytes, bad_offset;
	struct iso_idx idx;

	if (file == NULL)
		return error_errno(reterr, errno != 0 ? -errno : -ENOMEM, "%s", path);
	(void)gzbuffer(file, 128 * 1024); /* speed only */
	int r = read_some(file, path, 0, head, sizeof(head), &head_bytes, reterr);
	if (r < 0)
		return r;
	enum iso_status status = iso_idx_decode(head, head_bytes, DATA_BYTES_MAX, &idx,
						&bad_offset);
	if (status != ISO_OK)
		return idx_error(path, bad_offset, status, reterr);
	data = malloc(idx.data_bytes);
	if (data == NULL)
		return error_set(reterr, -ENOMEM, "%s: no memory for %zu bytes", path,
				 idx.data_bytes);
	r = read_data(file, path, &idx, head, head_bytes, data, reterr);
	if (r < 0)
		return r;
	*ret_idx = idx;
	*ret_data = data;
	data = NULL;
	return 0;
}

int dataset_load(const char *images_path, const char *labels_path, struct dataset *ret_dataset,
		 struct error *reterr)
{
	__attribute__((cleanup(bytes_free))) uint8_t *pixels = NULL;
	__attribute__((cleanup(bytes_free))) uint8_t *labels = NULL;
	struct iso_idx images, marks;
	uint8_t largest = 0;

	int r = read_idx(images_path, &images, &pixels, reterr);
	if (r < 0)
		return r;
	r = read_idx(labels_path, &marks, &labels, reterr);
	if (r < 0)
		return r;
	if (images.dims < 2)
		return error_set(reterr, -EBADMSG, "%s: offset 3: images need 2 dimensions or more",
				 images_path);
	if (marks.dims != 1)
		return error_set(reterr, -EBADMSG, "%s: offset 3: labels have %u dimensions, not 1",
				 labels_path, marks.dims);
	if (marks.size[0] != images.size[0])
		return error_set(reterr, -EBADMSG, "%s: offset 4: %u labels for %u images in %s",
				 labels_path, marks.size[0], images.size[0], images_path);
	for (uint32_t i = 0; i < marks.size[0]; i++)
		largest = labels[i] > largest ? labels[i] : largest;
	struct dataset dataset = {
		.samples = images.size[0],
		.features = (uint32_t)(images.data_bytes / images.size[0]),
		.classes = largest + 1u,
		.checksum = iso_checksum(pixels, images.data_bytes) ^
			    iso_checksum(labels, marks.data_bytes),
		.pixels = pixels,
		.labels = labels,
	};
	pixels = NULL;
	labels = NULL;
	*ret_dataset = dataset;
	return 0;
}

static int find_file(const char *folder, const char *set, const char *kind, char *path,
		     size_t path_size, struct error *reterr)
{
	static const char *const endings[] = { "", ".gz" };

	for (size_t i = 0; i < 2; i++) {
		int length = snprintf(path, path_size, "%s/%s-%s-ubyte%s", folder, set, kind,
				      endings[i]);

		if (length < 0 || (size_t)length >= path_size)
			return error_set(reterr, -ENAMETOOLONG, "%s: path is too long", folder);
		if (access(path, R_OK) == 0)
			return 0;
	}
	return error_errno(reterr, -errno, "%s/%s-%s-ubyte, with or without .gz", folder, set,
			   kind);
}

int dataset_load_folder(const char *folder, const char *set, struct dataset *ret_dataset,
			struct error *reterr)
{
	char images[PATH_MAX], labels[PATH_MAX];

	int r = find_file(folder, set, "images-idx3", images, sizeof(images), reterr);
	if (r < 0)
		return r;
	r = find_file(folder, set, "labels-idx1", labels, sizeof(labels), reterr);
	if (r < 0)
		return r;
	return dataset_load(images, labels, ret_dataset, reterr);
}

bool dataset_fits(const struct dataset *dataset, const struct iso_model *model)
{
	if (dataset->features != model->features)
		return false;
	if (!iso_model_is_classifier(model))
		return true;
	return dataset->labels != NULL && dataset->classes <= model->classes;
}

/* A byte as a fraction of the largest one. */
#define BYTE_SCALE (1.0f / 255.0f)

void dataset_gather(const struct dataset *dataset, const uint32_t *samples, uint32_t count,
		    float *ret_x)
{
	iso_batch_gather(dataset->pixels, dataset->features, samples, count, BYTE_SCALE, ret_x);
}

void dataset_targets(const struct dataset *dataset, bool as_classes, const uint32_t *samples,
		     uint32_t count, float *ret_targets)
{
	for (uint32_t j = 0; j < count; j++)
		ret_targets[j] = as_classes || dataset->values == NULL
				     ? (float)dataset->labels[samples[j]]
				     : dataset->values[samples[j]];
}

void dataset_close(struct dataset *dataset)
{
	free(dataset->pixels);
	free(dataset->labels);
	free(dataset->values);
	memset(dataset, 0, sizeof(*dataset));
}
