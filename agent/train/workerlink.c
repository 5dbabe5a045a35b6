/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/workerlink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* More in one turn would let a mad worker starve the agent... */
#define RECORDS_PER_TURN 64

/* ...and more from one tick to the next have it work for the worker, beyond all quotas. */
#define RECORDS_PER_TICK 512

/* But at its end nothing may be left unread, and this is more than a socket holds. */
#define RECORDS_PER_DRAIN 1000

struct workerlink {
	struct loop_source source;
	struct loop *loop;
	enum workerlink_end end;
	workerlink_fn *fn;
	void *context;
	unsigned taken; /* since the last tick */
	struct workerlink_counters counters;
};

int workerlink_pair(int *ret_agent_fd, int *ret_worker_fd)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return -errno;
	*ret_agent_fd = fds[0];
	*ret_worker_fd = fds[1];
	return 0;
}

static bool is_for(enum workerlink_end end, enum iso_worker_type type)
{
	switch (type) {
	case ISO_WORKER_REGISTER:
	case ISO_WORKER_PROGRESS:
	case ISO_WORKER_FAULT:
	case ISO_WORKER_ROUND:
	case ISO_WORKER_MEASURE: return end == WORKERLINK_AGENT;
	case ISO_WORKER_SLOT:
	case ISO_WORKER_SHARE: return end == WORKERLINK_WORKER;
	}
	return false;
}

/* One record; false: there is none, or the other end is gone (the link may then be closed). */
static bool take_record(struct workerlink *link)
{
	/* One byte more than a record, so that a longer packet is seen as such. */
	uint8_t bytes[ISO_WORKER_RECORD_BYTES + 1];
	struct iso_worker_record record;
	ssize_t size = recv(link->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (size <= 0) {
		loop_remove(link->loop, &link->source);
		link->fn(link->context, NULL);
		return false;
	}
	link->taken++;
	if (iso_worker_decode(bytes, (size_t)size, &record) != ISO_OK ||
	    !is_for(link->end, record.type)) {
		link->counters.malformed++;
		return true;
	}
	link->counters.received++;
	link->fn(link->context, &record);
	return true;
}

static void on_readable(struct loop_source *source, short revents)
{
	struct workerlink *link = (struct workerlink *)(void *)source;
	/* The end is never put off. */
	bool is_ending = (revents & ZMQ_POLLERR) != 0;

	for (int i = 0; i < RECORDS_PER_TURN; i++) {
		if (link->end == WORKERLINK_AGENT && link->taken >= RECORDS_PER_TICK &&
		    !is_ending) {
			source->events = 0;
			link->counters.pauses++;
			return;
		}
		if (!take_record(link))
			return;
	}
}

void workerlink_drain(struct workerlink *link)
{
	for (int i = 0; i < RECORDS_PER_DRAIN && take_record(link); i++)
		;
}

int workerlink_open(int fd, enum workerlink_end end, struct loop *loop, workerlink_fn *fn,
		    void *context, struct workerlink **ret_link, struct error *reterr)
{
	int type, r = 0, flags;
	socklen_t size = sizeof(type);
	struct workerlink *link = NULL;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		r = -errno;
	else if (type != SOCK_SEQPACKET)
		r = -ENOTSOCK;
	/* A descriptor that was inherited has neither flag. */
	if (r == 0 && (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || (flags = fcntl(fd, F_GETFL)) < 0 ||
		       fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		r = -errno;
	if (r == 0) {
		link = calloc(1, sizeof(*link));
		r = link != NULL ? 0 : -ENOMEM;
	}
	if (r == 0) {
		*link = (struct workerlink){
			.source = { .fd = fd, .events = ZMQ_POLLIN, .fn = on_readable },
			.loop = loop,
			.end = end,
			.fn = fn,
			.context = context,
		};
		r = loop_add(loop, &link->source);
	}
	if (r < 0) {
		free(link);
		if (fd >= 0)
			close(fd);
		return error_errno(reterr, r, "socket to the %s",
				   end == WORKERLINK_AGENT ? "worker" : "agent");
	}
	*ret_link = link;
	return 0;
}

struct workerlink *workerlink_close(struct workerlink *link)
{
	if (link == NULL)
		return NULL;
	loop_remove(link->loop, &link->source);
	close(link->source.fd);
	free(link);
	return NULL;
}

void workerlink_tick(struct workerlink *link)
{
	link->taken = 0;
	link->source.events = ZMQ_POLLIN;
}

int workerlink_send(struct workerlink *link, const struct iso_worker_record *record)
{
	uint8_t bytes[ISO_WORKER_RECORD_BYTES];

	assert(!is_for(link->end, record->type));
	iso_worker_encode(record, bytes);
	if (send(link->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	link->counters.unsent++;
	return -errno;
}

int workerlink_send_slot(struct workerlink *link, uint32_t tid, uint32_t slot)
{
	return workerlink_send(
	    link, &(struct iso_worker_record){ .type = ISO_WORKER_SLOT, .slot = { tid, slot } });
}

int workerlink_send_share(struct workerlink *link, uint64_t share_ucpu, uint32_t cpus)
{
	return workerlink_send(link, &(struct iso_worker_record){ .type = ISO_WORKER_SHARE,
								  .share = { share_ucpu, cpus } });
}

const struct workerlink_counters *workerlink_counters(const struct workerlink *link)
{
	return &link->counters;
}
