/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded into the guard: a plain file becomes a watchdog.  What is done to it
 * is written into it: "timeout N", "pet NS" with the time of CLOCK_BOOTTIME, and,
 * from the guard itself, the "V" that disarms it.
 *
 *   ISO_WATCHDOG_LEAST_S  the shortest timeout that it can do
 *   ISO_WATCHDOG_FIXED_S  its only timeout: it cannot be set
 *   ISO_WATCHDOG_DEAF     it cannot be petted
 *   ISO_WATCHDOG          this file is a character device then, and what sysfs
 *   ISO_WATCHDOG_SYSFS    says of it is in the files of this directory
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/watchdog.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static int timeout_s;

static int environment(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? (int)strtol(text, NULL, 10) : 0;
}

static void tell(int fd, const char *what, unsigned long long value)
{
	char line[64];
	int size = snprintf(line, sizeof(line), "%s %llu\n", what, value);

	if (write(fd, line, (size_t)size) != size)
		abort();
}

static int look(int fd, const char *path, struct stat *ret_st)
{
	const char *device = getenv("ISO_WATCHDOG");
	struct stat st;
	int r = fstatat(fd, path, ret_st, path[0] == '\0' ? AT_EMPTY_PATH : 0);

	if (r == 0 && device != NULL && fstatat(AT_FDCWD, device, &st, 0) == 0 &&
	    st.st_ino == ret_st->st_ino && st.st_dev == ret_st->st_dev) {
		ret_st->st_mode = S_IFCHR | 0600;
		ret_st->st_rdev = makedev(10, 130);
	}
	return r;
}

int stat(const char *path, struct stat *ret_st)
{
	return look(AT_FDCWD, path, ret_st);
}

int open(const char *path, int flags, ...)
{
	static const char sysfs[] = "/sys/class/watchdog/watchdog0";
	const char *instead = getenv("ISO_WATCHDOG_SYSFS");
	char file[512];
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & O_CREAT) != 0)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (instead != NULL && strncmp(path, sysfs, sizeof(sysfs) - 1) == 0) {
		snprintf(file, sizeof(file), "%s%s", instead, path + sizeof(sysfs) - 1);
		path = file;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct timespec now;
	struct stat st;
	void *argument;
	va_list ap;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		errno = ENOTTY;
		return -1;
	}
	switch (request) {
	case WDIOC_SETTIMEOUT:
		if (environment("ISO_WATCHDOG_FIXED_S") != 0) {
			errno = EOPNOTSUPP;
			return -1;
		}
		timeout_s = *(int *)argument;
		if (timeout_s < environment("ISO_WATCHDOG_LEAST_S"))
			timeout_s = environment("ISO_WATCHDOG_LEAST_S");
		*(int *)argument = timeout_s;
		tell(fd, "timeout", (unsigned long long)timeout_s);
		return 0;
	case WDIOC_GETTIMEOUT:
		if (environment("ISO_WATCHDOG_FIXED_S") != 0)
			timeout_s = environment("ISO_WATCHDOG_FIXED_S");
		*(int *)argument = timeout_s;
		tell(fd, "timeout", (unsigned long long)timeout_s);
		return 0;
	case WDIOC_KEEPALIVE:
		if (environment("ISO_WATCHDOG_DEAF") != 0) {
			errno = EIO;
			return -1;
		}
		clock_gettime(CLOCK_BOOTTIME, &now);
		tell(fd, "pet", (unsigned long long)now.tv_sec * 1000000000u +
				(unsigned long long)now.tv_nsec);
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}
