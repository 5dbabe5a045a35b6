/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_AUDIT_H
#define ISO_DEMO_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/demo/quotas.h"

/*
 * The audit of the quotas: snapshots of all cgroups at one instant, each
 * checked against the budget.
 *
 * Files cannot be read at one instant, so each snapshot is a double collect:
 * read all, read all again, keep only if nothing changed in between.  Then
 * every value held at the moment between the two passes.  (A value that
 * changed and changed back within one pass would escape; a pass takes some
 * 10 µs, and no agent writes twice in less than its tick.)
 */
#define AUDIT_VIOLATIONS_MAX 16 /* kept in full; all are counted */
#define AUDIT_TRIES	     8	/* double collects before a sample is given up */

struct audit_violation {
	uint64_t at_ns;	   /* CLOCK_MONOTONIC, as in the agents' logs */
	uint64_t sum_ucpu; /* UINT64_MAX: a quota was unlimited */
	struct quota quotas[QUOTAS_MAX];
};

struct audit {
	uint64_t budget_ucpu;
	unsigned count; /* cgroups */
	struct quota_files files[QUOTAS_MAX];

	uint64_t samples;    /* attempted */
	uint64_t kept;	     /* snapshots that nothing tore */
	uint64_t torn;	     /* double collects thrown away */
	uint64_t unreadable; /* samples in which a cgroup could not be read */
	uint64_t violations; /* kept snapshots above the budget or unlimited */

	uint64_t sum_ucpu;     /* of the newest snapshot */
	uint64_t sum_ucpu_max; /* over all kept, limited snapshots */

	uint64_t first_ns, kept_ns, gap_ns_max; /* between two kept snapshots */

	/* CPU time that each quota has allowed from the first snapshot to the newest, in ns. */
	double allowed_ns[QUOTAS_MAX];
	struct quota newest[QUOTAS_MAX];

	uint64_t second_ns; /* start of the running second */
	uint64_t second_kept;
	uint64_t second_kept_min; /* the poorest whole second; UINT64_MAX: none yet */

	int error; /* the newest reason for unreadable, -errno */
	unsigned error_index;
	struct audit_violation first[AUDIT_VIOLATIONS_MAX];

	/* A seam for the test: called before each file is read. */
	void (*before_read)(struct audit *audit, unsigned index);
};

/* Returns 0, or -errno with the index of the directory that failed in *ret_index. */
int audit_open(struct audit *audit, char *const *directories, unsigned count, uint64_t budget_ucpu,
	       unsigned *ret_index);
void audit_close(struct audit *audit);

/* Takes and judges one snapshot; false if it is a new violation. */
bool audit_sample(struct audit *audit, uint64_t now_ns);

/* No violation, nothing unreadable, at least one snapshot. */
bool audit_held(const struct audit *audit);

/* The counters, or with the violations too; the caller owns it. */
json_t *audit_progress(const struct audit *audit);
json_t *audit_summary(const struct audit *audit);

#endif
