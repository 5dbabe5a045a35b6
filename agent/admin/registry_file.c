/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/admin/registry_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/admin/entry.h"
#include "agent/base/directory.h"

#define FRESH_NAME REGISTRY_FILE_NAME ".new"
#define LOCK_NAME  "lock"

/* A registry of a million lines is no registry. */
#define FILE_BYTES_MAX (256u << 20)

struct registry_file {
	int fd, lock_fd;
	struct registry_io io;
	off_t size; /* up to here everything is whole and durable */
	bool read_only, torn, failed;
	bool open_ended; /* the last line is whole but for its newline */
	char path[512];
};

static ssize_t real_write(void *context, int fd, const void *bytes, size_t size)
{
	(void)context;
	return write(fd, bytes, size);
}

static int real_fdatasync(void *context, int fd)
{
	(void)context;
	return fdatasync(fd);
}

static const struct registry_io real_io = { real_write, real_fdatasync, NULL };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int write_all(const struct registry_io *io, int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = io->write(io->context, fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The pid is for whoever finds it locked. */
static int take_lock(const char *directory, int *ret_fd, struct error *reterr)
{
	char path[512], pid[24] = "";

	snprintf(path, sizeof(path), "%s/" LOCK_NAME, directory);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(reterr, -errno, "open '%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int r = -errno;
		ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

		close(fd);
		pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
		if (r != -EWOULDBLOCK)
			return error_errno(reterr, r, "lock '%s'", path);
		return error_set(reterr, -EBUSY,
				 "registry '%s' is in use by process %s: one administrator at a "
				 "time; wait for it, or end it and continue with isobarctl resume",
				 directory, pid[0] != '\0' ? pid : "(unknown)");
	}
	int n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) < 0)
		(void)0; /* the lock holds without the number */
	*ret_fd = fd;
	return 0;
}

static int read_whole(int fd, const char *path, char **ret_text, size_t *ret_size,
		      struct error *reterr)
{
	struct stat st;
	size_t size = 0;

