/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/job_private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/cgroup/unit.h"
#include "agent/guard/guard_client.h"
#include "agent/meter/meter.h"
#include "agent/node/handover.h"
#include "lib/enforce/demand.h"
#include "lib/enforce/quota.h"

/* Long enough to smooth over bursts, short enough to follow a co-tenant within seconds. */
#define DEMAND_TAU_NS	   2000000000u
#define REOPEN_EVERY_NS	   1000000000u
/* A job may crash and come again each second, for ever. */
#define AGAIN_QUIET_NS	   60000000000u

static int open_cgroup(struct job *job, uint64_t first_ucpu, struct error *reterr)
{
	static const enum cgroup_on_exit on_exit[] = {
		[CONF_ON_EXIT_KEEP] = CGROUP_KEEP,
		[CONF_ON_EXIT_RESTORE] = CGROUP_RESTORE,
		[CONF_ON_EXIT_REMOVE] = CGROUP_REMOVE,
	};
	char saved_path[sizeof(job->conf->state_directory) + sizeof("/limit-before")];
	uint64_t period_us = job->conf->period_ns / 1000;
	uint64_t first_us = cgroup_quota_us(first_ucpu, period_us);
	struct cgroup_config config = {
		.path = job->group,
		.period_us = period_us,
		.first_quota_us = first_us < CGROUP_QUOTA_MIN_US ? CGROUP_QUOTA_MIN_US : first_us,
		.on_exit = on_exit[job->conf->on_exit],
		/* Of a unit it is kept with its quota. */
		.saved_path = job->unit == NULL ? saved_path : NULL,
		.original = job->unit != NULL ? &job->original : NULL,
		.create = job->conf->create_cgroup,
		.force = job->conf->force_cgroup,
		.is_unit = job->unit != NULL,
		.is_again = job->cgroup != NULL,
		.may_be_absent = job->absent[0] != '\0',
		.dry_run = job->conf->dry_run,
		.writer = job->guard != NULL ? guard_client_writer(job->guard) : NULL,
	};

	snprintf(saved_path, sizeof(saved_path), "%s/limit-before", job->conf->state_directory);
	int r = cgroup_open(&config, &job->cgroup, reterr);
	if (r == 0 && job->conf->on_exit != CONF_ON_EXIT_KEEP && cgroup_unsaved(job->cgroup))
		log_warn("on-exit: %s: the limit from before isobar is forgotten if it is killed",
			 cgroup_unsaved(job->cgroup));
	return r;
}

int job_open(const struct conf *conf, uint64_t first_ucpu, struct job **ret_job,
	     struct error *reterr)
{
	struct iso_quota_config config = {
		.period_us = (uint32_t)(conf->period_ns / 1000),
		.quota_min_us = CGROUP_QUOTA_MIN_US,
		.raise_gap_ns = conf->trading.tick_ns,
	};
	struct job *job = calloc(1, sizeof(*job));
	void *memory = malloc(iso_quota_size());
	int r;

	if (job == NULL || memory == NULL) {
		free(job);
		free(memory);
		return error_errno(reterr, -ENOMEM, "job");
	}
	job->conf = conf;
	job->wake_at_ns = UINT64_MAX;
	/* Until the ancestors have been looked at. */
	job->ceiling_ucpu = job->view.ceiling_ucpu = (int64_t)conf->ceiling_ucpu;
	job->view.cpus = 1;
	job->view.effective.ancestors_ucpu = UINT64_MAX;
	iso_demand_init(&job->demand, DEMAND_TAU_NS);
	enum iso_status status = iso_quota_init(memory, iso_quota_size(), &config, &job->quota);
	assert(status == ISO_OK); /* conf_check() has seen the period */

