/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_KEEPER_H
#define ISO_KEEPER_H

#include "agent/cgroup/limit_file.h"

/*
 * What a guard decides: more than the floor is in force only until guard_ns
 * before the deadline.  Time comes in with each call (CLOCK_BOOTTIME in ns), so
 * that every rule can be tested to the nanosecond; nothing is allocated.
 */
struct keeper {
	struct limit_file file;
	uint64_t floor_ucpu;
	uint64_t lease_ns;
	uint64_t guard_ns;
	uint64_t deadline_ns; /* 0: no lease yet; UINT64_MAX: none needed */
	uint64_t wake_at_ns;  /* call keeper_wake() then; UINT64_MAX: no need */
	uint32_t lowered;     /* times that it lowered on its own */
	int error;	      /* of the last lowering; 0 or -errno */
};

struct keeper_lease {
	uint64_t floor_ucpu, lease_ns, guard_ns;
};

void keeper_init(struct keeper *keeper);
/* Leaves the limit as it is. */
void keeper_close(struct keeper *keeper);

/*
 * Takes a group; dir_fd is borrowed.  The deadline stays: without a lease the
 * limit is lowered at once.  -errno: what was kept before is kept on.
 */
int keeper_attach(struct keeper *keeper, uint64_t now_ns, int dir_fd, unsigned version,
		  const struct keeper_lease *lease);

/* -ERANGE: further away than a lease is long, which no neighbour can have granted. */
int keeper_renew(struct keeper *keeper, uint64_t now_ns, uint64_t deadline_ns);

/*
 * Lowering is always done.  -ETIME: a raise above the floor without a lease for
 * it; then the limit is at most the floor on return, as far as the kernel lets.
 */
int keeper_write(struct keeper *keeper, uint64_t now_ns, const struct cgroup_limit *wanted);

/* At wake_at_ns, or at any time. */
void keeper_wake(struct keeper *keeper, uint64_t now_ns);

/* Lowers now, whatever the lease: 0, or -errno when more than the floor may be in force. */
int keeper_stop(struct keeper *keeper);

/* Whether more than the floor is, or may be, in force. */
bool keeper_above_floor(const struct keeper *keeper);

#endif
