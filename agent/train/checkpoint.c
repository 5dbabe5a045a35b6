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

#include "agent/base/wholefile.h"
#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/wire/train.h"

/*
 * Little-endian:
 *   0  u64 magic "isockpt2"   8  u64 size of the file
 *  16  u64 checksum of the file with this field 0
 *  24  the numbers of struct checkpoint in their order, then its arrays
 */
#define MAGIC		 0x3274706b636f7369u /* "isockpt2" */
#define HEAD_BYTES	 24u
#define TASKS		 12u
#define RESULTS		 12u
#define LEDGER		 11u
#define WIDE		 (10u + TASKS + RESULTS) /* numbers of 8 bytes */
#define NARROW		 11u
#define NUMBER_BYTES	 (WIDE * 8u + NARROW * 4u)
#define WORKER_BYTES	 (CHECKPOINT_NAME_BYTES + LEDGER * 8u)
#define EVALUATION_BYTES 32u
/* Tables of all workers, in double: far beyond what can be trained here. */
#define METHOD_BYTES_MAX (1ull << 40)

static uint64_t file_bytes(const struct checkpoint *checkpoint)
{
	return HEAD_BYTES + NUMBER_BYTES + checkpoint->method_bytes + checkpoint->strategy_bytes +
	       (uint64_t)checkpoint->workers_count * (WORKER_BYTES + checkpoint->worker_bytes) +
	       (uint64_t)checkpoint->evaluations_count * EVALUATION_BYTES;
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

static void bytes(struct cursor *cursor, void *field, uint64_t size)
{
	if (size == 0)
		return;
	if (cursor->is_reading)
		memcpy(field, cursor->at, size);
	else
		memcpy(cursor->at, field, size);
	cursor->at += size;
}

static void task_totals(struct cursor *cursor, struct iso_method_totals *t)
{
	uint64_t *const fields[TASKS] = {
		&t->rounds,  &t->updates, &t->started,	 &t->used, &t->buffered,  &t->ignored,
		&t->stopped, &t->lost,	  &t->in_flight, &t->late, &t->delay_max, &t->delay_sum,
	};

	_Static_assert(sizeof(*t) == TASKS * sizeof(uint64_t), "no total is forgotten");
	for (unsigned i = 0; i < TASKS; i++)
		u64(cursor, fields[i]);
}

static void result_totals(struct cursor *cursor, struct iso_dispatch_totals *t)
{
	uint64_t *const fields[RESULTS] = {
		&t->accepted,	     &t->late,	      &t->other_term,	    &t->abandoned,
		&t->not_finite,	     &t->moved,	      &t->resent,	    &t->leases_expired,
		&t->accepted_cpu_ns, &t->late_cpu_ns, &t->abandoned_cpu_ns, &t->not_finite_cpu_ns,
	};

	_Static_assert(sizeof(*t) == RESULTS * sizeof(uint64_t), "no total is forgotten");
	for (unsigned i = 0; i < RESULTS; i++)
		u64(cursor, fields[i]);
}

static void ledger(struct cursor *cursor, struct checkpoint_ledger *l)
{
	uint64_t *const fields[LEDGER] = {
		&l->started,
		&l->used,
		&l->buffered,
		&l->ignored,
		&l->stopped,
		&l->lost,
		&l->late,
		&l->abandoned,
		&l->not_finite,
		&l->cpu_ns,
		&l->discarded_cpu_ns,
	};

	_Static_assert(sizeof(*l) == LEDGER * sizeof(uint64_t), "no count is forgotten");
	for (unsigned i = 0; i < LEDGER; i++)
		u64(cursor, fields[i]);
}

static void numbers(struct cursor *cursor, struct checkpoint *checkpoint)
{
	u64(cursor, &checkpoint->term);
	u64(cursor, &checkpoint->elapsed_ns);
	u64(cursor, &checkpoint->data_checksum);
	f64(cursor, &checkpoint->train_loss);
	u64(cursor, &checkpoint->allocations);
	u64(cursor, &checkpoint->serial);
	u64(cursor, &checkpoint->ignored_cpu_ns);
	u64(cursor, &checkpoint->greedy_cpu_ns);
	u64(cursor, &checkpoint->user_task);
	task_totals(cursor, &checkpoint->tasks_before);
	result_totals(cursor, &checkpoint->results);
	u64(cursor, &checkpoint->method_bytes);
	u32(cursor, &checkpoint->method);
	u32(cursor, &checkpoint->strategy);
	u32(cursor, &checkpoint->model);
	u32(cursor, &checkpoint->features);
	u32(cursor, &checkpoint->classes);
	u32(cursor, &checkpoint->hidden);
	u32(cursor, &checkpoint->params_count);
	u32(cursor, &checkpoint->workers_count);
	u32(cursor, &checkpoint->evaluations_count);
	u32(cursor, &checkpoint->strategy_bytes);
	u32(cursor, &checkpoint->worker_bytes);
}

static void arrays(struct cursor *cursor, struct checkpoint *checkpoint)
{
	bytes(cursor, checkpoint->method_state, checkpoint->method_bytes);
	bytes(cursor, checkpoint->strategy_state, checkpoint->strategy_bytes);
	for (uint32_t i = 0; i < checkpoint->workers_count; i++) {
		bytes(cursor, checkpoint->workers[i].name, CHECKPOINT_NAME_BYTES);
		ledger(cursor, &checkpoint->workers[i].ledger);
	}
	bytes(cursor, checkpoint->worker_states,
	      (uint64_t)checkpoint->workers_count * checkpoint->worker_bytes);
	for (uint32_t i = 0; i < checkpoint->evaluations_count; i++) {
		struct evaluation_point *evaluation = &checkpoint->evaluations[i];

		u64(cursor, &evaluation->at_ns);
		u64(cursor, &evaluation->round);
		f64(cursor, &evaluation->accuracy);
		f64(cursor, &evaluation->loss);
	}
}

uint64_t checkpoint_bytes(const struct checkpoint *checkpoint)
{
	return file_bytes(checkpoint);
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
	int r = fd < 0 ? -errno : wholefile_replace(fd, "checkpoint", 0644, bytes, size);
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
	const uint64_t at = HEAD_BYTES + WIDE * 8;

	if (checkpoint->method_bytes > METHOD_BYTES_MAX)
		return damaged(reterr, at - 8, "too large a state of the method");
	if (checkpoint->params_count > ISO_TRAIN_PARAMS_MAX)
		return damaged(reterr, at + 24, "too many parameters");
	if (checkpoint->workers_count > CHECKPOINT_WORKERS_MAX)
		return damaged(reterr, at + 28, "too many workers");
	if (checkpoint->evaluations_count > EVALUATIONS_MAX)
		return damaged(reterr, at + 32, "too many evaluations");
	if (checkpoint->strategy_bytes > CHECKPOINT_STATE_MAX ||
	    checkpoint->worker_bytes > CHECKPOINT_STATE_MAX)
		return damaged(reterr, at + 36, "too large a state of the allocation");
	if (size != file_bytes(checkpoint))
		return damaged(reterr, 8, "the size does not fit the numbers");
	return 0;
}

/* Names end within their field, and nothing is hidden behind the end. */
static int check_names(const struct checkpoint *checkpoint, struct error *reterr)
{
	uint64_t at =
	    HEAD_BYTES + NUMBER_BYTES + checkpoint->method_bytes + checkpoint->strategy_bytes;

	for (uint32_t i = 0; i < checkpoint->workers_count; i++) {
		const char *name = checkpoint->workers[i].name;
		size_t length = strnlen(name, CHECKPOINT_NAME_BYTES);

		for (size_t j = length; j < CHECKPOINT_NAME_BYTES; j++)
			if (name[j] != '\0')
				length = CHECKPOINT_NAME_BYTES;
		if (length == CHECKPOINT_NAME_BYTES)
			return damaged(reterr, at + (uint64_t)i * WORKER_BYTES,
				       "the name of a worker does not end");
	}
	return 0;
}

/* One byte more each, so that none of nothing is asked for. */
static bool make_arrays(struct checkpoint *checkpoint)
{
	size_t workers = checkpoint->workers_count;

	checkpoint->method_state = malloc(checkpoint->method_bytes + 1);
	checkpoint->strategy_state = malloc(checkpoint->strategy_bytes + 1ull);
	checkpoint->worker_states = malloc(workers * checkpoint->worker_bytes + 1);
	checkpoint->workers = calloc(workers + 1, sizeof(*checkpoint->workers));
	checkpoint->evaluations =
	    calloc(checkpoint->evaluations_count + 1ull, sizeof(*checkpoint->evaluations));
	return checkpoint->method_state != NULL && checkpoint->strategy_state != NULL &&
	       checkpoint->worker_states != NULL && checkpoint->workers != NULL &&
	       checkpoint->evaluations != NULL;
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
	if (!make_arrays(&checkpoint)) {
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
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;
	uint64_t done = 0;

	if (fd < 0)
		return -errno;
	int r = fstat(fd, &stat) < 0 ? -errno : 0;
	if (r == 0 && !S_ISREG(stat.st_mode))
		r = S_ISDIR(stat.st_mode) ? -EISDIR : -EINVAL;
	if (r == 0 && (uint64_t)stat.st_size > METHOD_BYTES_MAX)
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
	free(checkpoint->method_state);
	free(checkpoint->strategy_state);
	free(checkpoint->worker_states);
	free(checkpoint->workers);
	free(checkpoint->evaluations);
	*checkpoint = (struct checkpoint){ 0 };
}
