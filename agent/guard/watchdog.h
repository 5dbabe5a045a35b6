/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WATCHDOG_H
#define ISO_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * A hardware watchdog (Linux watchdog API): from opening it on, the machine is
 * reset when nobody pets it for timeout_s.  Closing it in order disarms it,
 * unless the kernel was told otherwise (nowayout).
 */
struct watchdog {
	int fd;             /* -1: none */
	unsigned timeout_s; /* as the device has it */
	bool is_sticky;     /* nowayout: cannot be disarmed */
};

#define WATCHDOG_NONE { .fd = -1 }

/*
 * Arms it with most_s at most.  -ERANGE: the device's timeout stays longer, and
 * it has been disarmed again; -EINVAL: not a watchdog; -EBUSY: somebody else's;
 * other -errno of opening it.
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