	r = job_locate(job, clock_now_ns(), reterr);
	/* It will be limited from its start. */
	if (r == -ENODEV && job->unit != NULL)
		r = 0;
	if (r == 0)
		r = job_unit_prepare(job, clock_now_ns(), reterr);
	if (r == 0)
		r = job_open_guard(job, reterr);
	if (r == 0)
		r = open_cgroup(job, first_ucpu, reterr);
	if (r < 0) {
		guard_client_close(job->guard);
		unit_close(job->unit);
		free(memory);
		free(job);
		return r;
	}
	job->deadline_ns = job_lease_deadline_ns(job);
	unit_hurry(job->unit);
	if (cgroup_state(job->cgroup) != CGROUP_GONE) {
		job_open_meter(job);
	} else {
		snprintf(job->meter_error, sizeof(job->meter_error), "the job is not there");
		log_warn("%s: it will be limited from its start", job->absent);
	}
	*ret_job = job;
	return 0;
}

struct job *job_close(struct job *job)
{
	if (job == NULL)
		return NULL;
	meter_close(job->meter);
	cgroup_close(job->cgroup);
	guard_client_close(job->guard);
	unit_close(job->unit);
	free(job->quota);
	free(job);
	return NULL;
}

int job_leave(struct job *job, struct error *reterr)
{
	bool is_handed_over = handover_is_asked(job->conf);
	bool keep = job->conf->on_exit == CONF_ON_EXIT_KEEP || is_handed_over;

	/* What is put back is not within any lease: the guard has to let go first. */
	if (job->guard != NULL) {
		guard_client_leave(job->guard, keep);
		cgroup_take_over(job->cgroup);
	}
	if (is_handed_over) {
		log_info("on exit: the limit stays, another agent takes over");
		return 0;
	}
	int r = job_unit_leave(job, reterr);
	int left = cgroup_leave(job->cgroup, r < 0 ? NULL : reterr);

	return r < 0 ? r : left;
}

static void tell_again(struct job *job, uint64_t now_ns)
{
	job->again_count++;
	if (job->again_at_ns != 0 && now_ns - job->again_at_ns < AGAIN_QUIET_NS)
		return;
	if (job->again_count > 1)
		log_info("cgroup %s: is there again, %u times since this was said; limiting it",
			 job->group, job->again_count);
	else
		log_info("cgroup %s: is there again; limiting it", job->group);
	job->again_at_ns = now_ns;
	job->again_count = 0;
}

/* Same path, new directory: until all follows, whoever runs in there is not limited by us. */
static void reopen(struct job *job, uint64_t now_ns)
{
	struct error error = { 0 };
	struct cgroup *gone = job->cgroup;

	bool is_there = access(cgroup_directory(gone), F_OK) == 0;

	if (!is_there) {
		job->trouble[0] = '\0';
	} else if (job->trouble[0] == '\0') {
		snprintf(job->trouble, sizeof(job->trouble), "there again, but not limited yet");
		job->reopen_at_ns = 0; /* a pause is between failures only */
	}
	/* Where nothing is to be made or asked for, looking is cheap, and each tick does. */
	bool is_path = job->conf->cgroup[0] != '\0' && !job->conf->create_cgroup;
	if (now_ns < job->reopen_at_ns || (!is_there && is_path))
		return;
	job->reopen_at_ns = now_ns + REOPEN_EVERY_NS;
	if (job_locate(job, now_ns, &error) < 0 && job->trouble[0] == '\0')
		return;
	job_unit_look(job, now_ns);
	/* Even if systemd does not answer: then the group is limited, and the rest is uncertain. */
	(void)job_unit_prepare(job, now_ns, NULL);
	if (open_cgroup(job, job->conf->floor_ucpu, &error) < 0) {
		if (job->trouble[0] != '\0')
			snprintf(job->trouble, sizeof(job->trouble), "%.255s", error.text);
		job->cgroup = gone;
		return;
	}
	job->trouble[0] = '\0';
	/* Between the two looks it may have ended once more. */
	if (cgroup_state(job->cgroup) == CGROUP_GONE) {
		cgroup_close(gone);
		return;
	}
	cgroup_close(gone);
	job_move_meter(job);
	job->effective_at_ns = 0;
	tell_again(job, now_ns);
}

