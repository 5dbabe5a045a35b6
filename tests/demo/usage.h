/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_USAGE_H
#define ISO_DEMO_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * CPU time that a cgroup's processes used, by the kernel's own account and
 * not by isobar's meter: the cgroup's where it has one (v2), else the sum over
 * the processes that are seen in it.
 */
#define USAGE_PROCESSES_MAX 64

struct usage {
	uint64_t
	    used_ns; /* while it was watched; a process that came and went unseen is not in it */
	unsigned count;
	struct {
		pid_t pid;
		uint64_t cpu_ns;
	} processes[USAGE_PROCESSES_MAX];
};

/* Brings it up to date; the first call starts the account at zero. */
void usage_update(struct usage *usage, const char *group);

#endif
