/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/quantity.h"

void cgroup_fd_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int cgroup_file_read(int dir_fd, const char *name, char *ret_text, size_t size)
{
	CGROUP_CLOSE_FD int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	size_t length = 0;

	if (fd < 0)
		return -errno;
	while (length < size - 1) {
		ssize_t count = read(fd, ret_text + length, size - 1 - length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			break;
		length += (size_t)count;
	}
	ret_text[length] = '\0';
	return 0;
}

int cgroup_file_write(int dir_fd, const char *name, const char *text)
{
	/* The kernel ignores O_TRUNC here; trees of plain files need it. */
	CGROUP_CLOSE_FD int fd = openat(dir_fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	size_t length = strlen(text);
	ssize_t count;

	if (fd < 0)
		return -errno;
	do {
		/* The whole value in one write: the kernel parses each write on its own. */
		count = write(fd, text, length);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	return (size_t)count == length ? 0 : -EIO;
}

DIR *cgroup_opendir(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	int saved_errno = errno;

	if (directory == NULL && fd >= 0)
		close(fd);
	errno = saved_errno;
	return directory;
}

const char *cgroup_next_child(DIR *directory)
{
	const struct dirent *entry;

	while ((entry = readdir(directory)) != NULL)
		if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
		    strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	return NULL;
}

bool cgroup_parse_u64(const char *text, uint64_t *ret_value, const char **ret_end)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (at == text || (*at != '\0' && *at != '\n' && *at != ' '))
		return false;
	*ret_value = value;
	if (ret_end != NULL)
		*ret_end = at;
	return true;
}

int cgroup_file_read_u64(int dir_fd, const char *name, uint64_t *ret_value)
{
	char text[64];
	int result = cgroup_file_read(dir_fd, name, text, sizeof(text));

	if (result < 0)
		return result;
	return cgroup_parse_u64(text, ret_value, NULL) ? 0 : -EBADMSG;
}

bool cgroup_file_field(const char *text, const char *name, uint64_t *ret_value)
{
	size_t length = strlen(name);

	for (const char *line = text;;) {
		if (strncmp(line, name, length) == 0 && line[length] == ' ')
			return cgroup_parse_u64(line + length + 1, ret_value, NULL);
		line = strchr(line, '\n');
		if (line == NULL)
			return false;
		line++;
	}
}

uint64_t cgroup_quota_us(uint64_t share_ucpu, uint64_t period_us)
{
	return share_ucpu / ISO_UCPU_PER_CPU * period_us +
	       share_ucpu % ISO_UCPU_PER_CPU * period_us / ISO_UCPU_PER_CPU;
}

bool cgroup_limit_equal(const struct cgroup_limit *a, const struct cgroup_limit *b)
{
	if (a->period_us != b->period_us || a->unlimited != b->unlimited)
		return false;
	return a->unlimited || a->quota_us == b->quota_us;
}

bool cgroup_limit_above(const struct cgroup_limit *a, const struct cgroup_limit *b)
{
	if (a->unlimited || b->unlimited)
		return a->unlimited && !b->unlimited;
	/* The kernel takes quotas below 2^44 us and periods up to 2^20: no overflow. */
	return a->quota_us * b->period_us > b->quota_us * a->period_us;
}

const char *cgroup_limit_text(const struct cgroup_limit *limit, char text[CGROUP_LIMIT_BYTES])
{
	if (limit->unlimited)
		snprintf(text, CGROUP_LIMIT_BYTES, "unlimited");
	else
		snprintf(text, CGROUP_LIMIT_BYTES, "%llu/%llu us",
			 (unsigned long long)limit->quota_us,
			 (unsigned long long)limit->period_us);
	return text;
}
