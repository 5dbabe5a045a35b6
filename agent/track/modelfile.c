/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/modelfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/wholefile.h"
#include "lib/bytes.h"
#include "lib/checksum.h"

#define MODELFILE_VERSION 1u
#define HEAD_BYTES	  64u
#define TAIL_BYTES	  8u /* checksum of all before */

static const char magic[8] = "isomodel";

static size_t file_bytes(uint32_t params)
{
	return HEAD_BYTES + (size_t)params * sizeof(double) + TAIL_BYTES;
}

static void encode(const struct modelfile *file, uint32_t params, uint8_t *out)
{
	const struct iso_model *model = &file->model;
	size_t checked = file_bytes(params) - TAIL_BYTES;

	memcpy(out, magic, sizeof(magic));
	iso_put_le(out + 8, MODELFILE_VERSION, 4);
	iso_put_le(out + 12, (uint64_t)model->kind, 4);
	iso_put_le(out + 16, model->features, 4);
	iso_put_le(out + 20, model->classes, 4);
	iso_put_le(out + 24, model->hidden, 4);
	iso_put_le(out + 28, 0, 4);
	iso_put_le(out + 32, params, 8);
	iso_put_le(out + 40, file->round, 8);
	iso_put_le(out + 48, file->plan, 8);
	iso_put_le(out + 56, iso_bits_of_double((double)model->l2), 8);
	for (uint32_t i = 0; i < params; i++)
		iso_put_le(out + HEAD_BYTES + (size_t)i * 8, iso_bits_of_double(file->params[i]),
			   8);
	iso_put_le(out + checked, iso_checksum(out, checked), 8);
}

int modelfile_write(const char *folder, const struct modelfile *file, struct error *reterr)
{
	uint32_t params = iso_model_params(&file->model);
	size_t size = file_bytes(params);
	uint8_t *bytes = malloc(size);
	char path[PATH_MAX];
	int r = -ENOMEM;

	if (bytes != NULL) {
		encode(file, params, bytes);
		r = snprintf(path, sizeof(path), "%s/model", folder) < (int)sizeof(path)
			? wholefile_replace_path(path, 0644, bytes, size)
			: -ENAMETOOLONG;
	}
	free(bytes);
	return r < 0 ? error_errno(reterr, r, "write '%.200s/model'", folder) : 0;
}

/* NULL: it is sound; else why not. */
static const char *decode(const uint8_t *bytes, size_t size, struct modelfile *ret_file)
{
	const struct iso_model model = {
		.kind = (enum iso_model_kind)iso_get_le(bytes + 12, 4),
		.features = (uint32_t)iso_get_le(bytes + 16, 4),
		.classes = (uint32_t)iso_get_le(bytes + 20, 4),
		.hidden = (uint32_t)iso_get_le(bytes + 24, 4),
		.l2 = (float)iso_double_of_bits(iso_get_le(bytes + 56, 8)),
	};

	if (iso_get_le(bytes + size - TAIL_BYTES, 8) != iso_checksum(bytes, size - TAIL_BYTES))
		return "its checksum is wrong: it is damaged";
	if (iso_model_kind_text(model.kind) == NULL || !iso_model_valid(&model) ||
	    iso_get_le(bytes + 32, 8) != iso_model_params(&model) ||
	    size != file_bytes(iso_model_params(&model)))
		return "its numbers do not go together";
	double *params = calloc(iso_model_params(&model), sizeof(*params));
	if (params == NULL)
		return "no memory for it";
	for (uint32_t i = 0; i < iso_model_params(&model); i++) {
		params[i] = iso_double_of_bits(iso_get_le(bytes + HEAD_BYTES + (size_t)i * 8, 8));
		if (!isfinite(params[i])) {
			free(params);
			return "a parameter is no number";
		}
	}
	*ret_file = (struct modelfile){
		.model = model,
		.round = iso_get_le(bytes + 40, 8),
		.plan = iso_get_le(bytes + 48, 8),
		.params = params,
	};
	return NULL;
}

static int read_all(int fd, uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t r = read(fd, bytes + done, size - done);

		if (r <= 0)
			return r < 0 ? -errno : -EIO;
		done += (size_t)r;
	}
	return 0;
}

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int modelfile_read(const char *folder, struct modelfile *ret_file, struct error *reterr)
{
	char path[PATH_MAX];
	struct stat status;

	if (snprintf(path, sizeof(path), "%s/model", folder) >= (int)sizeof(path))
		return error_errno(reterr, -ENAMETOOLONG, "'%.200s/model'", folder);
	__attribute__((cleanup(close_fd))) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_errno(reterr, -errno, "'%.200s'", path);
	size_t size = (size_t)status.st_size;
	if (!S_ISREG(status.st_mode) || size < HEAD_BYTES + TAIL_BYTES ||
	    size > file_bytes(ISO_MODEL_PARAMS_MAX))
		return error_set(reterr, -EBADMSG, "'%.200s': no model of ours by its size", path);
	uint8_t *bytes = malloc(size);
	int r = bytes == NULL ? -ENOMEM : read_all(fd, bytes, size);
	if (r < 0) {
		free(bytes);
		return error_errno(reterr, r, "read '%.200s'", path);
	}
	const char *why = NULL;
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		why = "it is no model of ours";
	else if (iso_get_le(bytes + 8, 4) != MODELFILE_VERSION)
		why = "it is of another version";
	else
		why = decode(bytes, size, ret_file);
	free(bytes);
	return why != NULL ? error_set(reterr, -EBADMSG, "'%.200s': %s", path, why) : 0;
}
