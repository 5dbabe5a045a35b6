/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CGROUP_LIBRARY_H
#define ISO_CGROUP_LIBRARY_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * libcgroup, for the cpu controller of the real host.  It has a struct cgroup
 * of its own, so it is used in one file that does not see ours.  Names are
 * relative to the mount point.  Each returns 0 or a negative errno, both of
 * which are hints: verify, and repeat by hand to learn the true error.
 */

/* False: it cannot read this host's mounts (too old for the kernel, perhaps). */
bool cgroup_library_start(void);

int cgroup_library_create(const char *name);
int cgroup_library_set(const char *name, const char *file, const char *value);
int cgroup_library_attach(const char *name, pid_t pid);

#endif
