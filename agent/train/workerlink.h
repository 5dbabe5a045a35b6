/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKERLINK_H
#define ISO_WORKERLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/base/loop.h"
#include "lib/wire/worker.h"

/*
 * The socket pair between an agent and its worker, either end.  The agent
 * tells the share and hands out clock slots; the worker registers threads and
 * reports progress.  Nothing here blocks.
 */

/* The worker's end and the map of on-CPU clocks (absent when degraded). */
#define WORKERLINK_FD	    3
#define WORKERLINK_CLOCK_FD 4

enum workerlink_end {
	WORKERLINK_AGENT = 1, /* takes REGISTER, PROGRESS, FAULT, ROUND and MEASURE */
	WORKERLINK_WORKER,    /* takes SLOT and SHARE */
};

/*
 * A record from the other end, or NULL when it is gone: that comes once, and
 * the link is then deaf until its owner closes it, which it may do in here.
 */
typedef void workerlink_fn(void *context, const struct iso_worker_record *record);

struct workerlink_counters {
	uint64_t received;
	uint64_t malformed; /* not a record, or one for the other end: dropped */
	uint64_t unsent;    /* the other end did not read: dropped */
	uint64_t pauses;    /* too much came: not read until the next tick */
};

struct workerlink;

/* Both ends of a new pair, O_CLOEXEC and non-blocking.  Returns 0 or -errno. */
int workerlink_pair(int *ret_agent_fd, int *ret_worker_fd);

/*
 * Moves fd, on failure too.  -ENOTSOCK if fd is no SOCK_SEQPACKET socket: so a
 * worker can tell that nobody handed it one.
 */
int workerlink_open(int fd, enum workerlink_end end, struct loop *loop, workerlink_fn *fn,
		    void *context, struct workerlink **ret_link, struct error *reterr);

/* Takes NULL; returns NULL. */
struct workerlink *workerlink_close(struct workerlink *link);

/*
 * For the agent, regularly: a worker that sends more than some hundred records
 * in between is not read until then.
 */
void workerlink_tick(struct workerlink *link);

/*
 * Takes at once what the other end has sent, down to its end: for one that has
 * ended and said why.  The callback must not close the link.
 */
void workerlink_drain(struct workerlink *link);

/*
 * 0; -EAGAIN when the other end does not read (counted; a later record says
 * more); -EPIPE or -ECONNRESET when it is gone.
 */
int workerlink_send(struct workerlink *link, const struct iso_worker_record *record);

/* For the agent: answers REGISTER; a slot of ISO_WORKER_NO_SLOT means the kernel's clock. */
int workerlink_send_slot(struct workerlink *link, uint32_t tid, uint32_t slot);
int workerlink_send_share(struct workerlink *link, uint64_t share_ucpu, uint32_t cpus);

const struct workerlink_counters *workerlink_counters(const struct workerlink *link);

#endif
