/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CGROUP_FIXTURE_H
#define ISO_CGROUP_FIXTURE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Real groups of the cpu controller for tests, in whatever hierarchy holds it:
 * v2, or v1 and then the same in cpuacct if that is a hierarchy of its own.
 * Plain files, not the agent's code.  All names begin with /isobar-test-PID, PID that
 * of the test program.  A failure says so and ends the process.
 */
struct test_cgroup {
	bool v2;
	int fd;        /* in the hierarchy of the cpu controller */
	int usage_fd;  /* in that of cpuacct; -1: the same, or none */
	char path[PATH_MAX];
	char usage_path[PATH_MAX]; /* empty: none */
};

/* NULL, or why there can be no groups here; call it before anything forks. */
const char *test_cgroup_missing(void);

void test_cgroup_make(struct test_cgroup *ret_group, const char *name);
void test_cgroup_make_below(struct test_cgroup *ret_group, const struct test_cgroup *parent,
			    const char *name);

/* A whole process (0: the caller), or one thread (v1 only). */
void test_cgroup_add(const struct test_cgroup *group, pid_t pid);

/*
 * Lets a group directly below the root have real-time threads, for so much of each
 * second at most.  False where the kernel does not share such time out among groups.
 */
bool test_cgroup_realtime(const struct test_cgroup *group, long us);

/* Into the root of the hierarchy. */
void test_cgroup_expel(const struct test_cgroup *group, pid_t pid);

/* quota_us < 0: no limit. */
void test_cgroup_limit(const struct test_cgroup *group, long quota_us, long period_us);

/* The group must have no children.  Its processes are killed. */
void test_cgroup_remove(struct test_cgroup *group);

/* Removes all groups of this test program; for an unchecked teardown, which runs after failures. */
void test_cgroup_sweep(void);

#endif
