/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/admin_call.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/control/control.h"
#include "agent/net/curve.h"

#define UNIX_SCHEME "unix:"

/* One answer at a time, from one node. */
static const struct curve_limits limits = {
	.message_bytes_max = CONTROL_PACKET_BYTES_MAX,
	.queue_messages_max = 1,
};

/* What becomes of the connection is told here; without it a refusal looks like silence. */
#define WATCHED                                                                                    \
	(ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |                               \
	 ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                   \
	 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_DISCONNECTED)

struct call {
	const struct admin_target *target;
	void *socket;
	void *monitor;
	bool is_up; /* the handshake is done */
};

static bool is_unix(const char *endpoint)
{
	return strncmp(endpoint, UNIX_SCHEME, sizeof(UNIX_SCHEME) - 1) == 0;
}

int admin_endpoint_check(const char *endpoint, struct error *reterr)
{
	if (!is_unix(endpoint))
		return curve_endpoint_check(endpoint, reterr);
	if (endpoint[sizeof(UNIX_SCHEME) - 1] != '/')
		return error_set(reterr, -EINVAL, "'%s' is not unix:/PATH", endpoint);
	return 0;
}

static int open_sockets(struct call *call, void *zmq_context, struct error *reterr)
{
	static const int no_linger_ms = 0;
	char watch[64];
	static unsigned number; /* one thread; the name must be free */

	call->socket = zmq_socket(zmq_context, ZMQ_DEALER);
	call->monitor = zmq_socket(zmq_context, ZMQ_PAIR);
	if (call->socket == NULL || call->monitor == NULL)
		return error_errno(reterr, -errno, "open a socket");
	int r = curve_client(call->socket, call->target->keys, call->target->server_key, &limits,
			     reterr);
	if (r < 0)
		return r;
	snprintf(watch, sizeof(watch), "inproc://isobar.admin.watch.%u", number++);
	if (zmq_socket_monitor(call->socket, watch, WATCHED) < 0 ||
	    zmq_setsockopt(call->monitor, ZMQ_LINGER, &no_linger_ms, sizeof(no_linger_ms)) < 0 ||
	    zmq_connect(call->monitor, watch) < 0)
		return error_errno(reterr, -errno, "watch a socket");
	return curve_connect(call->socket, call->target->endpoint, reterr);
}

static void close_sockets(struct call *call)
{
	/*
	 * First of all: an event that nobody can take any more would block the thread that does
	 * the I/O of the whole context, for ever.
	 */
	if (call->socket != NULL) {
		(void)zmq_socket_monitor(call->socket, NULL, 0);
		zmq_close(call->socket);
	}
	if (call->monitor != NULL)
		zmq_close(call->monitor);
}

/* -errno once the connection cannot come about, or has gone after the request was sent. */
static int look(struct call *call, struct error *reterr)
{
	uint8_t frame[6];
	char address[64];
	uint16_t event;

	while (zmq_recv(call->monitor, frame, sizeof(frame), ZMQ_DONTWAIT) >= 0) {
		(void)zmq_recv(call->monitor, address, sizeof(address), ZMQ_DONTWAIT);
		memcpy(&event, frame, sizeof(event));
		switch (event) {
		case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: call->is_up = true; break;
		case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
			return error_set(reterr, -EACCES,
					 "the node refuses this key: it is in no 'administrator' "
					 "section of its configuration");
		case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
		case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
			return error_set(reterr, -EACCES,
					 "no CURVE handshake: not the administrators' endpoint of "
					 "a node, or not the public key that was given for it");
		case ZMQ_EVENT_CONNECT_RETRIED:
			return error_set(reterr, -ECONNREFUSED, "nobody listens there");
		case ZMQ_EVENT_DISCONNECTED:
			if (!call->is_up)
				return error_set(reterr, -EACCES,
						 "the node ends the handshake: is the public key "
						 "the one that it has?");
			return error_set(reterr, -ECONNRESET,
					 "the connection broke off before the answer");
		default: break;
		}
	}
	return 0;
}

