/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_JOB_H
#define ISO_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"
#include "agent/cgroup/cgroup.h"
#include "agent/conf/conf.h"

struct guard_status;
struct loop;
struct meter;

/*
 * The job that this node limits: its cgroup, the meter that watches it, the
 * estimate of its demand and the policy that decides when a quota is written.
 * Neither ledger nor network is known here.
 *
 * Whatever happens to the cgroup or the meter while the agent runs becomes a
 * state with a reason; only job_open() can fail for good.
 */
struct job;

/* What the last job_observe() saw. */
struct job_view {
	uint64_t at_ns;
	int64_t enforced_ucpu;   /* by the kernel's quota, rounded up; INT64_MAX: no limit */
	struct cgroup_limit limit;   /* as read from the kernel */
	uint64_t written_us;     /* the last quota that was written, ours; 0: none yet */
	int64_t ceiling_ucpu;    /* configured, ancestors, cpuset or online CPUs: the least */
	struct cgroup_effective effective;
	uint32_t cpus;           /* the job may run on */
	bool metered;            /* the three below are known */
	uint64_t on_cpu_ucpu;
	uint64_t wait_ucpu;
	uint64_t demand_ucpu;
	bool hold;               /* give nothing: what we enforce or see is not certain */
	uint64_t throttled_ns;   /* cumulative, cpu.stat */
	uint64_t debt_ns;        /* overuse that is being paid back */
	uint64_t quota_writes;
};

/*
 * Opens the cgroup (a new one starts with first_ucpu) and the meter.  The
 * limit of an existing group is not touched yet.  conf is borrowed until
 * job_close().  Errors as cgroup_open(); a meter that cannot be had is a state.
 */
int job_open(const struct conf *conf, uint64_t first_ucpu, struct job **ret_job,
	     struct error *reterr);

/* Leaves the limit as it is.  Takes NULL; returns NULL. */
struct job *job_close(struct job *job);

/*
 * Does what on-exit says, or nothing where another agent takes over (agent/node/handover.h);
 * call before job_close().
 */
int job_leave(struct job *job, struct error *reterr);

/*
 * The worker in the job's cgroup; 0: it has ended.  A dry run has neither the
 * cgroup nor the meter: then the worker is what is measured.
 */
void job_watch(struct job *job, pid_t worker);

/* What the ceiling is where the configuration has none; 0: that is not known yet. */
void job_set_budget(struct job *job, int64_t budget_ucpu);

/* Looks once at everything: drift, limits, counters.  Opens a re-created cgroup again. */
void job_observe(struct job *job, uint64_t now_ns);
const struct job_view *job_view(const struct job *job);

/*
 * Enforces a share.  0: the kernel now enforces at most entitled_ucpu, as read
 * back into the view; a raise may be put off to a better moment.  A group that
 * has gone enforces nothing, which is at most anything.  -errno: it may
 * enforce more; -ESTALE: another writer's value, which cgroup_check() puts
 * right at its own pace.
 */
int job_limit(struct job *job, uint64_t now_ns, int64_t entitled_ucpu, struct error *reterr);

/*
 * Leases (CLOCK_BOOTTIME, UINT64_MAX: none needed; lib/trade/trade.h).  With a guard
 * (conf_is_guarded()) the node
 *   - after job_open() resumes with what the guard knows: 0 if it knew no lease,
 *   - calls job_lease_renew() at each tick, before job_observe(), with
 *     iso_trade_lease_deadline(): the guard knows it on return.
 * Without a guard, and from guard_ns before the deadline, job_limit() goes no
 * higher than the floor; where none is to be had, that is the view's ceiling.
 */
uint64_t job_lease_deadline_ns(const struct job *job);
void job_lease_renew(struct job *job, uint64_t deadline_ns);

/* Optional: the guard's death is then seen at once; until job_close(), or NULL. */
int job_watch_guard(struct job *job, struct loop *loop);

/* For status; NULL: this node needs no guard. */
const struct guard_status *job_guard(const struct job *job);

/* When the policy wants to be called again (job_observe, job_limit); UINT64_MAX: no need. */
uint64_t job_wake_at_ns(const struct job *job);

/* at_ns or a little later, when a write costs least. */
uint64_t job_align(const struct job *job, uint64_t at_ns);

/* ok, drifted, conflict, gone, degraded or dry-run; reason "" when ok. */
const char *job_state(const struct job *job, const char **ret_reason);

/* Ask anew at each use: a re-created group is another object. */
struct cgroup *job_cgroup(const struct job *job);

/* NULL: nothing to measure with; job_meter_reason() says why.  That is NULL for eBPF. */
struct meter *job_meter(const struct job *job);
const char *job_meter_name(const struct job *job);
const char *job_meter_reason(const struct job *job);

#endif
