/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_JOBTREE_H
#define ISO_TESTS_JOBTREE_H

#include "agent/cgroup/cgroup.h"
#include "tests/fs/tree.h"

/* Groups on a tree of plain files, and agent/cgroup on them. */

#define V1 "/sys/fs/cgroup/cpu,cpuacct"
#define V2 "/sys/fs/cgroup"

extern const char *jobtree_root;

/* An empty tree; tree_end() removes it. */
void jobtree_start(void);

/* A group with a limit as the kernel's files have it. */
void jobtree_v1(const char *path, const char *quota, const char *period);
void jobtree_v2(const char *path, const char *limit);
void jobtree_file_is(const char *path, const char *expected);

/* A period of 100 ms; what was there before is restored. */
struct cgroup_config jobtree_configure(const char *path);
struct cgroup *jobtree_open(const struct cgroup_config *config);
/* It is not opened, and the message has this phrase. */
void jobtree_refused(const struct cgroup_config *config, int code, const char *phrase);

#endif
