/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_USERTASK_H
#define ISO_USERTASK_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"
#include "lib/isobar/task.h"

/*
 * A user's task from a shared object.  Only isobar-worker loads one: no other
 * program of ours runs code that is not ours.
 */
struct usertask {
	const struct isobar_task *task; /* NULL: none */
	void *handle;
	uint64_t checksum; /* XXH3 of the file: the same on all machines of a run */
};

/*
 * Whether a file may be loaded by that user, and its checksum; runs nothing of
 * it.  It must be a regular file that belongs to root or to the user and that
 * nobody else can write to (-EPERM).  Returns a descriptor, or -errno.
 */
int usertask_examine(const char *path, uid_t uid, uint64_t *ret_checksum, struct error *reterr);

/*
 * Loads it, which runs its constructors.  -EPERM as above; -ENOEXEC: it cannot be
 * loaded, or is no task, or one for another version of the interface.
 */
int usertask_open(const char *path, struct usertask *ret_task, struct error *reterr);

/* A zeroed one is fine. */
void usertask_close(struct usertask *task);

#endif
