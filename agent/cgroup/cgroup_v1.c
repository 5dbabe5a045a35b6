/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cgroup v1: quota and period are two files, and a child may not exceed its parent. */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QUOTA_FILE  "cpu.cfs_quota_us"
#define PERIOD_FILE "cpu.cfs_period_us"

static int read_limit(int dir_fd, struct cgroup_limit *ret_limit)
{
	struct cgroup_limit limit = { 0 };
	char text[64];
	int result = cgroup_file_read(dir_fd, QUOTA_FILE, text, sizeof(text));

	if (result < 0)
		return result;
	if (strncmp(text, "-1", 2) == 0 && (text[2] == '\n' || text[2] == '\0'))
		limit.unlimited = true;
	else if (!cgroup_parse_u64(text, &limit.quota_us, NULL))
		return -EBADMSG;
	result = cgroup_file_read_u64(dir_fd, PERIOD_FILE, &limit.period_us);
	if (result < 0)
		return result;
	if (limit.period_us == 0)
		return -EBADMSG;
	*ret_limit = limit;
	return 0;
}

static int put_quota(struct cgroup *cgroup, const struct cgroup_limit *limit)
{
	char text[32] = "-1";

	if (!limit->unlimited)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)limit->quota_us);
	return cgroup_put(cgroup, QUOTA_FILE, text);
}

static int put_period(struct cgroup *cgroup, const struct cgroup_limit *limit)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit->period_us);
	return cgroup_put(cgroup, PERIOD_FILE, text);
}

typedef int put_fn(struct cgroup *cgroup, const struct cgroup_limit *limit);

/* Both writes, and when the second fails the first is taken back. */
static int put_both(struct cgroup *cgroup, const struct cgroup_limit *present,
		    const struct cgroup_limit *wanted, bool quota_first)
{
	put_fn *first = quota_first ? put_quota : put_period;
	put_fn *second = quota_first ? put_period : put_quota;
	int result = first(cgroup, wanted);

	if (result < 0)
		return result;
	result = second(cgroup, wanted);
	if (result < 0)
		(void)first(cgroup, present); /* the read-back tells if this failed too */
	return result;
}

/*
 * Between the two writes one of (new quota, old period) and (old quota, new
 * period) is in force.  The lesser of their ratios is never above both the old
 * and the new limit, since the two products are equal; the kernel refuses it
 * only where a child's limit lies between, and then the other order may do.
 */
static int write_limit(struct cgroup *cgroup, const struct cgroup_limit *present,
		       const struct cgroup_limit *wanted)
{
	struct cgroup_limit quota_new = *wanted, period_new = *present;
	bool quota_first;
	int result;

	if (present->period_us == wanted->period_us)
		return put_quota(cgroup, wanted);
	if (present->unlimited && wanted->unlimited)
		return put_period(cgroup, wanted);
	quota_new.period_us = present->period_us;
	period_new.period_us = wanted->period_us;
	quota_first = cgroup_limit_above(&period_new, &quota_new);
	result = put_both(cgroup, present, wanted, quota_first);
	if (result == -EINVAL)
		result = put_both(cgroup, present, wanted, !quota_first);
	return result;
}

static int read_stat(int dir_fd, struct cgroup_stat *ret_stat)
{
	struct cgroup_stat stat = { 0 };
	char text[CGROUP_FILE_BYTES];
	int result = cgroup_file_read(dir_fd, "cpu.stat", text, sizeof(text));

	if (result < 0)
		return result;
	(void)cgroup_file_field(text, "nr_periods", &stat.periods);
	(void)cgroup_file_field(text, "nr_throttled", &stat.periods_throttled);
	(void)cgroup_file_field(text, "throttled_time", &stat.throttled_ns);
	/* There only where cpu and cpuacct are mounted together. */
	stat.has_usage = cgroup_file_read_u64(dir_fd, "cpuacct.usage", &stat.usage_ns) == 0;
	*ret_stat = stat;
	return 0;
}

/* v1 has no cgroup.events: any process here or in a child, to a bounded depth. */
static int populated_below(int dir_fd, unsigned depth, bool *ret_populated)
{
	char text[CGROUP_FILE_BYTES];
	int result = cgroup_file_read(dir_fd, "cgroup.procs", text, sizeof(text));
	const char *name;
	DIR *directory;

	if (result < 0)
		return result;
	*ret_populated = text[0] != '\0';
	if (*ret_populated || depth == 0)
		return 0;
	directory = cgroup_opendir(dir_fd);
	if (directory == NULL)
		return -errno;
	result = 0;
	while (result == 0 && !*ret_populated && (name = cgroup_next_child(directory)) != NULL) {
		CGROUP_CLOSE_FD int child = openat(dir_fd, name,
						   O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		result = child >= 0 ? populated_below(child, depth - 1, ret_populated) : -errno;
		/* A child that vanishes meanwhile has no processes; of others nobody knows. */
		if (result == -ENOENT || result == -ENODEV)
			result = 0;
	}
	closedir(directory);
	return result;
}

static int read_populated(int dir_fd, bool *ret_populated)
{
	bool populated = false;
	int result = populated_below(dir_fd, CGROUP_DEPTH_MAX, &populated);

	if (result == 0)
		*ret_populated = populated;
	return result;
}

const struct cgroup_backend cgroup_v1 = {
	.version = 1,
	.limit_file = QUOTA_FILE,
	.burst_file = "cpu.cfs_burst_us",
	.read_limit = read_limit,
	.write_limit = write_limit,
	.read_stat = read_stat,
	.read_populated = read_populated,
};
