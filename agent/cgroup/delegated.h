/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DELEGATED_H
#define ISO_DELEGATED_H

#include <limits.h>

#include "agent/base/error.h"

/*
 * A job that lives below the agent's own unit (Delegate=cpu): the group "job"
 * in the unit's.  On cgroup v2 that group is threaded.  A populated ordinary
 * child with the cpu controller would keep systemd from starting the agent in
 * the unit's group again (no internal processes), and taking the controller
 * away for that would lift the limit; beside threaded children a process may
 * live in the parent, so the agent can be killed, restarted and stopped while
 * the job stays where it is, limited.
 *
 * ".control" is made threaded too: systemd puts ExecReload= and ExecStopPost=
 * there and could not in a group of the other kind.
 *
 * Makes what is missing; ret_path is the job's group as cgroup_open() wants it.
 * root as in mounts.h.  -ENOTSUP: not in a unit, or one without Delegate=cpu.
 */
#define DELEGATED_JOB "job"

int delegated_prepare(const char *root, char ret_path[PATH_MAX], struct error *reterr);

/* Where it would be, with nothing made. */
int delegated_find(const char *root, char ret_path[PATH_MAX], struct error *reterr);

#endif
