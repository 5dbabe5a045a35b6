/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One agent a group.  The lock is the group's directory, which everybody may
 * open and hence lock: what a stranger holds must not keep the limit away.
 */
#include "config.h"

#include "agent/base/log.h"
#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The real user: a program with the set-user-id bit stays its caller's.  False: it is gone. */
static bool read_user(int pid, unsigned *ret_uid)
{
	char path[64], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = sscanf(line, "Uid: %u", ret_uid) == 1;
	fclose(file);
	return found;
}

/* Whether the lock may be an agent's.  If in doubt, it is. */
static bool may_be_an_agents(const struct stat *status)
{
	FILE *file = fopen("/proc/locks", "re");
	unsigned device[2], uid, strangers = 0;
	unsigned long long inode;
	bool found = false;
	char line[256];
	int pid;

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
		/* "1: FLOCK  ADVISORY  WRITE 4711 00:1d:45083 0 EOF"; who waits has "->" there. */
		if (sscanf(line, "%*u: FLOCK %*s %*s %d %x:%x:%llu", &pid, &device[0], &device[1],
			   &inode) != 4 ||
		    device[0] != major(status->st_dev) || device[1] != minor(status->st_dev) ||
		    inode != status->st_ino)
			continue;
		if (pid <= 0 || !read_user(pid, &uid) || uid == 0 || uid == geteuid())
			found = true;
		else
			strangers++;
	}
	if (file != NULL)
		fclose(file);
	return found || strangers == 0;
}

int cgroup_lock(const struct cgroup *cgroup, struct error *reterr)
{
	struct stat status;

	if (flock(cgroup->dir_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return error_errno(reterr, -errno, "lock '%.300s'", cgroup->directory);
	if (fstat(cgroup->dir_fd, &status) < 0 || may_be_an_agents(&status))
		return error_set(reterr, -EBUSY, "another agent manages this group already");
	log_warn("control group '%.150s': locked by another user, who is no agent; limiting it "
		 "all the same", cgroup->path);
	return 0;
}
