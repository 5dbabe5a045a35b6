/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/quotas.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UCPU_PER_CPU 1000000
#define MULTIPLE_MAX ((uint64_t)1 << 60)

static int open_file(const char *directory, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", directory, name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int quota_open(const char *directory, struct quota_files *ret_files)
{
	int quota_fd = open_file(directory, "cpu.max");

	if (quota_fd >= 0) {
		*ret_files = (struct quota_files){ .quota_fd = quota_fd, .period_fd = -1 };
		return 0;
	}
	if (quota_fd != -ENOENT)
		return quota_fd;
	quota_fd = open_file(directory, "cpu.cfs_quota_us");
	if (quota_fd < 0)
		return quota_fd;
	int period_fd = open_file(directory, "cpu.cfs_period_us");
	if (period_fd < 0) {
		close(quota_fd);
		return period_fd;
	}
	*ret_files = (struct quota_files){ .quota_fd = quota_fd, .period_fd = period_fd };
	return 0;
}

void quota_close(struct quota_files *files)
{
	if (files->quota_fd >= 0)
		close(files->quota_fd);
	if (files->period_fd >= 0)
		close(files->period_fd);
	*files = (struct quota_files){ .quota_fd = -1, .period_fd = -1 };
}

/* The kernel writes a file anew for each read at offset 0. */
static int read_line(int fd, char ret_text[64])
{
	ssize_t n = pread(fd, ret_text, 63, 0);

	if (n < 0)
		return -errno;
	ret_text[n] = '\0';
	return 0;
}

/* One number from *text, which then points behind it and the blank or newline that ends it. */
static int take_number(const char **text, int64_t min, int64_t max, int64_t *ret_value)
{
	char *end;

	errno = 0;
	long long value = strtoll(*text, &end, 10);
	if (errno != 0 || end == *text || (*end != ' ' && *end != '\n'))
		return -EBADMSG;
	if (value < min || value > max)
		return -EBADMSG;
	*text = end + 1;
	*ret_value = value;
	return 0;
}

/* "max 100000\n" or "37500 100000\n". */
static int parse_cpu_max(const char *text, struct quota *ret_quota)
{
	struct quota quota = { .quota_us = QUOTA_UNLIMITED };
	int r = 0;

	if (strncmp(text, "max ", 4) == 0)
		text += 4;
	else
		r = take_number(&text, 0, QUOTA_US_MAX, &quota.quota_us);
	if (r == 0)
		r = take_number(&text, PERIOD_US_MIN, PERIOD_US_MAX, &quota.period_us);
	if (r == 0)
		*ret_quota = quota;
	return r;
}

int quota_read(const struct quota_files *files, struct quota *ret_quota)
{
	struct quota quota;
	char text[64];
	const char *p = text;
	int r = read_line(files->quota_fd, text);

	if (r != 0)
		return r;
	if (files->period_fd < 0)
		return parse_cpu_max(text, ret_quota);
	r = take_number(&p, QUOTA_UNLIMITED, QUOTA_US_MAX, &quota.quota_us);
	if (r != 0)
		return r;
	r = read_line(files->period_fd, text);
	if (r != 0)
		return r;
	p = text;
	r = take_number(&p, PERIOD_US_MIN, PERIOD_US_MAX, &quota.period_us);
	if (r == 0)
		*ret_quota = quota;
	return r;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Whole µCPU and remainders apart: the remainders are fractions of different
 * periods, so they are added over the periods' common multiple.
 */
int quotas_sum(const struct quota *quotas, unsigned count, uint64_t *ret_ucpu)
{
	uint64_t multiple = 1, whole_ucpu = 0;
	unsigned __int128 parts = 0; /* of 1 / multiple µCPU */

	for (unsigned i = 0; i < count; i++) {
		uint64_t period = (uint64_t)quotas[i].period_us;

		if (quotas[i].quota_us < 0)
			return -ERANGE;
		uint64_t factor = period / greatest_common_divisor(multiple, period);
		if (multiple > MULTIPLE_MAX / factor)
			return -EOVERFLOW;
		multiple *= factor;
	}
	for (unsigned i = 0; i < count; i++) {
		uint64_t period = (uint64_t)quotas[i].period_us;
		uint64_t scaled = (uint64_t)quotas[i].quota_us * UCPU_PER_CPU;

		whole_ucpu += scaled / period;
		parts += (unsigned __int128)(scaled % period) * (multiple / period);
	}
	*ret_ucpu = whole_ucpu + (uint64_t)((parts + multiple - 1) / multiple);
	return 0;
}

bool quotas_equal(const struct quota *a, const struct quota *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i].quota_us != b[i].quota_us || a[i].period_us != b[i].period_us)
			return false;
	return true;
}
