/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the job can get at most: by configuration, budget, groups above, cpuset and CPUs. */
#include "config.h"

#include "agent/node/job_private.h"

#include <string.h>

#include "agent/base/log.h"
#include "lib/quantity.h"

#define EFFECTIVE_EVERY_NS 1000000000u
#define TELL_EVERY_NS	   10000000000ull

static int64_t configured_ceiling_ucpu(const struct job *job)
{
	if (job->conf->has_ceiling || job->budget_ucpu == 0)
		return (int64_t)job->conf->ceiling_ucpu;
	return job->budget_ucpu;
}

void job_set_budget(struct job *job, int64_t budget_ucpu)
{
	if (budget_ucpu == job->budget_ucpu)
		return;
	job->budget_ucpu = budget_ucpu;
	job->effective_at_ns = 0; /* look at once */
}

static bool is_same(const struct cgroup_effective *a, const struct cgroup_effective *b)
{
	return a->cpus == b->cpus && strcmp(a->by, b->by) == 0;
}

/*
 * Told when it has changed and was so at two looks: a CPU that goes leaves the
 * cpuset before it is offline.  What changes each second is told of seldom.
 */
static void tell_ceiling(struct job *job, uint64_t now_ns)
{
	const struct cgroup_effective *now = &job->view.effective;
	struct job_watch *watch = &job->watch;
	struct cgroup_effective *told = &watch->told_ceiling;
	bool is_first = told->cpus == 0, is_settled = is_same(now, &watch->seen_ceiling);

	watch->seen_ceiling = *now;
	if (is_first)
		*told = *now;
	if (!is_settled || is_same(now, told) || now_ns - watch->told_ceiling_ns < TELL_EVERY_NS)
		return;
	log_info("cgroup %s: on %u CPUs it gets at most %.4f CPU, by %s; before, on %u, %.4f by "
		 "%s", job->group, now->cpus, (double)now->ceiling_ucpu / ISO_UCPU_PER_CPU, now->by,
		 told->cpus, (double)told->ceiling_ucpu / ISO_UCPU_PER_CPU, told->by);
	*told = *now;
	watch->told_ceiling_ns = now_ns;
}

void job_observe_ceiling(struct job *job, uint64_t now_ns)
{
	struct error error = { 0 };
	struct cgroup_effective *effective = &job->view.effective;

	if (job->effective_at_ns != 0 && now_ns - job->effective_at_ns < EFFECTIVE_EVERY_NS)
		return;
	/* No CPU: one list was read before a CPU came or went, the other after. */
	if (cgroup_effective(job->cgroup, effective, &error) < 0 || effective->cpus == 0)
		return; /* the last known ones stay */
	job->effective_at_ns = now_ns;
	tell_ceiling(job, now_ns);
	job->view.cpus = effective->cpus;
	job->ceiling_ucpu = configured_ceiling_ucpu(job);
	if (effective->ceiling_ucpu < (uint64_t)job->ceiling_ucpu)
		job->ceiling_ucpu = (int64_t)effective->ceiling_ucpu;
	/* An ancestor that allows less than the floor limits the job without our help. */
	if (job->ceiling_ucpu < (int64_t)job->conf->floor_ucpu)
		job->ceiling_ucpu = (int64_t)job->conf->floor_ucpu;
}
