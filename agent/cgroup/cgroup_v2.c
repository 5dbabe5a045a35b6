/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cgroup v2: cpu.max holds quota and period, and takes both in one write. */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_limit(int dir_fd, struct cgroup_limit *ret_limit)
{
	struct cgroup_limit limit = { 0 };
	char text[64];
	const char *rest = text + 3;
	int result = cgroup_file_read(dir_fd, "cpu.max", text, sizeof(text));

	if (result < 0)
		return result;
	if (strncmp(text, "max ", 4) == 0)
		limit.unlimited = true;
	else if (!cgroup_parse_u64(text, &limit.quota_us, &rest) || *rest != ' ')
		return -EBADMSG;
	if (!cgroup_parse_u64(rest + 1, &limit.period_us, NULL) || limit.period_us == 0)
		return -EBADMSG;
	*ret_limit = limit;
	return 0;
}

static int write_limit(struct cgroup *cgroup, const struct cgroup_limit *present,
		       const struct cgroup_limit *wanted)
{
	char text[64];

	(void)present; /* one write is one step: there is no order to choose */
	if (wanted->unlimited)
		snprintf(text, sizeof(text), "max %llu", (unsigned long long)wanted->period_us);
	else
		snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)wanted->quota_us,
			 (unsigned long long)wanted->period_us);
	return cgroup_put(cgroup, "cpu.max", text);
}

static int read_stat(int dir_fd, struct cgroup_stat *ret_stat)
{
	struct cgroup_stat stat = { 0 };
	uint64_t usage_us = 0, throttled_us = 0;
	char text[CGROUP_FILE_BYTES];
	int result = cgroup_file_read(dir_fd, "cpu.stat", text, sizeof(text));

	if (result < 0)
		return result;
	stat.has_usage = cgroup_file_field(text, "usage_usec", &usage_us);
	stat.usage_ns = usage_us * 1000;
	/* Absent below a parent that does not hand cpu down: then nothing throttles. */
	(void)cgroup_file_field(text, "nr_periods", &stat.periods);
	(void)cgroup_file_field(text, "nr_throttled", &stat.periods_throttled);
	(void)cgroup_file_field(text, "throttled_usec", &throttled_us);
	stat.throttled_ns = throttled_us * 1000;
	*ret_stat = stat;
	return 0;
}

static int read_populated(int dir_fd, bool *ret_populated)
{
	char text[CGROUP_FILE_BYTES];
	uint64_t populated;
	int result = cgroup_file_read(dir_fd, "cgroup.events", text, sizeof(text));

	if (result < 0)
		return result;
	if (!cgroup_file_field(text, "populated", &populated))
		return -EBADMSG;
	*ret_populated = populated != 0;
	return 0;
}

const struct cgroup_backend cgroup_v2 = {
	.version = 2,
	.limit_file = "cpu.max",
	.burst_file = "cpu.max.burst",
	.read_limit = read_limit,
	.write_limit = write_limit,
	.read_stat = read_stat,
	.read_populated = read_populated,
};
