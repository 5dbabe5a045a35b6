/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTHOST_H
#define ISO_PREFLIGHTHOST_H

#include "agent/cgroup/cgroup.h"
#include "agent/conf/conf.h"
#include "agent/ctl/preflight.h"

/*
 * What of the host bears on the limit: a scheduler that need not know of quotas,
 * real-time threads of the job, and what the groups above and the CPUs leave of
 * the share.  root is put before the paths of the host; "" on a real one.
 */
void preflighthost_scheduler(struct preflight *preflight, const char *root);

/* The job's group as check has opened it; borrowed for the call. */
void preflighthost_job(struct preflight *preflight, const struct conf *conf,
		       struct cgroup *cgroup);

#endif
