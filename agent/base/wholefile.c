/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/wholefile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int name_fresh(const char *name, char ret_fresh[NAME_MAX + 1])
{
	assert(name[0] != '\0');
	assert(strchr(name, '/') == NULL);
	return snprintf(ret_fresh, NAME_MAX + 1, "%s.new", name) > NAME_MAX ? -ENAMETOOLONG : 0;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

int wholefile_prepare(int folder, const char *name, mode_t mode, const void *bytes, size_t size)
{
	char fresh[NAME_MAX + 1];
	int r = name_fresh(name, fresh);

	if (r < 0)
		return r;
	int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, size);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(folder, fresh, 0); /* gone is fine */
	return r;
}

int wholefile_commit(int folder, const char *name)
{
	char fresh[NAME_MAX + 1];
	int r = name_fresh(name, fresh);

	assert(r == 0); /* it was prepared */
	if (renameat(folder, fresh, folder, name) < 0) {
		r = -errno;
		(void)unlinkat(folder, fresh, 0); /* gone is fine */
		return r;
	}
	return fsync(folder) < 0 ? -errno : 0;
}

int wholefile_replace(int folder, const char *name, mode_t mode, const void *bytes, size_t size)
{
	int r = wholefile_prepare(folder, name, mode, bytes, size);

	return r == 0 ? wholefile_commit(folder, name) : r;
}

int wholefile_replace_path(const char *path, mode_t mode, const void *bytes, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t length = (size_t)(name - path);
	char folder[PATH_MAX] = ".";

	if (name[0] == '\0')
		return slash != NULL ? -EISDIR : -ENOENT;
	if (length >= sizeof(folder))
		return -ENAMETOOLONG;
	if (length > 0) {
		memcpy(folder, path, length);
		folder[length] = '\0';
	}
	__attribute__((cleanup(close_fd))) int fd =
	    open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : wholefile_replace(fd, name, mode, bytes, size);
}
