/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/watchdog.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Four chances before the timeout. */
#define PETS_PER_TIMEOUT 4

/* The misc device /dev/watchdog is another name of watchdog0. */
#define MISC_MAJOR     10
#define WATCHDOG_MINOR 130

static bool is_sticky(int fd)
{
	char path[64], text[4] = "";
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))
		return false;
	if (major(st.st_rdev) == MISC_MAJOR && minor(st.st_rdev) == WATCHDOG_MINOR)
		snprintf(path, sizeof(path), "/sys/class/watchdog/watchdog0/nowayout");
	else
		snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/nowayout", major(st.st_rdev),
			 minor(st.st_rdev));
	int file = open(path, O_RDONLY | O_CLOEXEC);
	bool found = file >= 0 && read(file, text, sizeof(text) - 1) > 0 && text[0] == '1';

	if (file >= 0)
		close(file);
	return found;
}

int watchdog_open(const char *path, unsigned most_s, struct watchdog *ret_watchdog,
		  struct error *reterr)
{
	struct watchdog watchdog = WATCHDOG_NONE;
	int timeout_s = (int)most_s, code;

	if (most_s == 0)
		return error_set(reterr, -ERANGE,
				 "watchdog %s: no timeout fits into trading.lease-slack", path);
	watchdog.fd = open(path, O_WRONLY | O_CLOEXEC);
	if (watchdog.fd < 0)
		return error_errno(reterr, -errno, "watchdog %s%s", path,
				   errno == EBUSY ? " (another program, systemd perhaps, has it)" :
						    "");
	watchdog.is_sticky = is_sticky(watchdog.fd);
	/* One that cannot set it may still have a timeout that is short enough. */
	if (ioctl(watchdog.fd, WDIOC_SETTIMEOUT, &timeout_s) < 0 &&
	    ioctl(watchdog.fd, WDIOC_GETTIMEOUT, &timeout_s) < 0) {
		code = -errno;
		watchdog_close(&watchdog);
		return error_errno(reterr, code == -ENOTTY ? -EINVAL : code,
				   "watchdog %s: it tells no timeout", path);
	}
	if (timeout_s < 1 || (unsigned)timeout_s > most_s) {
		watchdog_close(&watchdog);
		return error_set(reterr, -ERANGE,
				 "watchdog %s: its timeout is %d s, and %u s is the most that fits "
				 "into trading.lease-slack", path, timeout_s, most_s);
	}
	watchdog.timeout_s = (unsigned)timeout_s;
	code = watchdog_pet(&watchdog);
	if (code < 0) {
		watchdog_close(&watchdog);
		return error_errno(reterr, code, "watchdog %s: pet it", path);
	}
	*ret_watchdog = watchdog;
	return 0;
}

int watchdog_pet(const struct watchdog *watchdog)
{
	return ioctl(watchdog->fd, WDIOC_KEEPALIVE, 0) < 0 ? -errno : 0;
}

uint64_t watchdog_every_ns(const struct watchdog *watchdog)
{
	return watchdog->fd < 0 ? UINT64_MAX :
				  watchdog->timeout_s * 1000000000ull / PETS_PER_TIMEOUT;
}

void watchdog_close(struct watchdog *watchdog)
{
	if (watchdog->fd < 0)
		return;
	/* The magic close; a device without it disarms on any close. */
	(void)!write(watchdog->fd, "V", 1);
	close(watchdog->fd);
	watchdog->fd = -1;
}