/* Waits for one of the two; -ETIMEDOUT. */
static int wait_for(struct call *call, short events, uint64_t deadline_ns, bool *ret_ready,
		    struct error *reterr)
{
	zmq_pollitem_t items[] = {
		{ .socket = call->monitor, .events = ZMQ_POLLIN },
		{ .socket = call->socket, .events = events },
	};
	uint64_t now_ns = clock_now_ns();
	long left_ms = now_ns >= deadline_ns ? 0 : (long)((deadline_ns - now_ns) / 1000000) + 1;
	int n = zmq_poll(items, 2, left_ms);

	if (n < 0 && errno != EINTR)
		return error_errno(reterr, -errno, "wait");
	*ret_ready = n > 0 && items[1].revents != 0;
	/* An answer that came before the end of the connection counts. */
	if (*ret_ready)
		return 0;
	if (n > 0 && items[0].revents != 0)
		return look(call, reterr);
	if (clock_now_ns() >= deadline_ns)
		return error_set(reterr, -ETIMEDOUT,
				 call->is_up ? "the node did not answer in time"
					     : "nobody answers there");
	return 0;
}

static int wait_ready(struct call *call, short events, uint64_t deadline_ns, struct error *reterr)
{
	bool is_ready = false;
	int r = 0;

	while (r == 0 && !is_ready)
		r = wait_for(call, events, deadline_ns, &is_ready, reterr);
	return r;
}

/* text: the request.  *ret_message is the answer, to be closed by the caller. */
static int exchange(struct call *call, const char *text, uint64_t deadline_ns,
		    zmq_msg_t *ret_message, struct error *reterr)
{
	/* With ZMQ_IMMEDIATE there is nowhere to write before the handshake is done. */
	int r = wait_ready(call, ZMQ_POLLOUT, deadline_ns, reterr);

	if (r < 0)
		return r;
	call->is_up = true;
	if (zmq_send(call->socket, text, strlen(text), ZMQ_DONTWAIT) < 0)
		return error_errno(reterr, -errno, "send the request");
	r = wait_ready(call, ZMQ_POLLIN, deadline_ns, reterr);
	if (r < 0)
		return r;
	zmq_msg_init(ret_message);
	if (zmq_msg_recv(ret_message, call->socket, ZMQ_DONTWAIT) >= 0)
		return 0;
	r = -errno;
	zmq_msg_close(ret_message);
	return error_errno(reterr, r, "receive the answer");
}

static int call_tcp(const struct admin_target *target, void *zmq_context, const char *text,
		    uint64_t timeout_ns, json_t **ret_reply, struct error *reterr)
{
	struct call call = { .target = target };
	uint64_t deadline_ns = clock_now_ns() + timeout_ns;
	zmq_msg_t message;
	int r = open_sockets(&call, zmq_context, reterr);

	if (r == 0)
		r = exchange(&call, text, deadline_ns, &message, reterr);
	if (r == 0) {
		json_t *reply = json_loadb(zmq_msg_data(&message), zmq_msg_size(&message), 0, NULL);

		zmq_msg_close(&message);
		if (json_is_object(reply)) {
			*ret_reply = reply;
		} else {
			json_decref(reply);
			r = error_set(reterr, -EBADMSG, "it answered with no JSON object");
		}
	}
	close_sockets(&call);
	return r;
}

int admin_call(const struct admin_target *target, void *zmq_context, const json_t *request,
	       uint64_t timeout_ns, json_t **ret_reply, struct error *reterr)
{
	const char *endpoint = target->endpoint;
	int r = admin_endpoint_check(endpoint, reterr);

	if (r < 0)
		return r;
	if (is_unix(endpoint))
		return control_call(endpoint + sizeof(UNIX_SCHEME) - 1, request, timeout_ns,
				    ret_reply, reterr);
	assert(target->keys != NULL);
	assert(target->server_key != NULL);

	void *own_context = zmq_context == NULL ? zmq_ctx_new() : NULL;
	char *text = json_dumps(request, JSON_COMPACT);
	if (text == NULL || (zmq_context == NULL && own_context == NULL))
		r = error_errno(reterr, -ENOMEM, "request");
	else
		r = call_tcp(target, own_context != NULL ? own_context : zmq_context, text,
			     timeout_ns, ret_reply, reterr);
	free(text);
	if (own_context != NULL)
		zmq_ctx_term(own_context);
	return r < 0 ? error_wrap(reterr, "%s", endpoint) : 0;
}
