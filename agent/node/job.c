/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/job_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/cgroup/mounts.h"
#include "agent/cgroup/unit.h"
#include "agent/guard/guard_client.h"
#include "agent/meter/meter.h"
#include "agent/meter/procuse.h"
#include "agent/node/handover.h"
#include "lib/enforce/demand.h"
#include "lib/quantity.h"
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

/* The job's directories as the meter wants them. */
struct directories {
	int cgroup_fd;
	int usage_fd; /* cpuacct is often another hierarchy on v1, and often has no such group */
};

static int open_directories(const struct job *job, struct directories *ret_directories,
			    struct error *reterr)
{
	struct mounts_controller cpuacct;
	char path[PATH_MAX];
	int fd = open(cgroup_directory(job->cgroup), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(reterr, -errno, "open %s", cgroup_directory(job->cgroup));
	*ret_directories = (struct directories){ .cgroup_fd = fd, .usage_fd = -1 };
	if (cgroup_version(job->cgroup) == 1 && mounts_find("", "cpuacct", &cpuacct, NULL) == 0 &&
	    mounts_directory(&cpuacct, job->group, path, NULL) == 0)
		ret_directories->usage_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static void close_directories(const struct directories *directories)
{
	close(directories->cgroup_fd);
	if (directories->usage_fd >= 0)
		close(directories->usage_fd);
}

/* Then nothing is missing where it is the kernel that measures. */
static bool wants_kernel(const struct job *job)
{
	return job->conf->meter == CONF_METER_KERNEL;
}

/* Without a meter the node goes on enforcing; it just cannot know its demand. */
static void open_meter(struct job *job)
{
	struct error error = { 0 };
	struct directories directories;

	if (open_directories(job, &directories, &error) == 0) {
		struct meter_options options = {
			.cgroup_fd = directories.cgroup_fd,
			.hierarchy = cgroup_version(job->cgroup) == 2 ? METER_V2 : METER_V1,
			.usage_fd = directories.usage_fd,
			.choice = wants_kernel(job) ? METER_KERNEL_ONLY : METER_AUTO,
		};

		if (meter_open(&options, &job->meter, &error) < 0)
			job->meter = NULL;
		close_directories(&directories);
	}
	if (job->meter == NULL && job->conf->dry_run) {
		snprintf(job->meter_error, sizeof(job->meter_error),
			 "dry run without a cgroup: the worker alone is measured");
		log_warn("meter: %s: %s", job->meter_error, error.text);
	} else if (job->meter == NULL) {
		snprintf(job->meter_error, sizeof(job->meter_error), "%.255s", error.text);
		log_warn("meter: nothing to measure with, so nothing is given away: %s",
			 error.text);
	} else if (meter_degraded(job->meter) != NULL && !wants_kernel(job)) {
		log_warn("meter: no eBPF, going on with %s: %s",
			 meter_source_name(meter_source(job->meter)), meter_degraded(job->meter));
	}
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
		open_meter(job);
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

/* The clocks of running threads live in the meter, so it stays where it can. */
static void move_meter(struct job *job)
{
	struct error error = { 0 };
	struct directories directories;
	int r;

	if (job->meter == NULL) {
		open_meter(job);
		return;
	}
	r = open_directories(job, &directories, &error);
	if (r == 0) {
		r = meter_set_cgroup(job->meter, directories.cgroup_fd, directories.usage_fd,
				     &error);
		close_directories(&directories);
	}
	if (r == 0)
		return;
	log_warn("meter: cannot follow cgroup %s: %s; starting anew", job->group, error.text);
	job->meter = meter_close(job->meter);
	open_meter(job);
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
	move_meter(job);
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

/*
 * Without eBPF the time spent waiting is not known.  A job that was throttled
 * wants more than it got; twice is a guess that the next look corrects.
 */
static uint64_t guess_demand(const struct job *job, bool throttled)
{
	uint64_t on_cpu_ucpu = iso_demand_on_cpu_ucpu(&job->demand);
	uint64_t most_ucpu = (uint64_t)job->view.cpus * ISO_UCPU_PER_CPU;
	uint64_t known_ucpu = iso_demand_ucpu(&job->demand, job->view.cpus);
	uint64_t guess_ucpu = throttled ? 2 * on_cpu_ucpu : on_cpu_ucpu;

	if (guess_ucpu < known_ucpu)
		guess_ucpu = known_ucpu;
	return guess_ucpu < most_ucpu ? guess_ucpu : most_ucpu;
}

/* The worker stands for the job where a dry run has nothing else to measure. */
static bool measures_worker(const struct job *job)
{
	return job->meter == NULL && job->conf->dry_run;
}

static bool read_use(struct job *job, uint64_t now_ns, struct meter_reading *ret_reading)
{
	struct error error = { 0 };

	if (job->meter != NULL)
		return meter_read(job->meter, ret_reading, &error) == 0;
	if (!measures_worker(job) || job->worker == 0)
		return false;
	*ret_reading = (struct meter_reading){ .at_ns = now_ns, .epoch = (uint64_t)job->worker };
	return procuse_read(job->worker, &ret_reading->on_cpu_ns, &ret_reading->wait_ns, &error) ==
	       0;
}

void job_watch(struct job *job, pid_t worker)
{
	job->worker = worker;
}

static void observe_use(struct job *job, uint64_t now_ns)
{
	struct error error = { 0 };
	struct cgroup_stat stat;
	struct meter_reading reading;
	bool throttled = false;

	job->has_stat = cgroup_stat(job->cgroup, &stat, &error) == 0;
	if (job->has_stat) {
		throttled = stat.periods_throttled > job->stat.periods_throttled;
		job->stat = stat;
		job->view.throttled_ns = stat.throttled_ns;
	}
	job->has_used = read_use(job, now_ns, &reading);
	if (!job->has_used) {
		job->view.metered = false;
		return;
	}
	job->used_ns = reading.on_cpu_ns;
	job->realtime_ns = reading.realtime_ns;
	iso_demand_read(&job->demand, &(struct iso_demand_reading){
		.at_ns = reading.at_ns,
		.epoch = reading.epoch,
		.on_cpu_ns = reading.on_cpu_ns,
		.wait_ns = reading.wait_ns,
	});
	job->view.metered = job->demand.known;
	job->view.on_cpu_ucpu = iso_demand_on_cpu_ucpu(&job->demand);
	job->view.wait_ucpu = iso_demand_wait_ucpu(&job->demand);
	job->view.demand_ucpu = measures_worker(job) || meter_degraded(job->meter) == NULL ?
					iso_demand_ucpu(&job->demand, job->view.cpus) :
					guess_demand(job, throttled);
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
	observe_use(job, now_ns);
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
	if (state == CGROUP_OK && missing != NULL && (job->meter == NULL || !wants_kernel(job))) {
		*ret_reason = missing;
		return cgroup_state_name(CGROUP_DEGRADED);
	}
	return cgroup_state_name(state);
}

struct cgroup *job_cgroup(const struct job *job)
{
	return job->cgroup;
}

struct meter *job_meter(const struct job *job)
{
	return job->meter;
}

const char *job_meter_name(const struct job *job)
{
	if (measures_worker(job))
		return "worker";
	return job->meter != NULL ? meter_source_name(meter_source(job->meter)) : "none";
}

const char *job_meter_reason(const struct job *job)
{
	return job->meter != NULL ? meter_degraded(job->meter) : job->meter_error;
}
