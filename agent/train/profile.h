/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PROFILE_H
#define ISO_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "lib/ata/score.h"

/*
 * What a training run learnt about its workers' task times, for the next one: a
 * JSON file that a person can read and write.
 *
 *	{
 *	 "isobar-profile": 1,
 *	 "task": "softmax 784x10, 64 samples",    what was computed
 *	 "time": "on-cpu",                        or "wall"
 *	 "per-cost": false,                       times are divided by the task's cost
 *	 "written": "2026-11-30T08:15:00Z",       for people; may be missing
 *	 "workers": [
 *	  {"name": "alder", "tasks": 5120, "mean_s": 0.0131, "deviation_s": 0.0009}
 *	 ]
 *	}
 *
 * "tasks" may be a fraction where old times fade; "deviation_s" may be missing: 0.
 */

#define PROFILE_NAME_BYTES  64
#define PROFILE_TASK_BYTES  128
#define PROFILE_WORKERS_MAX 4096u

struct profile_worker {
	char name[PROFILE_NAME_BYTES];
	struct iso_ata_samples samples;
};

/* What the times are of: those of another kind say nothing about a run. */
struct profile_kind {
	char task[PROFILE_TASK_BYTES];
	bool is_wall; /* not on-CPU */
	bool per_cost;
};

struct profile {
	struct profile_kind kind;
	uint32_t count;
	struct profile_worker *workers; /* owned */
};

/*
 * -ENOENT: no such file; -EFBIG: more than 1 MiB; -EINVAL: it is no profile, "'FILE': line 3: ..."
 * or
 * "'FILE': worker 2: ..." says why; other errors are those of reading.
 * *ret_profile is untouched on failure; profile_free() it.
 */
int profile_read(const char *path, struct profile *ret_profile, struct error *reterr);

/*
 * Under another name first, synced, and then renamed: after a crash the file is
 * the old one or the new one.  Workers of whom nothing is known are left out.
 */
int profile_write(const char *path, const struct profile *profile, struct error *reterr);

/* Takes what is zero or was freed before. */
void profile_free(struct profile *profile);

/* NULL: it is not in there. */
const struct profile_worker *profile_find(const struct profile *profile, const char *name);

/* 0, or -EINVAL: "'FILE' has on-CPU times of X, this run's are of Y". */
int profile_check(const struct profile *profile, const struct profile_kind *kind, const char *path,
		  struct error *reterr);

#endif
