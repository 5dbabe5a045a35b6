/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TASKWATCH_H
#define ISO_TASKWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "lib/wire/worker.h"

/*
 * What a user's task (isobar/task.h) does to the process that runs it, noticed
 * and said before the process ends of it: a crash, exit(), a call without end,
 * on a CPU or asleep.  One line goes to stderr and one FAULT record to whoever
 * started this process.  There is one watch in a process; until it is open,
 * enter and leave do nothing.
 *
 * A call may use limit_ns of CPU, and once some tasks are done at most
 * TASKWATCH_MEDIANS times the median task, but TASKWATCH_LEAST_NS at least.
 * One that does nothing at all is asleep after limit_ns.
 */
#define TASKWATCH_MEDIANS  20u
#define TASKWATCH_LEAST_NS 2000000000ull
#define TASKWATCH_LIMIT_NS 60000000000ull /* usual limit_ns */

/* Exit status of a process that was ended here, other than by a signal. */
#define TASKWATCH_EXIT_STATUS 3

struct taskwatch_config {
	const char *what; /* names the task in messages; copied */
	int report_fd;	  /* SOCK_SEQPACKET, borrowed; -1: none */
	uint64_t limit_ns;
	bool with_prefix; /* lines as the journal wants them */
};

/* Handles the signals of a crash from now on and starts the watching thread. */
int taskwatch_open(const struct taskwatch_config *config, struct error *reterr);

/* Another name for it in messages, once it is known; before other threads enter. */
void taskwatch_name(const char *what);

/* For tests: a process has one task for its life. */
void taskwatch_close(void);

/* This thread goes into the task, and has come out of it. */
void taskwatch_enter(enum iso_worker_call call);
void taskwatch_leave(void);

/* A task took this long on a CPU. */
void taskwatch_observe(uint64_t on_cpu_ns);

/* What a call may use now. */
uint64_t taskwatch_limit_ns(void);

/*
 * Says "task X: CALL: HOW" and ends the process; of ISO_WORKER_UNUSABLE, which names
 * the file itself, "task HOW".
 */
_Noreturn void taskwatch_fault(enum iso_worker_fault what, enum iso_worker_call call,
			       uint32_t number, const char *how);

#endif
