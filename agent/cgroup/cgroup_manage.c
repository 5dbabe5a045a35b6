/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is done with the group while the agent runs, and when it leaves. */
#include "config.h"

#include "agent/base/log.h"
#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t cgroup_id(const struct cgroup *cgroup)
{
	return cgroup->id;
}

unsigned cgroup_level(const struct cgroup *cgroup)
{
	return cgroup->level;
}

unsigned cgroup_version(const struct cgroup *cgroup)
{
	return cgroup->backend->version;
}

const char *cgroup_path(const struct cgroup *cgroup)
{
	return cgroup->path;
}

const char *cgroup_directory(const struct cgroup *cgroup)
{
	return cgroup->directory;
}

enum cgroup_state cgroup_state(const struct cgroup *cgroup)
{
	return cgroup->state;
}

const char *cgroup_reason(const struct cgroup *cgroup)
{
	return cgroup->reason;
}

uint64_t cgroup_drift_count(const struct cgroup *cgroup)
{
	return cgroup->drift.changes_total;
}

/* Adds the group's name to an error; -ENODEV moves the state. */
static int failed(struct cgroup *cgroup, int code, const char *what, struct error *reterr)
{
	code = cgroup_gone(cgroup, code);
	if (code == -ENODEV)
		return error_set(reterr, code, "control group '%.300s' was removed", cgroup->path);
	error_errno(reterr, code, "%s", what);
	error_wrap(reterr, "control group '%.150s'", cgroup->path);
	return code;
}

int cgroup_read(struct cgroup *cgroup, struct cgroup_limit *ret_limit, struct error *reterr)
{
	struct cgroup_limit limit;
	int result;

	/* What would be in force, so that a dry run is one to its end. */
	if (cgroup->dry_run && (cgroup->has_written || cgroup->dir_fd < 0)) {
		*ret_limit = cgroup->has_written ? cgroup->written : cgroup->original;
		return 0;
	}
	if (cgroup->dir_fd < 0)
		return failed(cgroup, -ENODEV, cgroup->backend->limit_file, reterr);
	result = cgroup->backend->read_limit(cgroup->dir_fd, &limit);
	if (result < 0)
		return failed(cgroup, result, cgroup->backend->limit_file, reterr);
	*ret_limit = limit;
	return 0;
}

/* The state after a write or a look went well. */
static void settle(struct cgroup *cgroup)
{
	if (cgroup->dry_run)
		return;
	cgroup->reason[0] = '\0';
	switch (cgroup->drift.state) {
	case ISO_DRIFT_NONE:
		cgroup->state = CGROUP_OK;
		break;
	case ISO_DRIFT_DRIFTED:
		cgroup->state = CGROUP_DRIFTED;
		snprintf(cgroup->reason, sizeof(cgroup->reason),
			 "another writer (systemd?) changed %s %u times; put right",
			 cgroup->backend->limit_file, cgroup->drift.changes);
		break;
	case ISO_DRIFT_CONFLICT:
		cgroup->state = CGROUP_CONFLICT;
		snprintf(cgroup->reason, sizeof(cgroup->reason),
			 "another writer keeps changing %s (%u times): have one of the two let "
			 "go; trying once a minute", cgroup->backend->limit_file,
			 cgroup->drift.changes);
		break;
	}
}

static int degrade(struct cgroup *cgroup, int code, struct error *error, struct error *reterr)
{
	if (cgroup->state != CGROUP_GONE) {
		cgroup->state = CGROUP_DEGRADED;
		snprintf(cgroup->reason, sizeof(cgroup->reason), "%.390s", error->text);
	}
	error_wrap(error, "control group '%.150s'", cgroup->path);
	if (reterr != NULL)
		*reterr = *error;
	return code;
}

