/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_PROCESSES_H
#define ISO_DEMO_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"
#include "tests/demo/files.h"

/*
 * The programs that the demo starts.  Each is in its own process group, so
 * that Ctrl-C reaches the demo alone, and dies with the demo, whatever kills it.
 */
struct child {
	const char *name;	   /* for people */
	char log[DEMO_PATH_BYTES]; /* its stderr */
	pid_t pid;		   /* 0: not running */
	int exit_status;	   /* as of waitpid(), once it has ended */
	bool asked;		   /* to end */
	bool died;		   /* ended though nobody asked it to */
	bool stubborn;		   /* did not end when asked to and was killed */
	uint64_t cpu_ns;	   /* newest reading while it ran */
	uint64_t cpu_before_ns;	   /* used before the part of the run that counts */
	uint64_t rss_bytes;
};

struct launch {
	const char *const *argv; /* argv[0] is the file */
	const char *log;	 /* stderr, and stdout too unless stdout_fd; NULL: /dev/null */
	const char *group;	 /* cgroup directory to enter first; NULL or "": none */
	int stdout_fd;		 /* 0: none of its own */
	uid_t user;		 /* with gid, when the demo is root and user is not */
	gid_t gid;
};

int child_start(struct child *child, const char *name, const struct launch *launch,
		struct error *reterr);

/* Asks with SIGTERM; after timeout_ms it is killed.  Not running is fine. */
void child_stop(struct child *child, unsigned timeout_ms);

/* SIGTERM alone: it may end from now on; child_stop() waits for it. */
void child_ask(struct child *child);

/* SIGKILL, on purpose: it has not died then. */
void child_kill(struct child *child);

/* Takes note if it has ended meanwhile; true if it had died unasked. */
bool child_check(struct child *child);

/* CPU time of all its threads, to 10 ms, and memory (may be NULL); false: no such process. */
bool process_read(pid_t pid, uint64_t *ret_cpu_ns, uint64_t *ret_rss_bytes);

/* The same for a child, if it runs. */
void child_measure(struct child *child);

/* "exit status 1" or "signal 9 (Killed)". */
void child_describe_end(const struct child *child, char ret_text[64]);

/*
 * Orphans of our children come to us (PR_SET_CHILD_SUBREAPER).  Kills and
 * reaps all descendants that are left; returns how many were alive.
 */
unsigned descendants_kill(void);

#endif
