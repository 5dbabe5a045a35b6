/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_QUOTAS_H
#define ISO_DEMO_QUOTAS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the kernel enforces, read from its own files and by no code that the
 * agents use: this is the witness against them.  cgroup v1 has
 * cpu.cfs_quota_us and cpu.cfs_period_us, v2 has both numbers in cpu.max.
 */
#define QUOTAS_MAX	64
#define QUOTA_UNLIMITED (-1)
#define QUOTA_US_MAX	((int64_t)1 << 43) /* the kernel's own bound is lower */
#define PERIOD_US_MIN	1000		   /* both are the kernel's */
#define PERIOD_US_MAX	1000000

struct quota {
	int64_t quota_us; /* or QUOTA_UNLIMITED */
	int64_t period_us;
};

struct quota_files {
	int quota_fd;  /* v1 cpu.cfs_quota_us, or v2 cpu.max */
	int period_fd; /* v1 cpu.cfs_period_us, else -1 */
};

/* Opens the files of the cgroup at this path; 0 or -errno (-ENOENT: no cpu controller there). */
int quota_open(const char *directory, struct quota_files *ret_files);
void quota_close(struct quota_files *files);

/* One reading; 0, -ENODEV when the cgroup is gone, -EBADMSG for text that is no quota. */
int quota_read(const struct quota_files *files, struct quota *ret_quota);

/*
 * The sum of quota ÷ period over all, in µCPU, exactly computed and rounded
 * up: it is at most a whole number of µCPU just when the true sum is.
 * Returns 0, -ERANGE when one is unlimited, -EOVERFLOW when the periods have
 * no common multiple below 2^60.
 */
int quotas_sum(const struct quota *quotas, unsigned count, uint64_t *ret_ucpu);

bool quotas_equal(const struct quota *a, const struct quota *b, unsigned count);

#endif