int cgroup_write(struct cgroup *cgroup, uint64_t quota_us, struct error *reterr)
{
	struct cgroup_limit wanted = { .quota_us = quota_us, .period_us = cgroup->period_us };
	struct error error;
	int result;

	if (quota_us < CGROUP_QUOTA_MIN_US)
		return error_set(reterr, -EINVAL,
				 "control group '%.150s': a quota of %llu us per period is below "
				 "the kernel's minimum of 1000: raise the floor or the period",
				 cgroup->path, (unsigned long long)quota_us);
	result = cgroup_set_limit(cgroup, &wanted, &error);
	/* That there is no lease for it is not the group's state. */
	if (result == -ETIME)
		return error_set(reterr, result, "control group '%.150s': %.300s", cgroup->path,
				 error.text);
	if (result < 0)
		return degrade(cgroup, result, &error, reterr);
	cgroup->drift.differs = false;
	settle(cgroup);
	return 0;
}

void cgroup_expect(struct cgroup *cgroup, uint64_t quota_us)
{
	cgroup->expected_us = quota_us;
}

/* Takes back what systemd wrote on our behalf; true if that explains the difference. */
static bool is_expected(struct cgroup *cgroup, const struct cgroup_limit *present)
{
	struct cgroup_limit wanted = cgroup->written;

	/* A quota from before us may have another period. */
	return cgroup->expected_us != 0 && !present->unlimited &&
	       present->quota_us * cgroup->period_us ==
		       cgroup->expected_us * present->period_us &&
	       cgroup_set_limit(cgroup, &wanted, NULL) == 0;
}

void cgroup_take_over(struct cgroup *cgroup)
{
	cgroup->writer = NULL;
}

/* Takes over what the writer lowered; true if that explains the difference. */
static bool is_writers(struct cgroup *cgroup, struct cgroup_limit *present)
{
	struct cgroup_limit lowered;

	if (cgroup->writer == NULL || !cgroup->writer->lowered(cgroup->writer->context, &lowered))
		return false;
	cgroup->written = lowered;
	cgroup->drift.differs = false;
	/* It may have done so between our look and its answer. */
	(void)cgroup->backend->read_limit(cgroup->dir_fd, present);
	return cgroup_limit_equal(present, &lowered);
}

int cgroup_check(struct cgroup *cgroup, uint64_t now_ns, struct error *reterr)
{
	struct cgroup_limit present, wanted;
	char text[2][CGROUP_LIMIT_BYTES];
	struct error error;
	bool differs;
	int result;

	if (cgroup->dry_run || (!cgroup->has_written && cgroup->state != CGROUP_GONE))
		return 0;
	if (cgroup->dir_fd < 0)
		return failed(cgroup, -ENODEV, cgroup->backend->limit_file, reterr);
	result = cgroup->backend->read_limit(cgroup->dir_fd, &present);
	if (result < 0)
		return failed(cgroup, result, cgroup->backend->limit_file, reterr);
	differs = !cgroup_limit_equal(&present, &cgroup->written) &&
		  !is_writers(cgroup, &present) && !is_expected(cgroup, &present);
	wanted = cgroup->written;
	if (iso_drift_look(&cgroup->drift, now_ns, differs)) {
		result = cgroup_set_limit(cgroup, &wanted, &error);
		/* What was ours has no lease any more: the next look takes over what is there. */
		if (result < 0 && result != -ETIME)
			return degrade(cgroup, result, &error, reterr);
		differs = false;
		(void)iso_drift_look(&cgroup->drift, now_ns, false);
	}
	settle(cgroup);
	if (!differs)
		return 0;
	return error_set(reterr, -ESTALE, "control group '%.150s': limit is %s, we set %s",
			 cgroup->path, cgroup_limit_text(&present, text[0]),
			 cgroup_limit_text(&wanted, text[1]));
}

