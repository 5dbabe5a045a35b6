/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/limit_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup_internal.h"

#define TEXT_BYTES 64

int limit_file_open(int dir_fd, unsigned version, struct limit_file *ret_file)
{
	struct limit_file file = LIMIT_FILE_CLOSED;

	assert(version == 1 || version == 2);
	file.version = version;
	file.quota_fd = openat(dir_fd, version == 2 ? "cpu.max" : "cpu.cfs_quota_us",
			       O_RDWR | O_CLOEXEC);
	if (file.quota_fd < 0)
		return -errno;
	if (version == 1) {
		file.period_fd = openat(dir_fd, "cpu.cfs_period_us", O_RDWR | O_CLOEXEC);
		if (file.period_fd < 0) {
			int code = -errno;

			close(file.quota_fd);
			return code;
		}
	}
	*ret_file = file;
	return 0;
}

void limit_file_close(struct limit_file *file)
{
	if (file->quota_fd >= 0)
		close(file->quota_fd);
	if (file->period_fd >= 0)
		close(file->period_fd);
	*file = (struct limit_file)LIMIT_FILE_CLOSED;
}

static int read_text(int fd, char text[TEXT_BYTES])
{
	ssize_t count;

	do {
		count = pread(fd, text, TEXT_BYTES - 1, 0);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	text[count] = '\0';
	return 0;
}

/* The line feed ends the value even where a longer one stood before. */
static int write_text(int fd, const char *text)
{
	size_t length = strlen(text);
	ssize_t count;

	do {
		count = pwrite(fd, text, length, 0);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	return (size_t)count == length ? 0 : -EIO;
}

static int read_v2(const struct limit_file *file, struct cgroup_limit *limit)
{
	char text[TEXT_BYTES];
	const char *rest = text + 3;
	int r = read_text(file->quota_fd, text);

	if (r < 0)
		return r;
	if (strncmp(text, "max ", 4) == 0)
		limit->unlimited = true;
	else if (!cgroup_parse_u64(text, &limit->quota_us, &rest) || *rest != ' ')
		return -EBADMSG;
	return cgroup_parse_u64(rest + 1, &limit->period_us, NULL) ? 0 : -EBADMSG;
}

static int read_v1(const struct limit_file *file, struct cgroup_limit *limit)
{
	char text[TEXT_BYTES];
	int r = read_text(file->quota_fd, text);

	if (r < 0)
		return r;
	if (strncmp(text, "-1", 2) == 0 && (text[2] == '\n' || text[2] == '\0'))
		limit->unlimited = true;
	else if (!cgroup_parse_u64(text, &limit->quota_us, NULL))
		return -EBADMSG;
	r = read_text(file->period_fd, text);
	if (r < 0)
		return r;
	return cgroup_parse_u64(text, &limit->period_us, NULL) ? 0 : -EBADMSG;
}

int limit_file_read(const struct limit_file *file, struct cgroup_limit *ret_limit)
{
	struct cgroup_limit limit = { 0 };
	int r;

	if (file->version == 0)
		return -ENODEV;
	r = file->version == 2 ? read_v2(file, &limit) : read_v1(file, &limit);
	if (r < 0)
		return r;
	if (limit.period_us == 0)
		return -EBADMSG;
	*ret_limit = limit;
	return 0;
}

static int put_quota(const struct limit_file *file, const struct cgroup_limit *limit)
{
	char text[TEXT_BYTES] = "-1\n";

	if (!limit->unlimited)
		snprintf(text, sizeof(text), "%llu\n", (unsigned long long)limit->quota_us);
	return write_text(file->quota_fd, text);
}

static int put_period(const struct limit_file *file, const struct cgroup_limit *limit)
{
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)limit->period_us);
	return write_text(file->period_fd, text);
}

static int write_v2(const struct limit_file *file, const struct cgroup_limit *wanted)
{
	char text[TEXT_BYTES];

	if (wanted->unlimited)
		snprintf(text, sizeof(text), "max %llu\n", (unsigned long long)wanted->period_us);
	else
		snprintf(text, sizeof(text), "%llu %llu\n", (unsigned long long)wanted->quota_us,
			 (unsigned long long)wanted->period_us);
	return write_text(file->quota_fd, text);
}

/* The order as in cgroup_v1.c: what is in force between the two writes is the lesser. */
static int write_v1(const struct limit_file *file, const struct cgroup_limit *wanted)
{
	struct cgroup_limit present, quota_new = *wanted, period_new;
	bool quota_first;
	int r = limit_file_read(file, &present);

	if (r < 0)
		return r;
	if (present.period_us == wanted->period_us)
		return put_quota(file, wanted);
	period_new = present;
	period_new.period_us = wanted->period_us;
	quota_new.period_us = present.period_us;
	quota_first = !(present.unlimited && wanted->unlimited) &&
		      cgroup_limit_above(&period_new, &quota_new);
	for (unsigned attempt = 0; attempt < 2; attempt++, quota_first = !quota_first) {
		r = quota_first ? put_quota(file, wanted) : put_period(file, wanted);
		if (r == 0)
			r = quota_first ? put_period(file, wanted) : put_quota(file, wanted);
		if (r == 0)
			return 0;
		(void)(quota_first ? put_quota(file, &present) : put_period(file, &present));
		if (r != -EINVAL)
			break;
	}
	return r;
}

int limit_file_write(const struct limit_file *file, const struct cgroup_limit *wanted)
{
	if (file->version == 0)
		return -ENODEV;
	return file->version == 2 ? write_v2(file, wanted) : write_v1(file, wanted);
}

/* Nothing less is taken by the kernel. */
static struct cgroup_limit floor_of(uint64_t floor_ucpu, uint64_t period_us)
{
	struct cgroup_limit limit = {
		.quota_us = cgroup_quota_us(floor_ucpu, period_us),
		.period_us = period_us,
	};

	if (limit.quota_us < CGROUP_QUOTA_MIN_US)
		limit.quota_us = CGROUP_QUOTA_MIN_US;
	return limit;
}

bool limit_above_floor(const struct cgroup_limit *limit, uint64_t floor_ucpu)
{
	struct cgroup_limit lowest = floor_of(floor_ucpu, limit->period_us);

	return cgroup_limit_above(limit, &lowest);
}

int limit_file_lower(const struct limit_file *file, uint64_t floor_ucpu)
{
	struct cgroup_limit present, wanted;
	int r = limit_file_read(file, &present);

	if (r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	if (!limit_above_floor(&present, floor_ucpu))
		return 0;
	wanted = floor_of(floor_ucpu, present.period_us);
	r = limit_file_write(file, &wanted);
	if (r == 0)
		r = limit_file_read(file, &present);
	if (r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	return limit_above_floor(&present, floor_ucpu) ? -EIO : 1;
}
