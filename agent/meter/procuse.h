/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PROCUSE_H
#define ISO_PROCUSE_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"

/*
 * What one process used and waited for, from /proc/PID/task/TID/schedstat,
 * which needs no privilege and no cgroup: the measure of a dry run.
 *
 * The sum over the threads that live now: it goes back when one ends.
 * Returns 0, -ESRCH when there is no such process, -ENODATA when the kernel
 * keeps no such statistics (CONFIG_SCHED_INFO).
 */
int procuse_read(pid_t pid, uint64_t *ret_on_cpu_ns, uint64_t *ret_wait_ns, struct error *reterr);

#endif
