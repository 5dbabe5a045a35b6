/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/control/control.h"
#include "agent/control/controlsock.h"

/* The other side of the control socket: one question, one answer. */

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd item = { .fd = fd, .events = events };
		uint64_t now_ns = clock_now_ns();
		int left_ms = now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns) / 1000000);
		int n = poll(&item, 1, left_ms + (now_ns < deadline_ns));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -ETIMEDOUT;
	}
}

static int connect_to(int fd, const char *path, uint64_t deadline_ns)
{
	static const struct timespec pause = { .tv_nsec = 10000000 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, path, strlen(path) + 1);
	/* EAGAIN: the backlog is full, and no event tells when it is not. */
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (clock_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int exchange(int fd, const char *text, char *reply, uint64_t deadline_ns, size_t *ret_size)
{
	int r;
	ssize_t n;

	while ((n = send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL)) < 0) {
		/* A server that is full answers and hangs up before it reads. */
		if (errno == EPIPE || errno == ECONNRESET)
			break;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = wait_for(fd, POLLOUT, deadline_ns);
		if (r < 0)
			return r;
	}
	r = wait_for(fd, POLLIN, deadline_ns);
	if (r < 0)
		return r;
	n = recv(fd, reply, CONTROL_PACKET_BYTES_MAX, MSG_DONTWAIT | MSG_TRUNC);
	/* The error of the hang-up is told once, before the answer that came first. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(fd, reply, CONTROL_PACKET_BYTES_MAX, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	if (n > (ssize_t)CONTROL_PACKET_BYTES_MAX)
		return -EMSGSIZE;
	*ret_size = (size_t)n;
	return 0;
}

static int call(const char *path, const char *text, char *reply, uint64_t timeout_ns,
		size_t *ret_size, struct error *reterr)
{
	uint64_t deadline_ns = clock_now_ns() + timeout_ns;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return error_errno(reterr, -errno, "open a socket");
	controlsock_enlarge(fd);
	int r = connect_to(fd, path, deadline_ns);
	if (r < 0) {
		error_errno(reterr, r, "connect to '%s'", path);
	} else {
		r = exchange(fd, text, reply, deadline_ns, ret_size);
		if (r < 0)
			error_errno(reterr, r, "ask '%s'", path);
	}
	close(fd);
	return r;
}

int control_call(const char *path, const json_t *request, uint64_t timeout_ns, json_t **ret_reply,
		 struct error *reterr)
{
	json_error_t why;
	size_t size = 0;

	if (strlen(path) >= CONTROL_PATH_BYTES)
		return error_errno(reterr, -ENAMETOOLONG, "connect to '%.120s'", path);
	char *text = json_dumps(request, JSON_COMPACT);
	char *buffer = malloc(CONTROL_PACKET_BYTES_MAX);
	int r = text == NULL || buffer == NULL
		    ? error_errno(reterr, -ENOMEM, "ask '%s'", path)
		    : call(path, text, buffer, timeout_ns, &size, reterr);
	if (r == 0) {
		json_t *reply = json_loadb(buffer, size, 0, &why);

		if (json_is_object(reply))
			*ret_reply = reply;
		else
			r = error_set(reterr, -EBADMSG, "'%s' answered with no JSON object", path);
		if (r < 0)
			json_decref(reply);
	}
	free(text);
	free(buffer);
	return r;
}
