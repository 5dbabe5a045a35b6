/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflightjob.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/delegated.h"
#include "agent/cgroup/unit.h"
#include "agent/ctl/preflighthost.h"

/* Whether the group could be limited: its file opens for writing.  Nothing is written. */
static void check_limit_file(struct preflight *preflight, const struct cgroup *cgroup,
			     const struct conf *conf)
{
	const char *directory = cgroup_directory(cgroup);
	const char *file = cgroup_version(cgroup) == 2 ? "cpu.max" : "cpu.cfs_quota_us";
	enum preflight_state bad = conf->dry_run ? PREFLIGHT_WARNING : PREFLIGHT_MISSING;
	char path[PATH_MAX + 32];
	bool is_there = access(directory, F_OK) == 0;

	if (is_there) {
		snprintf(path, sizeof(path), "%s/%s", directory, file);
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		int why = errno;

		if (fd >= 0) {
			close(fd);
			preflight_say(preflight, "limit", PREFLIGHT_OK, NULL,
				      "%.180s can be written", path);
		} else if (why == ENOENT && conf->unit[0] != '\0') {
			preflight_say(preflight, "limit", PREFLIGHT_OK, NULL,
				      "systemd makes %s with the unit's first quota", file);
		} else {
			preflight_say(preflight, "limit", bad,
				      why == EROFS ? "mount it rw in a container; "
						     "ProtectControlGroups=no in a unit"
						   : "run as root, or have the group delegated to "
						     "this user",
				      "%.150s: %s", path, strerror(why));
		}
		return;
	}

	/* To be made: the nearest level that is there must take it. */
	snprintf(path, sizeof(path), "%s", directory);
	for (char *slash; access(path, F_OK) != 0 && (slash = strrchr(path, '/')) > path;)
		*slash = '\0';
	if (access(path, W_OK) == 0)
		preflight_say(preflight, "limit", PREFLIGHT_OK, NULL,
			      "the group can be made below %.150s", path);
	else
		preflight_say(preflight, "limit", bad,
			      errno == EROFS ? "mount it rw in a container; "
					       "ProtectControlGroups=no in a unit"
					     : "run as root, or have the parent delegated to "
					       "this user",
			      "%.150s: %s", path, strerror(errno));
}

/* A count beyond that is no help to anybody. */
#define COUNTED_MAX 100000u

static void check_processes(struct preflight *preflight, const struct cgroup *cgroup)
{
	struct cgroup_processes processes;

	cgroup_processes("", cgroup_directory(cgroup), COUNTED_MAX, &processes);
	preflight_say(preflight, "processes", PREFLIGHT_OK, NULL, "%s%u would be limited%s%.140s",
		      processes.is_partial ? "at least " : "", (unsigned)processes.count,
		      processes.count > 0 ? ": " : "", processes.names);
}

static void check_group(struct preflight *preflight, const struct conf *conf, const char *path)
{
	struct cgroup_config config = {
		.path = path,
		.period_us = conf->period_ns / 1000,
		.on_exit = CGROUP_KEEP,
		.create = conf->create_cgroup,
		.is_unit = conf->unit[0] != '\0',
		.force = conf->force_cgroup,
		.dry_run = true,
	};
	struct cgroup *cgroup;
	struct error error;

	if (cgroup_open(&config, &cgroup, &error) < 0) {
		preflight_say(preflight, "cgroup", PREFLIGHT_MISSING,
			      error.code == -ENOENT ?
				      "start the job first, or set create-cgroup = yes" :
				      "see isobard.conf(5), cgroup",
			      "%.180s", error.text);
		return;
	}
	bool is_there = access(cgroup_directory(cgroup), F_OK) == 0;
	preflight_say(preflight, "cgroup", PREFLIGHT_OK, NULL, "%.120s %s", path,
		      is_there	      ? "is there"
		      : conf->dry_run ? "is not there, and a dry run makes none"
				      : "is not there yet and will be made");
	check_limit_file(preflight, cgroup, conf);
	if (is_there) {
		check_processes(preflight, cgroup);
		preflighthost_job(preflight, conf, cgroup);
	}
	cgroup = cgroup_close(cgroup);
}

static void check_unit(struct preflight *preflight, const struct conf *conf)
{
	struct unit_config config = { .name = conf->unit };
	struct unit *unit = NULL;
	struct error error = { 0 };
	char path[PATH_MAX];
	int r = unit_open(&config, &unit, &error);

	if (r < 0) {
		preflight_say(preflight, "unit", PREFLIGHT_MISSING,
			      r == -ENOENT ? "correct the name, or start it first if it is a scope"
			      : r == -ETIME ? "try again when systemd has reloaded"
					    : "name the job by its cgroup instead",
			      "%.180s", error.text);
		return;
	}
	if (unit_overridden(unit) != NULL)
		preflight_say(preflight, "unit", PREFLIGHT_MISSING,
			      "remove that line: systemd would take it in place of the share",
			      "'%.160s' has a CPUQuota", unit_overridden(unit));
	r = unit_group(unit, clock_now_ns(), path, &error);
	if (r == -ENODEV)
		preflight_say(preflight, "unit", PREFLIGHT_WARNING,
			      "systemctl start it: until then the share is the others'", "%.180s",
			      error.text);
	else if (r < 0)
		preflight_say(preflight, "unit", PREFLIGHT_MISSING,
			      "try again when systemd has reloaded", "%.180s", error.text);
	else if (unit_found(unit)->ucpu == UINT64_MAX)
		preflight_say(preflight, "unit", PREFLIGHT_OK, NULL, "%.100s is running, no quota",
			      conf->unit);
	else
		preflight_say(preflight, "unit", PREFLIGHT_OK, NULL,
			      "%.100s is running, quota %.4f CPU", conf->unit,
			      (double)unit_found(unit)->ucpu / 1e6);
	unit_close(unit);
	if (r == 0)
		check_group(preflight, conf, path);
}

void preflightjob_check(struct preflight *preflight, const struct conf *conf)
{
	if (conf->unit[0] != '\0')
		check_unit(preflight, conf);
	else if (conf->delegated)
		preflight_say(preflight, "cgroup", PREFLIGHT_SKIPPED, NULL,
			      "/%s below the unit that isobard is started in", DELEGATED_JOB);
	else
		check_group(preflight, conf, conf->cgroup);
}
