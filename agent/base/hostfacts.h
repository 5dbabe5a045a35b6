/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HOSTFACTS_H
#define ISO_HOSTFACTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What of the host bears on how well a quota holds: what its CPUs are lost to,
 * and whether a sched_ext scheduler, which need not know of quotas, is loaded.
 * Read seldom: a tick has better things to do.
 */

#define HOSTFACTS_NAME_BYTES 64u

struct hostfacts {
	bool has_times;
	uint64_t total_ns, stolen_ns, interrupts_ns; /* of all CPUs, cumulative */
	char sched_ext[HOSTFACTS_NAME_BYTES]; /* the loaded scheduler's name; empty: none */
	bool sched_ext_all; /* it has all fair tasks, not those alone that ask for it */
};

/* root is put before each path; "" on a real host.  What cannot be read is not there. */
void hostfacts_read(const char *root, struct hostfacts *ret_facts);

#endif
