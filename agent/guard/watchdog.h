/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WATCHDOG_H
#define ISO_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * A hardware watchdog (Linux watchdog API): from opening it on, the machine is
 * reset when nobody pets it for timeout_s.  Closing it in order disarms it,
 * unless the kernel was told otherwise (nowayout): one that was opened once must
 * be petted until the next boot.
 */
struct watchdog {
	int fd;             /* -1: none */
	unsigned timeout_s; /* as the device has it; 0: it tells none */
	bool is_sticky;     /* nowayout, or nobody knows: cannot be disarmed */
	bool is_slow;       /* its timeout is longer than was asked for, or not known */
};

#define WATCHDOG_NONE { .fd = -1 }

/* What sysfs says of a device without opening it, which would arm it; -1: not known. */
struct watchdog_facts {
	long nowayout; /* 1: it cannot be disarmed; 0 as well for what is no device */
	long is_active;
	long can_set;  /* 0: its timeout is as it is */
	long min_timeout_s, timeout_s;
};

void watchdog_look(const char *path, struct watchdog_facts *ret_facts);

/* Whether it is known already that no timeout of it is most_s or less. */
bool watchdog_is_slow(const struct watchdog_facts *facts, unsigned most_s);

/*
 * Arms it with most_s at most.  One that is known to be slower is not opened; one
 * that shows it only then is disarmed again.  Where nothing can disarm it any more,
 * since it is sticky and open, or was left running by somebody, it is returned all
 * the same, with is_slow if it is that: it must be petted.
 * -ERANGE: too slow; -EINVAL: not a watchdog; -EBUSY: somebody else's; other -errno
 * of opening it.
 */
int watchdog_open(const char *path, unsigned most_s, struct watchdog *ret_watchdog,
		  struct error *reterr);

/* 0 or -errno. */
int watchdog_pet(const struct watchdog *watchdog);

/* How long it may be left alone without coming near the timeout; UINT64_MAX: for ever. */
uint64_t watchdog_every_ns(const struct watchdog *watchdog);

/* Disarms it, where that is possible.  None is fine. */
void watchdog_close(struct watchdog *watchdog);

#endif
