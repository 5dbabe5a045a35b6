/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The guards of a ring: they are no children of the test, and outlive their agents. */
#include "config.h"

#include "tests/system/ring.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test.h"

#define MS_NS	 1000000u
#define SLACK_MS 500u /* trading.lease-slack, as ring.c configures it */

static void guard_path(const struct ring *ring, unsigned node, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, ring->nodes[node].directory, "isobar-guard");
}

void ring_guard_allow(const struct ring *ring, unsigned node, bool allowed)
{
	char path[DEMO_PATH_BYTES], program[DEMO_PATH_BYTES], whole[PATH_MAX];

	guard_path(ring, node, path);
	if (!allowed) {
		ck_assert(unlink(path) == 0 || errno == ENOENT);
		return;
	}
	ck_assert_ptr_nonnull(realpath(stage_build_path("agent/isobar-guard", program), whole));
	ck_assert(symlink(whole, path) == 0 || errno == EEXIST);
}

/* By "PID (NAME) STATE ...": a dead one that nobody has reaped is none. */
static bool is_guard(const char *pid, const char *run_directory)
{
	char path[64], stat[512] = "", cwd[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	if (file_get(path, stat, sizeof(stat)) < 0 || strstr(stat, "(isobar-guard)") == NULL ||
	    strstr(stat, ") Z") != NULL || strstr(stat, ") X") != NULL)
		return false;
	snprintf(path, sizeof(path), "/proc/%.16s/cwd", pid);
	ssize_t n = readlink(path, cwd, sizeof(cwd) - 1);
	if (n < 0)
		return false;
	cwd[n] = '\0';
	return strcmp(cwd, run_directory) == 0;
}

/* It works in the run directory, and in the group where it was started. */
pid_t ring_guard(const struct ring *ring, unsigned node)
{
	char path[DEMO_PATH_BYTES], run[DEMO_PATH_BYTES], whole[PATH_MAX], line[32];
	pid_t found = 0;

	path_join(run, ring->nodes[node].directory, "run");
	if (realpath(run, whole) == NULL)
		return 0;
	path_join(path, ring->service, "cgroup.procs");
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (found == 0 && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (is_guard(line, whole))
			found = (pid_t)atoi(line);
	}
	fclose(file);
	return found;
}

uint64_t ring_promise_ns(const struct ring *ring)
{
	return (ring->lease_ms + ring->lease_ms / 20 + SLACK_MS) * (uint64_t)MS_NS;
}