	if (fstat(fd, &st) < 0)
		return error_errno(reterr, -errno, "stat '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX)
		return error_set(reterr, -EUCLEAN, "'%s' is no registry", path);
	char *text = malloc((size_t)st.st_size + 1);
	if (text == NULL)
		return error_errno(reterr, -ENOMEM, "read '%s'", path);
	while (size < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + size, (size_t)st.st_size - size, (off_t)size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			n = n < 0 ? -errno : -EIO;
			free(text);
			return error_errno(reterr, (int)n, "read '%s'", path);
		}
		size += (size_t)n;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

static int damaged(struct error *reterr, const char *path, unsigned line, const char *why)
{
	return error_set(reterr, -EUCLEAN,
			 "registry '%s' line %u is damaged (%s); some node may have done what it "
			 "said, so nothing is guessed: restore the newest copy of the file, or "
			 "create a registry anew from the nodes",
			 path, line, why);
}

static int replay(struct registry_file *file, const char *text, size_t size,
		  struct iso_registry *registry, struct error *reterr)
{
	static struct iso_registry_entry entry;
	size_t at = 0;

	for (unsigned line = 1; at < size; line++) {
		const char *end = memchr(text + at, '\n', size - at);
		struct error why;

		size_t length = end != NULL ? (size_t)(end - (text + at)) : size - at;
		/* The seal says whether only the newline is missing, or is another byte now. */
		if (end == NULL && entry_read(text + at, length, &entry, &why) < 0) {
			if (entry_read(text + at, length - 1, &entry, &why) == 0)
				return damaged(reterr, file->path, line, "its newline is not one");
			file->torn = true;
			break;
		}
		file->open_ended = end == NULL;
		if (entry_read(text + at, length, &entry, &why) < 0)
			return damaged(reterr, file->path, line, why.text);
		enum iso_status status = iso_registry_apply(registry, &entry);
		if (status != ISO_OK)
			return damaged(reterr, file->path, line,
				       entry.seq != registry->seq + 1
					   ? "it is out of order"
					   : "it does not follow from what is before it");
		at += length + (end != NULL ? 1 : 0);
	}
	file->size = (off_t)at;
	if (!registry->ready)
		return damaged(reterr, file->path, 1, "it ends before it is complete");
	return 0;
}

/* What was read may be in the page cache only; a line that was torn goes for good. */
static int settle(struct registry_file *file, struct error *reterr)
{
	if (file->read_only)
		return 0;
	if (file->torn && ftruncate(file->fd, file->size) < 0)
		return error_errno(reterr, -errno, "drop the torn last line of '%s'", file->path);
	if (file->open_ended) {
		int r = write_all(&file->io, file->fd, "\n", 1);

		if (r < 0)
			return error_errno(reterr, r, "write '%s'", file->path);
		file->size++;
	}
	if (file->io.fdatasync(file->io.context, file->fd) < 0)
		return error_errno(reterr, -errno, "make '%s' durable", file->path);
	return 0;
}

static int open_locked(struct registry_file *file, struct iso_registry *registry,
		       struct error *reterr)
{
	char *text;
	size_t size;

	file->fd = open(file->path,
			(file->read_only ? O_RDONLY : O_RDWR | O_APPEND) | O_CLOEXEC | O_NOFOLLOW);
	if (file->fd < 0 && errno == ENOENT)
		return error_set(reterr, -ENOENT,
				 "there is no registry '%s'; make one: isobarctl registry create",
				 file->path);
	if (file->fd < 0)
		return error_errno(reterr, -errno, "open '%s'", file->path);
	int r = read_whole(file->fd, file->path, &text, &size, reterr);
	if (r < 0)
		return r;
	iso_registry_init(registry);
	r = replay(file, text, size, registry, reterr);
	free(text);
	return r < 0 ? r : settle(file, reterr);
}

int registry_file_open(const char *directory, bool read_only, const struct registry_io *io,
		       struct iso_registry *registry, struct registry_file **ret_file,
		       struct error *reterr)
{
	struct registry_file *file = calloc(1, sizeof(*file));
	int r = 0;

	if (file == NULL)
		return error_errno(reterr, -ENOMEM, "open the registry");
	file->fd = file->lock_fd = -1;
	file->io = io != NULL ? *io : real_io;
	file->read_only = read_only;
	snprintf(file->path, sizeof(file->path), "%s/" REGISTRY_FILE_NAME, directory);
	/* Without a registry there is no directory to lock. */
	if (!read_only && access(file->path, F_OK) == 0)
		r = take_lock(directory, &file->lock_fd, reterr);
	if (r == 0)
		r = open_locked(file, registry, reterr);
	if (r < 0) {
		registry_file_close(file);
		return r;
	}
	*ret_file = file;
	return 0;
}

static int write_fresh(const struct registry_io *io, int fd,
		       const struct iso_registry_entry *entries, uint32_t count,
		       struct error *reterr)
{
	char line[ENTRY_LINE_BYTES];
	size_t size = 0;

	for (uint32_t i = 0; i < count; i++) {
		int r = entry_write(&entries[i], (int64_t)time(NULL), line, &size, reterr);
		if (r < 0)
			return r;
		r = write_all(io, fd, line, size);
		if (r < 0)
			return error_errno(reterr, r, "write the new registry");
	}
	if (io->fdatasync(io->context, fd) < 0)
		return error_errno(reterr, -errno, "make the new registry durable");
	return 0;
}

int registry_file_create(const char *directory, const struct registry_io *io,
			 const struct iso_registry_entry *entries, uint32_t count,
			 struct error *reterr)
{
	__attribute__((cleanup(close_fd))) int dir_fd = -1;
	__attribute__((cleanup(close_fd))) int lock_fd = -1;
	__attribute__((cleanup(close_fd))) int fd = -1;
	int r = directory_make(directory, 0700, reterr);

	if (io == NULL)
		io = &real_io;
	if (r == 0)
		r = take_lock(directory, &lock_fd, reterr);
	if (r < 0)
		return r;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return error_errno(reterr, -errno, "open '%s'", directory);
	/* Written under another name and linked when complete: it exists whole or not. */
	(void)unlinkat(dir_fd, FRESH_NAME, 0);
	fd = openat(dir_fd, FRESH_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(reterr, -errno, "create '%s/" FRESH_NAME "'", directory);
	r = write_fresh(io, fd, entries, count, reterr);
	if (r == 0 && linkat(dir_fd, FRESH_NAME, dir_fd, REGISTRY_FILE_NAME, 0) < 0) {
		r = -errno;
		if (r == -EEXIST)
			error_set(reterr, r,
				  "there is a registry '%s/" REGISTRY_FILE_NAME
				  "' already; it is never replaced",
				  directory);
		else
			error_errno(reterr, r, "name '%s/" REGISTRY_FILE_NAME "'", directory);
	}
	(void)unlinkat(dir_fd, FRESH_NAME, 0);
	if (r == 0 && fsync(dir_fd) < 0)
		r = error_errno(reterr, -errno, "make the new registry durable in '%s'", directory);
	return r;
}

int registry_file_append(struct registry_file *file, const struct iso_registry_entry *entry,
			 struct error *reterr)
{
	char line[ENTRY_LINE_BYTES];
	size_t size = 0;

	if (file->failed || file->read_only)
		return error_set(reterr, -EROFS, "registry '%s' takes no more entries%s",
				 file->path, file->failed ? " after an error: end and resume" : "");
	int r = entry_write(entry, (int64_t)time(NULL), line, &size, reterr);
	if (r < 0)
		return r;
	r = write_all(&file->io, file->fd, line, size);
	if (r == 0 && file->io.fdatasync(file->io.context, file->fd) < 0)
		r = -errno;
	if (r == 0) {
		file->size += (off_t)size;
		return 0;
	}
	/*
	 * A full disk: the part that was written goes, if it can.  After a failed
	 * fdatasync nobody knows what the disk holds: it is not tried again.
	 */
	file->failed = true;
	if (r == -ENOSPC || r == -EDQUOT)
		(void)!ftruncate(file->fd, file->size);
	return error_errno(reterr, r,
			   "write entry %" PRIu64
			   " of registry '%s'; nothing was done of what it says, and nothing more "
			   "is done now: make room, then isobarctl resume",
			   entry->seq, file->path);
}

const char *registry_file_path(const struct registry_file *file)
{
	return file->path;
}

bool registry_file_torn(const struct registry_file *file)
{
	return file->torn;
}

struct registry_file *registry_file_close(struct registry_file *file)
{
	if (file == NULL)
		return NULL;
	close_fd(&file->fd);
	close_fd(&file->lock_fd);
	free(file);
	return NULL;
}
