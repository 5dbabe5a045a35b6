/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/train/usertask.h"
#include "lib/checksum.h"

/* Apart from the loading, which no other program than isobar-worker may even link. */

static int check_owner(const char *path, const struct stat *status, uid_t uid, struct error *reterr)
{
	if (!S_ISREG(status->st_mode))
		return error_set(reterr, -EPERM, "'%.200s': not a regular file", path);
	if (status->st_uid != 0 && status->st_uid != uid)
		return error_set(reterr, -EPERM,
				 "'%.200s': belongs to user %u; chown it to root or to user %u",
				 path, (unsigned)status->st_uid, (unsigned)uid);
	if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(reterr, -EPERM,
				 "'%.200s': mode %03o lets others write to it; chmod go-w it", path,
				 (unsigned)status->st_mode & 0777);
	return 0;
}

static int examine(int fd, const char *path, uid_t uid, uint64_t *ret_checksum,
		   struct error *reterr)
{
	struct stat status;
	int r = fstat(fd, &status) < 0 ? error_errno(reterr, -errno, "'%.200s'", path)
				       : check_owner(path, &status, uid, reterr);

	if (r < 0)
		return r;
	if (status.st_size == 0)
		return error_set(reterr, -ENOEXEC, "'%.200s': the file is empty", path);

	size_t size = (size_t)status.st_size;
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return error_errno(reterr, -errno, "read '%.200s'", path);
	*ret_checksum = iso_checksum(bytes, size);
	(void)munmap(bytes, size);
	return 0;
}

int usertask_examine(const char *path, uid_t uid, uint64_t *ret_checksum, struct error *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_errno(reterr, -errno, "open '%.200s'", path);
	int r = examine(fd, path, uid, ret_checksum, reterr);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}
