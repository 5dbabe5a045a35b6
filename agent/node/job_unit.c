/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job that is a unit of systemd, which keeps a limit of its own for it. */
#include "config.h"

#include "agent/node/job_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "agent/cgroup/delegated.h"
#include "agent/cgroup/unit.h"
#include "agent/cgroup/unitsaved.h"

/* Whether a file that takes the share's place has gone. */
#define LOOK_EVERY_NS 10000000000ull

static uint64_t period_us(const struct job *job)
{
	return job->conf->period_ns / 1000;
}

static void saved_path(const struct job *job, char ret_path[CONF_PATH_BYTES + 16])
{
	snprintf(ret_path, CONF_PATH_BYTES + 16, "%s/unit-before", job->conf->state_directory);
}

/* As the kernel would have it. */
static struct cgroup_limit limit_of(const struct unit_quota *quota)
{
	struct cgroup_limit limit = {
		.unlimited = quota->ucpu == UINT64_MAX,
		.period_us = quota->period_us <= CGROUP_PERIOD_MAX_US &&
					     quota->period_us >= CGROUP_PERIOD_MIN_US ?
				     quota->period_us : 100000,
	};

	if (!limit.unlimited)
		limit.quota_us = cgroup_quota_us(quota->ucpu, limit.period_us);
	if (!limit.unlimited && limit.quota_us < CGROUP_QUOTA_MIN_US)
		limit.quota_us = CGROUP_QUOTA_MIN_US;
	return limit;
}

/* A disk without room is no reason not to limit: it is known as long as this process lives. */
static int keep_original(struct job *job, struct error *reterr)
{
	char path[CONF_PATH_BYTES + 16];
	struct error error = { 0 };
	int r;

	saved_path(job, path);
	r = unitsaved_keep(path, job->conf->unit, &job->unit_original, &error);
	if (r != -ENOSPC && r != -EDQUOT && r != -EROFS)
		return r < 0 ? error_set(reterr, r, "%s", error.text) : 0;
	if (job->conf->on_exit != CONF_ON_EXIT_KEEP)
		log_warn("on-exit: %s: the limit from before isobar is forgotten if it is killed",
			 error.text);
	return 0;
}

static int open_unit(struct job *job, struct error *reterr)
{
	struct unit_config config = { .name = job->conf->unit };
	const char *overridden;
	int r = unit_open(&config, &job->unit, reterr);

	if (r < 0)
		return r;
	overridden = unit_overridden(job->unit);
	if (overridden != NULL && job->conf->dry_run)
		log_warn("unit %s: '%.300s' has a CPUQuota, which systemd would take at a reload "
			 "in place of the share", job->conf->unit, overridden);
	else if (overridden != NULL)
		return error_set(reterr, -EEXIST,
				 "unit %.100s: '%.200s' has a CPUQuota, which systemd would take "
				 "at a reload in place of the share: remove that line",
				 job->conf->unit, overridden);
	job->unit_original = *unit_found(job->unit);
	if (!job->conf->dry_run)
		r = keep_original(job, reterr);
	job->original = limit_of(&job->unit_original);
	return r;
}

int job_locate(struct job *job, uint64_t now_ns, struct error *reterr)
{
	struct error error = { 0 };
	int r;

	if (job->conf->delegated)
		return job->conf->dry_run ? delegated_find("", job->group, reterr)
					  : delegated_prepare("", job->group, reterr);
	if (job->conf->unit[0] == '\0') {
		snprintf(job->group, sizeof(job->group), "%s", job->conf->cgroup);
		return 0;
	}
	r = job->unit == NULL ? open_unit(job, reterr) : 0;
	if (r < 0)
		return r;
	r = unit_group(job->unit, now_ns, job->group, &error);
	if (r == 0) {
		job->absent[0] = '\0';
		return 0;
	}
	if (r == -ENODEV)
		snprintf(job->absent, sizeof(job->absent), "%s", error.text);
	/* One that has never run has no path: no group has this name. */
	if (job->group[0] == '\0')
		snprintf(job->group, sizeof(job->group), "/%s", job->conf->unit);
	if (reterr != NULL)
		*reterr = error;
	return r;
}

