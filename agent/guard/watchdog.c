/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/watchdog.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Four chances before the timeout. */
#define PETS_PER_TIMEOUT 4

/* The misc device /dev/watchdog is another name of watchdog0. */
#define MISC_MAJOR     10
#define WATCHDOG_MINOR 130

/* For one that tells no timeout: shorter than any that is in use. */
#define LEAST_TIMEOUT_S 4

static long read_attribute(const char *directory, const char *name)
{
	char path[96], text[32] = "";
	ssize_t count;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	count = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (count <= 0)
		return -1;
	return strcmp(name, "state") == 0 ? strncmp(text, "active", 6) == 0
					  : strtol(text, NULL, 0);
}

void watchdog_look(const char *path, struct watchdog_facts *ret_facts)
{
	char directory[64] = "/sys/class/watchdog/watchdog0";
	struct stat st;
	long options;

	*ret_facts = (struct watchdog_facts){ -1, -1, -1, -1, -1 };
	if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode)) {
		ret_facts->nowayout = 0;
		return;
	}
	if (major(st.st_rdev) != MISC_MAJOR || minor(st.st_rdev) != WATCHDOG_MINOR)
		snprintf(directory, sizeof(directory), "/sys/dev/char/%u:%u", major(st.st_rdev),
			 minor(st.st_rdev));
	ret_facts->nowayout = read_attribute(directory, "nowayout");
	ret_facts->is_active = read_attribute(directory, "state");
	ret_facts->min_timeout_s = read_attribute(directory, "min_timeout");
	ret_facts->timeout_s = read_attribute(directory, "timeout");
	options = read_attribute(directory, "options");
	if (options >= 0)
		ret_facts->can_set = (options & WDIOF_SETTIMEOUT) != 0;
}

bool watchdog_is_slow(const struct watchdog_facts *facts, unsigned most_s)
{
	return most_s == 0 || facts->min_timeout_s > (long)most_s ||
	       (facts->can_set == 0 && facts->timeout_s > (long)most_s);
}

static int too_slow(struct error *reterr, const char *path, long timeout_s, unsigned most_s)
{
	if (most_s == 0)
		return error_set(reterr, -ERANGE,
				 "watchdog %s: no timeout fits into trading.lease-slack", path);
	return error_set(reterr, -ERANGE,
			 "watchdog %s: its timeout is %ld s, and %u s is the most that fits "
			 "into trading.lease-slack", path, timeout_s, most_s);
}

/* The timeout that is in force then, most_s if the device can do that; or -errno. */
static int set_timeout(int fd, unsigned most_s)
{
	int timeout_s = (int)most_s;

	if (most_s > 0 && ioctl(fd, WDIOC_SETTIMEOUT, &timeout_s) == 0)
		return timeout_s;
	/* One that cannot set it may still have a timeout that is short enough. */
	return ioctl(fd, WDIOC_GETTIMEOUT, &timeout_s) == 0 ? timeout_s : -errno;
}

int watchdog_open(const char *path, unsigned most_s, struct watchdog *ret_watchdog,
		  struct error *reterr)
{
	struct watchdog watchdog = WATCHDOG_NONE;
	struct watchdog_facts facts;
	bool was_left;
	int timeout_s, r = 0;

	watchdog_look(path, &facts);
	/* By a guard that is gone, or by the firmware: nobody but us will pet it. */
	was_left = facts.nowayout == 1 && facts.is_active == 1;
	if (watchdog_is_slow(&facts, most_s) && !was_left)
		return too_slow(reterr, path, facts.can_set == 0 ? facts.timeout_s :
								   facts.min_timeout_s, most_s);
	watchdog.fd = open(path, O_WRONLY | O_CLOEXEC);
	if (watchdog.fd < 0)
		return error_errno(reterr, -errno, "watchdog %s%s", path,
				   errno == EBUSY ? " (another program, systemd perhaps, has it)" :
						    "");
	timeout_s = set_timeout(watchdog.fd, most_s);
	/* A driver that sysfs does not know may have a parameter of its own for that. */
	watchdog.is_sticky = facts.nowayout != 0 && timeout_s != -ENOTTY;
	watchdog.is_slow = timeout_s < 1 || (unsigned)timeout_s > most_s;
	watchdog.timeout_s = timeout_s > 0 ? (unsigned)timeout_s : 0;
	if (timeout_s < 0)
		r = error_errno(reterr, timeout_s == -ENOTTY ? -EINVAL : timeout_s,
				"watchdog %s: it tells no timeout", path);
	else if (watchdog.is_slow)
		r = too_slow(reterr, path, timeout_s, most_s);
	if (r == 0)
		r = watchdog_pet(&watchdog);
	if (r < 0 && !watchdog.is_slow)
		r = error_errno(reterr, r, "watchdog %s: pet it", path);
	if (r < 0 && !watchdog.is_sticky) {
		watchdog_close(&watchdog);
		return r;
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
	unsigned timeout_s = watchdog->timeout_s > 0 ? watchdog->timeout_s : LEAST_TIMEOUT_S;

	return watchdog->fd < 0 ? UINT64_MAX : timeout_s * 1000000000ull / PETS_PER_TIMEOUT;
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
