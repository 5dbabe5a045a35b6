/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset_idx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/train/dataset_stream.h"
#include "lib/data/idx.h"

/* 1 GiB: a hundred times Fashion-MNIST, and far from what would hurt the machine. */
#define DATA_BYTES_MAX ((size_t)1 << 30)
/* Where labels begin in their file, of one dimension. */
#define LABELS_OFFSET 8u

static void stream_done(struct stream **stream)
{
	stream_close(*stream);
}

static void bytes_free(uint8_t **bytes)
{
	free(*bytes);
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
static int read_data(struct stream *stream, const char *path, const struct iso_idx *idx,
		     const uint8_t *head, size_t head_bytes, uint8_t *data, struct error *reterr)
{
	size_t bad_offset, got, early = head_bytes - idx->data_offset;
	uint8_t extra = 0;

	if (early > idx->data_bytes)
		return idx_error(path, idx->data_offset + idx->data_bytes, ISO_E_LONG, reterr);
	memcpy(data, head + idx->data_offset, early);
	int r = stream_read(stream, data + early, idx->data_bytes - early, &got, reterr);
	if (r < 0)
		return r;
	size_t total = head_bytes + got;
	if (total == idx->data_offset + idx->data_bytes) {
		r = stream_read(stream, &extra, 1, &got, reterr);
		if (r < 0)
			return r;
		total += got;
	}
	enum iso_status status = iso_idx_check(idx, total, &bad_offset);
	if (status != ISO_OK)
		return idx_error(path, bad_offset, status, reterr);
	return 0;
}

/* The header, with the first of the data behind it where those are few. */
static int read_head(struct stream *stream, const char *path, uint8_t head[ISO_IDX_HEADER_MAX],
		     size_t *ret_bytes, struct iso_idx *ret_idx, struct error *reterr)
{
	size_t bad_offset;

	int r = stream_read(stream, head, ISO_IDX_HEADER_MAX, ret_bytes, reterr);
	if (r < 0)
		return r;
	enum iso_status status =
	    iso_idx_decode(head, *ret_bytes, DATA_BYTES_MAX, ret_idx, &bad_offset);
	if (status != ISO_OK)
		return idx_error(path, bad_offset, status, reterr);
	return 0;
}

/* Opens a file and reads its header. */
static int open_idx(const char *path, struct stream **ret_stream,
		    uint8_t ret_bytes[ISO_IDX_HEADER_MAX], size_t *ret_size,
		    struct iso_idx *ret_idx, struct error *reterr)
{
	int r = stream_open(path, ret_stream, reterr);

	return r < 0 ? r : read_head(*ret_stream, path, ret_bytes, ret_size, ret_idx, reterr);
}

static int read_idx(const char *path, struct iso_idx *ret_idx, uint8_t **ret_data,
		    struct error *reterr)
{
	__attribute__((cleanup(stream_done))) struct stream *stream = NULL;
	__attribute__((cleanup(bytes_free))) uint8_t *data = NULL;
	uint8_t head[ISO_IDX_HEADER_MAX];
	struct iso_idx idx;
	size_t head_bytes;

	int r = open_idx(path, &stream, head, &head_bytes, &idx, reterr);
	if (r < 0)
		return r;
	data = malloc(idx.data_bytes);
	if (data == NULL)
		return error_set(reterr, -ENOMEM, "%s: no memory for %zu bytes", path,
				 idx.data_bytes);
	r = read_data(stream, path, &idx, head, head_bytes, data, reterr);
	if (r < 0)
		return r;
	*ret_idx = idx;
	*ret_data = data;
	data = NULL;
	return 0;
}

static int read_labels(const char *path, struct iso_idx *ret_marks, uint8_t **ret_labels,
		       uint32_t *ret_classes, struct error *reterr)
{
	struct iso_idx marks;
	uint8_t *labels, largest = 0;

	int r = read_idx(path, &marks, &labels, reterr);
	if (r < 0)
		return r;
	if (marks.dims != 1) {
		free(labels);
		return error_set(reterr, -EBADMSG, "%s: offset 3: labels have %u dimensions, not 1",
				 path, marks.dims);
	}
	for (uint32_t i = 0; i < marks.size[0]; i++)
		largest = labels[i] > largest ? labels[i] : largest;
	*ret_marks = marks;
	*ret_labels = labels;
	*ret_classes = largest + 1u;
	return 0;
}

int dataset_idx_load(const char *images_path, const char *labels_path, struct dataset *ret_dataset,
		     struct error *reterr)
{
	__attribute__((cleanup(bytes_free))) uint8_t *pixels = NULL;
	__attribute__((cleanup(bytes_free))) uint8_t *labels = NULL;
	struct iso_idx images, marks;
	uint32_t classes;

	int r = read_idx(images_path, &images, &pixels, reterr);
	if (r < 0)
		return r;
	r = read_labels(labels_path, &marks, &labels, &classes, reterr);
	if (r < 0)
		return r;
	if (images.dims < 2)
		return error_set(reterr, -EBADMSG, "%s: offset 3: images need 2 dimensions or more",
				 images_path);
	if (marks.size[0] != images.size[0])
		return error_set(reterr, -EBADMSG, "%s: offset 4: %u labels for %u images in %s",
				 labels_path, marks.size[0], images.size[0], images_path);
	struct dataset dataset = {
		.samples = images.size[0],
		.features = (uint32_t)(images.data_bytes / images.size[0]),
		.classes = classes,
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
		int length =
		    snprintf(path, path_size, "%s/%s-%s-ubyte%s", folder, set, kind, endings[i]);

		if (length < 0 || (size_t)length >= path_size)
			return error_set(reterr, -ENAMETOOLONG, "%s: path is too long", folder);
		if (access(path, R_OK) == 0)
			return 0;
	}
	return error_errno(reterr, -errno, "%s/%s-%s-ubyte, with or without .gz", folder, set,
			   kind);
}

int dataset_idx_load_folder(const char *folder, const char *set, struct dataset *ret_dataset,
			    struct error *reterr)
{
	char images[PATH_MAX], labels[PATH_MAX];

	int r = find_file(folder, set, "images-idx3", images, sizeof(images), reterr);
	if (r < 0)
		return r;
	r = find_file(folder, set, "labels-idx1", labels, sizeof(labels), reterr);
	if (r < 0)
		return r;
	return dataset_idx_load(images, labels, ret_dataset, reterr);
}

/* Images of the training half, of which only the header is read. */
static int follow_images(const char *path, const char *test_path, struct dataset *dataset,
			 struct error *reterr)
{
	__attribute__((cleanup(stream_done))) struct stream *stream = NULL;
	uint8_t head[ISO_IDX_HEADER_MAX];
	struct iso_idx idx;
	size_t head_bytes;

	int r = open_idx(path, &stream, head, &head_bytes, &idx, reterr);
	if (r < 0)
		return r;
	size_t features = idx.data_bytes / idx.size[0];
	if (features != dataset->features)
		return error_set(reterr, -EBADMSG,
				 "%s: offset 8: %u values an image, but %zu in %s", test_path,
				 dataset->features, features, path);
	return 0;
}

static int follow_labels(const char *path, const char *test_path, struct dataset *dataset,
			 struct error *reterr)
{
	struct iso_idx marks;
	uint32_t classes;
	uint8_t *labels;

	int r = read_labels(path, &marks, &labels, &classes, reterr);
	if (r < 0)
		return r;
	free(labels);
	for (uint32_t i = 0; i < dataset->samples; i++)
		if (dataset->labels[i] >= classes)
			return error_set(reterr, -EBADMSG,
					 "%s: offset %u: label %u, but %u is the largest in %s",
					 test_path, LABELS_OFFSET + i, dataset->labels[i],
					 classes - 1, path);
	dataset->classes = classes;
	return 0;
}

int dataset_idx_follow(const char *folder, const char *train, const char *test,
		       struct dataset *dataset, struct error *reterr)
{
	static const struct {
		const char *kind;
		int (*follow)(const char *path, const char *test_path, struct dataset *dataset,
			      struct error *reterr);
	} files[] = { { "images-idx3", follow_images }, { "labels-idx1", follow_labels } };
	char path[PATH_MAX], test_path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		int r = find_file(folder, train, files[i].kind, path, sizeof(path), reterr);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			r = find_file(folder, test, files[i].kind, test_path, sizeof(test_path),
				      reterr);
		if (r == 0)
			r = files[i].follow(path, test_path, dataset, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}
