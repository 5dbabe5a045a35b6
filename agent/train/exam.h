/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_EXAM_H
#define ISO_EXAM_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/train/dataset.h"
#include "agent/train/usertask.h"

/*
 * A coordinator runs no code that is not its own.  What it needs of a user's task,
 * the first parameters and evaluations, comes from a process of its own:
 * isobar-worker --evaluate, whose end of a SOCK_SEQPACKET pair is descriptor
 * WORKERLINK_FD.  Parameters go both ways through shared memory, descriptor
 * EXAM_MEMORY_FD, which the coordinator makes and seals.  Both are of one build, so
 * packets are structs.  What ends the process because of the task comes as
 * FAULT of lib/wire/worker.h, which is shorter than a packet.
 */
#define EXAM_MEMORY_FD 4

enum exam_type {
	EXAM_READY = 1, /* child: number is the checksum, params, text the name */
	EXAM_REFUSED,	/* child: text says why it cannot; it ends */
	EXAM_INIT,	/* put the first parameters of seed `number` into the memory */
	EXAM_EVALUATE,	/* evaluate what is in the memory; number comes back */
	EXAM_DONE,	/* child: the answer to both */
};

#define EXAM_MAGIC 0x6d617865u

struct exam_packet {
	uint32_t magic;
	uint32_t type; /* enum exam_type */
	uint64_t number;
	uint32_t params;
	uint32_t correct, samples;
	uint32_t padding;
	double loss;
	char text[160];
};

/* The child: answers until the other end is gone.  0, or -errno with a reason. */
int exam_serve(int fd, int memory_fd, const struct usertask *task, const struct dataset *data,
	       struct error *reterr);

#endif
