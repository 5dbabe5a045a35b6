/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/admin.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/net/zap.h"

/* Requests taken per turn of the loop; the rest waits for the next. */
#define DRAIN_MAX 8u

/* As many answers may lie ready for one administrator as can wait for one. */
#define QUEUE_MESSAGES_MAX ((int)ADMIN_WAITING_MAX)

/* Longest that ZeroMQ allows. */
#define ROUTING_ID_BYTES_MAX 255u

/* Where an answer goes. */
struct route {
	size_t size;
	uint8_t id[ROUTING_ID_BYTES_MAX];
};

struct waiting {
	uint64_t number; /* of the request; 0: this place is free */
	struct route route;
};

struct admin {
	struct loop_source source; /* ROUTER */
	struct loop *loop;
	struct zap *zap; /* borrowed; NULL until it has our domain */
	struct control_table table;
	uint64_t number; /* of the newest request */
	struct waiting waiting[ADMIN_WAITING_MAX];
	struct admin_counters counters;
	char address[160];
};

static const struct curve_limits limits = {
	.message_bytes_max = CONTROL_PACKET_BYTES_MAX,
	.queue_messages_max = QUEUE_MESSAGES_MAX,
};

/* Moves reply.  To somebody who has gone, or does not read, it is lost: he asks again. */
static void send_reply(struct admin *admin, const struct route *route, json_t *reply)
{
	static const char too_large[] = "{\"error\":\"the reply is too large\",\"ok\":false}";
	char *dumped = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
	const char *text = dumped;
	void *socket = admin->source.socket;

	json_decref(reply);
	if (text == NULL)
		return;
	if (strlen(text) > CONTROL_PACKET_BYTES_MAX)
		text = too_large;
	if (zmq_send(socket, route->id, route->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
		(void)zmq_send(socket, text, strlen(text), ZMQ_DONTWAIT);
	free(dumped);
}

static void answer_later(void *transport, uint64_t number, json_t *reply)
{
	struct admin *admin = transport;

	for (unsigned i = 0; i < ADMIN_WAITING_MAX; i++) {
		struct waiting *waiting = &admin->waiting[i];

		if (waiting->number != number)
			continue;
		waiting->number = 0;
		send_reply(admin, &waiting->route, reply);
		return;
	}
	assert(!"each token is answered once");
	json_decref(reply);
}

static struct waiting *find_free(struct admin *admin)
{
	for (unsigned i = 0; i < ADMIN_WAITING_MAX; i++)
		if (admin->waiting[i].number == 0)
			return &admin->waiting[i];
	return NULL;
}

/* One request from somebody whom the allow-list knows. */
static void serve(struct admin *admin, const struct route *route, zmq_msg_t *message)
{
	struct waiting *waiting = find_free(admin);
	struct control_token token = {
		.answer = answer_later,
		.transport = admin,
		.number = ++admin->number,
	};

	admin->counters.requests++;
	/* Its connection is older than the list. */
	if (!zap_admits(admin->zap, ADMIN_DOMAIN, message)) {
		send_reply(admin, route, control_refuse("this key may give no commands any more"));
		return;
	}
	if (waiting == NULL) {
		send_reply(admin, route,
			   control_refuse("%u requests wait for their answers: ask again later",
					  ADMIN_WAITING_MAX));
		return;
	}
	snprintf(token.who, sizeof(token.who), "administrator %s", curve_user_id(message));
	waiting->number = token.number;
	waiting->route = *route;
	json_t *reply = control_dispatch(&admin->table, zmq_msg_data(message),
					 zmq_msg_size(message), NULL, &token);
	if (reply == NULL)
		return;
	waiting->number = 0;
	send_reply(admin, route, reply);
}

/* Takes the frames of one message; false when there is none. */
static bool take(struct admin *admin)
{
	void *socket = admin->source.socket;
	struct route route = { 0 };
	zmq_msg_t frame;
	unsigned count = 0;
	bool has_more;

	do {
		zmq_msg_init(&frame);
		if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(&frame);
			return false;
		}
		has_more = zmq_msg_more(&frame);
		if (count == 0) {
			route.size = zmq_msg_size(&frame);
			assert(route.size <= ROUTING_ID_BYTES_MAX);
			memcpy(route.id, zmq_msg_data(&frame), route.size);
		} else if (count == 1 && !has_more && curve_user_id(&frame) != NULL) {
			serve(admin, &route, &frame);
		} else {
			admin->counters.dropped += !has_more;
		}
		count++;
		zmq_msg_close(&frame);
	} while (has_more);
	return true;
}

static void on_request(struct loop_source *source, short revents)
{
	struct admin *admin = (struct admin *)(void *)source;

	(void)revents;
	for (unsigned i = 0; i < DRAIN_MAX && take(admin); i++)
		;
}

static int set_administrators(struct admin *admin, const struct admin_config *config,
			      struct error *reterr)
{
	struct zap_peer peers[ADMIN_ADMINISTRATORS_MAX];

	assert(config->administrator_count <= ADMIN_ADMINISTRATORS_MAX);
	memset(peers, 0, sizeof(peers));
	for (size_t i = 0; i < config->administrator_count; i++) {
		const struct admin_peer *from = &config->administrators[i];

		snprintf(peers[i].public_key, sizeof(peers[i].public_key), "%s", from->public_key);
		snprintf(peers[i].name, sizeof(peers[i].name), "%s", from->name);
	}
	int r =
	    zap_set_peers(config->zap, ADMIN_DOMAIN, peers, config->administrator_count, reterr);
	if (r == 0)
		admin->zap = config->zap;
	return r;
}

static int open_socket(struct admin *admin, const struct admin_config *config, void *zmq_context,
		       struct error *reterr)
{
	size_t size = sizeof(admin->address);
	void *socket = zmq_socket(zmq_context, ZMQ_ROUTER);

	admin->source.socket = socket;
	if (socket == NULL)
		return error_errno(reterr, -errno, "open a socket");
	int r = curve_server(socket, config->keys, ADMIN_DOMAIN, &limits, reterr);
	if (r == 0)
		r = zap_watch(admin->zap, ADMIN_DOMAIN, socket, reterr);
	if (r == 0)
		r = curve_bind(socket, config->listen, reterr);
	if (r < 0)
		return r;
	if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, admin->address, &size) < 0)
		return error_errno(reterr, -errno, "ask for the address of '%s'", config->listen);
	r = loop_add(admin->loop, &admin->source);
	return r < 0 ? error_errno(reterr, r, "watch a socket") : 0;
}

