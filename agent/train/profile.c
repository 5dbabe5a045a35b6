/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/profile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/wholefile.h"

#define PROFILE_VERSION 1
#define BYTES_MAX	(1024u * 1024u)

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Into a buffer of BYTES_MAX. */
static int read_bytes(const char *path, char *bytes, size_t *ret_size)
{
	__attribute__((cleanup(close_fd))) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	size_t size = 0;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	while (size < BYTES_MAX && n != 0) {
		n = read(fd, bytes + size, BYTES_MAX - size);
		if (n < 0 && errno != EINTR)
			return -errno;
		size += n > 0 ? (size_t)n : 0;
	}
	if (size == BYTES_MAX)
		return -EFBIG;
	*ret_size = size;
	return 0;
}

/* A text of the object, with what it must fit in. */
static int get_text(const json_t *object, const char *key, char *ret_text, size_t size,
		    struct error *reterr)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_string(value))
		return error_set(reterr, -EINVAL, "%s: not a text", key);
	size_t length = json_string_length(value);
	if (length == 0 || length >= size || length != strlen(json_string_value(value)))
		return error_set(reterr, -EINVAL, "%s: not of 1 to %zu characters", key, size - 1);
	memcpy(ret_text, json_string_value(value), length + 1);
	return 0;
}

/* A number >= least, or > 0 if least is 0; missing is 0 where that may be. */
static int get_number(const json_t *object, const char *key, bool is_optional, double *ret_value,
		      struct error *reterr)
{
	const json_t *value = json_object_get(object, key);
	double number = json_number_value(value);

	if (value == NULL && is_optional) {
		*ret_value = 0;
		return 0;
	}
	if (!json_is_number(value))
		return error_set(reterr, -EINVAL, "%s: not a number", key);
	if (!isfinite(number) || number < 0 || (number == 0 && !is_optional))
		return error_set(reterr, -EINVAL, "%s: %g is not %s", key, number,
				 is_optional ? "0 or more" : "positive");
	*ret_value = number;
	return 0;
}

static int get_worker(const json_t *object, struct profile_worker *ret_worker, struct error *reterr)
{
	struct profile_worker worker = { 0 };
	double count = 0, mean_s = 0, deviation_s = 0;
	int r = get_text(object, "name", worker.name, sizeof(worker.name), reterr);

	if (r == 0)
		r = get_number(object, "tasks", false, &count, reterr);
	if (r == 0)
		r = get_number(object, "mean_s", false, &mean_s, reterr);
	if (r == 0)
		r = get_number(object, "deviation_s", true, &deviation_s, reterr);
	if (r < 0)
		return r;
	worker.samples.count = count;
	worker.samples.sum_s = count * mean_s;
	if (count > 1)
		worker.samples.squares_s2 = (count - 1) * deviation_s * deviation_s;
	if (!iso_ata_samples_valid(&worker.samples))
		return error_set(reterr, -EINVAL, "%g tasks of %g s, deviation %g s: cannot be",
				 count, mean_s, deviation_s);
	*ret_worker = worker;
	return 0;
}

static int get_kind(const json_t *json, struct profile_kind *ret_kind, struct error *reterr)
{
	const json_t *per_cost = json_object_get(json, "per-cost");
	char time[16];

	if (!json_is_object(json) ||
	    json_integer_value(json_object_get(json, "isobar-profile")) != PROFILE_VERSION)
		return error_set(reterr, -EINVAL, "no isobar-profile of version %d",
				 PROFILE_VERSION);
	int r = get_text(json, "task", ret_kind->task, sizeof(ret_kind->task), reterr);
	if (r == 0)
		r = get_text(json, "time", time, sizeof(time), reterr);
	if (r < 0)
		return r;
	if (strcmp(time, "on-cpu") != 0 && strcmp(time, "wall") != 0)
		return error_set(reterr, -EINVAL, "time: neither 'on-cpu' nor 'wall'");
	if (per_cost != NULL && !json_is_boolean(per_cost))
		return error_set(reterr, -EINVAL, "per-cost: neither true nor false");
	ret_kind->is_wall = strcmp(time, "wall") == 0;
	ret_kind->per_cost = json_is_true(per_cost);
	return 0;
}

static int get_workers(const json_t *list, struct profile *profile, struct error *reterr)
{
	size_t count = json_array_size(list);

	if (!json_is_array(list))
		return error_set(reterr, -EINVAL, "workers: not a list");
	if (count > PROFILE_WORKERS_MAX)
		return error_set(reterr, -EINVAL, "workers: more than %u", PROFILE_WORKERS_MAX);
	profile->workers = calloc(count + 1, sizeof(*profile->workers));
	if (profile->workers == NULL)
		return error_errno(reterr, -ENOMEM, "workers");
	for (size_t i = 0; i < count; i++) {
		struct profile_worker worker;
		int r = get_worker(json_array_get(list, i), &worker, reterr);

		if (r == 0 && profile_find(profile, worker.name) != NULL)
			r = error_set(reterr, -EINVAL, "'%s' is there twice", worker.name);
		if (r < 0) {
			error_wrap(reterr, "worker %zu", i + 1);
			return r;
		}
		profile->workers[profile->count++] = worker;
	}
	return 0;
}

