/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_FRAMES_H
#define ISO_COORDINATOR_FRAMES_H

#include <zmq.h>

#include "agent/train/coordinator_run.h"

/*
 * Parameters as they are sent: a message for each point that is in use, made once for all
 * workers that are sent it.
 */
struct frames;

/* 0 or -ENOMEM.  The run is borrowed. */
int frames_open(const struct run *run, struct frames **ret_frames);
/* Takes NULL; returns NULL. */
struct frames *frames_close(struct frames *frames);

/*
 * The frame of an order's point; it stays the frames'.  It is made at the first order, which
 * must come before the point has moved on.  NULL: there is no memory for it.
 */
zmq_msg_t *frames_get(struct frames *frames, const struct iso_dispatch_order *order);

#endif
