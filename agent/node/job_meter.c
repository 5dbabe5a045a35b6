/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job uses and wants, as the meter sees it. */
#include "config.h"

#include "agent/node/job_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "agent/cgroup/mounts.h"
#include "agent/meter/meter.h"
#include "agent/meter/procuse.h"
#include "lib/quantity.h"

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

bool job_wants_kernel(const struct job *job)
{
	return job->conf->meter == CONF_METER_KERNEL;
}

void job_open_meter(struct job *job)
{
	struct error error = { 0 };
	struct directories directories;

	if (open_directories(job, &directories, &error) == 0) {
		struct meter_options options = {
			.cgroup_fd = directories.cgroup_fd,
			.hierarchy = cgroup_version(job->cgroup) == 2 ? METER_V2 : METER_V1,
			.usage_fd = directories.usage_fd,
			.choice = job_wants_kernel(job) ? METER_KERNEL_ONLY : METER_AUTO,
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
	} else if (meter_degraded(job->meter) != NULL && !job_wants_kernel(job)) {
		log_warn("meter: no eBPF, going on with %s: %s",
			 meter_source_name(meter_source(job->meter)), meter_degraded(job->meter));
	}
}

void job_move_meter(struct job *job)
{
	struct error error = { 0 };
	struct directories directories;
	int r;

	if (job->meter == NULL) {
		job_open_meter(job);
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
	job_open_meter(job);
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

void job_observe_use(struct job *job, uint64_t now_ns)
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
