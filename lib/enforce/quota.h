/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_QUOTA_H
#define ISO_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * When to write which quota, so that the job's CPU time follows its share
 * and not just the number in the kernel's file.
 *
 * Each write of a CFS quota refills the group's pool for the running period,
 * even if the value is the same: a writer at 5 Hz lets its job use half as
 * much again.  So this module writes seldom, near the boundary of a period
 * (where a refill is due anyway; the phase is learnt from nr_periods), and
 * pays back: it keeps
 *
 *     debt = max(0, used - integral of the entitled share)
 *
 * and takes it off the next quotas.  The value asked for is never above
 * floor(share x period / 1 s): underuse is not made up for.
 */
struct iso_quota;

struct iso_quota_config {
	uint32_t period_us;          /* [1000, 1000000] */
	uint32_t quota_min_us;       /* least quota the kernel takes: 1000 */
	uint64_t raise_gap_ns;       /* least time between two raises: the agent's tick */
};

struct iso_quota_event {
	uint64_t now_ns;             /* monotonic, never goes back */
	uint64_t entitled_ucpu;      /* share to enforce from now on */
	bool has_used;               /* used_ns is from the meter; false: no pay-back */
	uint64_t used_ns;            /* on-CPU time of the job, cumulative */
	bool has_periods;            /* the two below were read just now */
	uint64_t periods;            /* cpu.stat nr_periods */
	uint64_t periods_throttled;  /* cpu.stat nr_throttled */
};

struct iso_quota_update {
	bool write;                  /* write quota_us now, then call iso_quota_wrote() */
	uint64_t quota_us;           /* wanted in the kernel; unchanged if !write */
	uint64_t wake_at_ns;         /* call again by then; UINT64_MAX: no need before a change */
	uint64_t debt_ns;            /* for status and metrics */
};

size_t iso_quota_size(void);

/* ISO_E_RANGE: a period or minimum that the kernel would refuse; ISO_E_SHORT: memory. */
ISO_MUST_USE enum iso_status iso_quota_init(void *memory, size_t size,
					    const struct iso_quota_config *config,
					    struct iso_quota **ret_quota);

/*
 * ISO_E_RANGE: the entitled share is below the minimum quota (a floor that
 * the kernel cannot enforce); nothing changed.  After a step that says write,
 * and the write, the kernel's quota is at most floor(entitled x period).
 */
ISO_MUST_USE enum iso_status iso_quota_step(struct iso_quota *quota,
					    const struct iso_quota_event *event,
					    struct iso_quota_update *ret_update);

/*
 * The kernel has quota_us since now_ns (0: unknown or unlimited): after our
 * write, at start and after another writer's change.  A write that failed is
 * not reported: the next step asks again.
 */
void iso_quota_wrote(struct iso_quota *quota, uint64_t now_ns, uint64_t quota_us);

/*
 * The first time >= at_ns at which a write costs least: plan ticks for it.
 * at_ns itself while the phase is unknown.
 */
uint64_t iso_quota_align(const struct iso_quota *quota, uint64_t at_ns);

#endif
