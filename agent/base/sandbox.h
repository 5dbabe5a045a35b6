/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SANDBOX_H
#define ISO_SANDBOX_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * A program gives up what it will not need: capabilities, new privileges by way
 * of other programs, system calls.  For good, and for all that it starts.
 *
 * No system call ends the program.  Those that are known and not wanted fail
 * with EPERM; those that are not on the list fail with ENOSYS, as on an older
 * kernel, so that a newer libc than ours falls back to what it used before.  What
 * is refused by mistake is then a node that works less well, and never a limit
 * that nobody keeps.
 */

enum sandbox_program {
	SANDBOX_AGENT = 1,   /* isobard: what its guard and its worker need as well */
	SANDBOX_COORDINATOR, /* may start other programs: it has tasks examined */
	SANDBOX_WORKER,	     /* starts none; runs the code of users */
	SANDBOX_EXPORTER,    /* or another one that only serves: starts none */
};

#define SANDBOX_CAPABILITY(name) (1ull << (name))

struct sandbox_config {
	enum sandbox_program program;
	uint64_t capabilities; /* SANDBOX_CAPABILITY(CAP_KILL) | ...: kept if they are there */
	bool audits;	       /* the kernel's log tells what is refused */
};

/*
 * To be called once, before the first thread: others that are there get the
 * filter but keep their capabilities.  0, or -errno when the kernel refuses part
 * of it: the rest is in force then, and *reterr names the part.  -ENOTSUP: built
 * without libseccomp, or the kernel has no filters; all the rest is in force.
 */
int sandbox_enter(const struct sandbox_config *config, struct error *reterr);

/* 0 when a filter would be taken; -ENOTSUP and why not.  Changes nothing. */
int sandbox_supported(struct error *reterr);

struct sandbox_view {
	uint64_t capabilities; /* effective, as above */
	bool has_filter;       /* ours */
	bool has_no_new_privileges;
};

/* Of the calling thread, as the kernel has it. */
struct sandbox_view sandbox_look(void);

/* "CAP_KILL", or NULL for a number that this build does not know.  Static. */
const char *sandbox_capability_name(unsigned capability);

#endif
