/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflighthost.h"

#include "agent/base/hostfacts.h"
#include "lib/quantity.h"

/* All of a large job; it is looked at once. */
#define LOOK_MOST 65536u

void preflighthost_scheduler(struct preflight *preflight, const char *root)
{
	struct hostfacts host;

	hostfacts_read(root, &host);
	if (host.sched_ext[0] == '\0')
		preflight_say(preflight, "scheduler", PREFLIGHT_OK, NULL, "the kernel's own");
	else
		preflight_say(preflight, "scheduler", PREFLIGHT_WARNING,
			      "find out whether it looks after quotas, or end it; isobard says "
			      "degraded meanwhile",
			      "the sched_ext scheduler '%s' has %s: no quota may hold them",
			      host.sched_ext,
			      host.sched_ext_all ? "all ordinary threads" :
						   "the threads that ask for it");
}

static void check_threads(struct preflight *preflight, struct cgroup *cgroup)
{
	struct cgroup_tasks tasks;

	if (cgroup_tasks(cgroup, LOOK_MOST, &tasks) < 0)
		return; /* it is not there yet */
	if (tasks.realtime == 0)
		preflight_say(preflight, "real-time threads", PREFLIGHT_OK, NULL,
			      "none of %u threads in the job", tasks.threads);
	else
		preflight_say(preflight, "real-time threads", PREFLIGHT_WARNING,
			      "give them an ordinary policy: chrt --other --pid 0 TID",
			      "%u of %u threads in the job: no quota holds them", tasks.realtime,
			      tasks.threads);
}

/* What cannot be used is not lost: the neighbours get it.  But it is seldom meant so. */
static void check_effective(struct preflight *preflight, const struct conf *conf,
			    struct cgroup *cgroup)
{
	struct cgroup_effective effective;
	uint64_t most_ucpu = conf->ceiling_ucpu;
	struct error error;

	if (cgroup_effective(cgroup, &effective, &error) < 0)
		return; /* of what it can be, other rows have said so */
	if (effective.ceiling_ucpu < conf->floor_ucpu)
		preflight_say(preflight, "effective limit", PREFLIGHT_WARNING,
			      "raise that limit, or lower floor: what lies between is nobody's",
			      "%.4f CPU by %.100s, below the floor",
			      (double)effective.ceiling_ucpu / ISO_UCPU_PER_CPU, effective.by);
	else if (effective.ceiling_ucpu < most_ucpu && effective.ancestors_ucpu < UINT64_MAX &&
		 effective.ancestors_ucpu <= effective.ceiling_ucpu)
		preflight_say(preflight, "effective limit", PREFLIGHT_WARNING,
			      "raise that limit if the job is to get more",
			      "%.4f CPU by %.100s, below the ceiling of %.4f",
			      (double)effective.ceiling_ucpu / ISO_UCPU_PER_CPU, effective.by,
			      (double)most_ucpu / ISO_UCPU_PER_CPU);
	else
		preflight_say(preflight, "effective limit", PREFLIGHT_OK, NULL,
			      "%.4f CPU by %.120s",
			      (double)effective.ceiling_ucpu / ISO_UCPU_PER_CPU, effective.by);
}

void preflighthost_job(struct preflight *preflight, const struct conf *conf,
		       struct cgroup *cgroup)
{
	check_effective(preflight, conf, cgroup);
	check_threads(preflight, cgroup);
}
