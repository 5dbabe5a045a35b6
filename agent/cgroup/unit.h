/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_UNIT_H
#define ISO_UNIT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * A job that is a unit of systemd: its control group, and the quota that
 * systemd keeps for it (CPUQuotaPerSecUSec, as a runtime property).  systemd
 * writes that quota to the kernel again at each daemon-reload and whenever the
 * unit starts, so it is lowered before a lowering counts as done and raised
 * after the kernel's limit (lib/enforce/property.h).
 *
 * The order is the caller's duty.  To lower: unit_lower(), then the kernel's
 * file; both must have succeeded.  To raise: the file, then unit_raise().
 * Where either returns 1, systemd has just written its own, rounded value to
 * the kernel's file, and will not do so again by itself: the caller writes the
 * exact one.  What systemd may write at any time is unit_bound_ucpu().
 *
 * Root talks to systemd's private socket, as systemctl does, so no message bus
 * has to run; others, and where that socket is missing or the environment has a
 * DBUS_SYSTEM_BUS_ADDRESS, over the system bus.
 * Each call makes a connection and ends it when all is answered, since systemd
 * sends all of its signals to whoever stays.  It waits a bounded time: systemd
 * answers nobody while it reloads; then the connection is kept for the next call.
 * now_ns is that of the tick (CLOCK_MONOTONIC): the calls of one tick together wait
 * no longer than one, and after a call without an answer there is none for a while.
 */

#define UNIT_NAME_BYTES 256
#define UNIT_WAIT_MS	250u

struct unit_config {
	const char *name;     /* "foo.service"; borrowed for the call */
	const char *address;  /* of a bus, for tests; NULL: systemd's */
	unsigned wait_ms;     /* the most that a tick's calls may take; 0: see unit_hurry() */
};

/* As systemd has it. */
struct unit_quota {
	uint64_t ucpu;        /* UINT64_MAX: no limit */
	uint64_t period_us;   /* UINT64_MAX: systemd's default */
};

struct unit;

/*
 * True for what can be a job: a service, scope or slice, not the root slice,
 * init.scope or a template without its instance.  Pure.
 */
bool unit_name_valid(const char *name, struct error *reterr);

/*
 * Finds the unit, which need not run, and its quota.
 *   -ENOENT   no such unit, or it is masked
 *   -EHOSTDOWN  systemd is not there    -ETIME  it does not answer
 *   -ENOTSUP  built without systemd
 */
int unit_open(const struct unit_config *config, struct unit **ret_unit, struct error *reterr);

/*
 * While nothing else waits, at the start, a call may take five seconds: systemd is
 * busy at a boot.  From now on it is UNIT_WAIT_MS, unless the configuration said
 * something else.  NULL is fine.
 */
void unit_hurry(struct unit *unit);

/* Leaves the quota as it is.  Takes NULL; returns NULL. */
struct unit *unit_close(struct unit *unit);

const char *unit_name(const struct unit *unit);

/* Its control group below the root of the hierarchy.  -ENODEV: it is not running; as above. */
int unit_group(struct unit *unit, uint64_t now_ns, char ret_path[PATH_MAX], struct error *reterr);

/* The quota that was found by unit_open(). */
const struct unit_quota *unit_found(const struct unit *unit);

/*
 * The drop-in file, found by unit_open() or unit_look(), whose CPUQuota= systemd would
 * take at its next reload in place of what is set here (agent/cgroup/unitdropin.h): such
 * a unit cannot be limited for sure.  NULL: there is none.
 */
const char *unit_overridden(const struct unit *unit);

/* What systemd may write to the kernel's file; UINT64_MAX: anything. */
uint64_t unit_bound_ucpu(const struct unit *unit);

/*
 * share_ucpu > 0 per period_us.  0: there was nothing to do; 1: done, see above.
 * -errno: unit_bound_ucpu() may still be above the share; -ETIME: systemd does
 * not answer, and is not asked again for some seconds.
 */
int unit_lower(struct unit *unit, uint64_t now_ns, uint64_t share_ucpu, uint64_t period_us,
	       struct error *reterr);
/* Seldom: at most once a second, and not for little.  An error is no danger. */
int unit_raise(struct unit *unit, uint64_t now_ns, uint64_t share_ucpu, uint64_t period_us,
	       struct error *reterr);

/*
 * Reads the quota again, and looks for drop-ins, since others may have set it: when
 * the kernel's file was changed.  -errno: unit_bound_ucpu() is UINT64_MAX until systemd
 * has answered.
 */
int unit_look(struct unit *unit, uint64_t now_ns, struct error *reterr);

/* Sets any quota, with a longer wait: at the end. */
int unit_set(struct unit *unit, const struct unit_quota *quota, struct error *reterr);

#endif
