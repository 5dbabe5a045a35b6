/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/link_socket.h"

#include <errno.h>
#include <zmq.h>

/* What is longer than this and the limit never gets this far: libzmq breaks off then. */
#define TRANSPORT_BYTES_MAX 4096

/* Received and not looked at yet, where only the newest is sent. */
#define QUEUE_MESSAGES_MAX 1000

static int set_int(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static struct curve_limits transport_limits(const struct link_limits *limits)
{
	return (struct curve_limits){
		.message_bytes_max = limits->message_bytes_max > TRANSPORT_BYTES_MAX
					 ? (int64_t)limits->message_bytes_max
					 : TRANSPORT_BYTES_MAX,
		.queue_messages_max = limits->queue_messages != 0 ? (int)limits->queue_messages
								  : QUEUE_MESSAGES_MAX,
	};
}

/* Sockets without keys: only within this machine, so heartbeats find nothing to do. */
static int set_plain(void *socket, const struct curve_limits *limits, struct error *reterr)
{
	int r = set_int(socket, ZMQ_LINGER, 0);

	if (r == 0)
		r = set_int(socket, ZMQ_IMMEDIATE, 1);
	if (r == 0)
		r = set_int(socket, ZMQ_RCVHWM, limits->queue_messages_max + CURVE_RECEIVE_SPARE);
	if (r == 0)
		r = set_int(socket, ZMQ_SNDHWM, limits->queue_messages_max);
	if (r == 0)
		r = set_int(socket, ZMQ_RECONNECT_IVL_MAX, 2000);
	if (r == 0 && zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &limits->message_bytes_max,
				     sizeof(limits->message_bytes_max)) < 0)
		r = -errno;
	return r < 0 ? error_errno(reterr, r, "set up a socket") : 0;
}

int link_socket_connect(void *zmq_context, const struct link_limits *limits,
			const struct curve_keypair *keys, const char *public_key,
			const char *address, void **ret_socket, struct error *reterr)
{
	const struct curve_limits transport = transport_limits(limits);
	void *socket = zmq_socket(zmq_context, ZMQ_PUSH);

	if (socket == NULL)
		return error_errno(reterr, -errno, "open a socket");
	int r = keys != NULL ? curve_client(socket, keys, public_key, &transport, reterr)
			     : set_plain(socket, &transport, reterr);
	/* The newest message dominates every older one: keep only that. */
	if (r == 0 && limits->queue_messages == 0 && (r = set_int(socket, ZMQ_CONFLATE, 1)) < 0)
		error_errno(reterr, r, "set up a socket");
	if (r == 0)
		r = curve_connect(socket, address, reterr);
	if (r < 0) {
		zmq_close(socket);
		return r;
	}
	*ret_socket = socket;
	return 0;
}

int link_socket_listen(void *socket, const struct link_limits *limits,
		       const struct curve_keypair *keys, const char *domain, struct error *reterr)
{
	const struct curve_limits transport = transport_limits(limits);

	return keys != NULL ? curve_server(socket, keys, domain, &transport, reterr)
			    : set_plain(socket, &transport, reterr);
}