int admin_open(const struct admin_config *config, void *zmq_context, struct loop *loop,
	       struct admin **ret_admin, struct error *reterr)
{
	struct admin *admin = calloc(1, sizeof(*admin));

	if (admin == NULL)
		return error_errno(reterr, -ENOMEM, "administrators' endpoint");
	admin->source = (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = on_request };
	admin->loop = loop;
	admin->table = (struct control_table){
		.commands = config->commands,
		.command_count = config->command_count,
		.context = config->context,
	};
	int r = set_administrators(admin, config, reterr);
	if (r == 0)
		r = open_socket(admin, config, zmq_context, reterr);
	if (r < 0) {
		admin_close(admin);
		return error_wrap(reterr, "administrators' endpoint");
	}
	*ret_admin = admin;
	return 0;
}

struct admin *admin_close(struct admin *admin)
{
	if (admin == NULL)
		return NULL;
	loop_remove(admin->loop, &admin->source);
	if (admin->source.socket != NULL) {
		zap_unwatch(admin->source.socket);
		zmq_close(admin->source.socket);
	}
	/* An empty list cannot be refused. */
	if (admin->zap != NULL)
		(void)zap_set_peers(admin->zap, ADMIN_DOMAIN, NULL, 0, NULL);
	free(admin);
	return NULL;
}

const char *admin_address(const struct admin *admin)
{
	return admin->address;
}

struct admin_counters admin_counters(const struct admin *admin)
{
	return admin->counters;
}