/*
 * A unit that starts again has systemd's quota in a new group, where a guard whose
 * agent has died does not look.  So with leases that is never above the floor, and
 * the share is in the kernel's file alone.
 */
static uint64_t most_ucpu(const struct job *job)
{
	return conf_is_guarded(job->conf) ? job->conf->floor_ucpu : UINT64_MAX;
}

static uint64_t kept_ucpu(const struct job *job, uint64_t share_ucpu)
{
	uint64_t most = most_ucpu(job);

	return share_ucpu < most ? share_ucpu : most;
}

int job_unit_prepare(struct job *job, uint64_t now_ns, struct error *reterr)
{
	uint64_t bound_ucpu;
	int r;

	if (job->unit == NULL || job->conf->dry_run)
		return 0;
	bound_ucpu = unit_bound_ucpu(job->unit);
	if (bound_ucpu != UINT64_MAX && bound_ucpu <= most_ucpu(job))
		return 0;
	r = job_unit_lower(job, now_ns, job->conf->floor_ucpu, reterr);
	return r < 0 ? r : 0;
}

/* What systemd may now write by itself is no change by others. */
static int told(struct job *job, int result)
{
	uint64_t bound_ucpu = unit_bound_ucpu(job->unit);

	if (job->cgroup != NULL)
		cgroup_expect(job->cgroup, bound_ucpu == UINT64_MAX ?
					   0 : cgroup_quota_us(bound_ucpu, period_us(job)));
	return result;
}

int job_unit_lower(struct job *job, uint64_t now_ns, uint64_t share_ucpu, struct error *reterr)
{
	if (job->unit == NULL || job->conf->dry_run)
		return 0;
	return told(job, unit_lower(job->unit, now_ns, kept_ucpu(job, share_ucpu),
				    period_us(job), reterr));
}

int job_unit_raise(struct job *job, uint64_t now_ns, uint64_t share_ucpu)
{
	if (job->unit == NULL || job->conf->dry_run || share_ucpu == 0)
		return 0;
	return told(job, unit_raise(job->unit, now_ns, kept_ucpu(job, share_ucpu),
				    period_us(job), NULL));
}

/* At the start it was refused; now all that can be done is to put right what a reload does. */
static void tell_overridden(struct job *job)
{
	const char *path = unit_overridden(job->unit);
	char text[sizeof(job->overridden)] = "";

	if (job->conf->dry_run)
		return;
	if (path != NULL)
		snprintf(text, sizeof(text),
			 "unit %.100s: '%.150s' has a CPUQuota, which systemd takes at a reload in "
			 "place of the share: remove that line", job->conf->unit, path);
	/* Another file may have come in the place of the one that was told. */
	if (strcmp(text, job->overridden) == 0)
		return;
	memcpy(job->overridden, text, sizeof(text));
	if (path == NULL)
		log_info("unit %s: no other file has a CPUQuota that a reload would take",
			 job->conf->unit);
	else
		log_warn("%s", job->overridden);
}

void job_unit_look(struct job *job, uint64_t now_ns)
{
	if (job->unit == NULL)
		return;
	job->looked_at_ns = now_ns;
	if (told(job, unit_look(job->unit, now_ns, NULL)) < 0)
		return;
	job->drift_count = cgroup_drift_count(job->cgroup);
	tell_overridden(job);
}

void job_unit_watch(struct job *job, uint64_t now_ns)
{
	bool is_due = job->overridden[0] != '\0' && now_ns - job->looked_at_ns >= LOOK_EVERY_NS;

	if (is_due || cgroup_drift_count(job->cgroup) != job->drift_count)
		job_unit_look(job, now_ns);
}

int job_unit_leave(struct job *job, struct error *reterr)
{
	char path[CONF_PATH_BYTES + 16];
	int r;

	if (job->unit == NULL || job->conf->dry_run || job->conf->on_exit == CONF_ON_EXIT_KEEP)
		return 0;
	r = unit_set(job->unit, &job->unit_original, reterr);
	if (r < 0)
		return r;
	saved_path(job, path);
	(void)unlink(path); /* its purpose is fulfilled */
	return 0;
}
