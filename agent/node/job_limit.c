/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limiting: the share becomes a quota, written by us or by the guard for us. */
#include "config.h"

#include "agent/node/job_private.h"

#include <assert.h>
#include <errno.h>

#include "agent/base/clock.h"
#include "agent/cgroup/unit.h"
#include "agent/guard/guard_client.h"
#include "lib/quantity.h"

/* Rounded up: what the kernel enforces is never understated. */
static int64_t limit_ucpu(const struct cgroup_limit *limit)
{
	if (limit->unlimited)
		return INT64_MAX;
	assert(limit->period_us > 0);
	return (int64_t)((limit->quota_us * ISO_UCPU_PER_CPU + limit->period_us - 1) /
			 limit->period_us);
}

int64_t job_bound_ucpu(const struct job *job)
{
	uint64_t bound_ucpu = job->unit != NULL && !job->conf->dry_run ?
				      unit_bound_ucpu(job->unit) : 0;

	return bound_ucpu < INT64_MAX ? (int64_t)bound_ucpu : INT64_MAX;
}

/* What systemd may write in the next moment counts as if it had. */
void job_take_limit(struct job *job, const struct cgroup_limit *limit)
{
	int64_t bound_ucpu = job_bound_ucpu(job);

	job->view.limit = *limit;
	job->view.enforced_ucpu = limit_ucpu(limit);
	if (job->view.enforced_ucpu < bound_ucpu)
		job->view.enforced_ucpu = bound_ucpu;
}

static int write_quota(struct job *job, uint64_t now_ns, uint64_t quota_us,
		       struct error *reterr)
{
	struct cgroup_limit limit;
	int r = cgroup_write(job->cgroup, quota_us, reterr);

	job->view.quota_writes++;
	if (r == 0) {
		iso_quota_wrote(job->quota, now_ns, quota_us);
		job->view.written_us = quota_us;
	}
	/* Whatever the write said: what counts is what the kernel has now. */
	if (cgroup_read(job->cgroup, &limit, NULL) == 0)
		job_take_limit(job, &limit);
	return r;
}

/* The group has gone: what counts is what it will have when it is there again. */
static int limit_absent(struct job *job, int64_t entitled_ucpu, int result)
{
	if (job->unit == NULL)
		return 0;
	job->view.enforced_ucpu = job_bound_ucpu(job);
	return job->view.enforced_ucpu <= entitled_ucpu || result > 0 ? 0 : result;
}

/* Once the kernel has the share, for the time after a reload of systemd. */
static int raise_unit(struct job *job, uint64_t now_ns, uint64_t entitled_ucpu,
		      struct error *reterr)
{
	uint64_t has_ucpu;
	int r;

	if (job->unit == NULL || job->conf->dry_run)
		return 0;
	has_ucpu = (uint64_t)limit_ucpu(&job->view.limit);
	r = job_unit_raise(job, now_ns, has_ucpu < entitled_ucpu ? has_ucpu : entitled_ucpu);
	return r > 0 ? write_quota(job, now_ns, job->view.written_us, reterr) : 0;
}

/* v1 takes no more than a parent allows, and so much is better than what was before. */
static uint64_t acceptable_ucpu(const struct job *job, uint64_t ucpu)
{
	uint64_t most_ucpu = job->view.effective.ancestors_ucpu;

	if (cgroup_version(job->cgroup) != 1 || ucpu <= most_ucpu ||
	    cgroup_quota_us(most_ucpu, job->conf->period_ns / 1000) < CGROUP_QUOTA_MIN_US)
		return ucpu;
	return most_ucpu;
}

