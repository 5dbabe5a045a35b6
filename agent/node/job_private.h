/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_JOB_PRIVATE_H
#define ISO_JOB_PRIVATE_H

/* For job.c, which observes, job_limit.c, which limits, and the files beside them only. */

#include <limits.h>

#include "agent/cgroup/unit.h"
#include "agent/node/job.h"
#include "agent/node/job_facts.h"
#include "lib/enforce/absence.h"
#include "lib/enforce/demand.h"
#include "lib/enforce/facts.h"
#include "lib/enforce/quota.h"

struct guard_client;

/* What was logged of something that begins and ends. */
struct job_said {
	bool is_on;
	uint64_t at_ns; /* of the last time that it began; 0: never */
};

/* Behind job_facts(): what was seen last, and when to look again. */
struct job_watch {
	struct job_facts facts;
	struct iso_absence absence;
	struct iso_facts odds;
	uint64_t presence_at_ns, slow_at_ns;
	uint64_t realtime_ns, realtime_at_ns; /* at the last slow look; 0: none yet */
	struct job_said said_unbound, said_fact[ISO_FACT_COUNT];
	struct cgroup_effective seen_ceiling, told_ceiling;
	uint64_t told_ceiling_ns;
};

struct job {
	const struct conf *conf;
	char group[PATH_MAX]; /* the cgroup's path, as far as it is known */
	struct unit *unit;    /* NULL: the job is none of systemd's */
	/* Why the unit has no group now; "": it has one. */
	char absent[sizeof(((struct error *)0)->text)];
	struct unit_quota unit_original; /* what the unit's quota was before us */
	struct cgroup_limit original;    /* the same, as the kernel has it */
	uint64_t drift_count; /* of the cgroup, when the unit's quota was last read */
	uint64_t looked_at_ns; /* when it was tried */
	char overridden[384];  /* which file a reload would take the quota from; "": none */
	struct cgroup *cgroup;
	struct meter *meter;
	char meter_error[256]; /* why there is no meter */
	pid_t worker;	       /* measured in its place in a dry run; 0: none */
	struct iso_demand demand;
	struct iso_quota *quota;
	struct job_view view;
	struct cgroup_stat stat;
	bool contested; /* another writer's limit, which is left alone for now */
	bool has_stat;
	bool has_used;
	uint64_t used_ns, realtime_ns;
	int64_t entitled_ucpu; /* by the last job_limit() */
	struct job_watch watch;
	uint64_t wake_at_ns;
	struct guard_client *guard; /* NULL: none needed */
	uint64_t deadline_ns;	    /* of the lease, as the node has it; 0: none */
	bool guard_told;	    /* of it, since the last look */
	int64_t budget_ucpu;	  /* 0: not known */
	int64_t ceiling_ucpu;	  /* what the host allows; the view's may be lower */
	uint64_t effective_at_ns; /* when the ancestors were last looked at */
	uint64_t reopen_at_ns;
	uint64_t again_at_ns; /* when it was said last that it is there again; 0: never */
	unsigned again_count; /* how often that was since */
	char trouble[256]; /* why it is not known, or not up to us, what the kernel enforces */
};

/* The limit that the kernel has now, into the view. */
void job_take_limit(struct job *job, const struct cgroup_limit *limit);

/* After the limit and the use. */
void job_observe_facts(struct job *job, uint64_t now_ns);

/* Once a second: the ceiling, and what sets it. */
void job_observe_ceiling(struct job *job, uint64_t now_ns);

/*
 * job_meter.c.  Without a meter the node goes on enforcing; it just cannot know its
 * demand.  The clocks of running threads live in it, so it moves along with a group
 * that is made anew where it can.
 */
void job_open_meter(struct job *job);
void job_move_meter(struct job *job);
void job_observe_use(struct job *job, uint64_t now_ns);
/* It is the kernel that measures, by choice: then nothing is missing. */
bool job_wants_kernel(const struct job *job);

/* The group was made anew, and we have no hold on it. */
bool job_is_out_of_reach(const struct job *job);

/* What the kernel may enforce without our doing: no less than its limit. */
int64_t job_bound_ucpu(const struct job *job);

/*
 * job_unit.c: a job that is a unit of systemd; without one they do nothing.
 *
 * Finds the group's path, and at the first time the unit and the quota that it
 * had before us.  -ENODEV: it is not running; the path is then that of its last
 * group, or one where none can be.
 */
int job_locate(struct job *job, uint64_t now_ns, struct error *reterr);
/*
 * A unit without any quota has no file for the limit: it gets the floor; and so
 * does one with a higher quota where there are leases.
 */
int job_unit_prepare(struct job *job, uint64_t now_ns, struct error *reterr);
/* Before the kernel's file and after it; 1: systemd wrote its own value there. */
int job_unit_lower(struct job *job, uint64_t now_ns, uint64_t share_ucpu, struct error *reterr);
int job_unit_raise(struct job *job, uint64_t now_ns, uint64_t share_ucpu);
/* The limit was changed by others, or the group is a new one: so may be the quota. */
void job_unit_look(struct job *job, uint64_t now_ns);
/* Each tick: does so when it is due. */
void job_unit_watch(struct job *job, uint64_t now_ns);
/* What on-exit says. */
int job_unit_leave(struct job *job, struct error *reterr);

/* Starts nothing yet; a node that needs no guard has none.  -ENOMEM. */
int job_open_guard(struct job *job, struct error *reterr);

/* Tells the guard the deadline, and looks after it. */
void job_observe_guard(struct job *job);

/* One is needed, and there is none to be had. */
bool job_lacks_guard(const struct job *job);

#endif
