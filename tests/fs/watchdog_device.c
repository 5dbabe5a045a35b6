/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded into the guard: a plain file becomes a watchdog.  What is done to it
 * is written into it: "timeout N", "pet NS" with the time of CLOCK_BOOTTIME, and,
 * from the guard itself, the "V" that disarms it.
 *
 *   ISO_WATCHDOG_LEAST_S  the shortest timeout that it can do
 *   ISO_WATCHDOG_FIXED_S  its only timeout: it cannot be set
 */
#include <errno.h>
#include <linux/watchdog.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
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
		timeout_s = environment("ISO_WATCHDOG_FIXED_S");
		*(int *)argument = timeout_s;
		tell(fd, "timeout", (unsigned long long)timeout_s);
		return 0;
	case WDIOC_KEEPALIVE:
		clock_gettime(CLOCK_BOOTTIME, &now);
		tell(fd, "pet", (unsigned long long)now.tv_sec * 1000000000u +
				(unsigned long long)now.tv_nsec);
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}
