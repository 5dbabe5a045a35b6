/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/guard_talk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/base/clock.h"
#include "lib/checksum.h"

static int send_request(int fd, const struct guard_request *request, int passed_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)request,
			      .iov_len = sizeof(*request) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (passed_fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &passed_fd, sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int await_reply(int fd, uint64_t patience, struct guard_reply *reply)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	uint64_t until_ns = clock_now_ns() + patience;
	ssize_t count;
	int r;

	do {
		uint64_t now_ns = clock_now_ns();
		uint64_t left_ns = now_ns < until_ns ? until_ns - now_ns : 0;

		r = poll(&ready, 1, (int)((left_ns + 999999) / 1000000));
	} while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r < 0 ? -errno : -ETIMEDOUT;
	count = recv(fd, reply, sizeof(*reply), MSG_DONTWAIT);
	/* One that ended with our request unread: what it said before comes after this. */
	if (count < 0 && errno == ECONNRESET)
		count = recv(fd, reply, sizeof(*reply), MSG_DONTWAIT);
	if (count < 0)
		return -errno;
	return count == 0 ? -ECONNRESET : count == sizeof(*reply) ? 0 : -EPROTO;
}

int guard_talk(int fd, struct guard_request *request, int passed_fd, uint64_t patience_ns,
	       struct guard_reply *ret_reply, struct error *reterr)
{
	struct guard_reply reply;
	int r;

	request->magic = GUARD_MAGIC;
	r = send_request(fd, request, passed_fd);
	/* One that could not start has said why, and gone. */
	if (r == 0 || r == -EPIPE)
		r = await_reply(fd, patience_ns, &reply);
	if (r == -ETIMEDOUT)
		return error_set(reterr, r, "it does not answer");
	if (r == -ECONNRESET || r == -EPIPE)
		return error_set(reterr, r, "it has ended");
	if (r < 0)
		return error_errno(reterr, r, "talk to it");
	if (reply.magic != GUARD_MAGIC)
		return error_set(reterr, -EPROTO, "it is of another version");
	if (reply.number == 0 && reply.error < 0)
		return error_errno(reterr, reply.error, "%.*s", GUARD_TEXT_BYTES, reply.text);
	if (reply.number != request->number)
		return error_set(reterr, -EPROTO, "it answers something else");
	*ret_reply = reply;
	return 0;
}

static uint64_t device_hash(const struct guard_client_config *config)
{
	const char *watchdog = config->watchdog;

	return watchdog[0] != '\0' ? iso_checksum(watchdog, strlen(watchdog)) : 0;
}

bool guard_is_other(const struct guard_reply *reply, const struct guard_client_config *config)
{
	uint64_t hash = device_hash(config);

	return ((reply->flags & GUARD_UNCONFINED) != 0) != config->is_unconfined ||
	       reply->priority != (uint32_t)config->priority || reply->watchdog_hash != hash ||
	       (hash != 0 && reply->wanted_s != config->watchdog_s);
}

bool guard_is_replaced(const struct guard_reply *reply, const struct guard_client_config *config,
		       bool is_outdated)
{
	/* The next one would not pet this one's device. */
	if ((reply->flags & GUARD_STICKY) != 0)
		return reply->watchdog_hash == device_hash(config) && guard_is_other(reply, config);
	return is_outdated || guard_is_other(reply, config);
}