int cgroup_stat(struct cgroup *cgroup, struct cgroup_stat *ret_stat, struct error *reterr)
{
	int result;

	if (cgroup->dir_fd < 0) {
		*ret_stat = (struct cgroup_stat){ 0 };
		return 0;
	}
	result = cgroup->backend->read_stat(cgroup->dir_fd, ret_stat);
	return result < 0 ? failed(cgroup, result, "cpu.stat", reterr) : 0;
}

int cgroup_populated(struct cgroup *cgroup, bool *ret_populated, struct error *reterr)
{
	int result;

	if (cgroup->dir_fd < 0) {
		*ret_populated = false;
		return 0;
	}
	result = cgroup->backend->read_populated(cgroup->dir_fd, ret_populated);
	return result < 0 ? failed(cgroup, result, "read its processes", reterr) : 0;
}

static bool has_arrived(const struct cgroup *cgroup, pid_t pid)
{
	char group[PATH_MAX];

	return mounts_group_of(cgroup->root, pid, "cpu", cgroup->backend->version, group, NULL) ==
		       0 &&
	       strcmp(group, cgroup->path) == 0;
}

static int move_process(struct cgroup *cgroup, pid_t pid)
{
	char text[32];

	/* On v1 libcgroup writes "tasks", which moves one thread and leaves the others. */
	if (cgroup->has_library && cgroup->backend->version == 2 &&
	    cgroup_library_attach(cgroup->name, pid) == 0 && has_arrived(cgroup, pid))
		return 0;
	snprintf(text, sizeof(text), "%d", (int)pid);
	return cgroup_file_write(cgroup->dir_fd, "cgroup.procs", text);
}

int cgroup_attach(struct cgroup *cgroup, pid_t pid, struct error *reterr)
{
	char group[PATH_MAX];
	int result;

	if (cgroup->dry_run) {
		log_info("dry run: group '%s': would move process %d into it", cgroup->path,
			 (int)pid);
		return 0;
	}
	result = move_process(cgroup, pid);
	if (result == -ESRCH)
		return error_set(reterr, result, "control group '%.150s': there is no process %d",
				 cgroup->path, (int)pid);
	if (result < 0)
		return failed(cgroup, result, "move a process into it", reterr);
	result = mounts_group_of(cgroup->root, pid, "cpu", cgroup->backend->version, group, reterr);
	if (result < 0)
		return error_wrap(reterr, "control group '%.150s'", cgroup->path);
	if (strcmp(group, cgroup->path) != 0)
		return error_set(reterr, -EIO,
				 "control group '%.150s': process %d was moved and is found in "
				 "'%.150s': another manager moves it?", cgroup->path, (int)pid,
				 group);
	return 0;
}

static int put_back(struct cgroup *cgroup, struct error *reterr)
{
	char text[32];
	int result = cgroup_set_limit(cgroup, &cgroup->original, reterr);

	if (result == 0 && cgroup->original_burst_us != 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)cgroup->original_burst_us);
		result = cgroup_put(cgroup, cgroup->backend->burst_file, text);
		if (result < 0)
			error_errno(reterr, result, "set %s to %s", cgroup->backend->burst_file,
				    text);
	}
	return result;
}

int cgroup_leave(struct cgroup *cgroup, struct error *reterr)
{
	int result = 0;

	if (cgroup->dry_run)
		return 0;
	switch (cgroup->on_exit) {
	case CGROUP_KEEP:
		return 0; /* and keep what would restore it */
	case CGROUP_REMOVE:
		result = cgroup->created_top != 0 ? cgroup_remove_created(cgroup, reterr)
						    : put_back(cgroup, reterr);
		break;
	case CGROUP_RESTORE:
		result = put_back(cgroup, reterr);
		break;
	}
	if (result < 0 && cgroup_gone(cgroup, result) != -ENODEV)
		return error_wrap(reterr, "control group '%.150s': leave it", cgroup->path);
	if (cgroup->saved_path[0] != '\0')
		(void)unlink(cgroup->saved_path); /* its purpose is fulfilled */
	return 0;
}
