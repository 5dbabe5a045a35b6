/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LIMIT_FILE_H
#define ISO_LIMIT_FILE_H

#include "agent/cgroup/cgroup.h"

/*
 * The limit of one group through descriptors that are held open: no path is
 * looked up, nothing is allocated and libcgroup is not needed, so that a
 * process without memory or descriptors to spare can still lower it.
 */
struct limit_file {
	unsigned version;   /* of the hierarchy; 0: not open */
	int quota_fd;       /* cpu.max or cpu.cfs_quota_us */
	int period_fd;      /* v1: cpu.cfs_period_us; else -1 */
};

#define LIMIT_FILE_CLOSED { .version = 0, .quota_fd = -1, .period_fd = -1 }

/* dir_fd: the group's directory, borrowed.  -errno. */
int limit_file_open(int dir_fd, unsigned version, struct limit_file *ret_file);
/* One that is not open is fine. */
void limit_file_close(struct limit_file *file);

/* -ENODEV: the group has gone, or none is open; -EBADMSG. */
int limit_file_read(const struct limit_file *file, struct cgroup_limit *ret_limit);

/*
 * From what is there to what is wanted, never allowing more than the greater
 * of the two on the way.  Not read back.
 */
int limit_file_write(const struct limit_file *file, const struct cgroup_limit *wanted);

/*
 * Lowers what is above floor_ucpu to it; never raises.  The period stays.  1: it
 * was lowered, and reads back so; 0: there was no need, or no group; -errno.
 */
int limit_file_lower(const struct limit_file *file, uint64_t floor_ucpu);

/* Whether a limit allows more than floor_ucpu, rounded down as quotas are. */
bool limit_above_floor(const struct cgroup_limit *limit, uint64_t floor_ucpu);

#endif
