/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/wire/train.h"

/*
 * Little-endian:
 *   0  u64 magic "isockpt1"   8  u64 size of the file
 *  16  u64 checksum of the file with this field 0
 *  24  the numbers of struct checkpoint in their order, then its arrays
 */
#define MAGIC		 0x3174706b636f7369u /* "isockpt1" */
#define HEAD_BYTES	 24u
#define TOTALS		 12u
#define NUMBER_BYTES	 ((6u + TOTALS) * 8u + 5u * 4u)
#define WORKER_BYTES	 (CHECKPOINT_NAME_BYTES + 3u * 8u)
#define EVALUATION_BYTES 32u

static uint64_t file_bytes(uint64_t params, uint64_t workers, uint64_t evaluations)
{
	return HEAD_BYTES + NUMBER_BYTES + params * 4 + workers * WORKER_BYTES +
	       evaluations * EVALUATION_BYTES;
}

/* One place lists the numbers: it writes them or reads them. */
struct cursor {
	uint8_t *at;
	bool is_reading;
};

static void u64(struct cursor *cursor, uint64_t *value)
{
	if (cursor->is_reading)
		*value = iso_get_le(cursor->at, 8);
	else
		iso_put_le(cursor->at, *value, 8);
	cursor->at += 8;
}

static void u32(struct cursor *cursor, uint32_t *value)
{
	if (cursor->is_reading)
		*value = (uint32_t)iso_get_le(cursor->at, 4);
	else
		iso_put_le(cursor->at, *value, 4);
	cursor->at += 4;
}

static void f64(struct cursor *cursor, double *value)
{
	uint64_t bits = iso_bits_of_double(*value);

	u64(cursor, &bits);
	*value = iso_double_of_bits(bits);
}

static void totals(struct cursor *cursor, struct iso_round_totals *t)
{
	uint64_t *const fields[TOTALS] = {
		&t->rounds,
		&t->accepted,
		&t->late,
		&t->old,
		&t->other_term,
		&t->abandoned,
		&t->not_finite,
		&t->requeued,
		&t->leases_expired,
		&t->accepted_cpu_ns,
		&t->discarded_cpu_ns,
		&t->greedy_cpu_ns,
	};

	_Static_assert(sizeof(*t) == TOTALS * sizeof(uint64_t), "no total is forgotten");
	for (unsigned i = 0; i < TOTALS; i++)
		u64(cursor, fields[i]);
}

static void numbers(struct cursor *cursor, struct checkpoint *checkpoint)
{
	u64(cursor, &checkpoint->term);
	u64(cursor, &checkpoint->round);
	u64(cursor, &checkpoint->elapsed_ns);
	u64(cursor, &checkpoint->rng);
	u64(cursor, &checkpoint->data_checksum);
	f64(cursor, &checkpoint->train_loss);
	totals(cursor, &checkpoint->totals);
	u32(cursor, &checkpoint->features);
	u32(cursor, &checkpoint->classes);
	u32(cursor, &checkpoint->params_count);
	u32(cursor, &checkpoint->workers_count);
	u32(cursor, &checkpoint->evaluations_count);
}

