/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_GROUPS_H
#define ISO_DEMO_GROUPS_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/base/error.h"
#include "tests/demo/files.h"

/*
 * The demo's cgroups: /isobar-demo/PID/NODE in the hierarchy that holds the
 * cpu controller, v1 or v2.  PID is the demo's, so that two demos do not
 * meet, and so that a later one can tell what an earlier one left behind.
 */
struct groups {
	unsigned version;	     /* 1 or 2; 0: none found */
	char mount[DEMO_PATH_BYTES]; /* of the hierarchy */
	char run[DEMO_PATH_BYTES];   /* MOUNT/isobar-demo/PID; "" until groups_create() */
};

/* -ENOTSUP: no cpu controller mounted; -EACCES, -EROFS: there, but not for us. */
int groups_find(struct groups *ret_groups, struct error *reterr);

/* Makes the group of this run, in one that outweighs other work on the machine. */
int groups_create(struct groups *groups, struct error *reterr);

/*
 * Makes one node's group with the least quota the kernel takes: from its
 * first moment it is limited.
 */
int groups_add(const struct groups *groups, const char *node, struct error *reterr);

/* One without a limit, for the programs that serve the nodes. */
int groups_add_service(const struct groups *groups, const char *name, struct error *reterr);

/* Where a node's group is in the file system, and how a configuration calls it. */
void groups_directory(const struct groups *groups, const char *node,
		      char ret_path[DEMO_PATH_BYTES]);
void groups_path(const struct groups *groups, const char *node, char ret_path[DEMO_PATH_BYTES]);

/* Kills what still runs in the groups of this run; returns how many processes there were. */
unsigned groups_kill(const struct groups *groups);

/* Removes this run's groups, and /isobar-demo if nobody else uses it. */
int groups_remove(struct groups *groups, struct error *reterr);

/*
 * Removes groups of runs that are over and left them (kill -9).  Groups with
 * processes in them are left alone; the number of those is returned.
 */
unsigned groups_sweep(const struct groups *groups);

#endif