/* Drift is repaired inside; false when what the kernel enforces is not known. */
static bool observe_limit(struct job *job, uint64_t now_ns)
{
	struct error error = { 0 };
	struct cgroup_limit limit;

	/* The state keeps the reason. */
	job->contested = cgroup_check(job->cgroup, now_ns, &error) == -ESTALE;
	job_unit_watch(job, now_ns);
	if (cgroup_read(job->cgroup, &limit, &error) < 0) {
		/* That it has gone is a state of its own. */
		if (cgroup_state(job->cgroup) != CGROUP_GONE)
			snprintf(job->trouble, sizeof(job->trouble), "%.255s", error.text);
		return false;
	}
	job->trouble[0] = '\0';
	if (job->view.limit.quota_us != limit.quota_us || limit.unlimited)
		iso_quota_wrote(job->quota, now_ns, limit.unlimited ? 0 : limit.quota_us);
	job_take_limit(job, &limit);
	return true;
}

/* The group was made anew, and we have no hold on it. */
bool job_is_out_of_reach(const struct job *job)
{
	return cgroup_state(job->cgroup) == CGROUP_GONE && job->trouble[0] != '\0';
}

void job_observe(struct job *job, uint64_t now_ns)
{
	job_observe_guard(job);
	if (cgroup_state(job->cgroup) == CGROUP_GONE)
		reopen(job, now_ns);
	bool known = observe_limit(job, now_ns);
	/* It may have been made again since the last look. */
	if (!known && cgroup_state(job->cgroup) == CGROUP_GONE) {
		reopen(job, now_ns);
		known = cgroup_state(job->cgroup) != CGROUP_GONE && observe_limit(job, now_ns);
	}
	job_observe_ceiling(job, now_ns);
	job->view.ceiling_ucpu =
		job_lacks_guard(job) ? (int64_t)job->conf->floor_ucpu : job->ceiling_ucpu;
	job_observe_use(job, now_ns);
	job->view.at_ns = now_ns;

	if (job_is_out_of_reach(job)) {
		job->view.enforced_ucpu = INT64_MAX;
	} else if (cgroup_state(job->cgroup) == CGROUP_GONE) {
		/* No job, no use, no limit to exceed: its share is there for the others. */
		job->view.enforced_ucpu = job->unit != NULL ? job_bound_ucpu(job) : 0;
		job->view.metered = true;
		job->view.on_cpu_ucpu = job->view.wait_ucpu = job->view.demand_ucpu = 0;
		known = true;
	}
	job_observe_facts(job, now_ns);
	job->view.hold = !known || !job->view.metered || job->watch.facts.is_overused ||
			 cgroup_state(job->cgroup) == CGROUP_CONFLICT;
}

const struct job_view *job_view(const struct job *job)
{
	return &job->view;
}

const char *job_state(const struct job *job, const char **ret_reason)
{
	enum cgroup_state state = cgroup_state(job->cgroup);
	const char *missing = job_meter_reason(job);

	if (job->trouble[0] != '\0') {
		*ret_reason = job->trouble;
		return cgroup_state_name(CGROUP_DEGRADED);
	}
	if (job->overridden[0] != '\0' && (state == CGROUP_OK || state == CGROUP_DRIFTED)) {
		*ret_reason = job->overridden;
		return cgroup_state_name(CGROUP_DEGRADED);
	}
	*ret_reason = state == CGROUP_GONE && job->absent[0] != '\0' ? job->absent
								    : cgroup_reason(job->cgroup);
	if (state == CGROUP_OK && job_lacks_guard(job)) {
		*ret_reason = "no guard, so only the floor is enforced";
		return cgroup_state_name(CGROUP_DEGRADED);
	}
	if (state == CGROUP_OK && job->watch.facts.unbound[0] != '\0') {
		*ret_reason = job->watch.facts.unbound;
		return cgroup_state_name(CGROUP_DEGRADED);
	}
	if (state == CGROUP_OK && missing != NULL &&
	    (job->meter == NULL || !job_wants_kernel(job))) {
		*ret_reason = missing;
		return cgroup_state_name(CGROUP_DEGRADED);
	}
	return cgroup_state_name(state);
}

struct cgroup *job_cgroup(const struct job *job)
{
	return job->cgroup;
}
