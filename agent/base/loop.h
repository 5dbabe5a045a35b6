/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LOOP_H
#define ISO_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

/*
 * The one place that waits: a level-triggered zmq_poll() over file
 * descriptors and ZeroMQ sockets.  Sources are embedded in their owners, so
 * the loop allocates nothing; sixty-four are more than any program here has.
 *
 * A callback may add and remove sources, its own included.  A removed source
 * is never called again, even if it was ready in the same turn.
 */
#define LOOP_SOURCES_MAX 64

struct loop_source;

/* revents: ZMQ_POLLIN, ZMQ_POLLOUT, ZMQ_POLLERR, ZMQ_POLLPRI. */
typedef void loop_fn(struct loop_source *source, short revents);

struct loop_source {
	void *socket;  /* a ZeroMQ socket, or NULL: then fd */
	int fd;        /* owned by whoever embeds the source */
	short events;  /* may be changed between turns */
	loop_fn *fn;
};

struct loop {
	struct loop_source *sources[LOOP_SOURCES_MAX];
	unsigned count;
	bool quit;
};

/* Returns 0, or -ENOSPC when LOOP_SOURCES_MAX sources are there.  Borrows the source. */
int loop_add(struct loop *loop, struct loop_source *source);

/* A source that is not there is fine. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Runs until loop_quit(); returns 0, or -errno when the wait itself fails. */
int loop_run(struct loop *loop);
void loop_quit(struct loop *loop);

/*
 * One timer on CLOCK_MONOTONIC, as a descriptor for a source.  Returns the
 * descriptor or -errno.  UINT64_MAX disarms; a time in the past fires at once.
 */
int timer_open(void);
int timer_arm(int fd, uint64_t at_ns);
/* Takes the expiry off the descriptor; false if there was none. */
bool timer_consume(int fd);

/* The given signals, blocked and delivered as a descriptor; or -errno.  End the list with 0. */
int signals_open(const int *signals);
/* The next signal, or 0 if none is pending. */
int signals_consume(int fd);

#endif