static int parse(const char *bytes, size_t size, struct profile *ret_profile, struct error *reterr)
{
	struct profile profile = { 0 };
	json_error_t why;
	json_t *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &why);

	if (json == NULL)
		return error_set(reterr, -EINVAL, "line %d: %s", why.line, why.text);
	int r = get_kind(json, &profile.kind, reterr);
	if (r == 0)
		r = get_workers(json_object_get(json, "workers"), &profile, reterr);
	json_decref(json);
	if (r < 0)
		profile_free(&profile);
	else
		*ret_profile = profile;
	return r;
}

int profile_read(const char *path, struct profile *ret_profile, struct error *reterr)
{
	char *bytes = malloc(BYTES_MAX);
	size_t size = 0;

	if (bytes == NULL)
		return error_errno(reterr, -ENOMEM, "read '%s'", path);
	int r = read_bytes(path, bytes, &size);
	if (r < 0) {
		error_errno(reterr, r, "read '%s'", path);
	} else {
		r = parse(bytes, size, ret_profile, reterr);
		if (r < 0)
			error_wrap(reterr, "'%s'", path);
	}
	free(bytes);
	return r;
}

static json_t *put_worker(const struct profile_worker *worker)
{
	const struct iso_ata_samples *samples = &worker->samples;
	double deviation_s =
	    samples->count > 1 ? sqrt(samples->squares_s2 / (samples->count - 1)) : 0;

	return json_pack("{s:s, s:f, s:f, s:f}", "name", worker->name, "tasks", samples->count,
			 "mean_s", iso_ata_mean_s(samples), "deviation_s", deviation_s);
}

/* The owner of a reference that may be NULL; NULL is what failed. */
static json_t *put_profile(const struct profile *profile)
{
	json_t *workers = json_array();
	char written[32];
	time_t now_s = time(NULL);
	struct tm when;

	if (gmtime_r(&now_s, &when) == NULL ||
	    strftime(written, sizeof(written), "%Y-%m-%dT%H:%M:%SZ", &when) == 0)
		written[0] = '\0';
	for (uint32_t i = 0; i < profile->count && workers != NULL; i++) {
		if (!(profile->workers[i].samples.count > 0))
			continue;
		if (json_array_append_new(workers, put_worker(&profile->workers[i])) < 0) {
			json_decref(workers);
			workers = NULL;
		}
	}
	return json_pack("{s:i, s:s, s:s, s:b, s:s, s:o}", "isobar-profile", PROFILE_VERSION,
			 "task", profile->kind.task, "time",
			 profile->kind.is_wall ? "wall" : "on-cpu", "per-cost",
			 (int)profile->kind.per_cost, "written", written, "workers", workers);
}

int profile_write(const char *path, const struct profile *profile, struct error *reterr)
{
	json_t *json = put_profile(profile);
	char *text = json != NULL ? json_dumps(json, JSON_INDENT(1)) : NULL;
	int r = text != NULL ? wholefile_replace_path(path, 0644, text, strlen(text)) : -ENOMEM;

	assert(profile->count <= PROFILE_WORKERS_MAX);
	free(text);
	json_decref(json);
	return r < 0 ? error_errno(reterr, r, "write '%s'", path) : 0;
}

void profile_free(struct profile *profile)
{
	free(profile->workers);
	*profile = (struct profile){ 0 };
}

const struct profile_worker *profile_find(const struct profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->count; i++)
		if (strcmp(profile->workers[i].name, name) == 0)
			return &profile->workers[i];
	return NULL;
}

static const char *time_text(const struct profile_kind *kind)
{
	if (kind->per_cost)
		return kind->is_wall ? "wall times by cost" : "on-CPU times by cost";
	return kind->is_wall ? "wall times" : "on-CPU times";
}

int profile_check(const struct profile *profile, const struct profile_kind *kind, const char *path,
		  struct error *reterr)
{
	const struct profile_kind *had = &profile->kind;

	if (strcmp(had->task, kind->task) == 0 && had->is_wall == kind->is_wall &&
	    had->per_cost == kind->per_cost)
		return 0;
	return error_set(reterr, -EINVAL, "'%s' has %s of '%s', this run has %s of '%s'", path,
			 time_text(had), had->task, time_text(kind), kind->task);
}
