/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CGROUP_H
#define ISO_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"

/*
 * The job's control group: where the share becomes a limit of the kernel.
 * One interface over cgroup v2 (cpu.max), v1 (cpu.cfs_quota_us) and a dry
 * run that does everything but the write.  libcgroup creates, attaches and
 * writes; every write is read back through a descriptor of our own, because
 * libcgroup can report success with nothing written.
 *
 * All calls come from one thread (libcgroup keeps its errors per thread).
 * -ENODEV means the group has gone, whatever the kernel called it.
 */

#define CGROUP_QUOTA_MIN_US  1000u    /* the kernel takes no less */
#define CGROUP_PERIOD_MIN_US 1000u
#define CGROUP_PERIOD_MAX_US 1000000u

/* A limit as the kernel has it.  Never a magic number: "max" and -1 are .unlimited. */
struct cgroup_limit {
	bool unlimited;
	uint64_t quota_us;   /* per period; 0 when unlimited */
	uint64_t period_us;
};

/* floor(share x period / 1 s), never rounded up; may be below CGROUP_QUOTA_MIN_US. */
uint64_t cgroup_quota_us(uint64_t share_ucpu, uint64_t period_us);

enum cgroup_on_exit {
	CGROUP_KEEP = 1,     /* leave our last limit in place */
	CGROUP_RESTORE,      /* put back the limit found at the start */
	CGROUP_REMOVE,       /* remove the group if we created it, else restore */
};

/* This module's part of the node's state; the reason text goes with it. */
enum cgroup_state {
	CGROUP_OK = 1,
	CGROUP_DRIFTED,      /* another writer changed the limit; repaired, with back-off */
	CGROUP_CONFLICT,     /* it keeps coming back; we try once a minute and only measure */
	CGROUP_GONE,         /* the group was removed */
	CGROUP_DEGRADED,     /* the last write failed: see the reason */
	CGROUP_DRY_RUN,
};

/* "ok", "drifted", ... as isobarctl prints it. */
const char *cgroup_state_name(enum cgroup_state state);

/*
 * Who writes the limit in our place: the guard, which is to be the only one.
 * Both return 0 or -errno; -ETIME: more than the floor, and no lease for it.
 */
struct cgroup_writer {
	/* The group has been opened (again); present limit remembered.  Borrows dir_fd. */
	int (*attach)(void *context, int dir_fd, unsigned version);
	int (*write)(void *context, const struct cgroup_limit *wanted);
	/* Asked where the limit is not what was written: did the writer lower it on its own? */
	bool (*lowered)(void *context, struct cgroup_limit *ret_limit);
	void *context;
};

struct cgroup_config {
	const char *root;            /* put before each absolute path; NULL on a real host */
	const char *path;            /* below the mount of the cpu controller: "/isobar/job" */
	uint64_t period_us;          /* the period we enforce with */
	uint64_t first_quota_us;     /* a group we create gets this before any task enters it */
	enum cgroup_on_exit on_exit;
	const char *saved_path;      /* file that keeps the original limit over a crash; or NULL */
	bool create;                 /* a missing group is created */
	bool dry_run;
	bool force;                  /* manage a slice or the agent's own group all the same */
	bool is_unit;                /* systemd writes its limit too: may be a slice, see below */
	bool is_again;               /* of this process: what is dangerous has been warned of */
	bool may_be_absent;          /* a group that is not there is opened as one that has gone */
	const struct cgroup_limit *original; /* what to put back at the end; NULL: what is there */
	const struct cgroup_writer *writer; /* NULL: ourselves; borrowed until cgroup_close() */
};

struct cgroup;

/*
 * Finds the hierarchy that holds the cpu controller, opens (or creates) the
 * group, locks its directory against a second agent, sets burst to 0 and
 * remembers the limit that was there.  Refuses "/", init.scope, slices and
 * groups that the agent itself runs in, and names the processes that would
 * have been limited.  The strings are borrowed for the call.  Errors name what
 * is missing and the remedy:
 *   -EINVAL   path or period          -EBUSY   refused, or another agent has it
 *   -ENOENT   no such group           -EROFS   read-only (ProtectControlGroups?)
 *   -ENOTSUP  no cpu controller here  -EXDEV   outside of our cgroup namespace
 *   -EACCES, -EPERM
 */
int cgroup_open(const struct cgroup_config *config, struct cgroup **ret_cgroup,
		struct error *reterr);

/* Releases without touching the limit; takes NULL; returns NULL. */
struct cgroup *cgroup_close(struct cgroup *cgroup);

/* Does what on_exit says; call once before cgroup_close().  A group that has gone is fine. */
int cgroup_leave(struct cgroup *cgroup, struct error *reterr);

/*
 * What the kernel side calls it: the 64-bit id of the directory (what
 * bpf_get_current_cgroup_id() and kn->id say) and its depth below the root of
 * its hierarchy (root = 0).  On v1 both are of the cpu hierarchy.
 */
