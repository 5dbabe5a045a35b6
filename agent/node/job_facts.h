/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_JOB_FACTS_H
#define ISO_JOB_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/hostfacts.h"
#include "agent/cgroup/cgroup.h"
#include "lib/enforce/facts.h"

/*
 * What an administrator should know of a job beside its limit: whether anybody
 * runs there at all, what of it no quota holds, and what is odd about it or the
 * host.  It is logged once when it begins and once when it ends.
 */

struct job;

enum job_presence {
	JOB_UNKNOWN = 0,
	JOB_RUNNING,
	JOB_EMPTY,  /* nobody in the group or below */
	JOB_FROZEN, /* and nobody of them may run */
	JOB_GONE,
};

/* "running", "empty", ...; NULL for JOB_UNKNOWN. */
const char *job_presence_name(enum job_presence presence);

#define JOB_NOTES_MAX  8u
#define JOB_NOTE_BYTES 200u

struct job_facts {
	enum job_presence presence;
	bool is_released;          /* absent for longer than release-after */
	bool has_tasks;            /* its threads were looked at */
	struct cgroup_tasks tasks;
	bool has_realtime;         /* their CPU time is known: of the last ten seconds */
	uint64_t realtime_ucpu;
	struct hostfacts host;
	bool is_overused;          /* more is used than is allowed: give nothing */
	double ratios[ISO_FACT_COUNT]; /* of each fact, odd or not; NAN: not known */
	char unbound[400];         /* why the quota does not hold the job; "": it does */
	unsigned note_count;
	char notes[JOB_NOTES_MAX][JOB_NOTE_BYTES];
};

/* As of the last job_observe(). */
const struct job_facts *job_facts(const struct job *job);

/* From the threads, their CPU time, the host and the overuse; empty: the quota holds the job. */
void job_facts_unbound(const struct job_facts *facts, char *ret_text, size_t size);

#endif
