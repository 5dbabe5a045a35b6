/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded into isobard: a disk that fails under its journal, and only there.
 *
 *   ISO_DISK=CALL:N:HOW   from the Nth CALL (pwrite or fdatasync) on it fails:
 *       EIO, ENOSPC, EROFS   with that error, and nothing is written
 *       short             a write of 512 bytes, then ENOSPC
 *       lost              (fdatasync) EIO, and the page cache has dropped what was written
 *   ISO_DISK_WHILE=FILE   only while there is such a file; other calls do not count
 *   ISO_DISK_KEEP=FILE    what the newest write replaced, for a test that tears it
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define SLOT_BYTES 4096u

typedef ssize_t pwrite_fn(int fd, const void *bytes, size_t size, off_t offset);
typedef int fdatasync_fn(int fd);

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset);

static uint8_t before[SLOT_BYTES];
static off_t before_offset;
static bool has_before;

static void *real(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (fn == NULL)
		abort();
	return fn;
}

static bool is_journal(int fd)
{
	char link[64], path[512];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 8)
		return false;
	path[n] = '\0';
	return strcmp(path + n - 8, "/journal") == 0;
}

/* HOW, once it is due; it stays so: a disk does not recover, but for ISO_DISK_WHILE. */
static const char *due(const char *call)
{
	static unsigned long calls;
	const char *plan = getenv("ISO_DISK"), *file = getenv("ISO_DISK_WHILE");
	size_t length = strlen(call);
	char *end;

	if (file != NULL && access(file, F_OK) != 0)
		return NULL;

	if (plan == NULL || strncmp(plan, call, length) != 0 || plan[length] != ':')
		return NULL;
	unsigned long nth = strtoul(plan + length + 1, &end, 10);
	return ++calls >= nth && *end == ':' ? end + 1 : NULL;
}

static int code(const char *how)
{
	if (strcmp(how, "EROFS") == 0)
		return EROFS;
	return strcmp(how, "ENOSPC") == 0 || strcmp(how, "short") == 0 ? ENOSPC : EIO;
}

static void keep(int fd, size_t size, off_t offset)
{
	const char *path = getenv("ISO_DISK_KEEP");
	pwrite_fn *write_at;

	has_before = size == sizeof(before) &&
		     pread(fd, before, sizeof(before), offset) == (ssize_t)sizeof(before);
	before_offset = offset;
	if (!has_before || path == NULL)
		return;
	*(void **)&write_at = real("pwrite");
	int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (to >= 0) {
		(void)write_at(to, before, sizeof(before), 0);
		close(to);
	}
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	static bool was_short;
	pwrite_fn *write_at;

	*(void **)&write_at = real("pwrite");
	if (!is_journal(fd))
		return write_at(fd, bytes, size, offset);
	const char *how = due("pwrite");
	keep(fd, size, offset);
	if (how == NULL)
		return write_at(fd, bytes, size, offset);
	if (strcmp(how, "short") == 0 && !was_short) {
		was_short = true;
		return write_at(fd, bytes, 512, offset);
	}
	errno = code(how);
	return -1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
	return pwrite(fd, bytes, size, offset);
}

int fdatasync(int fd)
{
	fdatasync_fn *sync_data;
	pwrite_fn *write_at;

	*(void **)&sync_data = real("fdatasync");
	*(void **)&write_at = real("pwrite");
	const char *how = is_journal(fd) ? due("fdatasync") : NULL;
	if (how == NULL)
		return sync_data(fd);
	if (strcmp(how, "lost") == 0 && has_before)
		(void)write_at(fd, before, sizeof(before), before_offset);
	errno = code(how);
	return -1;
}