uint64_t cgroup_id(const struct cgroup *cgroup);
unsigned cgroup_level(const struct cgroup *cgroup);
unsigned cgroup_version(const struct cgroup *cgroup);       /* 1 or 2 */
const char *cgroup_path(const struct cgroup *cgroup);       /* as configured */
const char *cgroup_directory(const struct cgroup *cgroup);  /* in the file system */

/* Moves a whole process and verifies in /proc that it arrived. */
int cgroup_attach(struct cgroup *cgroup, pid_t pid, struct error *reterr);

int cgroup_read(struct cgroup *cgroup, struct cgroup_limit *ret_limit, struct error *reterr);

/*
 * Sets quota_us per configured period and reads it back.  0 means the kernel
 * now has exactly this (dry run: would have).  On failure the limit is what
 * it was, as far as the kernel let us, and the state says why.
 *   -EINVAL  below the minimum, or v1: "parent /x allows a, wanted b"
 */
int cgroup_write(struct cgroup *cgroup, uint64_t quota_us, struct error *reterr);

/*
 * Once a tick: is the limit still what we wrote?  Repairs another writer's
 * change (at once, then with doubling pause, then once a minute) and moves the
 * state.  What our own writer lowered is no change by others.  Returns 0 when
 * the kernel has our value now, -ESTALE when it has another, or the read's error.
 */
int cgroup_check(struct cgroup *cgroup, uint64_t now_ns, struct error *reterr);

/*
 * What systemd may write on our behalf, at a time of its own: no change by
 * others, and put right at once.  0: nothing.  Where is_unit was said, the
 * limit's file may be missing in a dry run: systemd makes it with its quota.
 */
void cgroup_expect(struct cgroup *cgroup, uint64_t quota_us);

/* From now on we write ourselves: the writer has gone. */
void cgroup_take_over(struct cgroup *cgroup);

/*
 * The disk has no room for saved_path, so the original limit is known for as long as this
 * process lives, and no longer.  That is no reason not to limit.  NULL: it is kept.
 */
const char *cgroup_unsaved(const struct cgroup *cgroup);

enum cgroup_state cgroup_state(const struct cgroup *cgroup);
const char *cgroup_reason(const struct cgroup *cgroup);      /* "" when ok; borrowed */
uint64_t cgroup_drift_count(const struct cgroup *cgroup);    /* changes by others, ever */

#define CGROUP_BY_BYTES 300u
struct cgroup_effective {
	uint64_t ucpu;               /* own limit included; UINT64_MAX is impossible */
	uint64_t ceiling_ucpu;       /* without our own limit: the ceiling in trading */
	uint64_t ancestors_ucpu;     /* the least of their limits; UINT64_MAX: they have none */
	uint32_t cpus;               /* it may run on: cpuset and online */
	char by[CGROUP_BY_BYTES];    /* what sets the ceiling: "cgroup /a", "cpuset", ... */
};

/* Minimum over all ancestors, the cpuset and the online CPUs. */
int cgroup_effective(struct cgroup *cgroup, struct cgroup_effective *ret_effective,
		     struct error *reterr);

struct cgroup_stat {
	bool has_usage;              /* v2; on v1 only where cpuacct shares the mount */
	uint64_t usage_ns;
	uint64_t periods;            /* nr_periods: elapsed with something to run */
	uint64_t periods_throttled;
	uint64_t throttled_ns;
};

int cgroup_stat(struct cgroup *cgroup, struct cgroup_stat *ret_stat, struct error *reterr);

/*
 * The processes in a group and below it, with the names of the first few, for
 * a person: "sh (812), make (900), ...".  None where there is no such group.
 * root: as in struct cgroup_config, "" on a real host.  Stops after so many: for
 * each a file is read.
 */
#define CGROUP_PROCESSES_SHOWN 10u
struct cgroup_processes {
	uint32_t count;
	bool is_partial; /* there may be more */
	char names[256];
};

void cgroup_processes(const char *root, const char *directory, uint32_t most,
		      struct cgroup_processes *ret_processes);

/* Whether any process lives in it or below. */
int cgroup_populated(struct cgroup *cgroup, bool *ret_populated, struct error *reterr);

/* Whether all that live in it are stopped, by its freezer (v1: that of one of them). */
bool cgroup_frozen(struct cgroup *cgroup);

struct cgroup_tasks {
	uint32_t threads;    /* in it and below, as far as looked */
	uint32_t realtime;   /* of them SCHED_FIFO, SCHED_RR or SCHED_DEADLINE: no quota holds */
	uint32_t extensible; /* of them SCHED_EXT */
	uint32_t groups;
	bool is_partial;     /* there are more */
};

/*
 * Looks at so many threads and groups at most: a system call each, so seldom.
 * -ENODEV: the group has gone, or a dry run has none.
 */
int cgroup_tasks(struct cgroup *cgroup, unsigned most, struct cgroup_tasks *ret_tasks);

#endif
