/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the job can get at most: its ancestors, its cpuset, the CPUs that are online. */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"
#include "lib/quantity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MAX 8192u /* NR_CPUS of the largest configuration */

struct cpu_set {
	uint64_t bits[CPUS_MAX / 64];
};

/* "0-3,8,10-11"; false for anything else.  An empty list is a valid, empty set. */
static bool parse_cpus(const char *text, struct cpu_set *ret_set)
{
	struct cpu_set set = { 0 };

	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last >= CPUS_MAX)
			return false;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			set.bits[cpu / 64] |= 1ull << cpu % 64;
		text = end + (*end == ',');
	}
	if (*text != '\0' && *text != '\n')
		return false;
	*ret_set = set;
	return true;
}

static uint32_t count_cpus(const struct cpu_set *set)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < CPUS_MAX / 64; i++)
		count += (uint32_t)__builtin_popcountll(set->bits[i]);
	return count;
}

static int read_cpus(int dir_fd, const char *name, struct cpu_set *ret_set)
{
	char text[CGROUP_FILE_BYTES];
	int result = cgroup_file_read(dir_fd, name, text, sizeof(text));

	if (result < 0)
		return result;
	return parse_cpus(text, ret_set) ? 0 : -EBADMSG;
}

static int read_online(const struct cgroup *cgroup, struct cpu_set *ret_set, struct error *reterr)
{
	char path[PATH_MAX];
	int result;

	if (snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/online", cgroup->root) >=
	    (int)sizeof(path))
		return error_errno(reterr, -ENAMETOOLONG, "'%.300s'", cgroup->root);
	result = read_cpus(AT_FDCWD, path, ret_set);
	return result < 0 ? error_errno(reterr, result, "read '%.300s'", path) : 0;
}

/* 0: none.  Those that our PID namespace does not know are listed as 0. */
static pid_t first_process(const struct cgroup *cgroup)
{
	char text[CGROUP_FILE_BYTES];
	const char *rest = text;
	uint64_t pid = 0;

	if (cgroup->dir_fd < 0 ||
	    cgroup_file_read(cgroup->dir_fd, "cgroup.procs", text, sizeof(text)) < 0)
		return 0;
	while (pid == 0 && cgroup_parse_u64(rest, &pid, &rest))
		rest += *rest == '\n';
	return (pid_t)pid;
}

/* Where a process of the job stands in the cpuset hierarchy: v1 has one of its own. */
static void cpuset_group(const struct cgroup *cgroup, const struct mounts_controller *cpuset,
			 char ret_path[PATH_MAX])
{
	pid_t pid = cpuset->version == 1 ? first_process(cgroup) : 0;

	memcpy(ret_path, cgroup->path, PATH_MAX);
	if (pid != 0)
		(void)mounts_group_of(cgroup->root, pid, "cpuset", 1, ret_path, NULL);
}

/*
 * The nearest level with a cpuset that is not empty.  v2 leaves the file out
 * where the controller is not enabled; v1 has none for a group made elsewhere.
 */
static bool read_cpuset(const struct cgroup *cgroup, struct cpu_set *ret_set)
{
	struct mounts_controller cpuset;
	char group[PATH_MAX], directory[PATH_MAX];

	if (mounts_find(cgroup->root, "cpuset", &cpuset, NULL) < 0)
		return false;
	cpuset_group(cgroup, &cpuset, group);
	for (char *slash = group; slash != NULL;) {
		if (mounts_directory(&cpuset, group, directory, NULL) < 0)
			return false;
		CGROUP_CLOSE_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 &&
		    (read_cpus(fd, cpuset.version == 2 ? "cpuset.cpus.effective"
						       : "cpuset.effective_cpus", ret_set) == 0 ||
		     read_cpus(fd, "cpuset.cpus", ret_set) == 0) &&
		    count_cpus(ret_set) > 0)
			return true;
		slash = group[0] != '\0' ? strrchr(group, '/') : NULL;
		if (slash != NULL)
			*slash = '\0';
	}
	return false;
}

/* µCPU of a limit; the kernel's quotas are below 2^44 us, so the product fits. */
static uint64_t limit_ucpu(const struct cgroup_limit *limit)
{
	if (limit->quota_us > UINT64_MAX / ISO_UCPU_PER_CPU)
		return UINT64_MAX / 2;
	return limit->quota_us * ISO_UCPU_PER_CPU / limit->period_us;
}

static int lower_by_ancestors(const struct cgroup *cgroup, struct cgroup_effective *effective,
			      struct error *reterr)
{
	char path[PATH_MAX];
	struct cgroup_limit limit;

	for (unsigned up = 1; up <= CGROUP_DEPTH_MAX; up++) {
		CGROUP_CLOSE_FD int fd = cgroup_open_ancestor(cgroup, up, path);
		int result;

		if (fd < 0)
			return 0;
		/* No such file (the root, or no cpu controller there) or "max": look on. */
		result = cgroup->backend->read_limit(fd, &limit);
		if (result == -ENOENT || (result == 0 && limit.unlimited))
			continue;
		if (result < 0)
			return error_errno(reterr, result, "read %s of '%.300s'",
					   cgroup->backend->limit_file, path);
		if (limit_ucpu(&limit) < effective->ancestors_ucpu)
			effective->ancestors_ucpu = limit_ucpu(&limit);
		if (limit_ucpu(&limit) >= effective->ceiling_ucpu)
			continue;
		effective->ceiling_ucpu = limit_ucpu(&limit);
		snprintf(effective->by, sizeof(effective->by), "cgroup '%.280s'", path);
	}
	return 0;
}

int cgroup_effective(struct cgroup *cgroup, struct cgroup_effective *ret_effective,
		     struct error *reterr)
{
	struct cgroup_effective effective = { .by = "online CPUs", .ancestors_ucpu = UINT64_MAX };
	struct cpu_set online, cpuset;
	struct cgroup_limit own;
	int result = read_online(cgroup, &online, reterr);

	if (result < 0)
		return result;
	effective.cpus = count_cpus(&online);
	if (read_cpuset(cgroup, &cpuset)) {
		for (unsigned i = 0; i < CPUS_MAX / 64; i++)
			online.bits[i] &= cpuset.bits[i];
		if (count_cpus(&online) < effective.cpus)
			snprintf(effective.by, sizeof(effective.by), "cpuset");
		effective.cpus = count_cpus(&online);
	}
	effective.ceiling_ucpu = (uint64_t)effective.cpus * ISO_UCPU_PER_CPU;
	result = lower_by_ancestors(cgroup, &effective, reterr);
	if (result < 0)
		return result;
	effective.ucpu = effective.ceiling_ucpu;
	result = cgroup_read(cgroup, &own, reterr);
	if (result < 0)
		return result;
	if (!own.unlimited && limit_ucpu(&own) < effective.ucpu)
		effective.ucpu = limit_ucpu(&own);
	*ret_effective = effective;
	return 0;
}
