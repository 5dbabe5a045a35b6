/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HOST_ARGUMENTS_H
#define ISO_HOST_ARGUMENTS_H

#include "agent/conf/conf.h"

/* The command line of a node's worker, isobar-worker(8), as its configuration says. */

#define HOST_ARGUMENTS_MAX (24 + 2 * CONF_NEIGHBOURS_MAX)

struct host_arguments {
	const char *argv[HOST_ARGUMENTS_MAX]; /* ends with NULL; borrows from conf and from here */
	unsigned count;
	char threads[24], task_limit[32];
	char neighbours[CONF_NEIGHBOURS_MAX][CONF_NAME_BYTES + CONF_ADDRESS_BYTES + CONF_KEY_BYTES];
};

/* The struct is large: keep it static or on the heap.  conf_trains(). */
void host_arguments_make(const struct conf *conf, struct host_arguments *ret_arguments);

#endif
