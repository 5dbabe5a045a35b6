/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_STATUS_H
#define ISO_COORDINATOR_STATUS_H

#include <jansson.h>
#include <stdint.h>

#include "agent/train/coordinator_conf.h"
#include "agent/train/coordinator_net.h"
#include "agent/train/coordinator_run.h"

/*
 * The answer to {"command": "status"} of the coordinator's control socket: a
 * new reference, or NULL without memory.  What is not known is null, not 0.
 * net may be NULL: then no worker's connection is known.
 */
json_t *coordinator_status(const struct cconf *conf, const struct run *run, const struct net *net,
			   uint64_t now_ns);

#endif
