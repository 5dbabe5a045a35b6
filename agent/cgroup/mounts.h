/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MOUNTS_H
#define ISO_MOUNTS_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/base/error.h"

/*
 * Where a controller lives.  It is decided per controller, from
 * /proc/self/mountinfo and cgroup.controllers: on a hybrid host a cgroup2
 * mount exists and still cpu is a v1 hierarchy.
 *
 * root is put before every absolute path ("" on a real host), so that tests
 * hand in a tree of their own.
 */
struct mounts_controller {
	unsigned version;            /* 1 or 2 */
	char mount[PATH_MAX];        /* mount point, root included */
	char subtree[PATH_MAX];      /* the group the mount shows as its root: "/" mostly */
};

/*
 * name is "cpu", "cpuset", "cpuacct".  -ENOTSUP: not mounted anywhere; the
 * text says whether it is disabled in the kernel, unmounted or read-only.
 */
int mounts_find(const char *root, const char *name, struct mounts_controller *ret_controller,
		struct error *reterr);

/*
 * The group of a process (0: the caller) in the hierarchy of that controller,
 * from /proc/PID/cgroup: a path that begins with "/".  -ENODATA: no such line.
 */
int mounts_group_of(const char *root, pid_t pid, const char *name, unsigned version,
		    char ret_path[PATH_MAX], struct error *reterr);

/*
 * The part of a group's path that is below the directory of the mount: "" or with
 * "/" in front.  A path that the mount does not show comes back as it is.
 */
const char *mounts_below(const struct mounts_controller *controller, const char *path);

/*
 * The directory of a group in the file system.  -EXDEV: the mount shows groups
 * outside of this cgroup namespace, in which they have other names.  -ENAMETOOLONG.
 */
int mounts_directory(const struct mounts_controller *controller, const char *path,
		     char ret_directory[PATH_MAX], struct error *reterr);

#endif