static void arrays(struct cursor *cursor, struct checkpoint *checkpoint)
{
	for (uint32_t i = 0; i < checkpoint->params_count; i++) {
		uint32_t bits;

		memcpy(&bits, &checkpoint->params[i], sizeof(bits));
		u32(cursor, &bits);
		memcpy(&checkpoint->params[i], &bits, sizeof(bits));
	}
	for (uint32_t i = 0; i < checkpoint->workers_count; i++) {
		struct checkpoint_worker *worker = &checkpoint->workers[i];

		if (cursor->is_reading)
			memcpy(worker->name, cursor->at, CHECKPOINT_NAME_BYTES);
		else
			memcpy(cursor->at, worker->name, CHECKPOINT_NAME_BYTES);
		cursor->at += CHECKPOINT_NAME_BYTES;
		f64(cursor, &worker->samples.count);
		f64(cursor, &worker->samples.sum_s);
		u64(cursor, &worker->tasks_done);
	}
	for (uint32_t i = 0; i < checkpoint->evaluations_count; i++) {
		struct evaluation_point *evaluation = &checkpoint->evaluations[i];

		u64(cursor, &evaluation->at_ns);
		u64(cursor, &evaluation->round);
		f64(cursor, &evaluation->accuracy);
		f64(cursor, &evaluation->loss);
	}
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

/* Content first, then the name, then the folder: after a crash one or the other is whole. */
static int replace(int folder, const uint8_t *bytes, size_t size)
{
	int fd = openat(folder, "checkpoint.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	int r = write_all(fd, bytes, size);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(folder, "checkpoint.new", folder, "checkpoint") < 0)
		r = -errno;
	if (r == 0 && fsync(folder) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(folder, "checkpoint.new", 0);
	return r;
}

uint64_t checkpoint_bytes(const struct checkpoint *checkpoint)
{
	return file_bytes(checkpoint->params_count, checkpoint->workers_count,
			  checkpoint->evaluations_count);
}

void checkpoint_encode(const struct checkpoint *checkpoint, uint8_t *out)
{
	/* The cursor only writes from it; its arrays stay the caller's. */
	struct checkpoint copy = *checkpoint;
	uint64_t size = checkpoint_bytes(checkpoint);
	struct cursor cursor = { .at = out + HEAD_BYTES };

	assert(copy.params_count <= ISO_TRAIN_PARAMS_MAX);
	assert(copy.workers_count <= CHECKPOINT_WORKERS_MAX);
	assert(copy.evaluations_count <= EVALUATIONS_MAX);
	iso_put_le(out, MAGIC, 8);
	iso_put_le(out + 8, size, 8);
	iso_put_le(out + 16, 0, 8);
	numbers(&cursor, &copy);
	arrays(&cursor, &copy);
	assert(cursor.at == out + size);
	iso_put_le(out + 16, iso_checksum(out, size), 8);
}

int checkpoint_write(const char *folder, const struct checkpoint *checkpoint, struct error *reterr)
{
	uint64_t size = checkpoint_bytes(checkpoint);
	uint8_t *bytes = malloc(size);

	if (bytes == NULL)
		return error_errno(reterr, -ENOMEM, "write a checkpoint");
	checkpoint_encode(checkpoint, bytes);

	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : replace(fd, bytes, size);
	if (fd >= 0)
		close(fd);
	free(bytes);
	return r < 0 ? error_errno(reterr, r, "write '%s/checkpoint'", folder) : 0;
}

static int damaged(struct error *reterr, uint64_t offset, const char *why)
{
	return error_set(reterr, -EBADMSG, "offset %llu: %s", (unsigned long long)offset, why);
}

/* Checks all that the checksum cannot know; the arrays are not there yet. */
static int check_sizes(uint64_t size, const struct checkpoint *checkpoint, struct error *reterr)
{
	const uint64_t at = HEAD_BYTES + (6 + TOTALS) * 8;

	if (checkpoint->params_count > ISO_TRAIN_PARAMS_MAX)
		return damaged(reterr, at + 8, "too many parameters");
	if (checkpoint->workers_count > CHECKPOINT_WORKERS_MAX)
		return damaged(reterr, at + 12, "too many workers");
	if (checkpoint->evaluations_count > EVALUATIONS_MAX)
		return damaged(reterr, at + 16, "too many evaluations");
	if (size != file_bytes(checkpoint->params_count, checkpoint->workers_count,
			       checkpoint->evaluations_count))
		return damaged(reterr, 8, "the size does not fit the numbers");
	return 0;
}

/* Names end within their field, and nothing is hidden behind the end. */
static int check_names(const struct checkpoint *checkpoint, struct error *reterr)
{
	for (uint32_t i = 0; i < checkpoint->workers_count; i++) {
		const char *name = checkpoint->workers[i].name;
		size_t length = strnlen(name, CHECKPOINT_NAME_BYTES);

		for (size_t j = length; j < CHECKPOINT_NAME_BYTES; j++)
			if (name[j] != '\0')
				length = CHECKPOINT_NAME_BYTES;
		if (length == CHECKPOINT_NAME_BYTES)
			return damaged(reterr, file_bytes(checkpoint->params_count, i, 0),
				       "the name of a worker does not end");
	}
	return 0;
}

int checkpoint_decode(uint8_t *bytes, uint64_t size, struct checkpoint *ret_checkpoint,
		      struct error *reterr)
{
	struct checkpoint checkpoint = { 0 };

	if (size < HEAD_BYTES + NUMBER_BYTES)
		return damaged(reterr, size, "the file ends here, within its head");
	if (iso_get_le(bytes, 8) != MAGIC)
		return damaged(reterr, 0, "not a checkpoint, or of another version");
	if (iso_get_le(bytes + 8, 8) != size)
		return damaged(reterr, size, "the file is cut off or has grown");
	uint64_t checksum = iso_get_le(bytes + 16, 8);
	iso_put_le(bytes + 16, 0, 8);
	if (iso_checksum(bytes, size) != checksum)
		return damaged(reterr, 16, "the checksum does not match the content");
	struct cursor cursor = { .at = bytes + HEAD_BYTES, .is_reading = true };
	numbers(&cursor, &checkpoint);
	int r = check_sizes(size, &checkpoint, reterr);
	if (r < 0)
		return r;
	/* One more, so that none of nothing is asked for. */
	checkpoint.params = calloc(checkpoint.params_count + 1ull, sizeof(float));
	checkpoint.workers = calloc(checkpoint.workers_count + 1ull, sizeof(*checkpoint.workers));
	checkpoint.evaluations =
	    calloc(checkpoint.evaluations_count + 1ull, sizeof(*checkpoint.evaluations));
	if (checkpoint.params == NULL || checkpoint.workers == NULL ||
	    checkpoint.evaluations == NULL) {
		checkpoint_free(&checkpoint);
		return error_errno(reterr, -ENOMEM, "read");
	}
	arrays(&cursor, &checkpoint);
	r = check_names(&checkpoint, reterr);
	if (r < 0) {
		checkpoint_free(&checkpoint);
		return r;
	}
	*ret_checkpoint = checkpoint;
	return 0;
}

static int read_file(const char *path, uint8_t **ret_bytes, uint64_t *ret_size)
{
	const uint64_t size_max =
	    file_bytes(ISO_TRAIN_PARAMS_MAX, CHECKPOINT_WORKERS_MAX, EVALUATIONS_MAX);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;
	uint64_t done = 0;

	if (fd < 0)
		return -errno;
	int r = fstat(fd, &stat) < 0 ? -errno : 0;
	if (r == 0 && (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size > size_max))
		r = -EFBIG;
	uint8_t *bytes = r == 0 ? malloc((size_t)stat.st_size + 1) : NULL;
	if (r == 0 && bytes == NULL)
		r = -ENOMEM;
	while (r == 0 && done < (uint64_t)stat.st_size) {
		ssize_t size = read(fd, bytes + done, (uint64_t)stat.st_size - done);

		if (size < 0)
			r = -errno;
		if (size <= 0)
			break;
		done += (uint64_t)size;
	}
	close(fd);
	if (r < 0) {
		free(bytes);
		return r;
	}
	*ret_bytes = bytes;
	*ret_size = done;
	return 0;
}

int checkpoint_read(const char *folder, struct checkpoint *ret_checkpoint, struct error *reterr)
{
	char path[PATH_MAX];
	uint8_t *bytes;
	uint64_t size;

	if (snprintf(path, sizeof(path), "%s/checkpoint", folder) >= (int)sizeof(path))
		return error_errno(reterr, -ENAMETOOLONG, "'%s'", folder);
	int r = read_file(path, &bytes, &size);
	if (r < 0)
		return error_errno(reterr, r, "read '%s'", path);
	r = checkpoint_decode(bytes, size, ret_checkpoint, reterr);
	free(bytes);
	if (r < 0)
		error_wrap(reterr, "'%s'", path);
	return r;
}

void checkpoint_free(struct checkpoint *checkpoint)
{
	free(checkpoint->params);
	free(checkpoint->workers);
	free(checkpoint->evaluations);
	*checkpoint = (struct checkpoint){ 0 };
}