int job_limit(struct job *job, uint64_t now_ns, int64_t entitled_ucpu, struct error *reterr)
{
	struct iso_quota_event event = {
		.now_ns = now_ns,
		.entitled_ucpu = (uint64_t)entitled_ucpu,
		.has_used = job->has_used,
		.used_ns = job->used_ns,
		.has_periods = job->has_stat,
		.periods = job->stat.periods,
		.periods_throttled = job->stat.periods_throttled,
	};
	struct iso_quota_update update;
	int unit, r = 0;

	assert(entitled_ucpu > 0);
	/* Up to the floor nothing is needed; above it, a guard with a lease. */
	if (job->guard != NULL && guard_client_floor_only(job->guard) &&
	    event.entitled_ucpu > job->conf->floor_ucpu)
		event.entitled_ucpu = job->conf->floor_ucpu;
	job->entitled_ucpu = (int64_t)event.entitled_ucpu;
	event.entitled_ucpu = acceptable_ucpu(job, event.entitled_ucpu);
	if (job_is_out_of_reach(job))
		return error_set(reterr, -EUNATCH, "%s", job->trouble);
	unit = job_unit_lower(job, now_ns, event.entitled_ucpu, reterr);
	if (cgroup_state(job->cgroup) == CGROUP_GONE)
		return limit_absent(job, entitled_ucpu, unit);
	enum iso_status status = iso_quota_step(job->quota, &event, &update);
	if (status != ISO_OK)
		return error_set(reterr, -ERANGE, "a share of %lld ucpu is below the least quota",
				 (long long)entitled_ucpu);
	job->wake_at_ns = update.wake_at_ns;
	job->view.debt_ns = update.debt_ns;
	/* Two that put it right again at every look would refill the job's pool each time. */
	if (update.write && !job->contested)
		r = write_quota(job, now_ns, update.quota_us, reterr);
	else if (unit > 0 && job->view.written_us > 0 && !job->contested)
		r = write_quota(job, now_ns, job->view.written_us, reterr);
	if (r == -ENODEV)
		return limit_absent(job, entitled_ucpu, unit);
	/* The kernel has been told all the same; but that may not last. */
	if (unit < 0 && r == 0 && job->view.enforced_ucpu > entitled_ucpu)
		return unit;
	if (r == 0 && unit == 0)
		r = raise_unit(job, now_ns, event.entitled_ucpu, reterr);
	/* The lease has just ended: the guard keeps it lower, which is at most anything. */
	if (r == -ETIME && job->view.enforced_ucpu <= entitled_ucpu)
		return 0;
	if (r == 0 && job->view.enforced_ucpu > entitled_ucpu)
		r = error_set(reterr, -ESTALE, "cgroup %s still enforces %lld ucpu, not %lld",
			      job->group, (long long)job->view.enforced_ucpu,
			      (long long)entitled_ucpu);
	return r;
}

int job_open_guard(struct job *job, struct error *reterr)
{
	const struct conf *conf = job->conf;
	struct guard_client_config config = {
		.executable = conf->guard.executable,
		.run_directory = conf->run_directory,
		.watchdog = conf->guard.watchdog,
		.watchdog_s = conf_watchdog_s(conf),
		.priority = (int)conf->guard.priority,
		.is_unconfined = !conf->sandbox,
		.floor_ucpu = conf->floor_ucpu,
		.lease_ns = conf->trading.lease_ns,
		.guard_ns = conf->trading.guard_ns,
		.stays = conf->unit[0] != '\0',
	};

	return conf_is_guarded(conf) ? guard_client_open(&config, &job->guard, reterr) : 0;
}

void job_observe_guard(struct job *job)
{
	if (job->guard != NULL && !job->guard_told)
		guard_client_renew(job->guard, job->deadline_ns);
	job->guard_told = false;
}

bool job_lacks_guard(const struct job *job)
{
	return job->guard != NULL && guard_client_status(job->guard)->state == GUARD_NONE;
}

uint64_t job_lease_deadline_ns(const struct job *job)
{
	return job->guard != NULL ? guard_client_status(job->guard)->deadline_ns : 0;
}

void job_lease_renew(struct job *job, uint64_t deadline_ns)
{
	job->deadline_ns = deadline_ns;
	if (job->guard == NULL)
		return;
	guard_client_renew(job->guard, deadline_ns);
	job->guard_told = true;
}

int job_watch_guard(struct job *job, struct loop *loop)
{
	return job->guard != NULL ? guard_client_watch(job->guard, loop) : 0;
}

const struct guard_status *job_guard(const struct job *job)
{
	return job->guard != NULL ? guard_client_status(job->guard) : NULL;
}

/* After the guard should have lowered, and before the lease ends: has it? */
static uint64_t second_look_ns(const struct job *job)
{
	uint64_t deadline_ns = job_lease_deadline_ns(job), now_ns = clock_boot_ns();
	uint64_t early_ns = job->conf->trading.guard_ns / 2;

	if (deadline_ns == UINT64_MAX || deadline_ns <= now_ns + early_ns)
		return UINT64_MAX;
	return clock_now_ns() + (deadline_ns - early_ns - now_ns);
}

uint64_t job_wake_at_ns(const struct job *job)
{
	uint64_t look_ns = second_look_ns(job);

	return look_ns < job->wake_at_ns ? look_ns : job->wake_at_ns;
}

uint64_t job_align(const struct job *job, uint64_t at_ns)
{
	return iso_quota_align(job->quota, at_ns);
}

